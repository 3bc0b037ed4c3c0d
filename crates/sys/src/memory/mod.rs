//! Calls about memory and the page cache.

mod aligned;
mod cachestat;

pub use aligned::AlignedBuffer;
pub use cachestat::{CachePages, cachestat};
