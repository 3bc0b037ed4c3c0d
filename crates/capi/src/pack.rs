//! `haul_pack`: a file or a tree becomes an archive, as `haul tar -c` makes it.
//!
//! The archive gets its name when it is complete, so that a call that is cancelled, or fails, leaves what was there.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_archive::create::{
    ArchiveFile, Borders, Monitor, Operand, Output, Owner, Packed, Place, Plan, Report, Sink,
    create,
};
use haul_archive::filter::{Effort, FRAME_BYTES, Filter, encoder};
use haul_archive::format::{PaxOptions, WriteFormat};
use haul_archive::trailed::TrailedWriter;
use haul_archive::transform::NameOf;
use haul_engine::error::What;
use haul_io::DataPolicy;
use haul_io::inherit::Lost;
use haul_io::stored::flush_dense;
use haul_io::stream::{AtomicFile, Durable};
use haul_sys::fs::{CWD, Follow, Kind, open_directory, statat, statat_follow};
use haul_sys::memory::room_bytes;

use crate::carry::{Carry, Tell};
use crate::options::{DURABLE, FOLLOW_LINKS, ONE_FILE_SYSTEM, Options};
use crate::report::Totals;
use crate::tally::Tally;
use crate::trouble::Trouble;

/// What the size of an archive is a multiple of: 20 blocks, as of every tar.
const RECORD_BYTES: u64 = 10_240;

/// Bytes that are gathered before they are compressed.
const BUFFER_BYTES: usize = 256 << 10;

/// A call of `haul_pack`.
pub(crate) struct Packing {
    source: CString,
    archive: CString,
    options: Options,
    owners: [Option<Owner>; 2],
    filter: Option<Filter>,
    stop: &'static AtomicBool,
    tally: Tally,
}

impl Packing {
    /// Prepares a call. The ending of the archive's name is that of its format, as for `tar -a`. Fails with a sentence if
    /// haul does not write that, or if an owner is not valid.
    pub(crate) fn new(
        (source, archive): (&CStr, &CStr),
        options: &Options,
        stop: &'static AtomicBool,
    ) -> Result<Packing, String> {
        let filter = Filter::of_name(archive.to_bytes());
        if filter == Some(Filter::Bzip2) {
            return Err("haul_pack does not write bzip2, which it reads".to_owned());
        }
        let owner = |field: &Option<CString>| field.as_deref().map(owner).transpose();
        Ok(Packing {
            source: source.to_owned(),
            archive: archive.to_owned(),
            options: options.clone(),
            owners: [owner(&options.owner)?, owner(&options.group)?],
            filter,
            stop,
            tally: Tally::default(),
        })
    }

    fn pack(&self, tell: Tell<'_>) -> Result<(), Trouble> {
        let directory = self.options.directory.as_deref().unwrap_or(c".");
        let directory = open_directory(CWD, directory, Follow::Yes)
            .map_err(|error| Trouble::of_call(What::Stat, error))?;
        let follows = self.options.has(FOLLOW_LINKS);
        let look = if follows { statat_follow } else { statat };
        look(&directory, &self.source).map_err(|error| Trouble::of_call(What::Stat, error))?;
        let operand = Operand {
            directory: Arc::new(directory),
            name: self.source.to_bytes().to_vec(),
            recurses: true,
            scope: 0,
            number: 0,
        };
        let (file, files) = begin(Path::new(OsStr::from_bytes(self.archive.to_bytes())))?;
        let written = self.write(operand, &file, (files, tell));
        if self.stop.load(Ordering::Relaxed) {
            file.abandon();
            return Ok(());
        }
        match written.and_then(|()| self.flush(&file)) {
            Ok(()) => self.publish(file, tell),
            Err(error) => {
                file.abandon();
                Err(Trouble::of_io(What::Write, &error))
            }
        }
    }

