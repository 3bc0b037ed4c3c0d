//! What the copy would have made by now, as far as entries that come later meet it.
//!
//! A copy sees what it has made: an operand that is given twice, a name that another operand got, the
//! first name of a file with several. A rehearsal makes nothing, so it remembers.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::os::fd::AsFd;

use haul_sys::fs::Follow;
use haul_sys::fs::{Kind, Stat, Time, fstat, open_directory, readlinkat, statat_follow};

use super::place::Place;
use crate::apply::existing::describe;
use crate::decide::{Action, Contents, Occupant, Seen, Source, Taken, contents, is_tracked};
use crate::plan::Plan;
use crate::request::{Dereference, Make, Policy};
use crate::walk::node::{Identity, identity};
use crate::walk::path::{directory_of, is_here};
use haul_tree::Operand;

/// The device of what does not exist yet. No file system has this number.
const IMAGINED_DEV: u64 = u64::MAX;

/// The bits of a mode that tell a symbolic link and a regular file.
const LINK_BITS: u32 = 0o120_777;
const REGULAR_BITS: u32 = 0o100_000;

/// A name that would be in the target by now.
#[derive(Clone, Copy)]
struct Made {
    link: Stat,
    followed: Option<Stat>,
}

impl Made {
    fn reached(&self) -> Option<Stat> {
        if self.link.kind() == Kind::Symlink { self.followed } else { Some(self.link) }
    }
}

/// The first name of a file that has, or may get, several.
struct FirstName {
    made: Made,
    /// Names of the source that did not come along yet; the file is forgotten with the last.
    left: u64,
}

/// What would have been made by now.
pub(super) struct Imagined {
    /// By path; kept only where operands may meet in the target.
    entries: Option<HashMap<Vec<u8>, Made>>,
    /// What operands stand for.
    sources: HashSet<(CString, Identity)>,
    /// Target names that operands got, and the file or link that each is.
    names: HashSet<(CString, Identity)>,
    /// Regular files that have an operand's bytes, and that operand.
    files: HashMap<Identity, Identity>,
    links: HashMap<Identity, FirstName>,
    /// Directories of the target that operands go to.
    roots: HashSet<Identity>,
    /// Directories in which such a directory would be made, and how many.
    parents_of_roots: HashMap<Identity, usize>,
    /// Files of the target, and how many of their names would be gone.
    names_gone: HashMap<Identity, u64>,
    several_operands: bool,
    last_ino: u64,
}

impl Imagined {
    pub(super) fn new(plan: &Plan) -> Imagined {
        let several_operands = plan.operands.len() > 1;
        let mut names = HashSet::new();
        let may_meet = plan.operands.iter().any(|operand| {
            // The contents of '.' go into the target itself, among the other operands.
            (several_operands && operand.target.as_c_str() == c".")
                // Leading directories are shared, and may lead back.
                || operand.rest.is_some()
                || !names.insert(&operand.target)
        });
        Imagined {
            entries: may_meet.then(HashMap::new),
            sources: HashSet::new(),
            names: HashSet::new(),
            files: HashMap::new(),
            links: HashMap::new(),
            roots: HashSet::new(),
            parents_of_roots: HashMap::new(),
            names_gone: HashMap::new(),
            several_operands,
            last_ino: 0,
        }
    }

    /// Tells whether a name would only be there by now, and is not.
    pub(super) fn is_imagined(taken: &Taken) -> bool {
        taken.link.dev == IMAGINED_DEV
    }

    /// Remembers what an operand stands for; `true` if another stood for the same before.
    pub(super) fn is_given_twice(&mut self, name: &CString, stat: &Stat) -> bool {
        self.several_operands && !self.sources.insert((name.clone(), identity(stat)))
    }

    /// Tells whether a directory is one that an operand goes to.
    pub(super) fn is_root(&self, id: Identity) -> bool {
        self.roots.contains(&id)
    }

    /// Returns how many directories that operands go to would be found in a directory, although they
    /// are not there yet.
    pub(super) fn roots_in(&self, id: Identity) -> usize {
        self.parents_of_roots.get(&id).copied().unwrap_or(0)
    }

    /// Tells whether another name of the same file would have been copied by now.
    pub(super) fn seen(&self, source: &Source<'_>, policy: &Policy) -> Seen {
        let is_linked = is_tracked(source.role, source.stat, policy)
            && self.links.contains_key(&identity(source.stat));
        if is_linked { Seen::AsLink } else { Seen::No }
    }

