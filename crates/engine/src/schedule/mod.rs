//! What the descriptors allow a run to use.

pub(crate) mod budget;
