//! The bytes of one file: from its input through the codec into its output.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use haul_codec::{
    Damage, DecodeError, DecodePlan, Decoder, EncodePlan, Encoder, Format, Garbage, Header, Stamp,
    Summary, Totals,
};
use haul_io::digest::Digest;
use haul_io::stream::{Side, StreamError};

use super::index::Index;
use super::input::{Opened, decoder_source, reader};
use super::settings::Settings;
use super::sink::{Sink, stream_error};
use crate::file_error::describe;
use crate::progress::Tally;

/// Why a stream ended early.
#[derive(Debug)]
pub(super) enum Failed {
    Input(String),
    /// The text, and whether the reader of a pipe is gone.
    Output(String, bool),
    Data(Damage),
    Stopped,
}

impl From<DecodeError> for Failed {
    fn from(error: DecodeError) -> Failed {
        match error {
            DecodeError::Input(error) if is_stop(&error) => Failed::Stopped,
            DecodeError::Input(error) => Failed::Input(text(&error)),
            DecodeError::Data(damage) => Failed::Data(damage),
        }
    }
}

fn is_stop(error: &io::Error) -> bool {
    stream_error(error) == Some(StreamError::Stopped)
}

fn text(error: &io::Error) -> String {
    stream_error(error).map_or_else(|| describe(error), |error| error.to_string())
}

/// Returns the failure of an output.
pub(super) fn output_failed(error: &io::Error) -> Failed {
    match stream_error(error) {
        Some(error) => stream_failed(error),
        None => Failed::Output(describe(error), error.kind() == io::ErrorKind::BrokenPipe),
    }
}

/// Returns the failure of an output.
pub(super) fn stream_failed(error: StreamError) -> Failed {
    match error {
        StreamError::Stopped => Failed::Stopped,
        StreamError::Call(call) => Failed::Output(call.text(), call.errno == haul_sys::Errno::PIPE),
        StreamError::Shrank => Failed::Output(error.to_string(), false),
    }
}

/// What all streams of a run share.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    pub(super) settings: &'a Settings,
    pub(super) tally: &'a Tally,
    pub(super) stop: &'static AtomicBool,
}

impl Means<'_> {
    fn digest(&self) -> Option<Digest> {
        self.settings.sum.map(haul_io::digest::Algorithm::start)
    }

    fn check(&self) -> Result<(), Failed> {
        if self.stop.load(Ordering::Relaxed) { Err(Failed::Stopped) } else { Ok(()) }
    }

    fn write(&self, sink: &mut Sink, bytes: &[u8]) -> Result<(), Failed> {
        let written = self.tally.waiting(Side::Target, || sink.write_all(bytes));
        written.map_err(|error| output_failed(&error))
    }

    /// Compresses an input. Returns the counts, and the digest of the original data.
    pub(super) fn compress(
        &self,
        opened: &Opened,
        stamp: Stamp,
        (sink, index): (&mut Sink, &mut Index),
    ) -> Result<(Totals, Option<String>), Failed> {
        let settings = self.settings;
        let input = |error: haul_sys::CallError| Failed::Input(error.text());
        let mut reader =
            reader(opened.source.clone(), &settings.policy, self.stop).map_err(input)?;
        if let Some(bytes) = reader.reported_bytes() {
            self.tally.expect(bytes);
        }
        let jobs = settings.workers_for(reader.reported_bytes());
        let plan = EncodePlan { level: settings.level, jobs, cut: settings.cut, stamp };
        let (mut encoder, mut digest) = (Encoder::new(index.sampling(sink), plan), self.digest());
        if let Some(points) = index.point_sink() {
            encoder.tell_points(points);
        }
        loop {
            self.check()?;
            let next = self.tally.waiting(Side::Source, || reader.next());
            let block = match next {
                Ok(Some(block)) => block,
                Ok(None) => break,
                Err(StreamError::Stopped) => return Err(Failed::Stopped),
                Err(error) => return Err(Failed::Input(error.to_string())),
            };
            if let Some(digest) = &mut digest {
                digest.update(&block);
            }
            encoder.write_all(&block).map_err(|error| output_failed(&error))?;
            index.take_points();
            self.tally.moved(block.len() as u64);
        }
        let (_, totals) = encoder.finish().map_err(|error| output_failed(&error))?;
        Ok((totals, digest.map(Digest::finish_hex)))
    }

    /// Begins to decompress an input: returns the decoder and, of a gzip file, the header.
    pub(super) fn begin(
        &self,
        opened: &Opened,
        index: &Index,
    ) -> Result<(Decoder, Option<Header>), Failed> {
        let settings = self.settings;
        let source = decoder_source(opened, &settings.policy, self.stop)
            .map_err(|error| Failed::Input(text(&error)))?;
        if let Some(bytes) = opened.size() {
            self.tally.expect(bytes);
        }
        let garbage = if settings.passes_unknown() { Garbage::Pass } else { Garbage::Ignore };
        let plan = DecodePlan {
            jobs: settings.workers_for(opened.size()),
            garbage,
            ..DecodePlan::default()
        };
        let mut decoder = Decoder::new(index.sampled(source), plan);
        index.prepare(&mut decoder).map_err(|error| Failed::Input(text(&error)))?;
        let start = decoder.start()?;
        debug_assert!(start.header.is_some() || start.format != Format::Gzip);
        Ok((decoder, start.header))
    }

    /// Decompresses what was begun. Returns facts about it, and the digest of the original data.
    pub(super) fn decompress(
        &self,
        decoder: &mut Decoder,
        (sink, index): (&mut Sink, &mut Index),
    ) -> Result<(Summary, Option<String>), Failed> {
        let mut digest = self.digest();
        loop {
            self.check()?;
            let Some(piece) = self.tally.waiting(Side::Source, || decoder.next_piece())? else {
                break;
            };
            if let Some(digest) = &mut digest {
                digest.update(&piece);
            }
            self.write(sink, &piece)?;
            index.take_points();
            self.tally.moved(piece.len() as u64);
        }
        Ok((decoder.summary(), digest.map(Digest::finish_hex)))
    }
}
