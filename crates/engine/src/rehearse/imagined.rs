//! State of the target that the copy would have produced by now, as far as later entries depend on
//! it.
//!
//! A copy sees what it has made: an operand that is given twice, a name that another operand got,
//! the first name of a file with several names. A rehearsal makes nothing, so it records this
//! state.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::hash::BuildHasher;
use std::os::fd::AsFd;

use haul_sys::fs::Follow;
use haul_sys::fs::{
    Kind, RenameMode, Stat, Time, fstat, open_directory, readlinkat, statat_follow,
};

use super::foresee::Foreseen;
use super::place::Place;
use crate::copy::cut_short::is_cut_short;
use crate::copy::existing::describe;
use crate::data::request::{BackupKind, Dereference, Make, Policy};
use crate::decide::{
    Action, Contents, Decision, Occupant, Seen, Source, Taken, contents, follows, is_tracked,
};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{directory_of, is_here};
use crate::plan::Plan;
use crate::plan::backup::name_for;
use haul_tree::Operand;

/// Device number of files that do not exist yet. No file system has this number.
const IMAGINED_DEV: u64 = u64::MAX;

/// Mode bits of a symbolic link and of a regular file.
const LINK_BITS: u32 = 0o120_777;
const REGULAR_BITS: u32 = 0o100_000;

/// Name that the target would have by now.
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

/// First name of a file that has, or may get, several names.
struct FirstName {
    made: Made,
    /// Number of source names that the rehearsal has not met yet; it forgets the file with the last
    /// one.
    left: u64,
    /// Path of the name in the target.
    path: Vec<u8>,
}

/// Entry whose bytes a file would have by now.
#[derive(Clone, Copy)]
struct Written {
    /// Hash of its path in the target.
    path: u64,
    source: Identity,
}

/// Names and files that the copy would have made by now.
pub(super) struct Imagined {
    /// Names that the copy would have made, by path; recorded only where operands may share a path
    /// in the target.
    entries: Option<HashMap<Vec<u8>, Made>>,
    /// Files that the operands refer to.
    sources: HashSet<(CString, Identity)>,
    /// Target names that operands got, and the file or link that each name refers to.
    names: HashSet<(CString, Identity)>,
    /// Regular files that have the bytes of an entry, and that entry.
    files: HashMap<Identity, Written>,
    hasher: RandomState,
    links: HashMap<Identity, FirstName>,
    /// Paths of entries whose names end as those of backups do.
    named_like_backups: HashSet<Vec<u8>>,
    /// Target directories that operands go to.
    roots: HashSet<Identity>,
    /// Directories in which the copy would make such a directory, and the number of those.
    parents_of_roots: HashMap<Identity, usize>,
    /// Files of the target, and the number of their names that the copy would have removed.
    names_gone: HashMap<Identity, u64>,
    several_operands: bool,
    last_ino: u64,
}

impl Imagined {
    pub(super) fn new(plan: &Plan) -> Imagined {
        let several_operands = plan.operands.len() > 1;
        let mut names = HashSet::new();
        let may_meet = plan.operands.iter().any(|operand| {
            // The entries of '.' go into the target itself, beside the other operands.
            (several_operands && operand.target.as_c_str() == c".")
                // Operands share leading directories, and a path may lead back to one of them.
                || operand.rest.is_some()
                || !names.insert(&operand.target)
        });
        Imagined {
            entries: may_meet.then(HashMap::new),
            sources: HashSet::new(),
            names: HashSet::new(),
            files: HashMap::new(),
            hasher: RandomState::new(),
            links: HashMap::new(),
            named_like_backups: HashSet::new(),
            roots: HashSet::new(),
            parents_of_roots: HashMap::new(),
            names_gone: HashMap::new(),
            several_operands,
            last_ino: 0,
        }
    }

    /// Returns whether the copy would have made the name by now, so that it does not exist yet.
    pub(super) fn is_imagined(taken: &Taken) -> bool {
        taken.link.dev == IMAGINED_DEV
    }

    /// Records the file that an operand refers to. Returns `true` if an earlier operand referred to
    /// the same file.
    pub(super) fn is_given_twice(&mut self, name: &CString, stat: &Stat) -> bool {
        self.several_operands && !self.sources.insert((name.clone(), identity(stat)))
    }

    /// Returns whether an operand goes to this directory.
    pub(super) fn is_root(&self, id: Identity) -> bool {
        self.roots.contains(&id)
    }

    /// Returns the number of directories in this directory that operands go to and that do not
    /// exist yet.
    pub(super) fn roots_in(&self, id: Identity) -> usize {
        self.parents_of_roots.get(&id).copied().unwrap_or(0)
    }

