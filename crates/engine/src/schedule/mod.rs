//! When work is done: a pool that grows only while there is work, and what the machine allows.

pub(crate) mod budget;
pub(crate) mod finish;
pub(crate) mod meter;
pub(crate) mod pool;
