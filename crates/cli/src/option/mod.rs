//! Options that several applets have: their tables, the reading of their values, their help.

pub(crate) mod color;
pub(crate) mod config;
pub(crate) mod data;
pub(crate) mod effect;
pub(crate) mod gentle;
pub(crate) mod help;
pub(crate) mod list_place;
pub(crate) mod metrics;
pub(crate) mod select;
pub(crate) mod stream;
pub(crate) mod trust;
