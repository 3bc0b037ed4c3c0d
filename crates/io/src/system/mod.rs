//! What the kernel's answers mean: quirks of file systems, errnos, repetition, space, pace, pressure.

pub(crate) mod errno;
pub mod fully;
pub mod gentle;
pub(crate) mod kit;
pub(crate) mod pace;
pub mod quirk;
pub mod retry;
pub(crate) mod segment;
pub mod space;
pub(crate) mod stream_error;
