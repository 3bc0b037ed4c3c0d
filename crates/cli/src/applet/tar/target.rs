//! Where the archive of `-c` and `-r` goes: a file, a buffer before it, or what compresses.

use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_archive::create::{ArchiveFile, Borders, Output as Bytes, Packed, Place};
use haul_archive::filter::{Effort, Encode, Filter, encode_by, encoder};
use haul_archive::trailed::TrailedWriter;
use haul_sys::fs::{Kind, fstat};
use haul_sys::memory::room_bytes;
use haul_sys::process::{Ignorable, ignore};

use super::appending::Appending;
use super::buffered::BufferedTarget;
use super::external;
use super::settings::{Compression, Settings};
use super::taken_output::NULL;
use super::unfinished::demand_running;

/// Bytes that are gathered before the archive is written to.
const BUFFER_BYTES: usize = 256 << 10;

/// Where the archive goes.
pub(super) enum Target {
    Appended(BufWriter<Appending>),
    Plain(ArchiveFile),
    Packed(Box<BufWriter<Packed>>),
    Buffered(BufferedTarget),
    /// Nothing is written, or what is written is not kept.
    Nowhere,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        demand_running()?;
        match self {
            Target::Appended(file) => file.write(bytes),
            Target::Plain(file) => file.write(bytes),
            Target::Packed(encoder) => encoder.write(bytes),
            Target::Buffered(buffer) => buffer.write(bytes),
            Target::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Appended(file) => file.flush(),
            Target::Plain(file) => file.flush(),
            Target::Packed(encoder) => encoder.flush(),
            // At the end it ends the archive.
            Target::Buffered(_) | Target::Nowhere => Ok(()),
        }
    }
}

impl Bytes for Target {
    fn leave(&mut self, bytes: u64) -> io::Result<Option<(Arc<OwnedFd>, u64)>> {
        demand_running()?;
        match self {
            Target::Plain(file) => file.leave(bytes),
            Target::Appended(_) | Target::Packed(_) | Target::Buffered(_) | Target::Nowhere => {
                Ok(None)
            }
        }
    }

    fn has_offsets(&self) -> bool {
        matches!(self, Target::Plain(file) if file.has_offsets())
    }
}

impl Target {
    fn packed(encoder: Box<dyn Encode>, borders: Option<(Borders, u64)>) -> Target {
        let packed = Packed::new(encoder, borders);
        Target::Packed(Box::new(BufWriter::with_capacity(BUFFER_BYTES, packed)))
    }

    /// Returns what compresses, or writes whole records. The archive is open.
    pub(super) fn open(
        settings: &Settings,
        file: Arc<OwnedFd>,
        kind: Kind,
        borders: &Borders,
    ) -> io::Result<Target> {
        let (filter, program) = packing(settings);
        if let Some(words) = program {
            // A program that ends early is an error of the archive, not the end of this process.
            ignore(Ignorable::BrokenPipe);
            let encoder = encode_by(&words, file.try_clone()?)?;
            return Ok(Target::packed(encoder, None));
        }
        let Some(filter) = filter else {
            // As GNU tar does: the size is all that a user can learn from it.
            if is_null(&file) && !settings.checkpoints.are_on() && !settings.creation.removes_files
            {
                return Ok(Target::Nowhere);
            }
            let place = match kind {
                Kind::Regular if settings.file.as_encoded_bytes() != b"-" => Place::Offsets,
                Kind::CharDevice => Place::Records,
                _ => Place::Position,
            };
            let record_bytes = usize::try_from(settings.creation.blocking * 512).unwrap_or(0);
            let file = ArchiveFile::new(file, place, record_bytes).caching(&settings.own.data());
            return Ok(match settings.own.buffer() {
                Some(buffer) => {
                    let end = |file: ArchiveFile| file.into_file().map(drop);
                    Target::Buffered(BufferedTarget::new(file, (buffer, record_bytes), end)?)
                }
                None => Target::Plain(file),
            });
        };
        let effort = Effort {
            jobs: settings.extraction.workers(),
            memory_bytes: room_bytes() / 2,
            frame_bytes: settings.creation.frame_bytes(),
        };
        let file = TrailedWriter::new(file.try_clone()?, &settings.own.data());
        let encoder = match settings.own.buffer() {
            Some(buffer) => {
                let end = |mut file: TrailedWriter| file.flush();
                encoder(filter, BufferedTarget::new(file, (buffer, 1), end)?, effort)
            }
            None => encoder(filter, file, effort),
        };
        let encoder = encoder.ok_or(io::ErrorKind::Unsupported)?;
        let has_index = filter == Filter::Zstd && effort.frame_bytes > 0;
        Ok(Target::packed(encoder, has_index.then(|| (borders.clone(), effort.frame_bytes))))
    }

    /// Returns whether the archive gets an index.
    pub(super) fn has_index(&self) -> bool {
        matches!(self, Target::Packed(packed) if packed.get_ref().has_index())
    }

    /// Writes what is left.
    pub(super) fn end(self) -> io::Result<()> {
        match self {
            Target::Appended(file) => {
                file.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
            }
            Target::Plain(file) => file.into_file().map(drop),
            Target::Buffered(mut buffer) => buffer.flush(),
            Target::Packed(encoder) => {
                encoder.into_inner().map_err(io::IntoInnerError::into_error)?.end()
            }
            Target::Nowhere => Ok(()),
        }
    }
}

/// Returns whether another program compresses.
pub(super) fn is_by_program(settings: &Settings) -> bool {
    packing(settings).1.is_some()
}

/// Returns whether a file is `/dev/null`; see null(4).
fn is_null(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|stat| stat.kind() == Kind::CharDevice && stat.rdev == NULL)
}

/// Returns how the archive is compressed: by haul, or by a program.
fn packing(settings: &Settings) -> (Option<Filter>, Option<Vec<String>>) {
    let filter = match &settings.compression {
        Compression::Known(filter) => Some(*filter),
        Compression::Auto if settings.creation.by_name => {
            Filter::of_name(settings.file.as_encoded_bytes())
        }
        _ => None,
    };
    let by_name = settings.creation.by_name && settings.compression == Compression::Auto;
    let program = match &settings.compression {
        Compression::Program(words) => Some(words.clone()),
        _ if filter == Some(Filter::Bzip2) => Some(vec!["bzip2".to_owned()]),
        _ if by_name && filter.is_none() => {
            external::of_name(settings.file.as_encoded_bytes()).map(|name| vec![name.to_owned()])
        }
        _ => None,
    };
    (filter, program)
}
