//! Decisions about an entry, as pure functions of facts and policy. No I/O.
//!
//! [`classify`] is the only function that decides what happens to an entry: a copy acts on its
//! answer, and a rehearsal prints it. A new rule here therefore applies to both.

mod classify;
mod facts;
mod kinds;
mod mode;
mod synchronize;
mod taken;

#[cfg(test)]
mod tests;

pub(crate) use classify::{classify, makes_nothing, separates};
pub use facts::Reason;
pub(crate) use facts::{
    Action, Decision, Facts, LinkText, Nesting, Occupant, Role, Seen, Source, Taken, TargetName,
};
pub(crate) use kinds::{
    Contents, contents, creation_call, follows, follows_links, is_entered, is_read, is_tracked,
    selects_as,
};
pub(crate) use mode::{creation_mode, replaced_mode, usual_mode};
