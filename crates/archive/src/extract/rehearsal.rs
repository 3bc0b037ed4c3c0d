//! What an extraction would do with each member, found out without changing anything.

use std::os::fd::OwnedFd;

use haul_sys::fs::{Kind, statat};
use haul_sys::{Call, CallError, Errno};

use super::kept_link::KeptLink;
use super::place::Places;
use super::policy::{Existing, Names, Policy};
use crate::format::{Member, MemberKind};
use crate::safe_name::has_parent;

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
        if makes_directory {
            match KeptLink::of(&self.policy, &mut self.places, name, &place) {
                KeptLink::No => {}
                KeptLink::Followed => return Intent::Keep,
                KeptLink::NotFollowed(error) => return Intent::Fail(error),
            }
        }
        let exists = Intent::Fail(CallError::new(Call::Openat, Errno::EXIST));
        match self.policy.existing {
            Existing::Skip => Intent::Keep,
            Existing::Keep => exists,
            Existing::KeepNewer if super::extractor::is_newer(&place, member) => Intent::Keep,
            _ if !is_directory || self.policy.may_remove_trees() => Intent::Replace,
            _ => match haul_tree::is_empty(&*place.parent, &place.leaf) {
                Ok(true) => Intent::Replace,
                Ok(false) => exists,
                Err(error) => Intent::Fail(error),
            },
        }
    }
}