    /// Writes the members and the end of the archive. `files` are those that are never archived.
    fn write(
        &self,
        operand: Operand,
        file: &AtomicFile,
        (files, tell): (Vec<(u64, u64)>, Tell<'_>),
    ) -> io::Result<()> {
        let (data, borders) = (DataPolicy::of_run(), Borders::default());
        let bytes = self.bytes(file, &data, &borders)?;
        let has_index = matches!(&bytes, Bytes::Packed(packed) if packed.get_ref().has_index());
        let telling = Telling { packing: self, tell, borders: has_index.then_some(&borders) };
        let mut sink = Sink::new(Target { bytes, stop: self.stop });
        let [owner, group] = self.owners.clone();
        let follow = if self.options.has(FOLLOW_LINKS) { Follow::Yes } else { Follow::No };
        let plan = Plan {
            follow,
            names_may_repeat: follow == Follow::Yes,
            owner,
            group,
            stays_on_device: self.options.has(ONE_FILE_SYSTEM),
            archive: files,
            pax: without_times(),
            data,
            memory_bytes: room_bytes() / 8,
            stop: Some(self.stop),
            uncut_max_bytes: has_index.then_some(FRAME_BYTES / 4),
            workers: self.options.workers(),
            waiting_workers: self.options.waiting_workers(),
            ..Plan::new(WriteFormat::Posix)
        };
        create(vec![operand], &plan, &telling, &mut sink)?;
        sink.end(RECORD_BYTES)?.bytes.end()
    }

    /// Returns what compresses, or writes by offset.
    fn bytes(&self, file: &AtomicFile, data: &DataPolicy, borders: &Borders) -> io::Result<Bytes> {
        let Some(filter) = self.filter else {
            let file = Arc::clone(file.file());
            let file = ArchiveFile::new(file, Place::Offsets, RECORD_BYTES as usize);
            return Ok(Bytes::Plain(file.caching(data)));
        };
        let effort = Effort {
            jobs: self.options.workers(),
            memory_bytes: room_bytes() / 2,
            frame_bytes: FRAME_BYTES,
        };
        let file = TrailedWriter::new(file.file().try_clone()?, data);
        let encoder = encoder(filter, file, effort).ok_or(io::ErrorKind::Unsupported)?;
        let has_index = filter == Filter::Zstd;
        let packed = Packed::new(encoder, has_index.then(|| (borders.clone(), FRAME_BYTES)));
        Ok(Bytes::Packed(Box::new(BufWriter::with_capacity(BUFFER_BYTES, packed))))
    }

    fn flush(&self, file: &AtomicFile) -> io::Result<()> {
        if self.options.has(DURABLE) {
            flush_dense(&**file.file()).map_err(|error| io::Error::from(error.errno))?;
        }
        Ok(())
    }

    fn publish(&self, file: AtomicFile, tell: Tell<'_>) -> Result<(), Trouble> {
        let durable = if self.options.has(DURABLE) { Durable::Yes } else { Durable::No };
        let mut lost = |lost, errno| {
            let what = match lost {
                Lost::Owner => What::Ownership,
                Lost::Xattr => What::Xattr,
                Lost::Flags => What::Flags,
            };
            let error = haul_sys::CallError::new(haul_sys::Call::Fsetxattr, errno);
            self.tell(tell, Trouble::of_call(what, error).warning(), self.archive.to_bytes());
        };
        let published = file.publish(durable, &mut lost);
        published.map_err(|error| Trouble::of_call(What::CreateFile, error))
    }

    /// Reports what is wrong with a file of the tree, or with the whole.
    fn tell(&self, tell: Tell<'_>, trouble: Trouble, name: &[u8]) {
        self.tally.count(&trouble);
        tell(trouble.item(name, self.archive.to_bytes()));
    }
}

impl Carry for Packing {
    fn carry_out(&self, tell: Tell<'_>) {
        if let Err(trouble) = self.pack(tell) {
            self.tell(tell, trouble, self.source.to_bytes());
        }
    }

