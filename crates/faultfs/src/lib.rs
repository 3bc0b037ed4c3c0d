//! A pass-through file system for tests: slow like remote storage, and faulty on request.
//!
//! Remote storage is not available where tests run, and real disks do not fail on request. This
//! file system passes a directory through, but each request takes a fixed time, as over a network,
//! with many requests in flight at once; and rules select requests that fail, are short, return
//! wrong data or are lost. The tested process cannot detect the difference, because no part of
//! faultfs runs in it.
//!
//! The server performs a request at the end of its delay and then replies; but it stores the bytes
//! of a write at once and delays only the reply.
//!
//! [`Mode::Direct`] bypasses the kernel's page cache: each read and write reaches the server as it
//! was issued (up to 1 MiB, where the kernel cuts requests), and writes to one file run in parallel
//! as long as they do not extend it.

mod attributes;
mod config;
mod errno;
mod injector;
mod mount;
mod nodes;
mod operation;
mod rule;
mod server;

pub use config::{Case, Clock, Config, Mode, Offload, Renames, Striping};
pub use injector::RequestStats;
pub use mount::Mounted;
pub use operation::Operation;
pub use rule::{BadRule, Effect, Rule, When};
