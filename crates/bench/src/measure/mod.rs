//! Measurements of a run: the child, the device, the page cache, and the rest of the machine.

mod cache;
mod child;
mod device;
mod hot;
mod kernel;
mod memory;
mod walk;
mod watch;

pub use cache::CacheUse;
pub(crate) use cache::{cached_pages, drop_caches, evict, preread};
pub(crate) use child::{Cut, Execution, Limits, execute};
pub(crate) use device::Device;
pub use device::{DeviceUse, Sample};
pub(crate) use hot::HotFile;
pub(crate) use kernel::pressure;
pub use kernel::{Pressure, Stall};
pub(crate) use memory::{available_bytes, touch_memory};
pub(crate) use watch::Watch;
