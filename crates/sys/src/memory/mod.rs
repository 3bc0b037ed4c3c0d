//! Calls about memory and the page cache.

mod aligned;
mod cachestat;
mod cgroup;
mod heap;
mod meminfo;
mod mincore;
mod own_cgroup;
mod room;
mod watch;
mod window;

pub use aligned::{AlignedBuffer, Pages};
pub use cachestat::{CachePages, cachestat};
pub use cgroup::{MemoryCgroups, MemoryState};
pub use heap::{Heap, end_without_memory};
pub use meminfo::{available_bytes, machine_state, total_bytes, unwritten_bytes};
pub use mincore::{page_bytes, resident_bytes, resident_ranges};
pub use own_cgroup::{Bound, OwnCgroup};
pub use room::room_bytes;
pub use watch::{allow_looking, may_look};
pub use window::Window;
