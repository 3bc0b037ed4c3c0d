//! `delete-flat`: the cost of removing an entry, which depends on the order of inodes and on one
//! lock.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "delete-flat",
    about: "delete small files in one directory",
    work: Work::Delete,
    quick: "flat:files=30000,size=512",
    full: "flat:files=100000,size=512",
    repeats: 1,
};
