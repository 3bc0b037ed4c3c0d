//! The attributes that a target is to have: those of its source, or others that the rules put in their place.

use std::collections::HashMap;

use haul_sys::fs::Stat;
use haul_sys::sync::Mutex;

use crate::data::request::{IdMap, Keep, Ownership, Synchronize};

/// Attributes of targets, and what is known of numbers of users and groups.
pub(crate) struct WantedAttributes<'r> {
    rules: &'r Synchronize,
    ownership: Keep,
    users: Mutex<HashMap<u32, u32>>,
    groups: Mutex<HashMap<u32, u32>>,
}

impl<'r> WantedAttributes<'r> {
    /// Creates the attributes of a run that keeps owners and groups so far.
    pub(crate) fn new(rules: &'r Synchronize, ownership: Keep) -> WantedAttributes<'r> {
        WantedAttributes { rules, ownership, users: Mutex::default(), groups: Mutex::default() }
    }

    /// Returns the description of a source with the owner and the permission bits that its target is to have. `now` are
    /// owner and group of the target, which stay if they are not kept.
    pub(crate) fn of(&self, source: &Stat, now: Option<(u32, u32)>) -> Stat {
        let rules = self.rules;
        let mut wanted = *source;
        if !rules.modes.is_empty() {
            let bits = rules.modes.of(source.kind(), source.permissions());
            wanted.mode = (source.mode & !0o7777) | bits;
        }
        if !self.ownership.wanted() {
            return wanted;
        }
        let mapped = |map: &Option<IdMap>, known: &Mutex<HashMap<u32, u32>>, id: u32| match map {
            None => id,
            Some(map) => *known.lock().entry(id).or_insert_with(|| map.of(id, !rules.numeric_ids)),
        };
        wanted.uid = match (rules.ownership, now) {
            (Ownership::Group, Some((uid, _))) => uid,
            _ => mapped(&rules.users, &self.users, source.uid),
        };
        wanted.gid = match (rules.ownership, now) {
            (Ownership::User, Some((_, gid))) => gid,
            _ => mapped(&rules.groups, &self.groups, source.gid),
        };
        wanted
    }
}
