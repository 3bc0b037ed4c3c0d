//! The conditions after a run with a concurrent change.

use std::path::{Path, PathBuf};

use super::alter::{Alteration, Change};
use super::case::{Case, Does, Older};
use super::stage::{Places, input};
use super::state::Entry;
use crate::support::run::Done;

/// A run with a change in it.
pub(super) struct Run<'a> {
    pub(super) case: &'a Case,
    pub(super) change: Change,
    /// Before the command was started.
    pub(super) before: &'a Places,
    /// Immediately after the change.
    pub(super) changed: &'a Places,
    /// After the command has ended.
    pub(super) after: &'a Places,
    /// Whether the change was made immediately before a removal, so that no check could come later.
    pub(super) is_inseparable: bool,
    pub(super) done: &'a Done,
    pub(super) hung: bool,
}

impl Run<'_> {
    /// Returns what is wrong, if anything.
    pub(super) fn objection(&self) -> Option<String> {
        if self.hung {
            return Some("it hung".to_owned());
        }
        if self.done.crashed() || self.done.signal().is_some() {
            return Some("it crashed".to_owned());
        }
        if self.done.code() != Some(0) && self.done.stderr.is_empty() {
            return Some("it failed without a word".to_owned());
        }
        if !self.is_outside_untouched() {
            return Some(format!("outside: {:?}", self.after.outside));
        }
        self.gone().or_else(
            || {
                if self.done.code() == Some(0) { self.result() } else { self.kept() }
            },
        )
    }

    /// Checks that nothing outside was written or removed.
    fn is_outside_untouched(&self) -> bool {
        let (mut now, victim) = (self.after.outside.clone(), Path::new("victim"));
        let leads_there =
            matches!(self.change.how, Alteration::LinkAtTarget | Alteration::TargetBecomesLink);
        // As with GNU cp, a link at a target's name is followed; but not in a directory that the run
        // itself has made.
        let follows = matches!(self.case.does, Does::Copies | Does::Writes);
        if follows && self.case.older != Older::Nothing && leads_there {
            let is_written = now.get(victim).is_some_and(|now| self.is_given(now));
            if let (true, Some(was)) = (is_written, self.changed.outside.get(victim)) {
                now.insert(victim.to_owned(), was.clone());
            }
        }
        now == self.changed.outside
    }

    /// Returns whether a file has the complete contents that the command copies to the victim's name.
    fn is_given(&self, now: &Entry) -> bool {
        let victim = Path::new(self.change.victim);
        match (self.case.does, now) {
            (Does::Writes, Entry::File { bytes, .. }) => *bytes == input(),
            _ => self.before.source.get(victim).is_some_and(|was| was.holds_the_same(now)),
        }
    }

    /// Returns an entry that is gone and was not copied.
    fn gone(&self) -> Option<String> {
        let (changed, after) = (self.changed, self.after);
        match self.case.does {
            Does::Copies => {
                let is_same = after.source == changed.source && after.moved == changed.moved;
                (!is_same).then(|| "the source is not what it was".to_owned())
            }
            Does::Moves => self.lost(),
            Does::Cleans => changed.target.iter().find_map(|(name, entry)| {
                let is_gone = !is_hidden(name) && after.target.get(name) != Some(entry);
                is_gone.then(|| format!("{name:?} is gone, an ordinary name"))
            }),
            Does::Removes | Does::Writes => None,
        }
    }

    /// Returns an entry that a move left in neither of its places.
    fn lost(&self) -> Option<String> {
        if self.is_inseparable {
            return None;
        }
        let (changed, after, victim) = (self.changed, self.after, Path::new(self.change.victim));
        let in_target = |name: &Path, entry: &Entry| {
            let is = |found: Option<&Entry>| found.is_some_and(|now| now.holds_the_same(entry));
            // Entries that the change moved out of the target do not count.
            let put_away = name.strip_prefix(victim).ok().map(|rest| after.put_away.get(rest));
            is(after.target.get(name)) || put_away.is_some_and(is)
        };
        let of_source = changed.source.iter().map(|(name, entry)| {
            // What is about to be removed has a hidden name, and was copied under its own one.
            let own = set_aside(name).filter(|own| !changed.source.contains_key(own));
            (own.unwrap_or_else(|| name.clone()), entry)
        });
        // Entries that the change moved away must still be there, or in the target.
        let of_moved = changed
            .moved
            .iter()
            .map(|(name, entry)| (victim.join(name).components().collect(), entry));
        // Entries that were gone before the change must be in the target.
        let is_concerned = |name: &Path| {
            !self.names(name) || changed.source.contains_key(name) || name.starts_with(victim)
        };
        let of_before = self.before.source.iter().filter(|(name, _)| !is_concerned(name));
        let of_before = of_before.map(|(name, entry)| (name.clone(), entry));
        let stays = |name: &PathBuf, entry: &Entry| {
            let moved = name.strip_prefix(victim).ok().and_then(|rest| after.moved.get(rest));
            [after.source.get(name), moved]
                .into_iter()
                .flatten()
                .any(|now| now.holds_the_same(entry))
        };
        of_source.chain(of_moved).chain(of_before).find_map(|(name, entry)| {
            let is_kept = stays(&name, entry) || in_target(&name, entry);
            let now = after.target.get(&name);
            (!is_kept).then(|| format!("{name:?} is lost: {entry:?}; the target has {now:?}"))
        })
    }

    /// Checks that after exit code 0 everything has one of its states.
    fn result(&self) -> Option<String> {
        match self.case.does {
            Does::Removes | Does::Moves => {
                let left = self
                    .before
                    .source
                    .keys()
                    .find(|name| self.names(name) && self.after.source.contains_key(*name));
                if let Some(left) = left {
                    return Some(format!("exit 0, but {left:?} is still there"));
                }
            }
            Does::Writes => {
                let wanted = input();
                let is_ours = match self.after.target.get(Path::new("a")) {
                    Some(Entry::File { bytes, .. }) => *bytes == wanted,
                    _ => false,
                };
                return (!is_ours && self.is_named_still())
                    .then(|| format!("exit 0, but {:?}", self.after.target.get(Path::new("a"))));
            }
            Does::Cleans => {
                let left = self.after.target.keys().find(|name| is_hidden(name));
                return left.map(|left| format!("exit 0, but {left:?} is still there"));
            }
            Does::Copies => {}
        }
        if self.case.does == Does::Removes || !self.is_comparable() {
            return None;
        }
        let names = self.before.source.keys().chain(self.changed.source.keys());
        names.filter(|name| self.names(name)).find_map(|name| self.wrong_at(name))
    }

    /// A name of the target that is wrong.
    fn wrong_at(&self, name: &Path) -> Option<String> {
        let now = self.after.target.get(name);
        let mut states = vec![self.before.source.get(name), self.changed.source.get(name)];
        if self.case.follows && matches!(states.last(), Some(Some(Entry::Link(_)))) {
            states.push(self.changed.outside.get(Path::new("victim")));
        }
        let is_state = |state: &Option<&Entry>| match (state, now) {
            (None, None) => !self.came_alone(name),
            // The old entry was not replaced.
            (None, Some(now)) => self.before.target.get(name) == Some(now),
            (Some(state), Some(now)) => state.holds_the_same(now) && self.has_mode(&states, now),
            _ => false,
        };
        // A restored time shows no change; then a message is required, and nothing more.
        let is_told = self.change.how == Alteration::TouchBack
            && !self.done.stderr.is_empty()
            && name == Path::new(self.change.victim);
        let is_right = states.iter().any(is_state) || is_told;
        (!is_right).then(|| format!("exit 0, but {name:?} is {now:?}, was {states:?}"))
    }

    /// Returns whether a name is missing in a directory of the target that was made with it.
    fn came_alone(&self, name: &Path) -> bool {
        let Some(parent) = name.parent() else { return false };
        let is_new = |parent: &Path| {
            matches!(self.changed.source.get(parent), Some(Entry::Directory { .. }))
                && !matches!(self.before.source.get(parent), Some(Entry::Directory { .. }))
        };
        self.changed.source.contains_key(name)
            && is_new(parent)
            && matches!(self.after.target.get(parent), Some(Entry::Directory { .. }))
    }

    fn has_mode(&self, states: &[Option<&Entry>], now: &Entry) -> bool {
        let modes = || states.iter().filter_map(|state| state.and_then(Entry::mode));
        !self.case.keeps_modes
            || now.mode().is_none()
            || modes().any(|mode| Some(mode) == now.mode())
    }

    /// Checks that a change of only permissions or the number of names keeps a finished copy.
    fn kept(&self) -> Option<String> {
        let is_harmless = matches!(self.change.how, Alteration::Chmod | Alteration::HardLink);
        if !is_harmless || self.case.does != Does::Copies {
            return None;
        }
        self.before.source.iter().filter(|(name, _)| self.names(name)).find_map(|(name, entry)| {
            let is_there = self.after.target.get(name).is_some_and(|now| now.holds_the_same(entry));
            (!is_there).then(|| format!("no bytes changed, but {name:?} is not in the target"))
        })
    }

    /// Returns whether a name of the source is below an operand.
    fn names(&self, name: &Path) -> bool {
        !is_unnamed(self.case, name)
    }

    /// Returns whether only the command writes to the target.
    fn is_comparable(&self) -> bool {
        self.change.is_of_source() || self.change.how == Alteration::AppearsAtTarget
    }

    /// Returns whether the change left the name of the file that `write` wrote.
    fn is_named_still(&self) -> bool {
        self.change.how == Alteration::AppearsAtTarget
    }
}

fn is_unnamed(case: &Case, name: &Path) -> bool {
    let is_below = |operand: &&str| name.starts_with(operand);
    !case.operands.is_empty() && !case.operands.iter().any(is_below)
}

fn is_hidden(name: &Path) -> bool {
    name.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".haul-"))
}

/// Returns the own name of an entry that a move has given a hidden one, which contains it:
/// `.haul-LETTERS-DIGITS-NAME`.
fn set_aside(name: &Path) -> Option<PathBuf> {
    let leaf = name.file_name()?.to_str()?.strip_prefix(".haul-")?;
    let mut parts = leaf.splitn(3, '-');
    let (letters, digits, own) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hidden = letters.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_hidden.then(|| name.with_file_name(own))
}
