//! JSON lines: one object a line, every name lossless (`lossless.rs`).

mod explain;
mod reporter;
mod summary;

pub(super) use reporter::{Json, failure};
