//! `flat-small`: the cost of an entry, where the kernel's lock on the one directory limits
//! parallelism.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "flat-small",
    about: "small files in one directory",
    work: Work::CopyTree,
    quick: "flat:files=30000,size=512",
    full: "flat:files=100000,size=512",
    repeats: 1,
};
