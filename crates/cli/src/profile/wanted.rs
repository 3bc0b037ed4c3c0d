//! Which profile a command line asks for.

use std::path::PathBuf;

/// Which profile is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Wanted {
    /// That of the two file systems, if there is one.
    #[default]
    Auto,
    /// None.
    None,
    /// This file.
    File(PathBuf),
}
