//! The small values in the description of an entry: kind, time, device number.
//!
//! They are plain data without references to the kernel's structures, so that manifests and
//! differences can be stored, sent and compared on another machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The seven kinds of entries that POSIX and Linux define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
}

impl Kind {
    /// Returns the kind that a raw `st_mode` represents, or `None` for a type that Linux does not
    /// document in inode(7).
    pub(crate) fn from_raw_mode(mode: u16) -> Option<Self> {
        Some(match mode & 0o17_0000 {
            0o10_0000 => Self::Regular,
            0o04_0000 => Self::Directory,
            0o12_0000 => Self::Symlink,
            0o01_0000 => Self::Fifo,
            0o14_0000 => Self::Socket,
            0o06_0000 => Self::BlockDevice,
            0o02_0000 => Self::CharDevice,
            _ => return None,
        })
    }

    /// Returns a noun for messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::BlockDevice => "block device",
            Self::CharDevice => "character device",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.noun())
    }
}

/// A point in time as the kernel stores it: seconds since 1970 (negative before) and nanoseconds
/// after that second, 0 to 999,999,999.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp {
    /// Seconds since the epoch.
    pub seconds: i64,
    /// Nanoseconds after `seconds`.
    pub nanoseconds: u32,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}.{:09}", self.seconds, self.nanoseconds)
    }
}

/// The number of the device that a device node represents.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rdev {
    /// The major number: which driver.
    pub major: u32,
    /// The minor number: which of the driver's devices.
    pub minor: u32,
}

impl fmt::Display for Rdev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
