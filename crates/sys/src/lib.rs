//! Safe, typed, thin wrappers for every kernel call that haul makes.
//!
//! This is the only crate that may contain `unsafe`, so an audit of haul's use of the kernel has to
//! read only this crate. Each wrapper is a file: what the call does, where it is documented, and a
//! typed signature. No threads, no policy, no messages: a failure is a [`CallError`], the call and
//! its errno.

mod blocked;
pub mod data;
mod error;
pub mod fs;
pub mod memory;
pub mod pressure;
pub mod process;
mod psi;
pub mod ptrace;
mod refused;
pub mod regex;
pub mod sync;
pub mod uring;

pub use blocked::with_signals_blocked;
pub use error::{Call, CallError, Errno, Result, errno_text};
pub use refused::is_refused;
