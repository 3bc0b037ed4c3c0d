//! Comparing members with files: what GNU tar's `-d` reports.
//!
//! Nothing is written, so files are found by their whole names relative to a directory, through
//! whatever links are on the way.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_io::fully::read_fully;
use haul_io::residency::{Asked, cached_bytes};
use haul_io::{Device, has_hole_map};
use haul_sys::data::{Advice, fadvise, seek_data};
use haul_sys::fs::{
    Access, Create, Follow, Kind, OFlags, OpenHow, Stat, Wait, fdatasync, fstat, openat,
    readlinkat, statat, statat_follow,
};
use haul_sys::{Call, CallError, Errno};

use crate::accounts::Accounts;
use crate::extract::Names;
use crate::extract::place::Places;
use crate::format::{Layout, Member, MemberKind, ReadError, Reader};
use crate::source::Source;

/// Bytes that are compared at a time.
const PIECE_BYTES: usize = 256 << 10;

/// A difference between a member and the file of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The file is of another kind.
    Kind,
    /// The permissions differ.
    Mode,
    /// The owners differ.
    Owner,
    /// The groups differ.
    Group,
    /// The times of the last change differ.
    Mtime,
    /// The sizes differ.
    Size,
    /// The bytes differ.
    Contents,
    /// The file has data where the member has a hole that begins at this offset.
    NotAHole(u64),
    /// The file ended after so many of the bytes that were to be read.
    Ended(u64, u64),
    /// The file is not the one of this name.
    NotLinked(Vec<u8>),
    /// The symbolic link has another target.
    Symlink,
    /// The numbers of the device differ.
    Device,
    /// The type of the member is not known; it is compared as a regular file.
    UnknownType(u8),
    /// The file of this name cannot be described.
    Stat(Vec<u8>, CallError),
    /// The file cannot be opened.
    Open(CallError),
    /// The file cannot be read: where, how many bytes, and why.
    Read(u64, u64, CallError),
    /// The target of the symbolic link cannot be read.
    Readlink(CallError),
}

/// How members are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether symbolic links are followed (`-h`).
    pub follow: Follow,
    /// Whether owners are found by number although the member has names.
    pub numeric_owner: bool,
    /// What is compared.
    pub what: What,
    /// Whether files may be anywhere, also behind links that lead out of the directory.
    pub names: Names,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// All that `-d` compares.
    All,
    /// Kinds, sizes, bytes and targets of links, and no other attributes.
    Contents,
    /// The same, but the bytes of files are read from storage: their pages are dropped before.
    Stored,
}

/// Compares members with the files of a directory.
#[derive(Debug)]
pub struct Comparer {
    directory: Arc<OwnedFd>,
    /// What finds files that must be beneath the directory.
    places: Option<Places>,
    rules: Rules,
    accounts: Accounts,
    /// Files whose pages could not be dropped.
    cached: u64,
    buffers: Buffers,
}

/// Bytes of a member and of its file. They are as long as the largest piece so far, and stay from file to file.
#[derive(Debug, Default)]
struct Buffers {
    stored: Vec<u8>,
    found: Vec<u8>,
}

/// Returns the beginning of a buffer, which grows if it has to.
fn room(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &mut buffer[..bytes]
}

type Told<'t> = &'t mut dyn FnMut(Difference);

impl Comparer {
    /// Compares with the files of this directory.
    #[must_use]
    pub fn new(directory: OwnedFd, rules: Rules) -> Comparer {
        let directory = Arc::new(directory);
        let places = match rules.names {
            Names::Beneath => Some(Places::within(Arc::clone(&directory))),
            Names::Absolute => None,
        };
        let (accounts, buffers) = (Accounts::default(), Buffers::default());
        Comparer { directory, places, rules, accounts, cached: 0, buffers }
    }

    /// Returns the number of files that were to be read from storage, and of which pages stayed in memory.
    #[must_use]
    pub const fn cached_files(&self) -> u64 {
        self.cached
    }

