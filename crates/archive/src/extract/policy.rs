//! What the caller wants done with the members: plain data.

use haul_io::DataPolicy;

use super::event::Event;
use crate::format::{Member, MemberKind};

/// What becomes of existing files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// They are removed first; directories stay and get the member's attributes.
    #[default]
    Replace,
    /// The same, but existing directories keep their attributes.
    ReplaceKeepingDirectories,
    /// Their bytes are overwritten, in the same inode.
    Overwrite,
    /// They stay, and that is an error.
    Keep,
    /// They stay if they are not older than the member.
    KeepNewer,
    /// They stay.
    Skip,
    /// Everything, empty directories too, is removed before the member is made.
    UnlinkFirst,
}

/// Which permissions members get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// All twelve bits. The bits that run a program as its owner or group are set only where the file
    /// has the owner or group of the archive.
    Exact,
    /// The nine bits of reading, writing and execution, less the umask.
    Masked,
}

/// The owners of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// This process.
    Own,
    /// The owner in the archive, by name.
    Named,
    /// The owner in the archive, by number.
    Numbered,
}

/// Whether names may lead out of the target directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Nothing outside the target directory is touched.
    Beneath,
    /// They are used as they are (`--absolute-names`).
    Absolute,
}

/// Whether character and block devices are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// They are, if the kernel lets this process.
    Make,
    /// They are not: a device gives each user who may open it what is behind it, wherever that is.
    Refuse,
}

/// Which time of the last change members get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// That of the archive.
    Archive,
    /// The time of extraction.
    Now,
}

/// When a regular file gets its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Appearance {
    /// When it is created.
    #[default]
    Gradual,
    /// When its bytes and attributes are complete. An existing file has the name until then.
    Whole,
    /// When they are on stable storage; and all names are when the extraction ends.
    Durable,
}

/// The policy of an extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What becomes of existing files.
    pub existing: Existing,
    /// Which permissions members get.
    pub permissions: Permissions,
    /// The owners of members.
    pub owners: Owners,
    /// Whether names may lead out of the target directory.
    pub names: Names,
    /// Whether devices are made.
    pub devices: Devices,
    /// Which times members get.
    pub times: Times,
    /// Whether a link to a directory stays where the archive has a directory.
    pub keeps_links_to_directories: bool,
    /// Whether a directory that is in the way is removed with all that is in it. Has no effect with
    /// [`Existing::Keep`], [`Existing::KeepNewer`] and [`Existing::Skip`].
    pub removes_trees: bool,
    /// Device and inode of the archive. With [`Existing::Overwrite`] another file replaces it, because it is being
    /// read.
    pub archive: Option<(u64, u64)>,
    /// When a regular file gets its name. With any but [`Appearance::Gradual`], [`Existing::Overwrite`] is
    /// the same as [`Existing::Replace`].
    pub appearance: Appearance,
    /// Whether files that are there with the attributes and the bytes of the archive stay. Sparse files, those
    /// with further attributes, and large ones of a stream are made again.
    pub resumes: bool,
    /// Whether blocks of an archive may be shared with the files, and what becomes of the page cache of new
    /// files and of the ranges of the archive that are moved.
    pub data: DataPolicy,
    /// The user that new files of this process belong to.
    pub user: u32,
    /// The umask of this process.
    pub umask: u32,
    /// Number of workers that make files, at least 1.
    pub workers: usize,
    /// The most of them on a remote file system, if they mostly wait for it; at least [`Policy::workers`].
    pub waiting_workers: usize,
}

impl Policy {
    /// Returns whether a directory may be removed with all that is in it. Where existing files are to stay, what
    /// is in it stays: it may be newer than the archive.
    pub(super) const fn may_remove_trees(&self) -> bool {
        let keeps = matches!(self.existing, Existing::Keep | Existing::KeepNewer | Existing::Skip);
        self.removes_trees && !keeps
    }

    /// Returns whether a member is a device that only a user who asked for devices gets. Any user can make the
    /// whiteouts of overlayfs, devices without a driver.
    pub(super) fn refuses(&self, member: &Member) -> bool {
        let is_device = match member.kind {
            MemberKind::CharDevice => member.device != (0, 0),
            MemberKind::BlockDevice => true,
            _ => false,
        };
        is_device && self.devices == Devices::Refuse
    }
}

/// Is told what happens. Workers call it at the same time.
pub trait Monitor: Send + Sync {
    /// Something happened to the member of this name.
    fn event(&self, name: &[u8], event: &Event);

    /// The regular file of this name is complete, or was already, and its bytes in the archive have this
    /// digest, holes read as zeros. Called only if the extractor hashes, see
    /// [`Extractor::hashing`](super::Extractor::hashing).
    fn hashed(&self, name: &[u8], digest: &[u8]);
}
