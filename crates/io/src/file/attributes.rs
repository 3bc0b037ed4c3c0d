//! Attributes of a file: the order in which they are set, where they are set, and what a refusal means.
//!
//! The order is: owner (which clears bits that run a program as its owner, and capabilities), then extended
//! attributes (which a read-only mode would forbid), then access-control lists and permission bits (the bits of the
//! group are the mask of a list), then times (which every step before would change). At no time does the group have
//! more than at the end: a list is set before the bits, which may need it, and removed after them, since what was its
//! mask stays as the bits of the group. `cp`, `mv`, `write`, `gzip` and `tar -x` set attributes by [`apply`].

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::fs::acl::{GROUP_OBJ, MASK, OTHER, USER_OBJ, read};
use haul_sys::fs::{
    Pinned, Stat, TimePair, chmod_handle, chown_handle, fchmod, fchown, fgetxattr, fremovexattr,
    fsetxattr, fstat, futimens, removexattr_handle, setxattr_handle, utimens_handle,
};
use haul_sys::{CallError, Errno, Result};

/// The attribute that holds the access-control list of a file.
pub const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// The attribute that holds the list that new entries of a directory get.
pub const DEFAULT_LIST: &CStr = c"system.posix_acl_default";

/// The attribute that holds the context of SELinux.
pub const CONTEXT: &CStr = c"security.selinux";

/// Bits with which a program runs with the rights of its file's owner, and of its group.
const RUNS_AS_OWNER: u32 = 0o4000;
const RUNS_AS_GROUP: u32 = 0o2000;
const RUNS_AS: u32 = RUNS_AS_OWNER | RUNS_AS_GROUP;

/// Name and value of an extended attribute.
pub type Extended = (CString, Vec<u8>);

/// A kind of attribute, with its name where there may be several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// Owner and group.
    Owner,
    /// An extended attribute.
    Extended(&'a CStr),
    /// An access-control list, by the name of the attribute that holds it.
    List(&'a CStr),
    /// The twelve permission bits.
    Permissions,
    /// Times of the last access and of the last change.
    Times,
    /// Flags that chattr(1) sets, and the project.
    Flags,
}

impl Attribute<'_> {
    /// Returns whether this answer means that the file cannot have the attribute, or that its mode forbids this user to
    /// set it, as that of a directory which was there before may.
    #[must_use]
    pub fn is_forbidden(self, errno: Errno) -> bool {
        self.cannot_be_had(errno)
            || (matches!(self, Attribute::Extended(_)) && errno == Errno::ACCESS)
    }

    /// Returns whether this answer to setting the attribute means that the file cannot have it: its file system does
    /// not support it, or this user may not set it. Any other answer (a full disk, a quota, an I/O error, a limit of
    /// size) concerns this file alone, and is a loss.
    #[must_use]
    pub const fn cannot_be_had(self, errno: Errno) -> bool {
        match self {
            // fchown(2): EINVAL for an ID that the mount or the user namespace cannot express.
            Attribute::Owner => matches!(errno, Errno::OPNOTSUPP | Errno::PERM | Errno::INVAL),
            // setxattr(2): EPERM for a namespace that needs privileges, or for a file type that does not support
            // attributes.
            Attribute::Extended(_)
            | Attribute::List(_)
            | Attribute::Permissions
            | Attribute::Times => matches!(errno, Errno::OPNOTSUPP | Errno::PERM),
            // EINVAL: flags that exclude each other on the file system, or a project in a user namespace.
            Attribute::Flags => {
                matches!(errno, Errno::OPNOTSUPP | Errno::NOTTY | Errno::PERM | Errno::INVAL)
            }
        }
    }
}

