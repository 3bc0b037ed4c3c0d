//! `nested-small`: the cost of an entry, where directories can be processed in parallel.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "nested-small",
    about: "small files in many directories",
    work: Work::CopyTree,
    quick: "nested:files=20000,dirs=80,parents=8,size=1K",
    full: "nested:files=50000,dirs=200,parents=20,size=1K",
    repeats: 1,
};
