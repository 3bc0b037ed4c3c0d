//! Calls about memory and the page cache.

mod aligned;
mod available;
mod cachestat;
mod mincore;
mod watch;
mod window;

pub use aligned::AlignedBuffer;
pub use available::available_bytes;
pub use cachestat::{CachePages, cachestat};
pub use mincore::{page_bytes, resident_bytes};
pub use window::Window;
