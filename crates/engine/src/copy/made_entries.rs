//! Entries of the target that the run has made or written to, so that no two sources meet in one of them.
//!
//! Several names of a target can lead to one file: hard links and symbolic links that were there before, names
//! that differ only in case, and paths through a link to a directory or a bind mount. The second of two entries
//! that come to it would destroy what the run has just copied. So the run records of each file which name it was
//! given, on which route, and from which source; an entry that comes to it on another route, and has another
//! source, is refused. Only the entries of a later operand replace those of an earlier one on the same route.
//!
//! Only entries in directories that existed before the run are recorded, and operands, if there are several:
//! in a directory that the run itself has made, a name that exists is always refused. An entry takes 20
//! bytes in a table that is at least seven sixteenths full, and is recorded when it is written, not when it
//! is skipped.

use haul_sys::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::ffi::CStr;
use std::hash::BuildHasher;

use haul_sys::fs::Stat;

use crate::copy::node::Route;
use crate::names::by_identity::Identity;
use crate::names::known_names::SourceState;

/// Number of parts of the map: with several parts, workers rarely wait for the same lock.
const LOCKS: usize = 16;

/// An entry that comes to a file of the target.
#[derive(Clone, Copy)]
pub(crate) struct Newcomer<'a> {
    /// Directory of the name in the target.
    pub(crate) directory: Identity,
    pub(crate) name: &'a CStr,
    /// The directories that lead to the directory.
    pub(crate) route: Route,
    pub(crate) source: &'a Stat,
}

/// Entry that a file of the target belongs to, as another entry sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The run has not written to the file.
    Free,
    /// The same entry, perhaps of another operand; or another name of the same source.
    Same,
    /// An entry with another source that has come to this very name on another route.
    SameName,
    /// Another name, for another source.
    Other,
}

impl Owner {
    /// Returns whether the file has the bytes of another entry.
    pub(crate) const fn is_another(self) -> bool {
        matches!(self, Owner::SameName | Owner::Other)
    }
}

/// Map from files to the names and sources that they belong to. All keys and values are keyed hashes. With
/// 10,000,000 entries, the probability that two files have the same key is 1 in 370,000; then one of them is
/// refused. Two different names or sources are taken for one, where they meet, with a probability of 2⁻³².
#[derive(Debug, Default)]
pub(crate) struct MadeEntries {
    parts: [Mutex<HashMap<Key, Made>>; LOCKS],
    hasher: RandomState,
}

/// Hash of a file, in halves: an entry of the map then needs no padding.
type Key = (u32, u32);

/// Hashes of the name, the route and the source of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    name: u32,
    /// 0 for a directory that entries on all routes share.
    route: u32,
    source: u32,
}

impl MadeEntries {
    /// Records an entry that the run has just made.
    pub(crate) fn insert(&self, target: Identity, by: Newcomer<'_>) {
        let key = self.key(target);
        self.part(key).insert(key, self.made(by));
    }

    /// Records a directory of the target that was there before. Entries may come to it on several routes.
    pub(crate) fn insert_shared(&self, target: Identity, by: Newcomer<'_>) {
        let key = self.key(target);
        self.part(key).insert(key, Made { route: 0, ..self.made(by) });
    }

    /// Gives the name itself to an entry that replaces a file which has other names elsewhere, unless another
    /// entry has got it. Returns the owner before.
    pub(crate) fn claim_name(&self, by: Newcomer<'_>) -> Owner {
        self.claim_key(self.halves(self.hasher.hash_one((by.directory, by.name))), by)
    }

    /// Returns the route of the entries of a directory that has this name; a name may be a path.
    pub(crate) fn route_below(&self, above: Route, name: &CStr) -> Route {
        let names = name.to_bytes().split(|byte| *byte == b'/');
        let names = names.filter(|name| !name.is_empty() && *name != b".");
        Route(names.fold(above.0, |above, name| self.hasher.hash_one((above, name))))
    }

    /// Gives an existing file to an entry, unless it belongs to another one. Returns the owner before.
    pub(crate) fn claim(&self, target: Identity, by: Newcomer<'_>) -> Owner {
        self.claim_key(self.key(target), by)
    }

    fn claim_key(&self, key: Key, by: Newcomer<'_>) -> Owner {
        let made = self.made(by);
        let mut part = self.part(key);
        let owner = owner(part.get(&key), made);
        if !owner.is_another() {
            part.insert(key, made);
        }
        owner
    }

    /// Returns the owner of a file, as an entry sees it.
    pub(crate) fn owner(&self, target: Identity, seen_by: Newcomer<'_>) -> Owner {
        let key = self.key(target);
        let part = self.part(key);
        part.get(&key).map_or(Owner::Free, |made| owner(Some(made), self.made(seen_by)))
    }

    /// Returns whether the run has made a file or written to it.
    pub(crate) fn contains(&self, target: Identity) -> bool {
        let key = self.key(target);
        self.part(key).contains_key(&key)
    }

