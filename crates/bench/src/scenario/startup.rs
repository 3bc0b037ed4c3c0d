//! `startup`: the cost of starting a tool, as in scripts that copy thousands of files one by one.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "startup",
    about: "one file of 1 KiB: what it costs to start the tool at all",
    work: Work::CopyFile,
    quick: "flat:files=1,size=1K",
    full: "flat:files=1,size=1K",
    repeats: 40,
};