/// A file whose attributes are set.
#[derive(Clone, Copy, Debug)]
pub enum Target<'f> {
    /// One that is open for reading or writing.
    File(BorrowedFd<'f>),
    /// One that is open as a handle: a link, a FIFO, a socket or a device.
    Handle(Pinned<'f>),
}

impl Target<'_> {
    fn describe(self) -> Result<Stat> {
        match self {
            Target::File(file) => fstat(file),
            Target::Handle(pinned) => fstat(pinned.file),
        }
    }

    fn give(self, uid: Option<u32>, gid: u32) -> Result<()> {
        match self {
            Target::File(file) => fchown(file, uid, Some(gid)),
            Target::Handle(pinned) => chown_handle(pinned.file, uid, Some(gid)),
        }
    }

    fn set(self, name: &CStr, value: &[u8]) -> Result<()> {
        match self {
            Target::File(file) => fsetxattr(file, name, value),
            Target::Handle(pinned) => setxattr_handle(pinned, name, value),
        }
    }

    /// Removes an attribute that the file may not have, or may not be able to have.
    fn remove(self, name: &CStr) -> Result<()> {
        let removed = match self {
            Target::File(file) => fremovexattr(file, name),
            Target::Handle(pinned) => removexattr_handle(pinned, name),
        };
        match removed {
            Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            answer => answer,
        }
    }

    fn set_bits(self, bits: u32) -> Result<()> {
        match self {
            Target::File(file) => fchmod(file, bits),
            Target::Handle(pinned) => chmod_handle(pinned, bits),
        }
    }

    fn set_times(self, times: TimePair) -> Result<()> {
        match self {
            Target::File(file) => futimens(file, times),
            Target::Handle(pinned) => utimens_handle(pinned.file, times),
        }
    }
}

/// An owner and group that a file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// What is tried if both together are refused.
    pub otherwise: Otherwise,
}

/// What is tried if an owner is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// Nothing.
    Nothing,
    /// The group: a user without privileges may set one that the user is in.
    GroupAlone,
}

/// What becomes of an access-control list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum List<'a> {
    /// It stays as it is.
    #[default]
    Leave,
    /// It is removed: the file may have inherited one that grants more than its bits.
    Remove,
    /// It becomes this one, in the form of the kernel.
    Set(&'a [u8]),
}

/// Access-control lists of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists<'a> {
    /// The list of the file.
    pub access: List<'a>,
    /// The list that new entries of a directory get.
    pub default: List<'a>,
}

impl Lists<'_> {
    /// Returns what is left to do for a new file that has inherited no list: there is none to remove.
    #[must_use]
    pub fn of_new(self) -> Self {
        let unless_removed = |list| if list == List::Remove { List::Leave } else { list };
        Lists { access: unless_removed(self.access), default: unless_removed(self.default) }
    }
}

impl Permissions {
    /// Returns bits that a file gets whatever its owner and its list are.
    #[must_use]
    pub const fn plain(bits: u32) -> Permissions {
        Permissions { bits, without_owner: bits, without_list: bits, grant: Grant::Caller }
    }
}

/// Who has granted the bits with which a program runs with the rights of another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The caller, who asks for the bits without the owner.
    Caller,
    /// The owner and the group of another file. A file gets the bits only if it has the same; `None` is none that a
    /// file can have.
    OwnerOf {
        /// The user.
        uid: Option<u32>,
        /// The group.
        gid: Option<u32>,
    },
}

impl Grant {
    /// Returns the bits that a file with this owner and group may have.
    #[must_use]
    pub fn allow(self, bits: u32, (owner, group): (u32, u32)) -> u32 {
        let Grant::OwnerOf { uid, gid } = self else { return bits };
        let of_owner = if uid == Some(owner) { 0 } else { RUNS_AS_OWNER };
        let of_group = if gid == Some(group) { 0 } else { RUNS_AS_GROUP };
        bits & !(of_owner | of_group)
    }
}

/// Permission bits that a file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The twelve bits.
    pub bits: u32,
    /// Those that it may have if it cannot have its owner.
    pub without_owner: u32,
    /// Those that it gets if its access-control list is refused.
    pub without_list: u32,
    /// Who has granted the bits that run a program as another user.
    pub grant: Grant,
}

/// Returns whether files that are made in this directory inherit an access-control list from it.
pub fn has_default_list(directory: impl AsFd) -> bool {
    fgetxattr(directory, DEFAULT_LIST).is_ok()
}

/// Modes of a file that the caller has made, and that gets the bits of any new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMode {
    /// Mode that the call which made the file was given. It may lack bits until the file has its owner, and have more
    /// as long as its attributes are set.
    pub made: u32,
    /// Mode that the file has at the end, before the umask.
    pub usual: u32,
    /// Bits that no file gets where no default list decides.
    pub umask: u32,
}

impl NewMode {
    /// Returns the bits that the file gets. Those that it has stay, because a default list of its directory may have
    /// granted less than the umask, but for those that were added; those that were left out are added.
    #[must_use]
    pub const fn bits(self, now: u32) -> u32 {
        let NewMode { made, usual, umask } = self;
        (now & (usual | !made)) | (usual & !made & !umask)
    }
}

