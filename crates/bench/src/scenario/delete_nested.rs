//! `delete-nested`: the cost of removing an entry, where directories can be processed in parallel.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "delete-nested",
    about: "delete small files in many directories",
    work: Work::Delete,
    quick: "nested:files=20000,dirs=80,parents=8,size=1K",
    full: "nested:files=50000,dirs=200,parents=20,size=1K",
    repeats: 1,
};
