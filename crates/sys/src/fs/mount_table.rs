//! `/proc/thread-self/mountinfo` — the table of mounts:
//! <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, major, minor};

use crate::error::Named;
use crate::fs::pseudo::bytes;
use crate::fs::{BlockDevice, CWD, Kind, statat_follow};
use crate::{Call, Result};

/// More than the table of a machine with thousands of mounts has.
const TABLE_BYTES: usize = 4 << 20;

/// One line of the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The number of the mount, as statx(2) reports it.
    pub id: u64,
    /// The directory of the file system that the mount shows.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// The file system.
    pub file_system: String,
    /// The options of mount and file system.
    pub options: String,
    /// The device, or the source of a mount without one.
    pub source: PathBuf,
    /// The device numbers that the file system reports.
    pub numbers: (u32, u32),
}

/// Returns all mounts in the namespace of this thread, in the order of their creation; `None` without
/// `/proc`.
#[must_use]
pub fn mounts() -> Option<Vec<Mount>> {
    let table = bytes("/proc/thread-self/mountinfo", TABLE_BYTES)?;
    Some(table.split(|byte| *byte == b'\n').filter_map(parse_line).collect())
}

/// Returns the number of the mount that holds what a path leads to, links followed; `None` on kernels before 5.8.
/// What a client of a server knows about the file is enough.
pub fn mount_id_of(path: &Path) -> Result<Option<u64>> {
    // The kernel hands no path with a NUL to a program.
    let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let flags = AtFlags::STATX_DONT_SYNC;
    let told = rustix::fs::statx(CWD, &path, flags, StatxFlags::MNT_ID).named(Call::Statx)?;
    let knows = StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::MNT_ID);
    Ok(knows.then_some(told.stx_mnt_id))
}

impl Mount {
    /// Returns the numbers of the block device below, if there is one.
    #[must_use]
    pub fn block_device(&self) -> Option<(u32, u32)> {
        // btrfs reports a number that is not a device; its mount source is one.
        if let Ok(source) = CString::new(self.source.as_os_str().as_bytes())
            && let Ok(stat) = statat_follow(CWD, &source)
            && stat.kind() == Kind::BlockDevice
        {
            return Some((major(stat.rdev), minor(stat.rdev)));
        }
        (self.numbers.0 != 0).then_some(self.numbers)
    }

    /// Returns the block device below, if there is one and the kernel counts what it does.
    #[must_use]
    pub fn device(&self) -> Option<BlockDevice> {
        self.block_device().and_then(|(major, minor)| BlockDevice::new(major, minor))
    }
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let numbers = std::str::from_utf8(fields.nth(1)?).ok()?;
    let (major, minor) = numbers.split_once(':')?;
    let root = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let options = String::from_utf8_lossy(fields.next()?).into_owned();
    // Optional fields end with a dash.
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescape(fields.next()?);
    let more = String::from_utf8_lossy(fields.next()?).into_owned();
    let mut shown: Vec<&str> = options.split(',').collect();
    shown
        .extend(more.split(',').filter(|option| !options.split(',').any(|known| known == *option)));
    Some(Mount {
        id,
        root,
        point,
        file_system,
        options: shown.join(","),
        source,
        numbers: (major.parse().ok()?, minor.parse().ok()?),
    })
}

/// Decodes the octal escapes of blanks and backslashes.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let octal = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = octal {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table_are_read() {
        let line = b"36 35 98:0 /shown /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_line(line).unwrap();
        assert_eq!((mount.id, mount.point.as_path()), (36, Path::new("/mnt two")));
        assert_eq!((mount.root.as_path(), &*mount.file_system), (Path::new("/shown"), "ext3"));
        assert_eq!(mount.source, Path::new("/dev/root"));
        assert_eq!(mount.options, "rw,noatime,errors=continue");
        assert_eq!(mount.numbers, (98, 0));
        assert_eq!(parse_line(b""), None);
    }

    #[test]
    fn a_path_is_on_a_mount_of_the_table() {
        let Some(id) = mount_id_of(Path::new("/proc/self/status")).unwrap() else {
            eprintln!("ignored: this kernel does not tell the mount of a file");
            return;
        };
        let table = mounts().unwrap();
        let mount = table.iter().find(|mount| mount.id == id).unwrap();
        assert_eq!((mount.point.as_path(), mount.block_device()), (Path::new("/proc"), None));
        assert!(mount_id_of(Path::new("/nonexistent")).is_err());
    }
}
