//! Messages for failures of a move, in GNU mv's words.

use haul_engine::error::{Failure, What};

use super::copy;
use crate::escape::quote;
use crate::set_aside;

/// Returns the message for a failure of a move.
pub(super) fn of_move(failure: &Failure) -> String {
    let action = action(failure);
    match failure.errno {
        Some(errno) => format!("{action}: {}", haul_sys::errno_text(errno)),
        None => action,
    }
}

fn action(failure: &Failure) -> String {
    let (source, target) = (quote(&failure.source), quote(&failure.target));
    match failure.what {
        What::BackupDestroysSource => {
            format!("backing up {target} might destroy source;  {source} not moved")
        }
        What::IntoItself => {
            format!("cannot move {source} to a subdirectory of itself, {target}")
        }
        What::GivenTwice => format!("warning: source directory {source} specified more than once"),
        What::Move => format!("cannot move {source} to {target}"),
        What::Exchange => format!("cannot exchange {source} and {target}"),
        What::Overwrite => format!("cannot overwrite {target}"),
        What::RemoveTarget => {
            format!("inter-device move failed: {source} to {target}; unable to remove target")
        }
        What::Sync => format!("error syncing {target}; {source} stays where it is"),
        What::Changed => {
            format!(
                "{source} changed while it was moved; it stays, in addition to its copy {target}"
            )
        }
        What::TargetChanged => {
            format!("not replacing {target}: it changed while {source} was copied, which stays")
        }
        What::InUse => {
            format!("cannot move {source} to {target}: another command is doing that right now")
        }
        What::UnfinishedCopy => {
            format!("cannot remove {target}, an unfinished copy of {source}")
        }
        What::Note => format!("cannot write the note {target} on the move of {source}"),
        What::SetAside => set_aside::words(&failure.source, &failure.target),
        What::Interrupted => format!(
            "interrupted: run the same command again to resume; {target} has what was copied of \
             {source}"
        ),
        // The others read as they do for a copy.
        what => copy::action(what, (&failure.source, &failure.target)),
    }
}
