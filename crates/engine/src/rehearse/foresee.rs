//! Predicts which calls of the copy would fail, by querying the permissions that they need.
//!
//! These checks are not rules of the copy. Calls that write nothing determine the answer of the
//! kernel, as far as possible.

use haul_sys::fs::{Follow, may_read_at, may_write_at, open_directory, statat};
use haul_sys::{Call, CallError, Errno};

use super::place::Place;
use super::told::Intent;
use crate::data::error::What;
use crate::data::request::{Force, Make, Policy};
use crate::decide::{Action, Contents, Decision, Seen, Source, Taken, contents, creation_call};
use crate::names::at::At;
use crate::names::path::directory_of;
use crate::plan::backup;
use haul_tree::Operand;

/// Entry, and what the copy would decide about it.
#[derive(Clone, Copy)]
pub(super) struct Foreseen<'a> {
    pub(super) place: Place<'a>,
    pub(super) operand: &'a Operand,
    pub(super) source: &'a Source<'a>,
    pub(super) decision: Decision,
    pub(super) taken: Option<&'a Taken>,
}

impl Foreseen<'_> {
    /// Returns the first call that would fail, if there is one: the entry is unreadable, a parent
    /// does not exist, a mount is read-only, or a permission is missing.
    pub(super) fn check(&self, intent: Intent, policy: &Policy) -> Result<(), (What, Errno)> {
        match intent {
            Intent::Skip(_) | Intent::Merge | Intent::Adjust | Intent::Remove => return Ok(()),
            Intent::Ask => return self.may_read(policy),
            Intent::Create
            | Intent::Overwrite
            | Intent::Replace
            | Intent::BackUp
            | Intent::Link => {}
        }
        if self.source.seen != Seen::AsLink {
            self.may_read(policy)?;
        }
        match self.decision.action {
            Action::BackUp => self.may_back_up(policy)?,
            Action::Overwrite if self.source.seen != Seen::AsLink => {
                return self.may_overwrite(policy);
            }
            _ => {}
        }
        let call = match self.decision.action {
            Action::Replace if !policy.appears_whole() && !makes_links(policy) => What::Remove,
            Action::BackUp => What::Backup,
            _ => creation_call(self.source.stat.kind(), self.source.seen, policy),
        };
        self.may_make_name(call)?;
        if call == What::CreateHardLink
            && self.source.seen != Seen::AsLink
            && self.source.stat.dev != self.place.target_dev
        {
            return Err((call, Errno::XDEV));
        }
        let is_slashed = self.operand.target.to_bytes().ends_with(b"/");
        if self.decision.action == Action::Create && is_slashed && !self.source.is_directory() {
            // Only a directory can have such a name.
            let errno = if call == What::CreateFile { Errno::NOTDIR } else { Errno::NOENT };
            return Err((call, errno));
        }
        Ok(())
    }

    fn may_read(&self, policy: &Policy) -> Result<(), (What, Errno)> {
        let is_read = policy.make == Make::Copy
            && contents(self.source.stat.kind(), policy) == Contents::Data;
        if !is_read {
            return Ok(());
        }
        let At { directory, name } = self.place.source_of(self.operand);
        may_read_at(directory, name).map_err(|error| (What::OpenSource, error.errno))
    }

    fn may_back_up(&self, policy: &Policy) -> Result<(), (What, Errno)> {
        let (Some(sides), Some(how)) = (self.place.sides(self.operand), &policy.backup) else {
            return Ok(());
        };
        let At { directory, name } = sides.target;
        let described =
            backup::name_for(directory, name, how).and_then(|(name, _)| statat(directory, &name));
        match described {
            Err(error) if error.errno != Errno::NOENT => Err((What::Backup, error.errno)),
            _ => Ok(()),
        }
    }

    fn may_overwrite(&self, policy: &Policy) -> Result<(), (What, Errno)> {
        let Some(sides) = self.place.sides(self.operand) else { return Ok(()) };
        // The referent of a link may not exist until the copy makes it.
        let is_there = self.taken.and_then(Taken::reached).is_some();
        let At { directory, name } = sides.target;
        match may_write_at(directory, name) {
            Err(error) if is_there && error.errno != Errno::NOENT => match policy.force {
                Force::No => Err((What::CreateFile, error.errno)),
                Force::IfUnopenable | Force::First => self.may_make_name(What::Remove),
            },
            _ => Ok(()),
        }
    }

    /// Returns the failure to make or remove a name in the target's directory, if there is one.
    fn may_make_name(&self, call: What) -> Result<(), (What, Errno)> {
        let Some(target) = &self.place.handles.target else { return Ok(()) };
        if !self.place.lists_operands {
            return self.place.may_make_names().map_err(|errno| (call, errno));
        }
        // The name of an operand may be a path.
        let parent = directory_of(self.operand.target.to_bytes());
        let answer = open_directory(target, &parent, Follow::Yes)
            .and_then(|parent| may_write_at(&parent, c"."));
        match answer {
            Ok(()) => Ok(()),
            // A directory may be writable without being readable.
            Err(CallError { call: Call::Openat, errno: Errno::ACCESS, .. }) => Ok(()),
            Err(error) => Err((call, error.errno)),
        }
    }
}

const fn makes_links(policy: &Policy) -> bool {
    matches!(policy.make, Make::HardLink | Make::SymbolicLink)
}
