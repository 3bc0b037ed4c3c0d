//! What the kernel's answers mean: quirks of file systems, errnos, repetition, space, pace.

pub(crate) mod errno;
pub mod fully;
pub(crate) mod kit;
pub(crate) mod pace;
pub mod quirk;
pub mod retry;
pub(crate) mod segment;
pub mod space;
pub(crate) mod stream_error;