/// Attributes that a file gets. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Owner and group.
    pub owner: Option<Owner>,
    /// Extended attributes other than access-control lists.
    pub extended: &'a [Extended],
    /// Access-control lists.
    pub lists: Lists<'a>,
    /// Permission bits; a symbolic link has none.
    pub permissions: Option<Permissions>,
    /// Times of the last access and of the last change.
    pub times: Option<TimePair>,
}

impl Wanted<'_> {
    /// Leaves the owner as it is, and with another one than the wanted the bits that depend on it.
    pub fn keep_owner(&mut self, now: (u32, u32)) {
        let Some(owner) = self.owner.take() else { return };
        if (owner.uid, owner.gid) != now
            && let Some(permissions) = &mut self.permissions
        {
            permissions.bits &= permissions.without_owner;
        }
    }
}

/// Attributes of a file that are known before they are set, so that no call is made in vain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Owner and group.
    pub owner: Option<(u32, u32)>,
    /// Permission bits.
    pub bits: Option<u32>,
}

impl Known {
    /// Returns what a description says.
    #[must_use]
    pub const fn of(stat: &Stat) -> Known {
        Known { owner: Some((stat.uid, stat.gid)), bits: Some(stat.permissions()) }
    }
}

/// What became of the owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Unchanged,
    Changed,
    Refused,
}

/// State of a file before its permission bits are set.
#[derive(Clone, Copy)]
struct State {
    given: Given,
    is_list_refused: bool,
    /// The bits, if they are known.
    bits: Option<u32>,
}

