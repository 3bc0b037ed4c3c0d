//! A pass-through file system for tests: slow like remote storage, and faulty on request.
//!
//! Real remote storage is not to be had where tests run, and real disks do not fail when they are
//! asked to. This file system shows a directory as it is, but each request takes a fixed time, as if
//! it went over a network, with many requests on their way at once; and rules say which request
//! fails, falls short, is answered wrongly or is lost. Whoever is tested cannot tell the difference,
//! for nothing of it is in the tested process.
//!
//! What a request does, it does when its time is over, and then it is answered; but the bytes of a write
//! are there at once, and its answer takes the time.
//!
//! In [`Mode::Direct`] the kernel's page cache is out of the way: each read and write reaches the
//! server as it was issued (up to 1 MiB, where the kernel cuts requests), and writes to one file run
//! in parallel as long as they do not extend it.

mod attributes;
mod config;
mod errno;
mod judge;
mod mount;
mod nodes;
mod operation;
mod rule;
mod server;

pub use config::{Clock, Config, Mode, Offload};
pub use judge::Seen;
pub use mount::Mounted;
pub use operation::Operation;
pub use rule::{BadRule, Effect, Rule, When};
