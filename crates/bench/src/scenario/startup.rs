//! `startup`: scripts copy one small file at a time, thousands of times.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "startup",
    about: "one file of 1 KiB: what it costs to start the tool at all",
    work: Work::CopyFile,
    quick: "flat:files=1,size=1K",
    full: "flat:files=1,size=1K",
    repeats: 40,
};
