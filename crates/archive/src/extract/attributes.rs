//! Restores extended attributes, access-control lists and contexts, on a descriptor and never by a name.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use haul_sys::fs::{Pinned, fremovexattr, fsetxattr, removexattr_handle, setxattr_handle};
use haul_sys::{CallError, Errno};

use super::event::{Action, Event};
use super::policy::Monitor;
use crate::acl;
use crate::attributes::{ACLS, Attributes, CONTEXT};
use crate::format::{Member, MemberKind};

/// How a file was opened.
#[derive(Clone, Copy)]
pub(super) enum On<'f> {
    /// For reading or writing.
    File(&'f OwnedFd),
    /// As a handle: a link, a device or a pipe.
    Handle(Pinned<'f>),
}

impl On<'_> {
    fn set(self, attribute: &std::ffi::CStr, value: &[u8]) -> Result<(), CallError> {
        match self {
            On::File(file) => fsetxattr(file, attribute, value),
            On::Handle(file) => setxattr_handle(file, attribute, value),
        }
    }

    fn remove(self, attribute: &std::ffi::CStr) -> Result<(), CallError> {
        let removed = match self {
            On::File(file) => fremovexattr(file, attribute),
            On::Handle(file) => removexattr_handle(file, attribute),
        };
        match removed {
            Err(error) if error.errno == Errno::NODATA => Ok(()),
            answer => answer,
        }
    }
}

/// Restores what is wanted.
pub(super) struct Restorer<'r> {
    pub(super) wanted: &'r Attributes,
    pub(super) monitor: &'r dyn Monitor,
}

impl Restorer<'_> {
    /// Sets the extended attributes and the context of a member. Its owner has been set, which would
    /// remove capabilities, and its permissions have not, which may forbid it.
    pub(super) fn set_attributes(&self, name: &[u8], member: &Member, on: On<'_>) {
        for (attribute, value) in &member.xattrs {
            let Ok(text) = CString::new(attribute.as_slice()) else { continue };
            if let Err(error) = on.set(&text, value) {
                let action = Action::Attribute(attribute.clone());
                self.monitor.event(name, &Event::NotSet(action, error));
            }
        }
        if let Some(context) = &member.context {
            // The kernel's own tools store the NUL.
            let value = [context, &b"\0"[..]].concat();
            if let Err(error) = on.set(CONTEXT, &value) {
                self.monitor.event(name, &Event::NotSet(Action::Context, error));
            }
        }
    }

    /// Sets the access-control lists of a member that has these permissions: its own, or, where the
    /// archive has none, what the permissions say.
    pub(super) fn set_acls(&self, name: &[u8], member: &Member, on: On<'_>, mode: u32) {
        if !self.wanted.acls || member.kind == MemberKind::Symlink {
            return;
        }
        let failed = |error| self.monitor.event(name, &Event::NotSet(Action::Acl, error));
        let [access, default] = &member.acls;
        let list = match access {
            Some(text) => acl::from_text(text),
            None => Some(acl::from_mode(mode)),
        };
        match list {
            Some(list) => match on.set(ACLS[0], &list) {
                // Without lists, the permissions are all that there is.
                Err(error) if error.errno == Errno::NOTSUP && access.is_none() => {}
                Err(error) => failed(error),
                Ok(()) => {}
            },
            None => failed(CallError::new(haul_sys::Call::Fsetxattr, Errno::INVAL)),
        }
        if !matches!(member.kind, MemberKind::Directory | MemberKind::DumpDirectory) {
            return;
        }
        let set = match default.as_deref().map(acl::from_text) {
            Some(Some(list)) => on.set(ACLS[1], &list),
            Some(None) => Err(CallError::new(haul_sys::Call::Fsetxattr, Errno::INVAL)),
            // It may have inherited one.
            None => on.remove(ACLS[1]),
        };
        match set {
            Err(error) if error.errno == Errno::NOTSUP && default.is_none() => {}
            Err(error) => failed(error),
            Ok(()) => {}
        }
    }
}
