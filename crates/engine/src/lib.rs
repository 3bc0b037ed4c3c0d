//! Operations on file trees: copy, remove, move, and rehearse a copy.
//!
//! A caller creates a request as plain data and passes a monitor to the operation. The monitor
//! receives each failure when it occurs. Through a [`Control`](monitor::Control), any thread reads
//! the counters and ends the run. No code here prints, reads the environment or ends the process.
//!
//! | operation | request | monitor | control |
//! | --- | --- | --- | --- |
//! | [`copy()`], [`copy_again`] | [`request::Request`] | [`monitor::Monitor`] | [`monitor::Control`] |
//! | [`copy_among`] | the same, and [`peers::Peers`] | the same | the same |
//! | [`remove::remove`] | [`remove::Request`] | [`monitor::Monitor`] | [`monitor::Control`] |
//! | [`relocate::relocate`] | [`relocate::Request`] | [`monitor::Monitor`] | [`relocate::Control`] |
//! | [`rehearse::rehearse`] | [`request::Request`] | [`rehearse::Audience`] | a stop flag |
//!
//! [`census`], [`cached`] and [`preflight`] measure what a copy has to do; [`stale`] finds what
//! killed runs have left. A failure ([`error::Failure`]) is an error with
//! the errno as its source.
//!
//! # Copying a tree, with progress
//!
//! ```
//! use std::ffi::CString;
//! use haul_sys::sync::Mutex;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::time::Duration;
//!
//! use haul_engine::error::Failure;
//! use haul_engine::monitor::{Control, Monitor};
//! use haul_engine::request::{Dereference, Policy, Recursion, Request};
//!
//! #[derive(Default)]
//! struct Failures(Mutex<Vec<Failure>>);
//!
//! impl Monitor for Failures {
//!     fn failed(&self, failure: &Failure) {
//!         eprintln!("{failure}");
//!         self.0.lock().push(failure.clone());
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # std::fs::create_dir(scratch.path().join("from"))?;
//! # std::fs::write(scratch.path().join("from/file"), "bytes")?;
//! # let path = |name: &str| CString::new(format!("{}/{name}", scratch.path().display()));
//! # let (from, to) = (path("from")?, path("to")?);
//! let policy = Policy {
//!     recursion: Recursion::Yes,
//!     dereference: Dereference::Never,
//!     ..Policy::plain(0o022)
//! };
//! let request = Request::new([from], to, policy);
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
//! use std::ffi::CString;
//! use std::sync::atomic::AtomicBool;
//!
//! use haul_engine::error::Failure;
//! use haul_engine::monitor::{Control, Monitor};
//! use haul_engine::remove::{Policy, Request, remove};
//! use haul_engine::request::Recursion;
//!
//! struct Told;
//!
//! impl Monitor for Told {
//!     fn failed(&self, failure: &Failure) {
//!         eprintln!("{failure}");
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # std::fs::create_dir_all(scratch.path().join("old/below"))?;
//! # let old = CString::new(format!("{}/old", scratch.path().display()))?;
//! let policy = Policy { recursion: Recursion::Yes, ..Policy::PLAIN };
//! let stop = AtomicBool::new(false);
//! let counts = remove(&Request::new([old], policy), &Told, &Control::new(&stop));
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

pub use copy::{census, copy, copy_again, copy_among};
pub use data::{cached, error, monitor, request};
pub use haul_select as select;
pub use names::{file_systems, known_names};
pub use rehearse::preflight;
pub use relocate::stale;
