//! `delete-scattered`: large files among small ones, where removing the large ones overlaps with
//! removing the small ones.

use super::{Definition, Work};

pub(super) const DEFINITION: Definition = Definition {
    name: "delete-scattered",
    about: "delete some large files among many small ones",
    work: Work::Delete,
    quick: "scattered:files=10000,dirs=40,size=1K,large=10,large-size=64M",
    full: "scattered:files=20000,dirs=80,size=1K,large=20,large-size=256M",
    repeats: 1,
};
