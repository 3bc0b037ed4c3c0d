//! Attributes of a member: what its file gets, always by a descriptor and never by a name.

use std::ffi::CString;

use haul_io::attributes::{
    Attribute, CONTEXT, Extended, Grant, Known, List, Lists, NewMode, Otherwise, Owner,
    Permissions, Target, Wanted, apply, bits_of_list,
};
use haul_sys::fs::{Kind, Stat, Time, TimePair};
use haul_sys::{Call, CallError, Errno};

use super::event::{Action, Event};
use super::policy::{self, Owners, Times};
use super::shared::Shared;
use crate::acl;
use crate::format::{Member, MemberKind};

/// The attributes that a member gets beside those that only some have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    /// The mode that its file was made with; `None` if the file may have been there before.
    pub(super) made: Option<u32>,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) times: Option<TimePair>,
}

/// Access-control lists of a member in the form of the kernel.
#[derive(Default)]
struct KernelLists {
    access: KernelList,
    default: KernelList,
}

/// One of them.
#[derive(Default)]
enum KernelList {
    /// The archive has none.
    #[default]
    None,
    /// That of the archive is malformed, or names a user or group that is not known here.
    Malformed,
    Some(Vec<u8>),
}

impl KernelList {
    /// Returns what becomes of the list of a member's file. One that has none in the archive keeps none that it has
    /// inherited.
    fn wanted(&self) -> List<'_> {
        match self {
            KernelList::None => List::Remove,
            KernelList::Malformed => List::Leave,
            KernelList::Some(list) => List::Set(list),
        }
    }
}

impl Shared {
    pub(super) fn attributes(&self, member: &Member, owner: Option<(u32, u32)>) -> Attributes {
        let mode = match self.policy.permissions {
            policy::Permissions::Exact => member.mode,
            policy::Permissions::Masked => member.mode & 0o777 & !self.policy.umask,
        };
        let mtime = Time { seconds: member.mtime.seconds, nanoseconds: member.mtime.nanoseconds };
        Attributes {
            mode,
            made: None,
            owner,
            times: (self.policy.times == Times::Archive)
                .then_some(TimePair { atime: Time::OMIT, mtime }),
        }
    }

