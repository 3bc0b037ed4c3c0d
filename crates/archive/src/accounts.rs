//! Numbers of users and groups by name, each looked up once.

use std::collections::HashMap;

use haul_sys::process::{group_id, user_id};

use crate::format::Member;

/// Bytes of the longest name that is looked up: `LOGIN_NAME_MAX` of Linux. An archive can have longer ones,
/// which no system knows.
const NAME_MAX_BYTES: usize = 256;

/// Number of names that are remembered, of each kind: no system has an archive with more owners by accident.
const NAMES_MAX: usize = 1 << 16;

/// Names that were looked up. A lookup blocks, so only the thread that reads headers makes one.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    users: HashMap<Vec<u8>, Option<u32>>,
    groups: HashMap<Vec<u8>, Option<u32>>,
}

impl Accounts {
    /// Returns the owner and the group that a member should have: by name where this system knows the
    /// name, else by number. `None` where the number is too large for this system.
    pub(crate) fn owner(&mut self, member: &Member, by_name: bool) -> Option<(u32, u32)> {
        let user = find(&mut self.users, &member.user, by_name, user_id);
        let group = find(&mut self.groups, &member.group, by_name, group_id);
        // chown(2) takes the largest number for "leave it as it is".
        let number = |id: Option<u32>, number: u64| {
            id.or_else(|| u32::try_from(number).ok()).filter(|id| *id != u32::MAX)
        };
        Some((number(user, member.uid)?, number(group, member.gid)?))
    }
}

fn find(
    known: &mut HashMap<Vec<u8>, Option<u32>>,
    name: &[u8],
    by_name: bool,
    look_up: fn(&[u8]) -> Option<u32>,
) -> Option<u32> {
    if !by_name || name.is_empty() || name.len() > NAME_MAX_BYTES {
        return None;
    }
    if let Some(id) = known.get(name) {
        return *id;
    }
    let id = look_up(name);
    if known.len() >= NAMES_MAX {
        known.clear();
    }
    known.insert(name.to_vec(), id);
    id
}
