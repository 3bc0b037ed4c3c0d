//! Identities of file systems that a later run recognises.
//!
//! The records of an earlier run identify files by inode number, size and times. These mean something only
//! together with the file system that they are on, and its device number is not enough: the number
//! changes with a reboot, and another file system that is mounted later gets the same number. Two images that
//! one program has built can even have the same inode numbers and times in all their files.
//!
//! So a record has an identity that the file system keeps: its UUID, or the name of its server. Where it
//! has none, and where a file's time of change may be one that the builder of an image chose, the record
//! has the identity of the mount, which the kernel never gives to another one.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_io::digest::short_sum;
use haul_io::fully::read_fully;
use haul_io::quirk::{ChangeTime, Groups, Quirk, of_magic};
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, Stat, file_system_id, file_system_uuid, fstat, fstatfs, mount_id,
    open_directory, openat, unique_mount_id, xfs_uuid,
};

use crate::names::path::directory_of;

/// Maximum number of bytes that are read of a file of `/proc`; a mount takes some 100 of them in the table of
/// mounts.
const MOST_BYTES: usize = 16 << 20;

/// Identity of a file system, or of a mount of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileSystemId(u128);

impl FileSystemId {
    /// Returns the identity with this number, which [`Self::number`] returned earlier.
    #[must_use]
    pub const fn of_number(number: u128) -> FileSystemId {
        FileSystemId(number)
    }

    /// Returns the identity as a number, for a record.
    #[must_use]
    pub const fn number(self) -> u128 {
        self.0
    }

    /// Returns the identity that some words have. Only the last one has a length that varies.
    fn of(words: &[&[u8]]) -> FileSystemId {
        FileSystemId(short_sum(0, &words.concat()))
    }
}

/// Prints 32 hexadecimal digits.
impl fmt::Display for FileSystemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// File as a later run can recognise it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identified<'a> {
    pub(crate) stat: &'a Stat,
    pub(crate) on: FileSystemId,
}

/// Properties of a file system by which a later run recognises it.
#[derive(Clone, Copy, Debug)]
struct Properties {
    /// Identity that survives an unmount and a reboot.
    lasting: Option<FileSystemId>,
    /// Identity of the mount.
    mounted: Option<FileSystemId>,
    change_time: ChangeTime,
}

impl Properties {
    const UNKNOWN: Properties =
        Properties { lasting: None, mounted: None, change_time: ChangeTime::Free };

    fn of(fd: BorrowedFd<'_>) -> Properties {
        let Ok(system) = fstatfs(fd) else { return Properties::UNKNOWN };
        let quirk = of_magic(system.magic);
        let lasting = lasting(fd, quirk);
        Properties { lasting, mounted: mounted(fd, lasting), change_time: quirk.change_time }
    }

    /// Returns the identity that, together with inode number, size and times, proves that a file is the one
    /// that a record describes, and has not been changed since.
    fn proof(&self, stat: &Stat) -> Option<FileSystemId> {
        let lasting = self.lasting.filter(|_| is_of_kernel(stat, self.change_time));
        lasting.or(self.mounted)
    }
}

/// Returns whether a file's time of change is certainly one that its file system set when the file changed. The
/// builder of an image gives each file one time, and usually a whole second; a server without such times
/// answers 0.
const fn is_of_kernel(stat: &Stat, change_time: ChangeTime) -> bool {
    let (ctime, mtime) = (stat.ctime, stat.mtime);
    let is_one_time = ctime.seconds == mtime.seconds && ctime.nanoseconds == mtime.nanoseconds;
    match change_time {
        ChangeTime::Free => false,
        ChangeTime::Seconds => true,
        ChangeTime::Precise => ctime.nanoseconds != 0 || (!is_one_time && ctime.seconds != 0),
    }
}

/// Returns the identity of the file system that holds an open file, if it has one.
fn lasting(fd: BorrowedFd<'_>, quirk: &Quirk) -> Option<FileSystemId> {
    let id = file_system_id(fd).unwrap_or(0);
    // A device number takes 32 bits.
    if id >> 32 != 0 {
        return Some(FileSystemId::of(&[b"fsid", &id.to_le_bytes()]));
    }
    let uuid = match quirk.groups {
        Groups::OfInode => xfs_uuid(fd),
        Groups::Unknown => file_system_uuid(fd),
    };
    if let Ok(uuid) = uuid
        && uuid != [0; 16]
    {
        return Some(FileSystemId::of(&[b"uuid", &uuid]));
    }
    if !quirk.is_remote() {
        return None;
    }
    let number = mount_id(fd, c"").ok()??;
    let table = read_proc(c"/proc/self/mountinfo")?;
    Some(FileSystemId::of(&[b"name", server(&table, number)?]))
}

