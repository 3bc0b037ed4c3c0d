//! Operations on file trees: copy, remove, move, rehearse a copy, visit.
//!
//! A caller creates a request as plain data and passes a monitor to the operation. The monitor
//! receives each failure when it occurs. Through a [`Control`](monitor::Control), any thread reads
//! the counters and ends the run.
//!
//! | operation | request | monitor | control |
//! | --- | --- | --- | --- |
//! | [`copy()`], [`copy_again`] | [`request::Request`] | [`monitor::Monitor`] | [`monitor::Control`] |
//! | [`copy_among`] | the same, and [`peers::Peers`] | the same | the same |
//! | [`remove::remove`] | [`remove::Request`] | [`monitor::Monitor`] | [`monitor::Control`] |
//! | [`relocate::relocate`] | [`relocate::Request`] | [`monitor::Monitor`] | [`relocate::Control`] |
//! | [`rehearse::rehearse`] | [`request::Request`] | [`rehearse::Audience`] | a stop flag |
//! | [`visit::visit`] | paths | [`visit::Visitor`] | [`visit::Visitor::is_stopped`] |
//!
//! [`census`], [`cached`] and [`preflight`] measure what a copy has to do; [`stale`] finds what
//! killed runs have left. A failure ([`error::Failure`]) is an error with its action, its paths and its
//! errno; its text has all of them.
//!
//! The folder `examples` of this crate has a program for each of copying, removing, moving and visiting, which
//! need no other crate.
//!
//! # What the crate leaves to its caller
//!
//! No code here prints, reads the environment, ends the process, changes its umask, or installs or changes the
//! action of a signal. A move that copies may cause a SIGURG in a thread of its own, see
//! `haul_sys::fs::is_open_for_writing`. Several runs may be active in one process at the same time, as long as
//! none writes what another one reads; each has the threads that it starts, which end before the call returns.
//! They share the process's descriptors: a caller with several runs at once gives each a part
//! ([`Resources::descriptors`](request::Resources::descriptors)). A child that fork(2) makes during a run has
//! none of its threads, and should do nothing but execve(2). If a monitor panics, the run ends, and the panic
//! continues in the caller.
//!
//! # Stability
//!
//! The version is below 1.0: a minor version may change names, which `CHANGELOG.md` then says. Requests, policies
//! and reports get new fields in any version; they have methods to set fields, and a caller cannot list all of
//! them. Enumerations get variants in a minor version. `tests/interface.txt` lists what programs name, and a test
//! compares it with the sources.
//!
//! # Copying a tree, with progress
//!
//! ```
//! use std::sync::Mutex;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::time::Duration;
//!
//! use haul_engine::error::Failure;
//! use haul_engine::monitor::{Control, Monitor, Report};
//! use haul_engine::request::{Policy, Request};
//!
//! #[derive(Default)]
//! struct Failures(Mutex<Vec<Failure>>);
//!
//! impl Monitor for Failures {
//!     fn report(&self, report: Report<'_>) {
//!         if let Report::Failed(failure) = report {
//!             // As in "a/b -> c/b: cannot open the source: Permission denied".
//!             eprintln!("{failure}");
//!             self.0.lock().unwrap().push(failure.clone());
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # std::fs::create_dir(scratch.path().join("from"))?;
//! # std::fs::write(scratch.path().join("from/file"), "bytes")?;
//! # let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
//! let request = Request::new([from], to, Policy::archive())?;
//! let stop = AtomicBool::new(false);
//! let (control, failures) = (Control::new(&stop), Failures::default());
//! let counts = std::thread::scope(|scope| {
//!     let copy = scope.spawn(|| haul_engine::copy(&request, &failures, &control));
//!     while !copy.is_finished() {
//!         let counts = control.counts();
//!         println!("{} files, {} bytes", counts.files, counts.bytes);
//!         if counts.failures > 100 {
//!             // Every worker ends within one request; complete files stay.
//!             stop.store(true, Ordering::Relaxed);
//!         }
//!         std::thread::sleep(Duration::from_millis(10));
//!     }
//!     copy.join().expect("a copy does not panic")
//! });
//! assert_eq!((counts.files, counts.failures), (1, 0));
//! # Ok(())
//! # }
//! ```
//!
//! # Removing a tree
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use haul_engine::monitor::{Control, Report};
//! use haul_engine::remove::{Policy, Request, remove};
//! use haul_engine::request::Recursion;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # std::fs::create_dir_all(scratch.path().join("old/below"))?;
//! # let old = scratch.path().join("old");
//! let policy = Policy::new().recursion(Recursion::Yes);
//! let stop = AtomicBool::new(false);
//! // A function is a monitor, too.
//! let print = |report: Report<'_>| {
//!     if let Report::Failed(failure) = report {
//!         eprintln!("{failure}");
//!     }
//! };
//! let counts = remove(&Request::new([old], policy)?, &print, &Control::new(&stop));
//! assert_eq!(counts.failures, 0);
//! # assert!(!scratch.path().join("old").exists());
//! # Ok(())
//! # }
//! ```

mod copy;
mod data;
mod decide;
mod journal;
mod metadata;
mod names;
pub mod peers;
mod plan;
pub mod rehearse;
pub mod relocate;
pub mod remove;
mod sync;
pub mod visit;

pub use copy::{census, copy, copy_again, copy_among};
pub use data::{cached, error, monitor, request};
pub use haul_select as select;
pub use names::{file_systems, known_names};
pub use rehearse::preflight;
pub use relocate::stale;
