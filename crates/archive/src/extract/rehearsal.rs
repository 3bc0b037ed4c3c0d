//! What an extraction would do with each member, found out without changing anything.

use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};

use haul_sys::fs::{DirectoryBuffer, Follow, Kind, for_each_entry, open_directory, statat};
use haul_sys::{Call, CallError, Errno};

use super::place::{Place, Places};
use super::policy::{Existing, Names, Policy};
use crate::format::{Member, MemberKind};
use crate::safe_name::has_parent;

/// Bytes of a buffer of directory entries.
const ENTRIES_BYTES: usize = 4 << 10;

/// What would become of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It would be made.
    Make,
    /// It would take the place of what has its name.
    Replace,
    /// The directory is there, and would get its attributes.
    Merge,
    /// What has its name would stay.
    Keep,
    /// It would be refused: the name leads out of the target directory.
    LeadsOut,
    /// It would be refused, as a device.
    Device,
    /// It would fail.
    Fail(CallError),
}

/// An extraction that changes nothing. Members are looked at one by one: what an earlier member of the same
/// archive would make or remove is not known.
pub struct Rehearsal {
    places: Places,
    policy: Policy,
}

impl Rehearsal {
    /// Begins in an open directory.
    #[must_use]
    pub fn new(target: OwnedFd, policy: Policy) -> Rehearsal {
        Rehearsal { places: Places::new(target, policy.names, policy.umask), policy }
    }

    /// Returns what would become of a member of this name. Blocks.
    pub fn member(&mut self, member: &Member, name: &[u8]) -> Intent {
        if self.policy.names == Names::Beneath && (has_parent(name) || name.starts_with(b"/")) {
            return Intent::LeadsOut;
        }
        if self.policy.refuses(member) {
            return Intent::Device;
        }
        let place = match self.places.existing(name) {
            Ok(place) => place,
            Err(error) if error.errno == Errno::NOENT => return Intent::Make,
            Err(error) => return Intent::Fail(error),
        };
        let found = match statat(&*place.parent, &place.leaf) {
            Ok(stat) => stat,
            Err(error) if error.errno == Errno::NOENT => return Intent::Make,
            Err(error) => return Intent::Fail(error),
        };
        let is_directory = found.kind() == Kind::Directory;
        let makes_directory =
            matches!(member.kind, MemberKind::Directory | MemberKind::DumpDirectory);
        if is_directory && makes_directory {
            return Intent::Merge;
        }
        let exists = Intent::Fail(CallError::new(Call::Openat, Errno::EXIST));
        match self.policy.existing {
            Existing::Skip => Intent::Keep,
            Existing::Keep => exists,
            Existing::KeepNewer if super::extractor::is_newer(&place, member) => Intent::Keep,
            _ if !is_directory || self.policy.may_remove_trees() => Intent::Replace,
            _ => match is_empty(&place) {
                Ok(true) => Intent::Replace,
                Ok(false) => exists,
                Err(error) => Intent::Fail(error),
            },
        }
    }
}

fn is_empty(place: &Place) -> Result<bool, CallError> {
    let directory = open_directory(&*place.parent, &place.leaf, Follow::No)?;
    let mut buffer = DirectoryBuffer::new(ENTRIES_BYTES);
    let mut entries = 0;
    while entries == 0
        && for_each_entry(directory.as_fd(), &mut buffer, |_| {
            entries += 1;
            ControlFlow::Continue(())
        })?
    {}
    Ok(entries == 0)
}
