//! A new file on its way to its name: hidden names, publication, evidence that it is stored.

pub(crate) mod atomic_file;
pub mod attributes;
pub mod flags;
pub mod hidden;
pub mod inherit;
pub mod last_check;
pub(crate) mod locked_rename;
pub mod new_file;
pub mod publish;
pub mod stored;
