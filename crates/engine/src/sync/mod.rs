//! Synchronisation: what a copy does more where it makes a target the same as its source.
//!
//! The copy walks, makes and fills as always. Here are the comparison of an entry with the one that the target has,
//! the setting of attributes alone, and the removal of what the source does not have. The rules are in
//! [`crate::decide`], as all rules are.

pub(crate) mod adjust;
pub(crate) mod backups;
pub(crate) mod basis;
pub(crate) mod compare;
pub(crate) mod extraneous;
pub(crate) mod given;
pub(crate) mod links;
pub(crate) mod overlap;
pub(crate) mod parts;
pub(crate) mod pruned;
pub(crate) mod shared;
pub(crate) mod wanted;
