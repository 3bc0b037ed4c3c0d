//! Calls about memory and the page cache.

mod aligned;
mod cachestat;
mod meminfo;
mod mincore;
mod watch;
mod window;

pub use aligned::AlignedBuffer;
pub use cachestat::{CachePages, cachestat};
pub use meminfo::{available_bytes, total_bytes, unwritten_bytes};
pub use mincore::{page_bytes, resident_bytes};
pub use window::Window;