    /// Forgets a file that the run has removed again: the inode number may get another file.
    pub(crate) fn forget(&self, target: Identity) {
        let key = self.key(target);
        self.part(key).remove(&key);
    }

    fn key(&self, target: Identity) -> Key {
        self.halves(self.hasher.hash_one(target))
    }

    const fn halves(&self, hash: u64) -> Key {
        (hash as u32, (hash >> 32) as u32)
    }

    fn part(&self, key: Key) -> MutexGuard<'_, HashMap<Key, Made>> {
        self.parts[key.0 as usize % LOCKS].lock()
    }

    fn made(&self, by: Newcomer<'_>) -> Made {
        let short = |hash: u64| hash as u32;
        Made {
            name: short(self.hasher.hash_one((by.directory, by.name))),
            route: short(self.hasher.hash_one((by.route, by.name))).max(1),
            source: short(self.hasher.hash_one(SourceState::of(by.source))),
        }
    }
}

fn owner(before: Option<&Made>, now: Made) -> Owner {
    match before {
        None => Owner::Free,
        Some(before) if before.source == now.source => Owner::Same,
        Some(before) if before.name == now.name => {
            let is_shared = before.route == 0;
            if is_shared || before.route == now.route { Owner::Same } else { Owner::SameName }
        }
        Some(_) => Owner::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{FILE, stat};

    fn at<'a>(name: &'a CStr, source: &'a Stat) -> Newcomer<'a> {
        Newcomer { directory: (1, 2), name, route: Route(3), source }
    }

    #[test]
    fn a_file_belongs_to_the_first_name_and_source() {
        let made = MadeEntries::default();
        let (one, two) = (stat(7, FILE), stat(8, FILE));
        let file = (1, 100);
        assert_eq!(made.owner(file, at(c"a", &one)), Owner::Free);
        assert_eq!(made.claim(file, at(c"a", &one)), Owner::Free);
        assert_eq!(made.claim(file, at(c"A", &two)), Owner::Other);
        // The refused entry has not become the owner.
        assert_eq!(made.owner(file, at(c"a", &one)), Owner::Same);
        assert_eq!(made.owner((1, 101), at(c"A", &two)), Owner::Free);
    }

    #[test]
    fn another_name_of_the_source_and_another_operand_share_it() {
        let made = MadeEntries::default();
        let (one, two) = (stat(7, FILE), stat(8, FILE));
        made.insert((1, 100), at(c"a", &one));
        assert_eq!(made.owner((1, 100), at(c"b", &one)), Owner::Same);
        assert_eq!(made.claim((1, 100), at(c"a", &two)), Owner::Same);
        assert_eq!(made.owner((1, 100), at(c"b", &one)), Owner::Other);
        let elsewhere = Newcomer { directory: (1, 3), ..at(c"a", &one) };
        assert_eq!(made.owner((1, 100), elsewhere), Owner::Other);
    }

    #[test]
    fn a_name_belongs_to_one_route() {
        let made = MadeEntries::default();
        let (one, two) = (stat(7, FILE), stat(8, FILE));
        let by_link = |source| Newcomer { route: Route(4), ..at(c"a", source) };
        made.insert((1, 100), at(c"a", &one));
        assert_eq!(made.owner((1, 100), by_link(&two)), Owner::SameName);
        assert_eq!(made.claim((1, 100), by_link(&two)), Owner::SameName);
        assert_eq!(made.owner((1, 100), by_link(&one)), Owner::Same);
        assert_eq!(made.claim_name(at(c"b", &one)), Owner::Free);
        assert_eq!(
            made.claim_name(Newcomer { route: Route(4), ..at(c"b", &two) }),
            Owner::SameName
        );
        made.insert_shared((1, 101), at(c"d", &one));
        assert_eq!(made.owner((1, 101), by_link(&two)), Owner::Other);
        assert_eq!(made.owner((1, 101), Newcomer { name: c"d", ..by_link(&two) }), Owner::Same);
    }

    #[test]
    fn a_path_of_an_operand_and_its_names_are_one_route() {
        let made = MadeEntries::default();
        let below = |above, name| made.route_below(above, name);
        let root = Route::default();
        assert_eq!(below(root, c"."), root);
        assert_eq!(below(root, c"a/./b/"), below(below(root, c"a"), c"b"));
        assert_ne!(below(root, c"a"), below(root, c"b"));
    }

    #[test]
    fn an_inode_number_that_is_used_again_belongs_to_the_new_file() {
        let made = MadeEntries::default();
        let (one, two) = (stat(7, FILE), stat(8, FILE));
        made.insert((1, 100), at(c"a", &one));
        made.forget((1, 100));
        assert!(!made.contains((1, 100)));
        made.insert((1, 100), at(c"b", &two));
        assert_eq!(made.owner((1, 100), at(c"b", &two)), Owner::Same);
    }
}
