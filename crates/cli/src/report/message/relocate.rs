//! Messages for failures of a move, in GNU mv's words.

use haul_engine::error;
use haul_engine::relocate::{MoveFailure, What};

use super::copy;
use crate::escape::quote;

/// Returns the message for a failure of a move.
pub(in crate::report) fn of_move(failure: &MoveFailure) -> String {
    let action = match as_copy(failure.what) {
        Some(what) => copy::action(what, (&failure.source, &failure.target)),
        None => own_action(failure),
    };
    match failure.errno {
        Some(errno) => format!("{action}: {}", haul_sys::errno_text(errno)),
        None => action,
    }
}

/// Returns the action of a copy that has the same message.
const fn as_copy(what: What) -> Option<error::What> {
    Some(match what {
        What::Stat => error::What::Stat,
        What::StatTarget => error::What::StatTarget,
        What::TargetDirectory => error::What::TargetDirectory,
        What::TargetOperand => error::What::TargetOperand,
        What::SameFile => error::What::SameFile,
        What::OverDirectory => error::What::OverDirectory,
        What::OverNonDirectory => error::What::OverNonDirectory,
        What::JustCreated => error::What::JustCreated,
        What::NotReplacing => error::What::NotReplacing,
        What::Backup => error::What::Backup,
        What::CreateFile => error::What::CreateFile,
        _ => return None,
    })
}

fn own_action(failure: &MoveFailure) -> String {
    let (source, target) = (quote(&failure.source), quote(&failure.target));
    match failure.what {
        What::BackupDestroysSource => {
            format!("backing up {target} might destroy source;  {source} not moved")
        }
        What::IntoItself => {
            format!("cannot move {source} to a subdirectory of itself, {target}")
        }
        What::GivenTwice => format!("warning: source directory {source} specified more than once"),
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
        What::InUse => {
            format!("cannot move {source} to {target}: another command is doing that right now")
        }
        What::Leftover => {
            format!("cannot remove {target}, an unfinished copy of {source}")
        }
        What::Note => format!("cannot write the note {target} on the move of {source}"),
        What::Interrupted => format!(
            "interrupted: run the same command again to resume; {target} has what was copied of \
             {source}"
        ),
        _ => format!("cannot move {source} to {target}"),
    }
}