/// Returns the type and the source of a remote file system, given the table of mounts (proc_pid_mountinfo(5))
/// and the number of the mount; `None` if the source does not name a server: a path of this machine may lead
/// to anything.
fn server(table: &[u8], mount: u64) -> Option<&[u8]> {
    let mount = format!("{mount} ");
    let line =
        table.split(|byte| *byte == b'\n').find(|line| line.starts_with(mount.as_bytes()))?;
    // Spaces in names are encoded, so the separator stands between the optional fields and the type.
    let at = line.windows(3).position(|three| three == b" - ")?;
    let named = line.get(at + 3..)?;
    let kind = named.iter().position(|byte| *byte == b' ')?;
    let source = named.get(kind + 1..)?;
    let end = source.iter().position(|byte| *byte == b' ').unwrap_or(source.len());
    let is_path = source.starts_with(b"/") && !source.starts_with(b"//");
    (!is_path).then(|| named.get(..kind + 1 + end))?
}

/// Returns the identity of the mount through which a file is open, until the machine is booted again.
fn mounted(fd: BorrowedFd<'_>, lasting: Option<FileSystemId>) -> Option<FileSystemId> {
    let number = unique_mount_id(fd).ok()??.to_le_bytes();
    let boot = read_proc(c"/proc/sys/kernel/random/boot_id")?;
    // Subvolumes of one mount differ in the lasting identity.
    let lasting = lasting.map_or(0, FileSystemId::number).to_le_bytes();
    Some(FileSystemId::of(&[b"boot", &number, &lasting, &boot]))
}

fn read_proc(path: &CStr) -> Option<Vec<u8>> {
    let file = openat(CWD, path, OpenHow::READ).ok()?;
    let mut bytes = Vec::new();
    while bytes.len() < MOST_BYTES {
        let (filled, more) = (bytes.len(), bytes.len().max(4 << 10));
        bytes.resize(filled + more, 0);
        let read = read_fully(&file, &mut bytes[filled..], filled as u64).ok()?;
        bytes.truncate(filled + read);
        if read < more {
            return Some(bytes);
        }
    }
    None
}

/// File systems of a run by their device numbers, which are unique while the run has them open.
#[derive(Debug, Default)]
pub struct FileSystems {
    known: Mutex<HashMap<u64, Properties>>,
}

/// Way to a file.
#[derive(Clone, Copy)]
pub(crate) enum Via<'a> {
    /// A name in a directory, which may be a path.
    Name(BorrowedFd<'a>, &'a CStr),
    Open(BorrowedFd<'a>),
}

impl FileSystems {
    /// Returns a file as a record describes it that has all the file's times; `None` if a later run could not
    /// recognise the file. The first file of a file system costs some calls.
    pub(crate) fn identified<'a>(&self, via: Via<'_>, stat: &'a Stat) -> Option<Identified<'a>> {
        Some(Identified { stat, on: self.properties(via, stat)?.proof(stat)? })
    }

    /// Returns a file as a record describes it that does not have the file's time of change.
    pub(crate) fn identified_apart_from_changes<'a>(
        &self,
        via: Via<'_>,
        stat: &'a Stat,
    ) -> Option<Identified<'a>> {
        let properties = self.properties(via, stat)?;
        Some(Identified { stat, on: properties.lasting.or(properties.mounted)? })
    }

    fn properties(&self, via: Via<'_>, stat: &Stat) -> Option<Properties> {
        let mut known = self.known.lock();
        if let Some(properties) = known.get(&stat.dev) {
            return Some(*properties);
        }
        // What cannot be opened by this name may be by another one.
        let properties = match via {
            Via::Open(fd) => Properties::of(fd),
            Via::Name(directory, name) => Properties::of(file_of(directory, name, stat)?.as_fd()),
        };
        known.insert(stat.dev, properties);
        Some(properties)
    }
}

