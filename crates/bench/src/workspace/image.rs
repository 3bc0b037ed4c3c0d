//! File system images: creation, copy, mount.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_sys::data::{Advice, fadvise};
use haul_sys::fs::{MountAccess, fsync};
use rustix::fs::SeekFrom as Seek;
use rustix::io::Errno;

use super::helper::helper;
use super::scratch::{Mountable, Scratch};
use super::spec::{Backing, FileSystem};
use crate::error::{Error, Result};
use crate::scenario::Volume;

/// The smallest image: XFS needs 300 MiB, and btrfs works poorly below a few GiB. The image is
/// sparse.
const IMAGE_BYTES_MIN: u64 = 4 << 30;

/// Maximum space of an entry besides its data: an inode and a name, twice where btrfs keeps two
/// copies of metadata, and small files in them.
const ENTRY_BYTES: u64 = 16 << 10;

/// A chunk of copying an image.
const CHUNK_BYTES: usize = 1 << 20;

/// The required capacity of a file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes of data, in whole blocks.
    pub(super) bytes: u64,
    /// Entries.
    pub(super) entries: u64,
}

impl Room {
    /// Returns the capacity for a number of copies of a corpus.
    pub(super) fn for_copies(volume: Volume, copies: u64) -> Room {
        Room { bytes: volume.block_bytes * copies, entries: (volume.entries + 16) * copies }
    }

    fn image_bytes(self) -> u64 {
        let wanted = self.bytes + self.bytes / 8 + self.entries * ENTRY_BYTES + (1 << 30);
        wanted.max(IMAGE_BYTES_MIN).next_multiple_of(1 << 20)
    }
}

/// Creates a sparse image with an empty file system.
pub(super) fn make_image(
    scratch: &mut Scratch,
    name: &str,
    kind: FileSystem,
    room: Room,
) -> Result<()> {
    let file = scratch.create_file(name)?;
    let extended = file.set_len(room.image_bytes());
    extended.map_err(Error::file("extend", &scratch.inside(name)))?;
    drop(file);
    let shown = scratch.link(name).into_os_string();
    let arguments: Vec<std::ffi::OsString> = match kind {
        // mke2fs initialises inode tables and journal now; otherwise a kernel thread does it while
        // the first tool is measured. The image stays sparse, since mke2fs punches holes for zeros.
        FileSystem::Ext4 => vec![
            "-q".into(),
            "-F".into(),
            "-E".into(),
            "lazy_itable_init=0,lazy_journal_init=0".into(),
            "-N".into(),
            (room.entries + room.entries / 4 + 65_536).to_string().into(),
            shown,
        ],
        FileSystem::Xfs => vec!["-q".into(), "-f".into(), shown],
        FileSystem::Btrfs => vec!["-q".into(), "-f".into(), shown],
        FileSystem::Tmpfs => return Err(Error::Unfit("tmpfs has no image")),
    };
    helper(&format!("mkfs.{kind}"), &arguments).map(|_| ())
}

/// Copies the data segments of an image and preserves its holes.
pub(super) fn copy_image(
    scratch: &mut Scratch,
    source: &str,
    target: &str,
    backing: &Backing,
) -> Result<()> {
    let to = scratch.create_file(target)?;
    let (link, source, target) =
        (scratch.link(source), &scratch.inside(source), &scratch.inside(target));
    let mut from = File::open(link).map_err(Error::file("open", source))?;
    let size = from.metadata().map_err(Error::file("stat", source))?.len();
    to.set_len(size).map_err(Error::file("extend", target))?;
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(&from, Seek::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(Error::file("find data in", source)(errno.into())),
        };
        let end = rustix::fs::seek(&from, Seek::Hole(start))
            .map_err(|errno| Error::file("find holes in", source)(errno.into()))?;
        from.seek(SeekFrom::Start(start)).map_err(Error::file("read", source))?;
        at = start;
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let chunk = &mut buffer[..wanted];
            from.read_exact(chunk).map_err(Error::file("read", source))?;
            to.write_all_at(chunk, at).map_err(Error::file("write", target))?;
            at += wanted as u64;
        }
    }
    if *backing != Backing::Ram {
        // Otherwise the disk would still be busy with the copy, and the cache full of it.
        fsync(&to).map_err(Error::call("sync", target))?;
        for (file, path) in [(&from, source), (&to, target)] {
            fadvise(file, 0, 0, Advice::DontNeed).map_err(Error::call("advise on", path))?;
        }
    }
    Ok(())
}

/// Attaches an image to a loop device and mounts it. The device is detached on unmount.
pub(super) fn mount_image(
    image: &Path,
    (points, point): (&mut Scratch, &str),
    kind: FileSystem,
    backing: &Backing,
    access: MountAccess,
) -> Result<()> {
    let direct = match backing {
        // A loop device over tmpfs would only copy pages; over a disk, its own cache would hold
        // everything twice and hide the disk.
        Backing::Ram => "--direct-io=off",
        Backing::Disk(_) => "--direct-io=on",
    };
    let device = helper(
        "losetup",
        &["--find".as_ref(), "--show".as_ref(), direct.as_ref(), image.as_os_str()],
    )?;
    let what = Mountable { source: &device, file_system: kind.name(), access, options: c"" };
    let mounted = points.mount(point, what);
    // After this lazy detach the kernel frees the device with its last user, even if this process
    // dies.
    let detached = helper("losetup", &["-d", &device]);
    mounted.and_then(|()| detached.map(|_| ()))
}