    /// Compares a member with the file `name`, and a hard link with the file `link`. Each difference is
    /// told. Blocks. Fails only if the archive cannot be read.
    pub fn member<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        member: &Member,
        (name, link): (&[u8], &[u8]),
        tell: &mut dyn FnMut(Difference),
    ) -> Result<(), ReadError> {
        match member.kind {
            MemberKind::Unknown(flag) => {
                tell(Difference::UnknownType(flag));
                return self.file(reader, member, name, tell);
            }
            MemberKind::Regular | MemberKind::Contiguous | MemberKind::Continued => {
                return self.file(reader, member, name, tell);
            }
            MemberKind::Directory | MemberKind::DumpDirectory => {
                if let Some(stat) = self.stat_of(name, Kind::Directory, tell) {
                    self.mode(member, &stat, tell);
                }
            }
            MemberKind::HardLink => {
                if let Some(one) = self.stat(name, tell)
                    && let Some(other) = self.stat(link, tell)
                    && !one.same_file(&other)
                {
                    tell(Difference::NotLinked(link.to_vec()));
                }
            }
            MemberKind::Symlink => match self.readlink(name) {
                Ok(text) if text == member.link => {}
                Ok(_) => tell(Difference::Symlink),
                Err(error) => tell(Difference::Readlink(error)),
            },
            MemberKind::CharDevice => self.device(member, name, Kind::CharDevice, tell),
            MemberKind::BlockDevice => self.device(member, name, Kind::BlockDevice, tell),
            MemberKind::Fifo => self.device(member, name, Kind::Fifo, tell),
            MemberKind::VolumeLabel => {}
        }
        Ok(())
    }

    /// Returns where a file is.
    fn locate(&mut self, name: &[u8]) -> Result<(Arc<OwnedFd>, CString), CallError> {
        match &mut self.places {
            Some(places) => places.existing(name).map(|place| (place.parent, place.leaf)),
            None => Ok((Arc::clone(&self.directory), c_name(name)?)),
        }
    }

    fn stat(&mut self, name: &[u8], tell: Told<'_>) -> Option<Stat> {
        let follow = self.rules.follow;
        let stat = self.locate(name).and_then(|(directory, text)| match follow {
            Follow::No => statat(&*directory, &text),
            Follow::Yes => statat_follow(&*directory, &text),
        });
        stat.map_err(|error| tell(Difference::Stat(name.to_vec(), error))).ok()
    }

    /// Describes a file that should be of a kind.
    fn stat_of(&mut self, name: &[u8], kind: Kind, tell: Told<'_>) -> Option<Stat> {
        let stat = self.stat(name, tell)?;
        if stat.kind() != kind {
            tell(Difference::Kind);
            return None;
        }
        Some(stat)
    }

    fn readlink(&mut self, name: &[u8]) -> Result<Vec<u8>, CallError> {
        let (directory, text) = self.locate(name)?;
        Ok(readlinkat(&*directory, &text)?.into_bytes())
    }

    fn device(&mut self, member: &Member, name: &[u8], kind: Kind, tell: Told<'_>) {
        let Some(stat) = self.stat_of(name, kind, tell) else { return };
        let is_numbered = kind != Kind::Fifo;
        if is_numbered && crate::device::parts(stat.rdev) != member.device {
            return tell(Difference::Device);
        }
        self.mode(member, &stat, tell);
    }

    fn mode(&self, member: &Member, stat: &Stat, tell: Told<'_>) {
        if self.rules.what == What::All && member.mode != stat.permissions() {
            tell(Difference::Mode);
        }
    }

    fn owner_and_time(&mut self, member: &Member, stat: &Stat, tell: Told<'_>) {
        if self.rules.what != What::All {
            return;
        }
        let (uid, gid) = match self.accounts.owner(member, !self.rules.numeric_owner) {
            Some((uid, gid)) => (u64::from(uid), u64::from(gid)),
            None => (member.uid, member.gid),
        };
        if uid != u64::from(stat.uid) {
            tell(Difference::Owner);
        }
        if gid != u64::from(stat.gid) {
            tell(Difference::Group);
        }
        if !is_same_time(member, stat) {
            tell(Difference::Mtime);
        }
    }

    fn file<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        member: &Member,
        name: &[u8],
        tell: Told<'_>,
    ) -> Result<(), ReadError> {
        let Some(stat) = self.stat_of(name, Kind::Regular, tell) else { return Ok(()) };
        self.mode(member, &stat, tell);
        self.owner_and_time(member, &stat, tell);
        if member.size != stat.size {
            tell(Difference::Size);
            return Ok(());
        }
        let how = OpenHow {
            access: Access::Read,
            create: Create::No,
            follow: self.rules.follow,
            wait: Wait::No,
            extra: OFlags::empty(),
        };
        let opened =
            self.locate(name).and_then(|(directory, text)| openat(&*directory, &text, how));
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                tell(Difference::Open(error));
                return Ok(());
            }
        };
        // What was opened counts, not what had the name a moment ago.
        match fstat(&file) {
            Ok(now) if now.same_file(&stat) => {}
            Ok(_) => {
                tell(Difference::Contents);
                return Ok(());
            }
            Err(error) => {
                tell(Difference::Stat(name.to_vec(), error));
                return Ok(());
            }
        }
        if self.rules.what == What::Stored {
            match drop_pages(&file) {
                Ok(is_dropped) => self.cached += u64::from(!is_dropped),
                Err(error) => {
                    tell(Difference::Read(0, member.size, error));
                    return Ok(());
                }
            }
        }
        contents(reader, member, &file, &mut self.buffers, tell)
    }
}