    /// Describes what would have an entry's name by now.
    pub(super) fn taken(
        &self,
        place: &Place,
        operand: &Operand,
        source: &Source<'_>,
        policy: &Policy,
    ) -> haul_sys::Result<Option<Taken>> {
        let path = || key(&place.path_of_target(operand));
        let made = self.entries.as_ref().and_then(|entries| entries.get(&path()));
        let taken = match (made, place.sides(operand)) {
            (Some(made), _) => Some(Taken {
                link: made.link,
                followed: made.followed,
                is_loop: false,
                step_ns: 1,
                same_name: false,
                backup_is_source: false,
                occupant: Occupant::Older,
            }),
            (None, Some(sides)) => describe(sides, source.link, policy)?,
            (None, None) => None,
        };
        Ok(taken.map(|mut taken| {
            taken.occupant = self.occupant(place, operand, (source, &taken));
            let gone = self.names_gone.get(&identity(&taken.link)).copied().unwrap_or(0);
            taken.link.nlink = taken.link.nlink.saturating_sub(gone).max(1);
            taken
        }))
    }

    fn occupant(
        &self,
        place: &Place,
        operand: &Operand,
        (source, taken): (&Source<'_>, &Taken),
    ) -> Occupant {
        let (link, source_id) = (identity(&taken.link), identity(source.stat));
        let first = self.links.get(&source_id).filter(|_| source.seen == Seen::AsLink);
        if first.is_some_and(|first| identity(&first.made.link) == link) {
            return Occupant::SameLink;
        }
        if !place.lists_operands {
            return Occupant::Older;
        }
        if self.names.contains(&(operand.target.clone(), link)) {
            return Occupant::OperandName;
        }
        let bytes_of = taken.reached().and_then(|file| self.files.get(&identity(&file)));
        match bytes_of {
            Some(other) if *other != source_id => Occupant::OperandBytes,
            _ => Occupant::Older,
        }
    }

    /// Remembers an entry that would be made, or whose name would stay as it is.
    pub(super) fn note(
        &mut self,
        (place, operand): (&Place, &Operand),
        source: &Source<'_>,
        (action, taken): (Action, Option<&Taken>),
        policy: &Policy,
    ) {
        if source.is_directory() {
            self.note_directory((place, operand), source, (action, taken));
            return;
        }
        let Some(made) = self.made((place, operand), source, (action, taken), policy) else {
            return;
        };
        let id = identity(source.stat);
        let is_removed = action == Action::Replace
            || (action == Action::Overwrite && source.seen == Seen::AsLink);
        if let Some(taken) = taken.filter(|_| is_removed) {
            *self.names_gone.entry(identity(&taken.link)).or_default() += 1;
        }
        if source.seen == Seen::AsLink {
            self.join(id);
        } else if is_tracked(source.role, source.stat, policy) {
            // Where links are followed, there may always be another name.
            let follows = policy.dereference != Dereference::Never;
            let left = if follows { u64::MAX } else { source.stat.nlink.saturating_sub(1) };
            self.links.insert(id, FirstName { made, left });
        }
        if matches!(action, Action::Skip(_)) {
            return;
        }
        if let Some(entries) = &mut self.entries {
            entries.insert(key(&place.path_of_target(operand)), made);
        }
        if self.several_operands && place.lists_operands && source.seen != Seen::AsLink {
            self.names.insert((operand.target.clone(), identity(&made.link)));
            if contents(source.stat.kind(), policy) == Contents::Data
                && matches!(policy.make, Make::Copy | Make::Attributes)
                && let Some(file) = made.reached().filter(|file| file.kind() == Kind::Regular)
            {
                self.files.insert(identity(&file), id);
            }
        }
    }

    fn join(&mut self, id: Identity) {
        let Some(first) = self.links.get_mut(&id) else { return };
        first.left = first.left.saturating_sub(1);
        if first.left == 0 {
            self.links.remove(&id);
        }
    }

    fn note_directory(
        &mut self,
        (place, operand): (&Place, &Operand),
        source: &Source<'_>,
        (action, taken): (Action, Option<&Taken>),
    ) {
        let is_root = place.lists_operands && operand.rest.is_none();
        match (action, taken.and_then(Taken::reached)) {
            (Action::Merge, Some(there)) if is_root => {
                self.roots.insert(identity(&there));
            }
            (Action::Create, _) => {
                if is_root && let Some(parent) = parent_of(place, operand) {
                    *self.parents_of_roots.entry(parent).or_default() += 1;
                }
                let link = self.imagine(source.stat, source.stat.mode, source.stat.mtime);
                if let Some(entries) = &mut self.entries {
                    entries
                        .insert(key(&place.path_of_target(operand)), Made { link, followed: None });
                }
            }
            _ => {}
        }
    }

    /// Returns what would have the name afterwards; `None` if nothing is done about the entry.
    fn made(
        &mut self,
        (place, operand): (&Place, &Operand),
        source: &Source<'_>,
        (action, taken): (Action, Option<&Taken>),
        policy: &Policy,
    ) -> Option<Made> {
        let keeps = |taken: &Taken| Made { link: taken.link, followed: taken.followed };
        match action {
            Action::Skip(_) => return taken.map(keeps),
            Action::Look | Action::Merge | Action::Collide | Action::Refuse(_) => return None,
            Action::Create | Action::Overwrite | Action::Replace | Action::BackUp => {}
        }
        if source.seen == Seen::AsLink {
            return self.links.get(&identity(source.stat)).map(|first| first.made);
        }
        let mtime = if policy.preserve.times.wanted() { source.stat.mtime } else { NOW };
        if action == Action::Overwrite {
            return taken.map(|taken| rewritten(keeps(taken), mtime));
        }
        match policy.make {
            Make::HardLink => Some(Made { link: *source.stat, followed: source.followed }),
            Make::SymbolicLink => Some(Made {
                link: self.imagine(source.stat, LINK_BITS, NOW),
                followed: Some(*source.stat),
            }),
            Make::Copy | Make::Attributes => {
                let is_data = contents(source.stat.kind(), policy) == Contents::Data;
                let bits = source.stat.mode & 0o7777;
                let mode = if is_data { REGULAR_BITS | bits } else { source.stat.mode };
                let link = self.imagine(source.stat, mode, mtime);
                let is_link = source.stat.kind() == Kind::Symlink;
                let followed = is_link.then(|| copied_referent(place, operand)).flatten();
                Some(Made { link, followed })
            }
        }
    }

    /// Describes a file that does not exist yet, and is like no other.
    fn imagine(&mut self, source: &Stat, mode: u32, mtime: Time) -> Stat {
        self.last_ino += 1;
        Stat { dev: IMAGINED_DEV, ino: self.last_ino, nlink: 1, mode, mtime, ..*source }
    }
}

/// A time that nothing of the source is later than.
const NOW: Time = Time { seconds: i64::MAX / 2, nanoseconds: 0 };

fn rewritten(made: Made, mtime: Time) -> Made {
    match made {
        Made { link, followed: Some(file) } => {
            Made { link, followed: Some(Stat { mtime, ..file }) }
        }
        Made { link, followed: None } => Made { link: Stat { mtime, ..link }, followed: None },
    }
}

/// Returns what a copied link would lead to from its new place, if that can be found out.
fn copied_referent(place: &Place, operand: &Operand) -> Option<Stat> {
    let text = readlinkat(&place.source, &operand.source).ok()?;
    let is_absolute = text.to_bytes().starts_with(b"/");
    let target = place.target.as_ref()?;
    (is_absolute || is_here(operand.target.to_bytes()))
        .then(|| statat_follow(target, &text).ok())
        .flatten()
}

/// Returns the directory in which an operand's name would be made.
fn parent_of(place: &Place, operand: &Operand) -> Option<Identity> {
    let target = place.target.as_ref()?;
    let parent = directory_of(operand.target.to_bytes());
    let opened = open_directory(target.as_fd(), &parent, Follow::Yes).ok()?;
    fstat(&opened).ok().map(|stat| identity(&stat))
}

/// Spells a path in one way: without `.`, `..` and slashes that mean nothing. Directories that would be
/// made are no links, so `..` leads back to where the path came from.
fn key(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            [] | [b'.'] => {}
            [b'.', b'.'] if names.last().is_some_and(|last| *last != b"..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn one_name_has_one_key() {
        for path in ["t/a", "t/./a", "t//a/", "./t/a", "t/b/../a", "t/b/c/../../a"] {
            assert_eq!(key(path.as_bytes()), b"t/a", "{path}");
        }
        assert_eq!(key(b"../a"), b"../a");
        assert_eq!(key(b"../../a/../b"), b"../../b");
    }
}
