//! Opens an archive for reading: a file, standard input, compressed or not.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use haul_archive::filter::{Filter, MAGIC_BYTES, decode_by, decoder, of_magic};
use haul_archive::format::Zeros;
use haul_archive::index::select;
use haul_archive::source::{FileSource, Source, StreamSource};
use haul_archive::trailed::TrailedReader;
use haul_io::fully::read_fully;
use haul_sys::data::{seek_end, seek_set, seek_tell};
use haul_sys::fs::{Kind, fstat};

use super::buffered::BufferedSource;
use super::checkpoint::{Counter, Direction};
use super::external;
use super::kept::Kept;
use super::member_name::stored_name;
use super::quoting::named;
use super::session::{Session, Stopped};
use super::settings::{Compression, Settings};
use super::tallied::TalliedSource;
use super::watched::WatchedSource;
use crate::file_error::describe;
use crate::standard;

/// Bytes of a request to a pipe: its capacity by default.
const PIPE_REQUEST_BYTES: usize = 64 << 10;

/// An open archive.
type Opened = (Box<dyn Source + Send>, Kept);

/// Opens the archive that the settings name.
pub(super) fn open(session: &Arc<Session>, settings: &Settings) -> Result<Opened, Stopped> {
    // Before threads are started.
    let counter = Counter::new(session, settings, Direction::Read);
    let opened = source(settings);
    let (source, kept) =
        opened.map_err(|error| cannot_open(settings.file.as_encoded_bytes(), &error))?;
    let source: Box<dyn Source + Send> = match counter {
        Some(counter) => Box::new(WatchedSource::new(source, counter)),
        None => source,
    };
    if let (Some((file, start)), Some(reporting)) = (source.file(), session.reporting()) {
        let size = fstat(&file).map_or(0, |stat| stat.size);
        reporting.tally.expect(size.saturating_sub(start));
    }
    Ok((Box::new(TalliedSource::new(source, session)), kept))
}

/// Returns the device and the inode of the archive; `None` if it cannot be described, which opening it tells.
pub(super) fn identity(settings: &Settings) -> Option<(u64, u64)> {
    if settings.file.as_encoded_bytes() == b"-" {
        return fstat(io::stdin()).ok().map(|stat| (stat.dev, stat.ino));
    }
    std::fs::metadata(&settings.file).ok().map(|stat| (stat.dev(), stat.ino()))
}

fn cannot_open(name: &[u8], error: &io::Error) -> Stopped {
    Stopped::Fatal(format!("{}: Cannot open: {}", named(name), describe(error)))
}

/// Opens the directory that the `-C` of this index, after those before it, named.
pub(super) fn directory(settings: &Settings, index: Option<usize>) -> Result<OwnedFd, Stopped> {
    let mut path = PathBuf::from(".");
    for step in settings.names.directories.iter().take(index.map_or(0, |index| index + 1)) {
        path.push(OsStr::from_bytes(step));
    }
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Ok(OwnedFd::from(file)),
        false => Err(haul_sys::Errno::NOTDIR.into()),
    });
    let shown = path.strip_prefix("./").unwrap_or(&path).as_os_str().as_bytes();
    opened.map_err(|error| cannot_open(shown, &error))
}

/// Refuses a buffer where another program reads or writes the archive.
pub(super) fn refuse_buffer(settings: &Settings) -> io::Result<()> {
    match settings.own.buffer() {
        Some(_) => Err(io::Error::other(
            "--buffer is not for archives that another program compresses or decompresses",
        )),
        None => Ok(()),
    }
}

fn source(settings: &Settings) -> io::Result<Opened> {
    source_of(standard::opened(settings.file.as_encoded_bytes())?, settings, Wanted::Named)
}

/// Which members have to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Those that the settings name, if an index tells where they are.
    Named,
    /// All that the archive has.
    All,
}

/// Returns the source of an open archive.
pub(super) fn source_of(file: File, settings: &Settings, wanted: Wanted) -> io::Result<Opened> {
    if let Compression::Program(words) = &settings.compression {
        refuse_buffer(settings)?;
        let decoded = decode_by(words, OwnedFd::from(file))?;
        return Ok((Box::new(StreamSource::new(decoded)), Kept::Packed));
    }
    let kind = fstat(&file).map_err(io_error)?.kind();
    if matches!(kind, Kind::Regular | Kind::BlockDevice) && settings.may_seek {
        return open_seekable(file, settings, wanted);
    }
    let mut stream: Box<dyn Read + Send> = match settings.own.buffer() {
        Some(buffer) => {
            let record_bytes = usize::try_from(settings.creation.blocking * 512).unwrap_or(1);
            Box::new(BufferedSource::new(file, (buffer, record_bytes))?)
        }
        None => Box::new(io::BufReader::with_capacity(PIPE_REQUEST_BYTES, file)),
    };
    let mut begin = vec![0; MAGIC_BYTES];
    let count = fill(&mut stream, &mut begin)?;
    begin.truncate(count);
    let filter = match settings.compression {
        Compression::Known(filter) => Some(filter),
        _ => of_magic(&begin),
    };
    let whole = io::Cursor::new(begin).chain(stream);
    Ok(match filter {
        Some(filter) => {
            let decoded =
                decoder(filter, whole, settings.extraction.workers(), settings.own.memory());
            (Box::new(StreamSource::new(decoded)), Kept::Packed)
        }
        None => (Box::new(StreamSource::new(whole)), Kept::Plain),
    })
}