/// Writes what is left to write of a file, and drops its pages, so that it is read from storage. Returns
/// `false` if pages stay, as those of tmpfs do, or of a file that another process has mapped.
pub fn drop_pages(file: &OwnedFd) -> Result<bool, CallError> {
    fdatasync(file)?;
    fadvise(file, 0, 0, Advice::DontNeed)?;
    let size = fstat(file)?.size;
    let asked = Asked { fd: file.as_fd(), quirk: Device::of(file)?.quirk };
    // Where the kernel does not tell, it has taken the advice as always.
    Ok(cached_bytes(asked, 0, size).is_none_or(|left| left == 0))
}

/// Compares the bytes of a member and the zeros of its holes, up to the first difference.
fn contents<S: Source>(
    reader: &mut Reader<S>,
    member: &Member,
    file: &OwnedFd,
    buffers: &mut Buffers,
    tell: Told<'_>,
) -> Result<(), ReadError> {
    let mut at = 0;
    for region in member.data() {
        if let Err(difference) = hole(file, at, region.offset, &mut buffers.found) {
            tell(ended(member, difference));
            return Ok(());
        }
        at = region.offset;
        let end = region.offset + region.bytes;
        while at < end {
            let want = piece(end - at);
            let stored = room(&mut buffers.stored, want);
            reader.read(stored)?;
            let found = room(&mut buffers.found, want);
            match read(file, found, at) {
                Ok(()) if stored == found => {}
                Ok(()) => {
                    tell(Difference::Contents);
                    return Ok(());
                }
                Err(difference) => {
                    tell(ended(member, difference));
                    return Ok(());
                }
            }
            at += want as u64;
        }
    }
    if let Err(difference) = hole(file, at, member.size, &mut buffers.found) {
        tell(ended(member, difference));
    }
    Ok(())
}

/// Returns how the end of a file is told: of a sparse one, as a difference of the size.
fn ended(member: &Member, difference: Difference) -> Difference {
    match difference {
        Difference::Ended(..) if member.regions.is_some() => Difference::Size,
        other => other,
    }
}

