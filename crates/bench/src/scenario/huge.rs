//! `huge`: the cost of a byte, where only ranges of the one file can be copied in parallel.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "huge",
    about: "one huge file",
    work: Work::CopyFile,
    quick: "flat:files=1,size=1G",
    full: "flat:files=1,size=1G",
    repeats: 1,
};
