//! What a run does with an archive, and how that is compressed.

use haul_archive::filter::Filter;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    List,
    Extract,
    Create,
    Compare,
    Append,
}

/// How the archive is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// Read as its first bytes say, and written plain.
    Auto,
    Known(Filter),
    /// A program and its arguments.
    Program(Vec<String>),
}
