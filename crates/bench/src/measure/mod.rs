//! Measurements of a run: the child, the device, the page cache, and the rest of the machine.

mod bystander;
mod cache;
mod child;
mod device;
mod hot;
mod kernel;
mod limits;
mod memory;
mod walk;
mod watch;

pub(crate) use bystander::Bystander;
pub use bystander::{BystanderUse, ReadTimes};
pub use cache::CacheUse;
pub(crate) use cache::{cached_pages, drop_caches, evict, preread};
pub(crate) use child::{Execution, execute};
pub use device::{DeviceUse, Sample};
pub(crate) use hot::HotFile;
pub(crate) use kernel::pressure;
pub use kernel::{Pressure, Stall};
pub(crate) use limits::{Cut, Limits};
pub(crate) use memory::{available_bytes, touch_memory};
pub(crate) use watch::Watch;
