//! `large`: the cost of a byte, where files can be copied in parallel.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "large",
    about: "some large files",
    work: Work::CopyTree,
    quick: "flat:files=8,size=32M",
    full: "flat:files=24,size=64M",
    repeats: 1,
};
