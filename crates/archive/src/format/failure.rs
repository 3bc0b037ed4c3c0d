//! Why the headers of a member give no member, and what that costs.

use super::next::ReadError;
use super::refusal::Refusal;

/// Why the headers of a member give no member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The archive cannot be read.
    Read(ReadError),
    /// The member is refused, and the next header begins behind its data.
    Refused(Refusal),
    /// It is refused, and unknown where the next header begins.
    Lost(Refusal),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Read(error)
    }
}
