//! Names and identities: paths, files that a later run recognises, and what their times tell.

pub(crate) mod at;
pub(crate) mod by_identity;
pub mod file_systems;
pub mod known_names;
pub(crate) mod path;
pub(crate) mod timestamp_precision;
