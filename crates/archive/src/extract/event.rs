//! What happens to members, as data for messages.

use haul_io::DataError;
use haul_sys::CallError;

use crate::format::Moment;

/// What was being done to a member when a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opening or creating a file.
    Open,
    /// Creating a directory.
    MakeDirectory,
    /// Following a symbolic link in place of a directory.
    FollowLink,
    /// Creating a symbolic link to this text.
    MakeSymlink(Vec<u8>),
    /// Creating a hard link to this name.
    MakeLink(Vec<u8>),
    /// Creating a device.
    MakeNode,
    /// Creating a named pipe.
    MakeFifo,
    /// Removing what exists.
    Unlink,
    /// Giving another file its name back, which has this one now.
    GiveBack(Vec<u8>),
    /// Reading attributes.
    Stat,
    /// Setting owner and group.
    Owner(u32, u32),
    /// Setting permissions.
    Mode(u32),
    /// Setting times.
    Times,
    /// Closing.
    Close,
    /// Waiting until it is on stable storage.
    Sync,
    /// Giving a complete file its name.
    Publish,
    /// Setting the extended attribute of this name.
    Attribute(Vec<u8>),
    /// Setting an access-control list.
    Acl,
    /// Setting the context of SELinux.
    Context,
    /// Hashing its bytes.
    Hash,
}

/// What happened to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call failed.
    Failed(Action, CallError),
    /// Its bytes could not be written; what was written is removed again.
    Incomplete(DataError),
    /// The name leads out of the target directory.
    LeadsOut,
    /// A file exists and stays.
    Skipped,
    /// A file exists and is not older.
    Newer,
    /// A file is there already, complete.
    Kept,
    /// The bits that run a program as its owner or group were not set, because the file does not have
    /// the owner and group of the archive.
    Unprivileged(u32),
    /// A device, which only a user who asked for devices gets.
    Device,
    /// The member continues one of another volume.
    Continued,
    /// An attribute beside the usual ones could not be set.
    NotSet(Action, CallError),
    /// Its name leads to another file than the extraction has made: the directory did not get its attributes, or the
    /// symbolic link was not made.
    Exchanged,
    /// The type of the member is not known; it is extracted as a regular file.
    UnknownType(u8),
    /// It got this time of the last change, which is before 1970 or later than the extraction began.
    OddTime(Moment),
}

impl Event {
    /// Returns whether the member could not be extracted as it is in the archive.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        !matches!(
            self,
            Event::Skipped
                | Event::Kept
                | Event::Newer
                | Event::Unprivileged(_)
                | Event::UnknownType(_)
                | Event::NotSet(..)
                | Event::OddTime(_)
        )
    }
}