/// Sets attributes of a file in the only right order. `refused` is called for each that could not be set, and the
/// others are set all the same. Returns the permission bits that were left out, because the file does not have the
/// owner or the group that granted them.
///
/// Makes a call for each attribute that is wanted and not known to be set; blocks as these calls do.
pub fn apply(
    target: Target<'_>,
    known: Known,
    wanted: &Wanted<'_>,
    refused: &mut dyn FnMut(Attribute<'_>, CallError),
) -> u32 {
    let given = wanted.owner.map_or(Given::Unchanged, |owner| give(target, known, owner, refused));
    for (name, value) in wanted.extended {
        if let Err(error) = target.set(name, value) {
            refused(Attribute::Extended(name), error);
        }
    }
    let Lists { access, default } = wanted.lists;
    let mut state = State { given, is_list_refused: false, bits: known.bits };
    if let List::Set(_) = access {
        state.is_list_refused = !set_list(target, ACCESS_LIST, access, refused);
        // A list changes the bits.
        state.bits = None;
    }
    let withheld =
        wanted.permissions.map_or(0, |permissions| permit(target, state, permissions, refused));
    if access == List::Remove {
        set_list(target, ACCESS_LIST, access, refused);
    }
    set_list(target, DEFAULT_LIST, default, refused);
    if let Some(times) = wanted.times
        && let Err(error) = target.set_times(times)
    {
        refused(Attribute::Times, error);
    }
    withheld
}

/// Sets or removes an access-control list, and returns whether that succeeded.
fn set_list(
    target: Target<'_>,
    name: &CStr,
    list: List<'_>,
    refused: &mut dyn FnMut(Attribute<'_>, CallError),
) -> bool {
    let set = match list {
        List::Leave => Ok(()),
        List::Remove => target.remove(name),
        List::Set(value) => target.set(name, value),
    };
    if let Err(error) = set {
        refused(Attribute::List(name), error);
    }
    set.is_ok()
}

fn give(
    target: Target<'_>,
    known: Known,
    owner: Owner,
    refused: &mut dyn FnMut(Attribute<'_>, CallError),
) -> Given {
    let Owner { uid, gid, otherwise } = owner;
    if known.owner == Some((uid, gid)) {
        return Given::Unchanged;
    }
    let Err(error) = target.give(Some(uid), gid) else { return Given::Changed };
    let has_user = known.owner.is_some_and(|(now, _)| now == uid);
    if otherwise == Otherwise::GroupAlone && target.give(None, gid).is_ok() && has_user {
        return Given::Changed;
    }
    refused(Attribute::Owner, error);
    Given::Refused
}

/// Sets permission bits, if the file does not have them. Returns those that were left out.
fn permit(
    target: Target<'_>,
    state: State,
    permissions: Permissions,
    refused: &mut dyn FnMut(Attribute<'_>, CallError),
) -> u32 {
    let Permissions { bits, without_owner, without_list, grant } = permissions;
    let State { given, is_list_refused, bits: known } = state;
    let of_list = if is_list_refused { without_list } else { bits };
    let wanted = if given == Given::Refused { without_owner & of_list } else { of_list };
    let allowed = match grant {
        Grant::OwnerOf { .. } if wanted & RUNS_AS != 0 => match target.describe() {
            Ok(now) => grant.allow(wanted, (now.uid, now.gid)),
            Err(_) => wanted & !RUNS_AS,
        },
        _ => wanted,
    };
    // A new owner clears the bits that run a program.
    let is_set = known == Some(allowed) && (given == Given::Unchanged || allowed & RUNS_AS == 0);
    if !is_set && let Err(error) = target.set_bits(allowed) {
        refused(Attribute::Permissions, error);
    }
    wanted & !allowed
}

/// Returns the permission bits that an access-control list stands for, in the form of the kernel: with a mask, the bits
/// of the group are those of the mask. `None` if it is no list.
#[must_use]
pub fn bits_of_list(list: &[u8]) -> Option<u32> {
    let entries = read(list)?;
    let bits = |tag| {
        let entry = entries.iter().find(|entry| entry.tag == tag)?;
        Some(u32::from(entry.permissions) & 7)
    };
    let group = bits(MASK).or_else(|| bits(GROUP_OBJ))?;
    Some(bits(USER_OBJ)? << 6 | group << 3 | bits(OTHER)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_keeps_what_its_list_denies() {
        for (made, usual, now, bits) in [
            (0o644, 0o644, 0o644, 0o644),
            // A list, and one that grants what the umask denies.
            (0o644, 0o644, 0o640, 0o640),
            (0o666, 0o666, 0o664, 0o664),
            // Bits of the group and of others wait for the owner, or for the last attribute.
            (0o600, 0o666, 0o600, 0o644),
            (0o744, 0o544, 0o740, 0o540),
            // What a directory inherits.
            (0o700, 0o755, 0o2700, 0o2755),
        ] {
            let new = NewMode { made, usual, umask: 0o022 };
            assert_eq!(new.bits(now), bits, "{new:?} {now:o}");
        }
    }

    #[test]
    fn a_list_grants_its_owner_mask_and_others() {
        let list = |entries: &[(u16, u16)]| {
            let mut list = 2_u32.to_le_bytes().to_vec();
            for (tag, bits) in entries {
                list.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
                list.extend(u32::MAX.to_le_bytes());
            }
            list
        };
        assert_eq!(bits_of_list(&list(&[(1, 7), (4, 5), (0x20, 0)])), Some(0o750));
        let masked = [(1, 6), (2, 7), (4, 7), (0x10, 4), (0x20, 1)];
        assert_eq!(bits_of_list(&list(&masked)), Some(0o641));
        assert_eq!(bits_of_list(&list(&[(1, 6), (4, 7)])), None);
        assert_eq!(bits_of_list(&list(&[])), None);
        assert_eq!(bits_of_list(&[2, 0, 0]), None);
        assert_eq!(bits_of_list(&[2, 0, 0, 0, 1]), None);
    }

    #[test]
    fn a_program_runs_only_with_the_rights_of_those_who_granted_them() {
        let grant = Grant::OwnerOf { uid: Some(1), gid: Some(2) };
        assert_eq!(grant.allow(0o6755, (1, 2)), 0o6755);
        assert_eq!(grant.allow(0o6755, (0, 2)), 0o2755);
        assert_eq!(grant.allow(0o6755, (1, 0)), 0o4755);
        assert_eq!(grant.allow(0o6755, (0, 0)), 0o755);
        assert_eq!(Grant::OwnerOf { uid: None, gid: None }.allow(0o6755, (0, 0)), 0o755);
        assert_eq!(Grant::Caller.allow(0o6755, (0, 0)), 0o6755);
    }

    #[test]
    fn a_full_disk_is_no_lack_of_support() {
        let all = [
            Attribute::Owner,
            Attribute::Extended(c"user.a"),
            Attribute::List(ACCESS_LIST),
            Attribute::Permissions,
            Attribute::Times,
            Attribute::Flags,
        ];
        for attribute in all {
            assert!(attribute.cannot_be_had(Errno::OPNOTSUPP), "{attribute:?}");
            assert!(attribute.cannot_be_had(Errno::PERM), "{attribute:?}");
            for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO, Errno::TOOBIG, Errno::ACCESS] {
                assert!(!attribute.cannot_be_had(errno), "{attribute:?} {errno:?}");
            }
        }
    }
}