fn open_seekable(file: File, settings: &Settings, wanted: Wanted) -> io::Result<Opened> {
    let start = seek_tell(file.as_fd()).map_err(io_error)?;
    let size = seek_end(file.as_fd(), 0).map_err(io_error)?;
    seek_set(file.as_fd(), start).map_err(io_error)?;
    let mut begin = [0; MAGIC_BYTES];
    let count = read_fully(file.as_fd(), &mut begin, start).map_err(io_error)?;
    let filter = match settings.compression {
        Compression::Known(filter) => Some(filter),
        _ => of_magic(&begin[..count]),
    };
    let file = Arc::new(OwnedFd::from(file));
    if filter == Some(Filter::Zstd)
        && wanted == Wanted::Named
        && let Some(members) = by_index(&file, start..size, settings)
    {
        return Ok((members, Kept::Selected));
    }
    if filter.is_none()
        && settings.compression == Compression::Auto
        && let Some(program) = external::of_magic(&begin[..count])
    {
        let file = Arc::into_inner(file).ok_or(io::ErrorKind::Other)?;
        let decoded = decode_by(&[program.to_owned()], file)?;
        return Ok((Box::new(StreamSource::new(decoded)), Kept::Packed));
    }
    Ok(match filter {
        Some(filter) => {
            // Only this has the file, and its position is where the archive begins.
            let file = Arc::into_inner(file).ok_or(io::ErrorKind::Other)?;
            let file = TrailedReader::new(file, &settings.own.data());
            let decoded =
                decoder(filter, file, settings.extraction.workers(), settings.own.memory());
            (Box::new(StreamSource::new(decoded)), Kept::Packed)
        }
        None => {
            let source = FileSource::new(file, start, size).caching(&settings.own.data());
            (Box::new(source), Kept::Plain)
        }
    })
}

/// Opens the members that the settings name, if the archive has an index that is to be trusted, and nothing is
/// asked for that the rest of the archive would change.
fn by_index(
    file: &Arc<OwnedFd>,
    archive: Range<u64>,
    settings: &Settings,
) -> Option<Box<dyn Source + Send>> {
    let needs_others = settings.shows_blocks
        || settings.shows_omitted
        || settings.names.starting.is_some()
        || settings.zeros == Zeros::Skip;
    if !settings.own.trusts_index || settings.names.select_all() || needs_others {
        return None;
    }
    let mut wants = |name: &[u8]| settings.names.may_select(stored_name(name));
    select(file, archive, (settings.extraction.workers(), settings.own.memory()), &mut wants)
}

/// Moves the position of standard input behind the archive that was read from it by offset, so that the
/// next program finds what follows: behind the record in which the archive ended, as GNU tar leaves it. `read`
/// is the number of its bytes that were read.
pub(super) fn leave_input(settings: &Settings, kept: Kept, read: u64) -> Result<(), Stopped> {
    if settings.file.as_encoded_bytes() != b"-" || !settings.may_seek {
        return Ok(());
    }
    let input = io::stdin();
    let leave = || {
        if !matches!(fstat(&input)?.kind(), Kind::Regular | Kind::BlockDevice) {
            return Ok(());
        }
        let start = seek_tell(&input)?;
        let end = seek_end(&input, 0)?;
        let at = match kept {
            Kept::Plain => start + read.next_multiple_of(settings.creation.blocking * 512),
            // The decoder has moved it, or the index has the whole file.
            Kept::Packed => start,
            Kept::Selected => end,
        };
        seek_set(&input, at.min(end)).map(|_| ())
    };
    leave().map_err(|error: haul_sys::CallError| cannot_open(b"-", &error.errno.into()))
}

fn io_error(error: haul_sys::CallError) -> io::Error {
    error.errno.into()
}

fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(room) = buffer.get_mut(done..).filter(|room| !room.is_empty()) {
        match stream.read(room) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
