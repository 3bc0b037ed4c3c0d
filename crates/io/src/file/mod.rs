//! A new file on its way to its name: hidden names, publication, evidence that it is stored.

pub mod attributes;
pub mod flags;
pub mod hidden;
pub mod inherit;
pub mod last_check;
pub(crate) mod locked_rename;
pub mod publish;
pub mod stored;