    /// Returns the path in the target of the first name of a source's file.
    pub(super) fn first_name(&self, source: &Stat) -> Option<Vec<u8>> {
        self.links.get(&identity(source)).map(|first| first.path.clone())
    }

    /// Returns whether the copy would have copied another name of the same file by now.
    pub(super) fn seen(&self, source: &Source<'_>, policy: &Policy) -> Seen {
        let is_linked = is_tracked(source.role, source.stat, policy)
            && self.links.contains_key(&identity(source.stat));
        if is_linked { Seen::AsLink } else { Seen::No }
    }

    /// Describes the file that would have an entry's target name by now.
    pub(super) fn taken(
        &self,
        place: Place<'_>,
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
                unreachable: None,
                is_cut_short: false,
                compared: None,
                is_in_basis: false,
                step_ns: 1,
                same_name: false,
                backup_is_source: false,
                backup_is_made: false,
                occupant: Occupant::Older,
            }),
            (None, Some(sides)) => describe(sides, source.link, policy)?.map(|taken| Taken {
                is_cut_short: is_cut_short(
                    sides,
                    (source.stat, follows(source.role, policy)),
                    &taken,
                    policy,
                ),
                ..taken
            }),
            (None, None) => None,
        };
        Ok(taken.map(|mut taken| {
            let gone = self.names_gone.get(&identity(&taken.link)).copied().unwrap_or(0);
            taken.link.nlink = taken.link.nlink.saturating_sub(gone).max(1);
            taken.occupant = self.occupant(place, operand, source, &taken);
            taken.backup_is_made = self.backup_is_made(place, operand, policy);
            taken
        }))
    }

    /// Returns whether the backup of an existing target would replace an entry that the copy would have made
    /// by now.
    fn backup_is_made(&self, place: Place<'_>, operand: &Operand, policy: &Policy) -> bool {
        let Some(how) = &policy.backup else { return false };
        let path = || key(&[&place.path_of_target(operand), how.suffix.as_slice()].concat());
        how.kind != BackupKind::Numbered
            && !self.named_like_backups.is_empty()
            && self.named_like_backups.contains(&path())
            && place.handles.target.as_ref().is_none_or(|directory| {
                name_for(directory.as_fd(), &operand.target, how)
                    .is_ok_and(|(_, mode)| mode == RenameMode::Replace)
            })
    }

    fn occupant(
        &self,
        place: Place<'_>,
        operand: &Operand,
        source: &Source<'_>,
        taken: &Taken,
    ) -> Occupant {
        let (link, source_id) = (identity(&taken.link), identity(source.stat));
        let first = self.links.get(&source_id).filter(|_| source.seen == Seen::AsLink);
        if first.is_some_and(|first| identity(&first.made.link) == link) {
            return Occupant::SameLink;
        }
        if place.lists_operands && self.names.contains(&(operand.target.clone(), link)) {
            return Occupant::NameOfAnother;
        }
        let is_of_another = |file: Identity| {
            self.files.get(&file).is_some_and(|other| {
                other.source != source_id && other.path != self.path_hash(place, operand)
            })
        };
        match taken.reached() {
            _ if taken.link.nlink == 1 && is_of_another(link) => Occupant::NameOfAnother,
            Some(file) if is_of_another(identity(&file)) => Occupant::BytesOfAnother,
            _ => Occupant::Older,
        }
    }

    /// Records an entry that the copy would make, or whose target name would stay as it is.
    pub(super) fn note(&mut self, entry: &Foreseen<'_>, policy: &Policy) {
        let Foreseen { place, operand, source, decision: Decision { action, .. }, taken } = *entry;
        if let Some(how) = &policy.backup
            && operand.target.to_bytes().ends_with(&how.suffix)
            && !matches!(action, Action::Skip(_))
        {
            self.named_like_backups.insert(key(&place.path_of_target(operand)));
        }
        if source.is_directory() {
            return self.note_directory(entry);
        }
        let Some(made) = self.made(entry, policy) else { return };
        let id = identity(source.stat);
        let is_removed = action == Action::Replace
            || (action == Action::Overwrite && source.seen == Seen::AsLink);
        if let Some(taken) = taken.filter(|_| is_removed) {
            *self.names_gone.entry(identity(&taken.link)).or_default() += 1;
        }
        if source.seen == Seen::AsLink {
            self.join(id);
        } else if is_tracked(source.role, source.stat, policy) && leads_links(action) {
            // Where the copy follows links, another name may always occur.
            let follows = policy.dereference != Dereference::Never;
            let left = if follows { u64::MAX } else { source.stat.nlink.saturating_sub(1) };
            let path = place.path_of_target(operand);
            self.links.insert(id, FirstName { made, left, path });
        }
        if matches!(action, Action::Skip(_)) {
            return;
        }
        if let Some(entries) = &mut self.entries {
            entries.insert(key(&place.path_of_target(operand)), made);
        }
        if source.seen == Seen::AsLink {
            return;
        }
        let is_one_of_several = self.several_operands && place.lists_operands;
        if is_one_of_several {
            self.names.insert((operand.target.clone(), identity(&made.link)));
        }
        // A new file that replaces one of several names leaves the others their bytes.
        let is_apart =
            policy.appears_whole() && made.link.kind() == Kind::Regular && made.link.nlink > 1;
        if (is_one_of_several || (action == Action::Overwrite && !is_apart))
            && contents(source.stat.kind(), policy) == Contents::Data
            && matches!(policy.make, Make::Copy | Make::Attributes)
            && let Some(file) = made.reached().filter(|file| file.kind() == Kind::Regular)
        {
            let written = Written { path: self.path_hash(place, operand), source: id };
            self.files.insert(identity(&file), written);
        }
    }

    fn path_hash(&self, place: Place<'_>, operand: &Operand) -> u64 {
        self.hasher.hash_one(key(&place.path_of_target(operand)))
    }

    fn join(&mut self, id: Identity) {
        let Some(first) = self.links.get_mut(&id) else { return };
        first.left = first.left.saturating_sub(1);
        if first.left == 0 {
            self.links.remove(&id);
        }
    }

    fn note_directory(&mut self, entry: &Foreseen<'_>) {
        let Foreseen { place, operand, source, decision: Decision { action, .. }, taken } = *entry;
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

    /// Returns the file that would have the name afterwards; `None` if the copy does nothing about
    /// the entry.
    fn made(&mut self, entry: &Foreseen<'_>, policy: &Policy) -> Option<Made> {
        let Foreseen { place, operand, source, decision: Decision { action, .. }, taken } = *entry;
        let keeps = |taken: &Taken| Made { link: taken.link, followed: taken.followed };
        match action {
            Action::Skip(_) | Action::Adjust => return taken.map(keeps),
            Action::Look
            | Action::Merge
            | Action::Collide
            | Action::Refuse(_)
            | Action::RefuseBackup => return None,
            Action::Create
            | Action::Overwrite
            | Action::Replace
            | Action::Clear
            | Action::BackUp => {}
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

    /// Returns a description of a file that does not exist yet and that differs from every other
    /// file.
    fn imagine(&mut self, source: &Stat, mode: u32, mtime: Time) -> Stat {
        self.last_ino += 1;
        Stat { dev: IMAGINED_DEV, ino: self.last_ino, nlink: 1, mode, mtime, ..*source }
    }
}

/// Time that is later than any time of the source.
const NOW: Time = Time { seconds: i64::MAX / 2, nanoseconds: 0 };

fn rewritten(made: Made, mtime: Time) -> Made {
    match made {
        Made { link, followed: Some(file) } => {
            Made { link, followed: Some(Stat { mtime, ..file }) }
        }
        Made { link, followed: None } => Made { link: Stat { mtime, ..link }, followed: None },
    }
}

/// Returns whether other names of the source become names of the target.
const fn leads_links(action: Action) -> bool {
    match action {
        Action::Skip(reason) => reason.keeps_the_copy(),
        _ => true,
    }
}

/// Returns the referent that a copied link would have at its new place, if that can be determined.
fn copied_referent(place: Place<'_>, operand: &Operand) -> Option<Stat> {
    let text = readlinkat(&place.handles.source, &operand.source).ok()?;
    let is_absolute = text.to_bytes().starts_with(b"/");
    let target = place.handles.target.as_ref()?;
    (is_absolute || is_here(operand.target.to_bytes()))
        .then(|| statat_follow(target, &text).ok())
        .flatten()
}

/// Returns the directory in which the copy would make an operand's name.
fn parent_of(place: Place<'_>, operand: &Operand) -> Option<Identity> {
    let target = place.handles.target.as_ref()?;
    let parent = directory_of(operand.target.to_bytes());
    let opened = open_directory(target.as_fd(), &parent, Follow::Yes).ok()?;
    fstat(&opened).ok().map(|stat| identity(&stat))
}

/// Normalizes a path: removes `.`, `..` and redundant slashes. Directories that the copy would make
/// are not links, so `..` leads back to the parent in the path.
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