    fn totals(&self) -> Totals {
        self.tally.totals()
    }
}

/// Reads `NAME:NUMBER`.
fn owner(text: &CStr) -> Result<Owner, String> {
    let shown = text.to_string_lossy();
    let (name, number) = shown.rsplit_once(':').unwrap_or_default();
    match number.parse::<u32>() {
        Ok(id) => Ok(Owner { name: name.as_bytes().to_vec(), id: Some(id.into()) }),
        Err(_) => Err(format!("an owner is NAME:NUMBER, and not {shown}")),
    }
}

/// Leaves out times that differ in two archives of one tree.
fn without_times() -> PaxOptions {
    let mut options = PaxOptions::default();
    for keyword in [&b"atime"[..], b"ctime"] {
        // Only a keyword by which archives are read is refused.
        let _is_left_out = options.delete(keyword);
    }
    options
}

/// Makes the archive's file, and returns it with device and inode of itself and of the one that it replaces.
fn begin(archive: &Path) -> Result<(AtomicFile, Vec<(u64, u64)>), Trouble> {
    let failed = |error| Trouble::of_call(What::CreateFile, error);
    let name = archive.file_name().filter(|_| !archive.as_os_str().as_bytes().ends_with(b"/"));
    let name = name.ok_or_else(|| Trouble::of(What::OverDirectory))?;
    let parent = archive.parent().filter(|parent| !parent.as_os_str().is_empty());
    let c_string = |text: &OsStr| CString::new(text.as_bytes()).unwrap_or_default();
    let parent = c_string(parent.unwrap_or(Path::new(".")).as_os_str());
    let name = c_string(name);
    let directory = open_directory(CWD, &parent, Follow::Yes).map_err(failed)?;
    let old = statat(&directory, &name).ok();
    if old.as_ref().is_some_and(|old| old.kind() != Kind::Regular) {
        return Err(Trouble::of(What::NotReplacing));
    }
    let file = AtomicFile::begin(directory, name).map_err(failed)?;
    let new = haul_sys::fs::fstat(&**file.file()).map_err(failed)?;
    let files = old.iter().chain([&new]).map(|stat| (stat.dev, stat.ino)).collect();
    Ok((file, files))
}

/// Where the bytes of an archive go.
enum Bytes {
    Plain(ArchiveFile),
    Packed(Box<BufWriter<Packed>>),
}

impl Bytes {
    /// Writes what is left.
    fn end(self) -> io::Result<()> {
        match self {
            Bytes::Plain(file) => file.into_file().map(drop),
            Bytes::Packed(packed) => {
                packed.into_inner().map_err(io::IntoInnerError::into_error)?.end()
            }
        }
    }
}

/// An archive that is written until the call is cancelled.
struct Target {
    bytes: Bytes,
    stop: &'static AtomicBool,
}

impl Target {
    fn goes_on(&self) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("cancelled"));
        }
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.goes_on()?;
        match &mut self.bytes {
            Bytes::Plain(file) => file.write(bytes),
            Bytes::Packed(packed) => packed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Plain(file) => file.flush(),
            Bytes::Packed(packed) => packed.flush(),
        }
    }
}

impl Output for Target {
    fn leave(&mut self, bytes: u64) -> io::Result<Option<(Arc<OwnedFd>, u64)>> {
        self.goes_on()?;
        match &mut self.bytes {
            Bytes::Plain(file) => file.leave(bytes),
            Bytes::Packed(_) => Ok(None),
        }
    }

    fn has_offsets(&self) -> bool {
        matches!(&self.bytes, Bytes::Plain(file) if file.has_offsets())
    }
}

/// Counts members, and passes on what goes wrong.
struct Telling<'p> {
    packing: &'p Packing,
    tell: Tell<'p>,
    /// Place of the members, if the archive gets an index of them.
    borders: Option<&'p Borders>,
}

impl Monitor for Telling<'_> {
    fn is_excluded(&self, _name: &[u8], _scope: usize) -> bool {
        false
    }

    fn renamed<'n>(&self, name: &'n [u8], _of: NameOf) -> Cow<'n, [u8]> {
        Cow::Borrowed(name)
    }

    fn report(&self, report: Report<'_>) {
        match report {
            Report::Member { member, .. } => {
                self.packing.tally.member(member);
                if let Some(borders) = self.borders {
                    borders.add(member);
                }
            }
            Report::Event(name, event) => {
                if let Some(trouble) = Trouble::of_creation(event) {
                    self.packing.tell(self.tell, trouble, name);
                }
            }
            // What only options of the command ask for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_a_name_and_a_number() {
        let root = Owner { name: b"root".to_vec(), id: Some(0) };
        assert_eq!(owner(c"root:0"), Ok(root));
        assert_eq!(owner(c":7").unwrap().name, b"");
        for text in [c"root", c"root:", c"root:-1", c"", c"root:4294967296"] {
            assert!(owner(text).is_err(), "{text:?}");
        }
    }
}
