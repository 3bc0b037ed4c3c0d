//! The promises, checked after each run, by code that shares nothing with haul.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::case::{Case, Promise};
use super::scene::{Found, Older, Scene, TWIN};
use haul_manifest::Aspects;

use crate::support::judge::{compared, shown};
use crate::support::run::Done;
use crate::support::{Outcome, entries};

/// The beginning of haul's hidden names, which `haul clean` looks for.
const HIDDEN: &[u8] = b".haul-";

/// The ways in which a run ends, as far as the promises differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, after a failed call.
    Failed,
    /// By itself, while every `write` failed from some call on, so that no message is possible.
    Mute,
    /// By itself, undisturbed, after a killed run, whose hidden files may still exist.
    Again,
    /// By SIGKILL.
    Killed,
    /// By itself, undisturbed.
    Undisturbed,
    /// By itself, and `haul clean` has removed hidden files since.
    Cleaned,
}

/// Returns what is wrong with a run, if anything.
pub(super) fn objection(scene: &Scene, case: &Case, done: &Done, ending: Ending) -> Option<String> {
    if ending == Ending::Killed {
        if done.code() == Some(0) {
            return result(scene, case, ending)
                .map(|wrong| format!("it got to its end, but {wrong}"));
        }
    } else {
        if done.code() == Some(0) {
            // As with GNU, a move continues if the target does not support an attribute, and reports it.
            let warned = case.promise == Promise::Moved && is_tolerated(&done.errors());
            let aspects = if warned { Aspects::contents_only } else { case.aspects };
            return result(scene, &Case { aspects, ..*case }, ending)
                .map(|wrong| format!("exit 0, but {wrong}"))
                .or_else(|| unknown_names(scene, case, ending));
        }
        if !fails(case, done) {
            return Some(format!("ended by {:?}", done.status));
        }
        if done.stderr.is_empty() && ending != Ending::Mute {
            return Some("failed without a word".to_owned());
        }
    }
    names(scene, case)
        .unwrap_or_else(|error| Some(unjudged(&*error)))
        .or_else(|| unknown_names(scene, case, ending))
}

/// Returns whether a run ended with a status that means a failure: `sync` has those of rsync.
fn fails(case: &Case, done: &Done) -> bool {
    let statuses: &[i32] = if case.words.first() == Some(&"sync") { &[11, 23, 24] } else { &[1] };
    done.code().is_some_and(|code| statuses.contains(&code))
}

/// Returns whether every line reports something unsupported or not permitted, and no failure.
fn is_tolerated(errors: &str) -> bool {
    let is_reason = |line: &str| line.ends_with("not supported") || line.ends_with("not permitted");
    !errors.is_empty() && errors.lines().all(is_reason)
}

/// Treats a file that cannot be examined like a wrong one.
fn unjudged(error: &dyn std::error::Error) -> String {
    format!("what it left cannot be judged: {error}")
}

/// Checks that after exit code 0 everything requested is there.
fn result(scene: &Scene, case: &Case, ending: Ending) -> Option<String> {
    let goes = match case.promise {
        Promise::Gone => Some(scene.target()),
        Promise::Moved => Some(scene.source()),
        Promise::NeverLooksComplete | Promise::OldOrNew => None,
    };
    if goes.is_some_and(|path| fs::symlink_metadata(path).is_ok()) {
        return Some("it is still there".to_owned());
    }
    if case.promise == Promise::Gone {
        return None;
    }
    let comparison = compared(&scene.pristine(), &scene.target(), (case.aspects)());
    (!comparison.is_equal()).then(|| unexpected(&shown(&comparison), case, ending)).flatten()
}

/// Removes the allowed differences: with `-b` the backups, and the hidden files of a killed run, which
/// only `haul clean` removes.
fn unexpected(differences: &str, case: &Case, ending: Ending) -> Option<String> {
    let is_expected = |line: &str| {
        (case.words.contains(&"-ab") && line.contains('~'))
            || ((ending == Ending::Again || keeps_journal(case)) && line.contains(".haul-"))
    };
    let left: Vec<&str> = differences.lines().filter(|line| !is_expected(line)).collect();
    (!left.is_empty()).then(|| left.join("\n"))
}

/// Checks that after any other end no name has contents that look right and are wrong.
fn names(scene: &Scene, case: &Case) -> Outcome<Option<String>> {
    for name in scene.files() {
        let target = scene.found(&scene.target(), name)?;
        let is_old_or_new = matches!(target, Found::Whole | Found::Older);
        let wrong = match case.promise {
            Promise::Gone => false,
            Promise::Moved => {
                let source = scene.found(&scene.source(), name)?;
                if source != Found::Whole && target != Found::Whole {
                    return Ok(Some(format!("{name:?} is whole in neither place")));
                }
                target != Found::Missing && !is_old_or_new
            }
            // A file that did not exist before may be missing.
            Promise::OldOrNew if target == Found::Missing => {
                case.older == Older::Files && name != TWIN
            }
            Promise::OldOrNew => !is_old_or_new,
            Promise::NeverLooksComplete => target == Found::LooksWhole,
        };
        if wrong {
            return Ok(Some(format!("{name:?} is wrong, and looks right")));
        }
    }
    Ok(None)
}

/// Checks that new names are known ones, and that after an orderly end there are none.
pub(super) fn unknown_names(scene: &Scene, case: &Case, ending: Ending) -> Option<String> {
    let strange = match unknown_entries(scene, case, ending) {
        Ok(strange) => strange,
        Err(error) => return Some(unjudged(&*error)),
    };
    (!strange.is_empty()).then(|| format!("it left {strange:?}"))
}

fn unknown_entries(scene: &Scene, case: &Case, ending: Ending) -> Outcome<Vec<PathBuf>> {
    let mut strange = Vec::new();
    let mut waiting = vec![scene.target(), scene.scratch.path().to_owned()];
    if scene.target_folder() != scene.scratch.path() {
        waiting.push(scene.target_folder().to_owned());
    }
    while let Some(directory) = waiting.pop() {
        for entry in entries(&directory)? {
            let path = entry.path();
            let is_top = directory == scene.scratch.path() || directory == scene.target_folder();
            if is_known(scene, case, &path, is_top) {
                if entry.file_type()?.is_dir() && !is_top {
                    waiting.push(path);
                }
                continue;
            }
            let is_hidden = entry.file_name().as_bytes().starts_with(HIDDEN);
            let may_hide = match ending {
                Ending::Cleaned => false,
                Ending::Undisturbed => keeps_journal(case),
                Ending::Failed | Ending::Mute | Ending::Again | Ending::Killed => true,
            };
            if !(is_hidden && may_hide) {
                strange.push(path);
            }
        }
    }
    Ok(strange)
}

fn is_known(scene: &Scene, case: &Case, path: &Path, is_top: bool) -> bool {
    if is_top {
        let name = path.file_name().unwrap_or_default().as_bytes();
        return matches!(name, b"s" | b"p" | b"t" | b"w" | b"log") || is_backup(case, path);
    }
    let relative = path.strip_prefix(scene.target()).unwrap_or(path);
    let in_source = fs::symlink_metadata(scene.pristine().join(relative)).is_ok();
    in_source || case.promise == Promise::Gone || is_backup(case, path)
}

/// Returns whether a complete run leaves its journal, marked, under a hidden name.
fn keeps_journal(case: &Case) -> bool {
    case.words.contains(&"--resume")
}

fn is_backup(case: &Case, path: &Path) -> bool {
    case.words.contains(&"-ab") && path.as_os_str().as_bytes().ends_with(b"~")
}