    /// Sets the attributes of a file that was described.
    pub(super) fn settle(
        &self,
        name: &[u8],
        member: &Member,
        (target, stat): (Target<'_>, &Stat),
        attributes: Attributes,
    ) {
        let extended = self.extended(name, member);
        let lists = self.kernel_lists(name, member);
        let wanted = Wanted {
            owner: attributes.owner.map(|(uid, gid)| Owner {
                uid,
                gid,
                otherwise: Otherwise::Nothing,
            }),
            extended: &extended,
            lists: self.lists(member, &lists),
            permissions: self.permissions(member, attributes, &lists, stat),
            times: attributes.times,
        };
        let mut has_time = wanted.times.is_some();
        let bits = wanted.permissions.map_or(attributes.mode, |permissions| permissions.bits);
        let told = Attributes { mode: bits, ..attributes };
        let withheld = apply(target, Known::of(stat), &wanted, &mut |attribute, error| {
            has_time &= attribute != Attribute::Times;
            self.monitor.event(name, &refused(attribute, error, told));
        });
        if withheld != 0 {
            self.monitor.event(name, &Event::Unprivileged(withheld));
        }
        if has_time {
            self.has_time(name, member.mtime);
        }
    }

    /// Returns the extended attributes of a member, its context among them.
    fn extended(&self, name: &[u8], member: &Member) -> Vec<Extended> {
        let mut extended = Vec::new();
        for (attribute, value) in &member.xattrs {
            match CString::new(attribute.as_slice()) {
                Ok(text) => extended.push((text, value.clone())),
                Err(_) => self.is_malformed(name, Action::Attribute(attribute.clone())),
            }
        }
        if let Some(context) = &member.context {
            // The kernel's own tools store the NUL.
            extended.push((CONTEXT.to_owned(), [context, &b"\0"[..]].concat()));
        }
        extended
    }

    fn kernel_lists(&self, name: &[u8], member: &Member) -> KernelLists {
        if !self.wanted.acls {
            return KernelLists::default();
        }
        let [access, default] = member.acls.each_ref().map(|text| {
            let Some(text) = text else { return KernelList::None };
            acl::from_text(text).map_or_else(
                || {
                    self.is_malformed(name, Action::Acl);
                    KernelList::Malformed
                },
                KernelList::Some,
            )
        });
        KernelLists { access, default }
    }

    fn is_malformed(&self, name: &[u8], action: Action) {
        let error = CallError::new(Call::Fsetxattr, Errno::INVAL);
        self.monitor.event(name, &Event::NotSet(action, error));
    }

    fn lists<'a>(&self, member: &Member, lists: &'a KernelLists) -> Lists<'a> {
        if !self.wanted.acls || member.kind == MemberKind::Symlink {
            return Lists::default();
        }
        let is_directory = matches!(member.kind, MemberKind::Directory | MemberKind::DumpDirectory);
        let default = if is_directory { lists.default.wanted() } else { List::Leave };
        Lists { access: lists.access.wanted(), default }
    }

    fn permissions(
        &self,
        member: &Member,
        attributes: Attributes,
        lists: &KernelLists,
        stat: &Stat,
    ) -> Option<Permissions> {
        if member.kind == MemberKind::Symlink {
            return None;
        }
        let is_directory = stat.kind() == Kind::Directory;
        let is_masked = self.policy.permissions == policy::Permissions::Masked;
        let bits = match attributes.made {
            // A default list of the directory grants what it grants to any new file.
            Some(made) if is_masked && !self.wanted.acls => {
                let usual = attributes.mode;
                NewMode { made, usual, umask: self.policy.umask }.bits(stat.permissions())
            }
            // As GNU tar: the setgid bit that a new directory inherits stays, and the sticky bit of an existing
            // one. Permissions that the umask denies do not stay either.
            _ if is_directory && is_masked => {
                (stat.permissions() & 0o7000) | (attributes.mode & 0o777 & !self.policy.umask)
            }
            _ => attributes.mode,
        };
        // The bits are a part of the list.
        let of_list = match &lists.access {
            KernelList::Some(list) => bits_of_list(list),
            KernelList::None | KernelList::Malformed => None,
        };
        let without_list = bits;
        let bits = of_list.map_or(bits, |of_list| (bits & 0o7000) | of_list);
        let grant = match (self.policy.owners, attributes.owner) {
            _ if is_directory => Grant::Caller,
            (Owners::Own, _) => Grant::OwnerOf {
                uid: u32::try_from(member.uid).ok(),
                gid: u32::try_from(member.gid).ok(),
            },
            (_, Some((uid, gid))) => Grant::OwnerOf { uid: Some(uid), gid: Some(gid) },
            // The owner of the archive cannot be set.
            (_, None) => Grant::OwnerOf { uid: None, gid: None },
        };
        Some(Permissions { bits, without_owner: 0o7777, without_list, grant })
    }
}

/// Returns the event of an attribute that was refused. One that the file cannot have is a warning as with GNU tar, and
/// one that is lost, as on a full disk, is a failure.
fn refused(attribute: Attribute<'_>, error: CallError, attributes: Attributes) -> Event {
    let action = match attribute {
        Attribute::Owner => {
            let (uid, gid) = attributes.owner.unwrap_or_default();
            return Event::Failed(Action::Owner(uid, gid), error);
        }
        Attribute::Permissions => return Event::Failed(Action::Mode(attributes.mode), error),
        Attribute::Times | Attribute::Flags => return Event::Failed(Action::Times, error),
        // The machine's security policy decides, and may refuse a context with many errnos.
        Attribute::Extended(name) if name == CONTEXT => {
            return Event::NotSet(Action::Context, error);
        }
        Attribute::Extended(name) => Action::Attribute(name.to_bytes().to_vec()),
        Attribute::List(_) => Action::Acl,
    };
    if attribute.is_forbidden(error.errno) {
        Event::NotSet(action, error)
    } else {
        Event::Failed(action, error)
    }
}