/// Opens a file on the file system that holds a described file: its directory, or where that is on another one
/// (a file can be a mount point, and an overlay has several devices) the file itself.
fn file_of(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Option<OwnedFd> {
    let is_there = |fd: &OwnedFd| fstat(fd).is_ok_and(|found| found.dev == stat.dev);
    let parent = open_directory(directory, &directory_of(name.to_bytes()), Follow::Yes);
    if let Some(parent) = parent.ok().filter(is_there) {
        return Some(parent);
    }
    if stat.kind() != Kind::Regular {
        return None;
    }
    // By now the name may lead to a device, which must not be opened.
    let how = OpenHow::HANDLE.following(Follow::Yes);
    openat(directory, name, how).ok().filter(is_there)
}

#[cfg(test)]
mod tests {
    use haul_sys::fs::Time;

    use super::*;
    use crate::data::literals::{FILE, stat};

    /// The number is part of the format of journals.
    #[test]
    fn an_identity_is_the_same_in_every_program() {
        let id = FileSystemId::of(&[b"fsid", &0x0102_0304_0506_0708_u64.to_le_bytes()]);
        assert_eq!(id.to_string(), "45cea258f2028adfa3dad54c3e6cef2f");
        assert_eq!(FileSystemId::of_number(id.number()), id);
    }

    #[test]
    fn a_time_that_a_program_may_have_chosen_proves_nothing() {
        let times = |ctime, mtime| {
            let at = |(seconds, nanoseconds)| Time { seconds, nanoseconds };
            Stat { ctime: at(ctime), mtime: at(mtime), ..stat(1, FILE) }
        };
        let image = times((100, 0), (100, 0));
        for (file, expected) in [
            (image, false),
            // A server that has no such time.
            (times((0, 0), (100, 0)), false),
            // Attributes were changed, on a file system of whole seconds.
            (times((101, 0), (100, 0)), true),
            // A file that was written and not touched since.
            (times((100, 5), (100, 5)), true),
        ] {
            assert_eq!(is_of_kernel(&file, ChangeTime::Precise), expected, "{file:?}");
            assert!(is_of_kernel(&file, ChangeTime::Seconds));
            assert!(!is_of_kernel(&file, ChangeTime::Free));
        }
        let [lasting, mounted] = [1, 2].map(FileSystemId::of_number);
        let properties = Properties {
            lasting: Some(lasting),
            mounted: Some(mounted),
            change_time: ChangeTime::Precise,
        };
        assert_eq!(properties.proof(&stat(1, FILE)), Some(lasting));
        assert_eq!(properties.proof(&image), Some(mounted));
        let unmarked = Properties { mounted: None, ..properties };
        assert_eq!(unmarked.proof(&image), None);
    }

    #[test]
    fn a_server_has_a_name_and_a_path_has_none() {
        let table = b"22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n\
            31 28 0:52 / /a\\040-\\040b rw - nfs4 server:/export rw,vers=4.2\n\
            1 28 0:53 / /c rw shared:9 master:3 - cifs //server/a\\040share rw\n\
            2 28 0:54 / /d rw - fuse.bindfs /home/d rw\n\
            3 28 0:55 / /e rw - fuse.x";
        assert_eq!(server(table, 31), Some(b"nfs4 server:/export".as_slice()));
        assert_eq!(server(table, 1), Some(b"cifs //server/a\\040share".as_slice()));
        assert_eq!(server(table, 2), None);
        assert_eq!(server(table, 3), None);
        assert_eq!(server(table, 4), None);
    }

    #[test]
    fn each_file_of_a_file_system_has_its_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = open_directory(
            CWD,
            &std::ffi::CString::new(scratch.path().as_os_str().as_encoded_bytes()).unwrap(),
            Follow::Yes,
        )
        .unwrap();
        std::fs::write(scratch.path().join("file"), "bytes").unwrap();
        let file = fstat(std::fs::File::open(scratch.path().join("file")).unwrap()).unwrap();
        let systems = FileSystems::default();
        let via = Via::Name(directory.as_fd(), c"file");
        let by_name = systems.identified_apart_from_changes(via, &file).map(|file| file.on);
        let other = FileSystems::default();
        let open = Via::Open(directory.as_fd());
        let by_descriptor = other.identified_apart_from_changes(open, &file).map(|file| file.on);
        assert_eq!(by_name, by_descriptor);
        // A name that leads elsewhere says nothing about the file.
        let elsewhere = Via::Name(CWD.as_fd(), c"/proc/version");
        assert!(FileSystems::default().identified(elsewhere, &file).is_none());
    }
}
