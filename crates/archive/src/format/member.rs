//! One member of an archive, as its headers describe it.

use std::time::SystemTime;

use super::header::Layout;

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    Regular,
    /// A regular file that should be contiguous; it is treated as a regular one.
    Contiguous,
    /// Another name of an earlier member.
    HardLink,
    /// A symbolic link.
    Symlink,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A directory with its list of names, of incremental archives.
    DumpDirectory,
    /// The name of the volume.
    VolumeLabel,
    /// The rest of a file that begins on another volume.
    Continued,
    /// A type flag that is not known; GNU tar extracts such a member as a regular file.
    Unknown(u8),
}

impl MemberKind {
    /// Returns the kind that a type stands for.
    pub(super) const fn of_type(type_flag: u8) -> MemberKind {
        match type_flag {
            0 | b'0' | b'S' => MemberKind::Regular,
            b'1' => MemberKind::HardLink,
            b'2' => MemberKind::Symlink,
            b'3' => MemberKind::CharDevice,
            b'4' => MemberKind::BlockDevice,
            b'5' => MemberKind::Directory,
            b'6' => MemberKind::Fifo,
            b'7' => MemberKind::Contiguous,
            b'D' => MemberKind::DumpDirectory,
            b'V' => MemberKind::VolumeLabel,
            b'M' => MemberKind::Continued,
            other => MemberKind::Unknown(other),
        }
    }

    /// Returns whether data can follow its header.
    pub(super) const fn has_data(self) -> bool {
        !matches!(
            self,
            MemberKind::HardLink
                | MemberKind::Symlink
                | MemberKind::CharDevice
                | MemberKind::BlockDevice
                | MemberKind::Directory
                | MemberKind::Fifo
        )
    }
}

/// A time in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Moment {
    /// Returns the time of the real-time clock.
    #[must_use]
    pub fn now() -> Moment {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        Moment { seconds, nanoseconds: now.subsec_nanos() }
    }

    /// Returns the time since an earlier moment; `None` if that one is not earlier.
    #[must_use]
    pub fn since(self, earlier: Moment) -> Option<Moment> {
        if self <= earlier {
            return None;
        }
        let borrow = self.nanoseconds < earlier.nanoseconds;
        let nanoseconds = self.nanoseconds + if borrow { 1_000_000_000 } else { 0 };
        Some(Moment {
            seconds: self.seconds.checked_sub(earlier.seconds)? - i64::from(borrow),
            nanoseconds: nanoseconds - earlier.nanoseconds,
        })
    }
}

/// A region of a sparse file that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// One member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The layout of its header.
    pub layout: Layout,
    /// Whether an extended header came before it, so that its times are exact.
    pub is_extended: bool,
    /// What it is.
    pub kind: MemberKind,
    /// Its name as in the archive, with a slash at the end if it has one there.
    pub name: Vec<u8>,
    /// The target of a link; empty for other kinds.
    pub link: Vec<u8>,
    /// The twelve permission bits.
    pub mode: u32,
    /// The owner's number.
    pub uid: u64,
    /// The group's number.
    pub gid: u64,
    /// The owner's name, or empty.
    pub user: Vec<u8>,
    /// The group's name, or empty.
    pub group: Vec<u8>,
    /// Bytes of the file, holes included; of a link or a directory, what its header says.
    pub size: u64,
    /// Time of the last change.
    pub mtime: Moment,
    /// Time of the last access, if the archive has it.
    pub atime: Option<Moment>,
    /// Time of the last change of attributes, if the archive has it.
    pub ctime: Option<Moment>,
    /// Major and minor number of a device.
    pub device: (u32, u32),
    /// The regions of a sparse file; `None` for other files.
    pub regions: Option<Vec<Region>>,
    /// Extended attributes, by name.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Access-control lists in text form: of access, and the default of a directory.
    pub acls: [Option<Vec<u8>>; 2],
    /// The context of SELinux.
    pub context: Option<Vec<u8>>,
    /// Offset of its header in the archive, in bytes: as GNU tar counts, behind an extended header and
    /// before a long name.
    pub header_offset: u64,
    /// Offset of its data in the archive, in bytes.
    pub data_offset: u64,
    /// Bytes of its data in the archive, without padding.
    pub stored_bytes: u64,
}

impl Member {
    /// Returns whether it is a file with bytes of its own.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self.kind, MemberKind::Regular | MemberKind::Contiguous | MemberKind::Unknown(_))
    }

    /// Returns whether it has extended attributes, access-control lists or a context.
    #[must_use]
    pub fn has_attributes(&self) -> bool {
        let has_lists = self.acls.iter().any(Option::is_some);
        !self.xattrs.is_empty() || has_lists || self.context.is_some()
    }

    /// Takes them away.
    pub fn drop_attributes(&mut self) {
        (self.xattrs, self.acls, self.context) = Default::default();
    }

    /// Returns its regions of data: those of a sparse file, or one of the whole file.
    #[must_use]
    pub fn data(&self) -> Vec<Region> {
        match &self.regions {
            Some(regions) => regions.clone(),
            None => vec![Region { offset: 0, bytes: self.size }],
        }
    }
}
