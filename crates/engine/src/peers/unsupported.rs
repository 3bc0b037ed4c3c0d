//! What several processes cannot do together.

use std::fmt;

use crate::data::request::{Consent, Order, Request, WholeDigest};

/// Part of a request that several processes cannot carry out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// A list of the digests of all files, because one process would have to write those of all.
    DigestList,
    /// Questions to the user, because the other processes have no terminal.
    Questions,
    /// One entry after another.
    Order,
    /// Backups of replaced files: a second operand could back up a file of the first one, and only
    /// one process knows what the operands have created.
    Backups,
    /// A selection, whose rules depend on the directories above an entry.
    Selection,
    /// Rules of a synchronisation.
    Synchronize,
    /// Approval of each removal, which needs the records of one process.
    Approval,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::DigestList => "a list of digests",
            Unsupported::Questions => "questions",
            Unsupported::Order => "a fixed order of entries",
            Unsupported::Backups => "backups",
            Unsupported::Selection => "a selection of entries",
            Unsupported::Synchronize => "a synchronisation",
            Unsupported::Approval => "approval of each removal",
        })
    }
}

/// Returns the first part of a request that several processes cannot carry out together.
pub(crate) fn unsupported(request: &Request) -> Option<Unsupported> {
    let policy = &request.policy;
    let parts = [
        (
            policy.hashing.is_some_and(|hashing| hashing.whole == WholeDigest::Tell),
            Unsupported::DigestList,
        ),
        (policy.consent == Consent::Ask, Unsupported::Questions),
        (policy.order == Order::Listed, Unsupported::Order),
        (policy.backup.is_some(), Unsupported::Backups),
        (policy.selection.is_some(), Unsupported::Selection),
        (policy.synchronize.is_some(), Unsupported::Synchronize),
    ];
    parts.into_iter().find_map(|(is_wanted, part)| is_wanted.then_some(part))
}
