//! What a rehearsal tells: the steps of the copy that is talked through.

use haul_sys::fs::Kind;

use crate::decide::Reason;
use crate::error::Failure;

/// What would be done about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It would be made, for nothing has its name.
    Create,
    /// What is there would get its contents.
    Overwrite,
    /// What is there would be removed, and it would be made.
    Replace,
    /// What is there would get a backup's name, and it would be made.
    BackUp,
    /// Its entries would go into the directory that is there.
    Merge,
    /// It would become another name of a file that was copied before.
    Link,
    /// A person would be asked whether what is there may be overwritten.
    Ask,
    /// What is there would stay.
    Skip(Reason),
}

/// An entry and what would be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What would be done.
    pub intent: Intent,
    /// Its kind.
    pub kind: Kind,
    /// How large it is, if it is a regular file.
    pub bytes: u64,
    /// The source's path for people.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
}

/// Hears what would be done.
pub trait Audience {
    /// Hears of an entry.
    fn step(&mut self, step: &Step);

    /// Hears of what would fail.
    fn failed(&mut self, failure: &Failure);
}
