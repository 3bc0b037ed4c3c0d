//! What several processes cannot do together.

use std::fmt;

use crate::remove;
use crate::request::{Appearance, Consent, Order, Request};

/// Part of a request that several processes cannot carry out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// A journal, because each process would need one.
    Journal,
    /// Files that get their names after a flush for many files. Files of a unit would wait for
    /// files of other units, and the process that sent the unit would wait for them.
    Durable,
    /// Digests of the copied bytes, for the same reason.
    Digests,
    /// Questions to the user, because the other processes have no terminal.
    Questions,
    /// One entry after another.
    Order,
    /// Backups of replaced files: a second operand could back up a file of the first one, and only
    /// one process knows what the operands have created.
    Backups,
    /// Approval of each removal, which needs the records of one process.
    Approval,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::Journal => "a journal",
            Unsupported::Durable => "common flushes",
            Unsupported::Digests => "digests of the copied bytes",
            Unsupported::Questions => "questions",
            Unsupported::Order => "a fixed order of entries",
            Unsupported::Backups => "backups",
            Unsupported::Approval => "approval of each removal",
        })
    }
}

/// Returns the first part of a request that several processes cannot carry out together.
pub(crate) fn unsupported(request: &Request) -> Option<Unsupported> {
    let policy = &request.policy;
    let parts = [
        (request.resume.is_some(), Unsupported::Journal),
        (policy.appearance == Appearance::Durable, Unsupported::Durable),
        (policy.hashing.is_some(), Unsupported::Digests),
        (policy.consent == Consent::Ask, Unsupported::Questions),
        (policy.order == Order::Listed, Unsupported::Order),
        (policy.backup.is_some(), Unsupported::Backups),
    ];
    parts.into_iter().find_map(|(is_wanted, part)| is_wanted.then_some(part))
}

/// Returns the first part of a removal that several processes cannot carry out together.
pub(crate) fn unsupported_removal(policy: &remove::Policy) -> Option<Unsupported> {
    let parts = [
        (policy.ask != remove::Ask::Never, Unsupported::Questions),
        (policy.order == Order::Listed, Unsupported::Order),
        (policy.approval == remove::Approval::Each, Unsupported::Approval),
    ];
    parts.into_iter().find_map(|(is_wanted, part)| is_wanted.then_some(part))
}
