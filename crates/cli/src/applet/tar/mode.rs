//! The modes of `tar`.

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    List,
    Extract,
    Create,
    Compare,
    Append,
}
