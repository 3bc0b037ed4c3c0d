//! `mixed`: a realistic mix, so that no tool wins by one file size alone.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "mixed",
    about: "files of all sizes, links, odd names: a home directory",
    work: Work::CopyTree,
    quick: "mixed:files=3000,median=8K,cap=16M",
    full: "mixed:files=15000,median=8K,cap=64M",
    repeats: 1,
};
