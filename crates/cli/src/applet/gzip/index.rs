//! `--index`: the index of the one file of a run. Where it exists it is used, if it belongs to the
//! file; where it does not, it is written and gets its name when it is complete.
//!
//! An index that does not belong to the file is refused, and never replaced while decompressing: its
//! name may be a mistake. What an index says changes no byte of the output, and check sums and lengths
//! are compared as without one.
//!
//! The windows of an index are parts of the data, so only those may read it who may read the input.

use haul_sys::sync::Mutex;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use haul_codec::{
    Decoder, IndexFacts, IndexPoints, IndexWriter, Point, PointSink, Summary, Trailing,
};
use haul_io::stream::{AtomicFile, Durable, Onto};
use haul_sys::Errno;

use super::identity::{Sampler, trailer};
use super::sink::stream_error;
use crate::file_error::describe;

/// What a run does with an index.
#[derive(Default)]
pub(super) enum Index {
    #[default]
    Unwanted,
    Write(Box<Writing>),
    Use(Box<Known>),
}

/// An index that is being written.
pub(super) struct Writing {
    file: AtomicFile,
    onto: Onto,
    shown: Vec<u8>,
    /// Bytes of the compressed file, where that is read.
    size: Option<u64>,
    writer: IndexWriter<BufWriter<File>>,
    /// Why it cannot be written; the data do not suffer.
    failed: Option<io::Error>,
    sink: Sender<Point>,
    points: Receiver<Point>,
    sampler: Arc<Mutex<Sampler>>,
}

/// An index that exists and belongs to the file.
pub(super) struct Known {
    pub(super) file: OwnedFd,
    pub(super) shown: Vec<u8>,
    pub(super) facts: IndexFacts,
    /// The last bytes of the compressed file.
    pub(super) last: Vec<u8>,
}

impl Index {
    fn sampler(&self) -> Option<Arc<Mutex<Sampler>>> {
        match self {
            Index::Write(writing) => Some(Arc::clone(&writing.sampler)),
            Index::Unwanted | Index::Use(_) => None,
        }
    }

    /// Returns what takes points for an index that is being written.
    pub(super) fn point_sink(&self) -> Option<PointSink> {
        let Index::Write(writing) = self else { return None };
        let sink = writing.sink.clone();
        // A run that has ended does not want them.
        Some(Box::new(move |point| drop(sink.send(point))))
    }

    /// Lets samples be taken of what is read.
    pub(super) fn sampled(&self, source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        match self.sampler() {
            Some(sampler) => Box::new(Sampled { inner: source, sampler: Some(sampler) }),
            None => source,
        }
    }

    /// Lets samples be taken of what is written.
    pub(super) fn sampling<W: Write>(&self, sink: W) -> Sampled<W> {
        Sampled { inner: sink, sampler: self.sampler() }
    }

    /// Tells a decoder to find points, or to follow them.
    pub(super) fn prepare(&self, decoder: &mut Decoder) -> io::Result<()> {
        if let Some(sink) = self.point_sink() {
            decoder.find_points(sink);
        }
        if let Index::Use(known) = self {
            let file = File::from(known.file.as_fd().try_clone_to_owned()?);
            let from_start = Positioned::new(file);
            decoder.follow_points(Box::new(IndexPoints::new(BufReader::new(from_start))));
        }
        Ok(())
    }

    /// Writes the points that were found meanwhile.
    pub(super) fn take_points(&mut self) {
        let Index::Write(writing) = self else { return };
        for point in writing.points.try_iter() {
            if writing.failed.is_none() {
                writing.failed = writing.writer.add(&point).err();
            }
        }
    }

    /// Returns what an index says about the whole file, if the end of the file agrees.
    pub(super) fn summary(&self) -> Option<Summary> {
        let Index::Use(known) = self else { return None };
        let facts = &known.facts;
        let said = (facts.last_check, (facts.last_bytes & 0xffff_ffff) as u32);
        (trailer(&known.last) == Some(said)).then(|| Summary {
            bytes_in: facts.archive_bytes,
            bytes_out: facts.original_bytes,
            members: facts.members,
            last_bytes: facts.last_bytes,
            check: Some(facts.last_check),
            trailing: Trailing::Nothing,
            ..Summary::default()
        })
    }
}

/// A file that is read from its beginning, without its position.
pub(super) struct Positioned {
    file: File,
    at: u64,
}

impl Positioned {
    pub(super) fn new(file: File) -> Positioned {
        Positioned { file, at: 0 }
    }
}

impl Read for Positioned {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = haul_sys::data::pread(&self.file, room, self.at)
            .map_err(|error| io::Error::from_raw_os_error(error.errno.raw_os_error()))?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A source or a sink, of whose bytes samples are taken.
pub(super) struct Sampled<T> {
    inner: T,
    sampler: Option<Arc<Mutex<Sampler>>>,
}

impl<T> Sampled<T> {
    fn add(&self, bytes: &[u8]) {
        if let Some(sampler) = &self.sampler {
            sampler.lock().add(bytes);
        }
    }
}

impl<T: Read> Read for Sampled<T> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(room)?;
        self.add(&room[..count]);
        Ok(count)
    }
}

impl<T: Write> Write for Sampled<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

pub(super) fn text(error: &io::Error) -> String {
    stream_error(error).map_or_else(|| describe(error), |error| error.to_string())
}

impl Writing {
    /// Begins to write an index into a file without a name.
    pub(super) fn begin(
        (file, written): (AtomicFile, File),
        onto: Onto,
        shown: &[u8],
        size: Option<u64>,
    ) -> io::Result<Writing> {
        let writer = IndexWriter::begin(BufWriter::new(written))?;
        let (sink, points) = channel();
        let sampler = Arc::new(Mutex::new(Sampler::new()));
        let shown = shown.to_vec();
        Ok(Writing { file, onto, shown, size, writer, failed: None, sink, points, sampler })
    }

    /// Returns the name of the index as messages show it.
    pub(super) fn shown(&self) -> &[u8] {
        &self.shown
    }

    /// Writes the end and gives the index its name. Blocks as long as the file system does.
    pub(super) fn publish(self, summary: &Summary, durable: Durable) -> Result<(), String> {
        let Writing { file, onto, size, writer, failed, sampler, .. } = self;
        let sampler = sampler.lock();
        if size.is_some_and(|size| size != sampler.bytes()) {
            file.abandon();
            return Err("not written: the input changed, or other data follow its end".to_owned());
        }
        let facts = IndexFacts {
            points: 0,
            archive_bytes: sampler.bytes(),
            original_bytes: summary.bytes_out,
            members: summary.members,
            last_bytes: summary.last_bytes,
            last_check: summary.check.or(sampler.last_check()).unwrap_or(0),
            identity: sampler.identity(),
        };
        let written = failed.map_or(Ok(()), Err).and_then(|()| {
            let sink = writer.finish(&facts)?;
            sink.into_inner().map_err(io::IntoInnerError::into_error).map(drop)
        });
        if let Err(error) = written {
            file.abandon();
            return Err(text(&error));
        }
        file.publish_as(onto, durable).map_err(|error| match error.errno {
            Errno::EXIST => format!("another process made it meanwhile: {}", error.text()),
            _ => error.text(),
        })
    }
}
