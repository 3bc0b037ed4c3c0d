//! `delete-mixed`: removing large files includes truncating them.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "delete-mixed",
    about: "delete files of all sizes",
    work: Work::Delete,
    quick: "mixed:files=3000,median=8K,cap=16M",
    full: "mixed:files=15000,median=8K,cap=64M",
    repeats: 1,
};
