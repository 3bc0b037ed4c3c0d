//! What the caller wants done with the bytes of a file: plain data.

/// Whether blocks may be shared with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reflink {
    /// Where the file system can, else the bytes are copied.
    #[default]
    Auto,
    /// Or else the copy fails.
    Always,
    /// Never; nor may the kernel do so behind `copy_file_range`.
    Never,
}

/// What becomes of holes and of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sparse {
    /// The source's holes stay holes.
    #[default]
    Auto,
    /// Runs of zeros become holes as well.
    Always,
    /// The target has no holes.
    Never,
}

/// The policy for the bytes of each file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DataPolicy {
    /// Whether blocks may be shared.
    pub reflink: Reflink,
    /// What becomes of holes.
    pub sparse: Sparse,
}
