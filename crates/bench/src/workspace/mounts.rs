//! The mount table: <https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html>

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use haul_sys::process::unshare_mounts;

use super::helper::helper;
use crate::error::{Error, Result};

/// One line of the mount table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The mount point.
    pub(crate) point: PathBuf,
    /// The file system.
    pub(crate) file_system: String,
    /// The options of mount and file system.
    pub(crate) options: String,
    /// The device, or the source of a mount without one.
    pub(crate) source: PathBuf,
    /// The device numbers that the file system reports.
    pub(crate) numbers: (u32, u32),
}

/// Hides the mounts of this thread from all other processes. Otherwise a process that creates a
/// mount namespace in the meantime (a container, a service, a test) gets a copy of the mounts and
/// keeps the file systems busy after they were unmounted. If this process is killed, its mounts
/// disappear with the namespace.
pub(crate) fn hide_mounts() -> Result<()> {
    let root = Path::new("/");
    unshare_mounts().map_err(Error::call("make a mount namespace at", root))?;
    helper("mount", &["--make-rprivate", "/"]).map(|_| ())
}

/// Returns all mounts in the namespace of this thread, in the order of their creation.
pub(crate) fn mounts() -> Result<Vec<Mount>> {
    let path = Path::new("/proc/thread-self/mountinfo");
    let text = fs::read(path).map_err(Error::file("read", path))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(parse_line).collect())
}

/// Returns the mount that a path is on.
pub(crate) fn mount_of(path: &Path) -> Result<Option<Mount>> {
    let path = path.canonicalize().map_err(Error::file("resolve", path))?;
    // Of two mounts on one point the later one hides the earlier one, and `max_by_key` returns the
    // last of equals.
    let over = mounts()?.into_iter().filter(|mount| path.starts_with(&mount.point));
    Ok(over.max_by_key(|mount| mount.point.as_os_str().len()))
}

/// Returns the name of the file system that a path is on, as `mount -t` takes it.
///
/// # Errors
///
/// The path does not exist.
pub fn file_system_of(path: &Path) -> Result<Option<String>> {
    Ok(mount_of(path)?.map(|mount| mount.file_system))
}

impl Mount {
    /// Returns the numbers of the block device below, if there is one.
    pub(crate) fn block_device(&self) -> Option<(u32, u32)> {
        // btrfs reports a number that is not a device; its mount source is one.
        if let Ok(meta) = fs::metadata(&self.source)
            && meta.mode() & 0o170_000 == 0o060_000
        {
            let numbers = meta.rdev();
            return Some((rustix::fs::major(numbers), rustix::fs::minor(numbers)));
        }
        (self.numbers.0 != 0).then_some(self.numbers)
    }
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let numbers = std::str::from_utf8(fields.nth(2)?).ok()?;
    let (major, minor) = numbers.split_once(':')?;
    let point = unescape(fields.nth(1)?);
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
            rest = after.get(3..).unwrap_or_default();
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
        let line = b"36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_line(line).unwrap();
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!(mount.file_system, "ext3");
        assert_eq!(mount.source, Path::new("/dev/root"));
        assert_eq!(mount.options, "rw,noatime,errors=continue");
        assert_eq!(mount.numbers, (98, 0));
        assert_eq!(parse_line(b""), None);
    }

    #[test]
    fn the_root_is_a_mount() {
        assert!(mount_of(Path::new("/")).unwrap().is_some());
    }
}
