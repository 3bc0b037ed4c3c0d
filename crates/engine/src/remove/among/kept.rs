//! Whether entries of a unit stay.

use crate::peers::Answer;

/// Whether an entry stays that a removal reported. Then the directories above it stay without a
/// report, also where another process has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nothing stays.
    Nothing,
    /// An entry stays.
    Entries,
}

impl Kept {
    /// Returns the answer to the process that found the unit.
    pub(crate) fn answer(self) -> Answer {
        match self {
            Kept::Nothing => Answer::new(),
            Kept::Entries => vec![1],
        }
    }

    /// Returns what an answer says.
    pub(crate) const fn of(answer: &[u8]) -> Kept {
        if answer.is_empty() { Kept::Nothing } else { Kept::Entries }
    }
}
