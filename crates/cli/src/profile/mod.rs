//! Profiles: what `haul tune` measured between two file systems, for `haul cp` to apply.
//!
//! A build without the feature `bench` has no `haul tune`, and uses no profiles.

#[cfg(not(feature = "bench"))]
mod absent;
#[cfg(feature = "bench")]
mod find;
mod wanted;

#[cfg(not(feature = "bench"))]
pub(crate) use absent::find;
#[cfg(feature = "bench")]
pub(crate) use find::{find, folder};
pub(crate) use wanted::Wanted;
