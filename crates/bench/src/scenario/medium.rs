//! `medium`: between the cost of an entry and the cost of a byte.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "medium",
    about: "files of 1 MiB",
    work: Work::CopyTree,
    quick: "nested:files=256,dirs=8,size=1M",
    full: "nested:files=1024,dirs=16,size=1M",
    repeats: 1,
};
