//! How the bytes of an archive are kept in its file, which says how the archive has to end.

use haul_archive::format::Ending;

/// How the bytes of an archive are kept in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// As they are.
    Plain,
    /// Compressed.
    Packed,
    /// Compressed, and its index chose some of them.
    Selected,
}

impl Kept {
    /// Returns how the archive has to end.
    pub(super) const fn ending(self) -> Ending {
        match self {
            Kept::Plain => Ending::NotEmpty,
            Kept::Packed => Ending::Zeros,
            Kept::Selected => Ending::Any,
        }
    }
}
