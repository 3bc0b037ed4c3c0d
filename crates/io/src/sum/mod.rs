//! Sums of files: one file into something that takes bytes, and many files by several workers in order.

mod file;
mod many;

pub use file::{FileHash, Take, hash_file};
pub use many::{Turn, in_order};