fn piece(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES)
}

fn read(file: &OwnedFd, room: &mut [u8], at: u64) -> Result<(), Difference> {
    let bytes = room.len() as u64;
    match read_fully(file.as_fd(), room, at) {
        Ok(count) if count == room.len() => Ok(()),
        Ok(count) => Err(Difference::Ended(count as u64, bytes)),
        Err(error) => Err(Difference::Read(at, bytes, error)),
    }
}

fn hole(file: &OwnedFd, start: u64, end: u64, buffer: &mut Vec<u8>) -> Result<(), Difference> {
    let mut at = start;
    // A hole of exabytes takes a few bytes of an archive.
    let is_long = end - start > PIECE_BYTES as u64;
    let has_map =
        is_long && fstat(file).and_then(|stat| has_hole_map(file.as_fd(), &stat)).unwrap_or(false);
    while at < end {
        if has_map {
            at = match seek_data(file, at) {
                Ok(data) => data.min(end),
                // Nothing but a hole comes, and then the end.
                Err(error) if error.errno == Errno::NXIO => {
                    let size = fstat(file).map_or(at, |stat| stat.size);
                    let missing = end.saturating_sub(size);
                    return if missing == 0 { Ok(()) } else { Err(Difference::Ended(0, missing)) };
                }
                Err(_) => at,
            };
            if at == end {
                return Ok(());
            }
        }
        let room = room(buffer, piece(end - at));
        read(file, room, at)?;
        if let Some(first) = room.iter().position(|byte| *byte != 0) {
            // GNU tar looks at blocks of 512 bytes, counted from the beginning of the hole.
            let block = (at - start + first as u64) / 512 * 512;
            return Err(Difference::NotAHole(start + block));
        }
        at += room.len() as u64;
    }
    Ok(())
}

/// Compares the times of the last change, as exactly as the format can express them.
fn is_same_time(member: &Member, stat: &Stat) -> bool {
    let is_exact = member.layout == Layout::Ustar && member.is_extended;
    member.mtime.seconds == stat.mtime.seconds
        && (!is_exact || member.mtime.nanoseconds == stat.mtime.nanoseconds)
}

fn c_name(name: &[u8]) -> Result<CString, CallError> {
    CString::new(name).map_err(|_| CallError::new(Call::Openat, Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Next, Zeros};
    use crate::source::StreamSource;

    /// Writes a header of V7 and the bytes of a file.
    fn member(out: &mut Vec<u8>, name: &[u8], bytes: &[u8]) {
        let mut block = [0; 512];
        block[..name.len()].copy_from_slice(name);
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        out.extend_from_slice(&block);
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }

    /// For small files, what is allocated and zeroed must not cost more than the files.
    #[test]
    fn buffers_are_as_long_as_the_largest_file_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Vec::new();
        for (name, bytes) in [("a", 1000), ("b", 10), ("c", 999)] {
            let bytes = vec![b'x'; bytes];
            std::fs::write(folder.path().join(name), &bytes).unwrap();
            member(&mut archive, name.as_bytes(), &bytes);
        }
        let rules = Rules {
            follow: Follow::No,
            numeric_owner: true,
            what: What::Contents,
            names: Names::Absolute,
        };
        let directory = OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        let mut comparer = Comparer::new(directory, rules);
        let mut reader = Reader::new(StreamSource::new(&archive[..]), Zeros::End);
        let mut places = Vec::new();
        while let Ok(Next::Member(member)) = reader.advance() {
            let mut tell = |difference| panic!("{difference:?}");
            comparer.member(&mut reader, &member, (&member.name, b""), &mut tell).unwrap();
            let Buffers { stored, found } = &comparer.buffers;
            places.push((stored.as_ptr(), stored.len(), found.as_ptr(), found.len()));
        }
        assert_eq!(places.len(), 3);
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
        assert_eq!((places[0].1, places[0].3), (1000, 1000));
    }
}
