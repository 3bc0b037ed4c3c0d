//! One entry as a worker describes it: its attributes, and its first bytes.

use std::os::fd::{AsFd as _, OwnedFd};

use bytes::Bytes;
use haul_io::fully::read_fully;
use haul_io::trail::SourceTrail;
use haul_sys::fs::{
    Access, Create, Follow, Kind, OFlags, OpenHow, Pinned, Stat, Wait, fstat, open_directory,
    openat, readlinkat, statat, statat_follow,
};
use haul_sys::{Call, CallError, Errno, Result};

use super::found::Found;
use super::holes;
use super::plan::{Atime, Plan};
use crate::attributes::{Found as Attributes, From};
use crate::format::Region;
use crate::room::Room;

/// Files up to this size are read by workers into memory.
const SMALL_BYTES: u64 = 256 << 10;

/// What a worker found at a name.
pub(super) struct Described {
    pub(super) found: Found,
    pub(super) answer: std::result::Result<Entry, Failure>,
}

/// Why a name cannot be archived.
pub(super) enum Failure {
    Stat(CallError),
    Open(CallError),
    /// So many bytes could not be read.
    Read(u64, CallError),
    Readlink(CallError),
}

/// A name that can be archived.
pub(super) struct Entry {
    pub(super) stat: Stat,
    pub(super) data: Data,
    /// The digest of [`Data::Bytes`], if it is wanted.
    pub(super) digest: Option<Vec<u8>>,
    /// What it has beside the usual attributes.
    pub(super) attributes: Result<Attributes>,
}

/// The bytes of an entry.
pub(super) enum Data {
    /// It has none.
    None,
    /// The target of a symbolic link.
    Link(Vec<u8>),
    /// The whole file, and what the file was after it was read.
    Bytes(Bytes, Stat),
    /// A file that is not read.
    Unread,
    /// A file that the writer reads.
    File(OwnedFd),
    /// One with holes, and its data in order.
    Sparse(OwnedFd, Vec<Region>),
}

/// Describes a name and reads a small file. Blocks.
pub(super) fn describe(found: Found, plan: &Plan, room: &mut Room) -> Described {
    let answer = entry(&found, plan, room);
    Described { found, answer }
}

fn entry(found: &Found, plan: &Plan, room: &mut Room) -> std::result::Result<Entry, Failure> {
    let follow = plan.follow;
    if found.kind == Some(Kind::Regular) {
        // What another process put in its place meanwhile is described as any other name.
        match regular(found, plan, room) {
            Ok(entry) if entry.stat.kind() == Kind::Regular => return Ok(entry),
            Err(failure @ (Failure::Read(..) | Failure::Stat(_))) => return Err(failure),
            Ok(_) | Err(_) => {}
        }
    }
    let stat = match follow {
        Follow::No => statat(&*found.parent, found.leaf()),
        Follow::Yes => statat_follow(&*found.parent, found.leaf()),
    };
    let stat = stat.map_err(Failure::Stat)?;
    match stat.kind() {
        Kind::Regular => regular(found, plan, room),
        Kind::Symlink => {
            let text = readlinkat(&*found.parent, found.leaf()).map_err(Failure::Readlink)?;
            let attributes = plan.attributes.read(From::Link(&found.parent, found.leaf()));
            Ok(Entry { stat, data: Data::Link(text.into_bytes()), digest: None, attributes })
        }
        Kind::Directory => {
            // One that cannot be opened is left out.
            let opened = open_directory(&*found.parent, found.leaf(), follow);
            let directory = opened.map_err(Failure::Open)?;
            let stat = fstat(&directory).map_err(Failure::Stat)?;
            let attributes = plan.attributes.read(From::File(&directory, stat.permissions()));
            Ok(Entry { stat, data: Data::None, digest: None, attributes })
        }
        _ => {
            let attributes = unopened(found, plan, &stat);
            Ok(Entry { stat, data: Data::None, digest: None, attributes })
        }
    }
}

/// Reads the attributes of a FIFO, a device or a socket, to which a symbolic link may have led.
fn unopened(found: &Found, plan: &Plan, stat: &Stat) -> Result<Attributes> {
    if plan.attributes.is_none() {
        return Ok(Attributes::default());
    }
    let how = OpenHow::HANDLE.following(plan.follow);
    let file = openat(&*found.parent, found.leaf(), how)?;
    if !fstat(&file)?.same_file(stat) {
        return Err(CallError::new(Call::Openat, Errno::STALE));
    }
    let (directory, name) = (found.parent.as_fd(), found.leaf());
    let pinned = Pinned { file: file.as_fd(), directory, name };
    plan.attributes.read(From::Handle(pinned, stat.permissions()))
}

fn regular(found: &Found, plan: &Plan, room: &mut Room) -> std::result::Result<Entry, Failure> {
    let extra = if plan.atime == Atime::Keep { OFlags::NOATIME } else { OFlags::empty() };
    let how = OpenHow {
        access: Access::Read,
        create: Create::No,
        follow: plan.follow,
        wait: Wait::No,
        extra,
    };
    let file = openat(&*found.parent, found.leaf(), how).map_err(Failure::Open)?;
    // The file that was opened counts, whatever the name was a moment ago.
    let stat = fstat(&file).map_err(Failure::Stat)?;
    let attributes = plan.attributes.read(From::File(&file, stat.permissions()));
    let entry = |data, attributes| Entry { stat, data, digest: None, attributes };
    if stat.kind() != Kind::Regular {
        return Ok(entry(Data::None, attributes));
    }
    let regions = match plan.keeps_holes() {
        true => holes::regions(&file, &stat, plan.holes, plan.regions_max()),
        false => Ok(None),
    };
    if let Some(mut regions) = regions.map_err(|error| Failure::Read(stat.size, error))? {
        // An empty one tells the size, as GNU tar writes it.
        regions.push(Region { offset: stat.size, bytes: 0 });
        return Ok(entry(Data::Sparse(file, regions), attributes));
    }
    if plan.skips_data {
        return Ok(entry(Data::Unread, attributes));
    }
    if stat.size > SMALL_BYTES || !plan.may_read_elsewhere() || plan.is_aligned(stat.size) {
        return Ok(entry(Data::File(file), attributes));
    }
    let mut trail = SourceTrail::described(file.as_fd(), &stat, &plan.data);
    let data = read(&file, &stat, room).map_err(|error| Failure::Read(stat.size, error))?;
    trail.after_read(file.as_fd(), &(0..stat.size));
    trail.finish(file.as_fd());
    let digest = match (plan.hashes, &data) {
        (Some(algorithm), Data::Bytes(bytes, _)) => {
            let mut digest = algorithm.start();
            digest.update(bytes);
            Some(digest.finish())
        }
        _ => None,
    };
    Ok(Entry { digest, ..entry(data, attributes) })
}

fn read(file: &OwnedFd, stat: &Stat, room: &mut Room) -> Result<Data> {
    let mut bytes = room.take(usize::try_from(stat.size).unwrap_or(0));
    let count = read_fully(file, &mut bytes, 0)?;
    bytes.truncate(count);
    Ok(Data::Bytes(bytes.freeze(), fstat(file)?))
}
