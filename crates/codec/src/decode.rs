//! The decoder: a compressed stream in, ordered pieces out.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use crate::bzip2;
use crate::decoding::{Decode, DecodePlan, Garbage, Summary};
use crate::error::{Damage, DecodeError};
use crate::format::Format;
use crate::gzip::{GzipDecode, Header, MAGICS, PointSink, PointSource, Points, parse};
use crate::input::Input;
use crate::library::{InOrder, Library};
use crate::lzw::Lzw;
use crate::pack::Pack;
use crate::plain::Plain;
use crate::spare::Spare;
use crate::zip::Zip;
use crate::{xz, zstd};

/// What a stream begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its format.
    pub format: Format,
    /// The header of its first member, of a gzip stream.
    pub header: Option<Header>,
}

/// Decompresses a stream.
///
/// Small streams are decompressed by the calling thread. For larger ones a thread reads and
/// decompresses while the caller works, at most five pieces of 256 KiB ahead; of gzip streams that
/// allow it `jobs` workers decompress up to twice as many segments. A segment is at most 1.1 MiB of
/// the stream and 4.3 MiB of data, so memory is bounded by about 11 MiB for each job, whatever the
/// stream; a gzip stream of [`crate::Encoder`] takes 4 MiB. Frames of Zstandard that say how large
/// they are, up to 64 MiB, are decompressed by workers and are one piece each: up to
/// [`Memory::in_flight_bytes`](crate::Memory) of data, as much in buffers that are filled again, and the frame that the
/// caller reads. A larger or unknown one is decompressed in order, with its window, of
/// [`Memory::window_bytes`](crate::Memory) at most. Blocks of bzip2 are decompressed by workers, as many as may be in
/// flight if each has the most data that it can, 45 MiB. xz takes at most 1 GiB.
pub struct Decoder {
    reader: Option<Box<Reading>>,
    pieces: Option<Receiver<Event>>,
    thread: Option<JoinHandle<()>>,
    summary: Summary,
    start: Option<Start>,
    plan: DecodePlan,
    points: Points,
    /// What [`Read`] has not returned yet, and how far it has.
    piece: (Vec<u8>, usize),
    /// Pieces that [`Read`] has returned, if the decoder fills them again.
    spare: Spare,
    /// Pieces that wait for the caller.
    ahead: usize,
}

/// A source and the decoder of its format.
struct Reading {
    input: Input,
    decode: Option<Box<dyn Decode>>,
    bytes_out: u64,
}

enum Event {
    Piece(Vec<u8>),
    Failed(DecodeError),
    Ended(Summary),
}

/// Compressed bytes that the calling thread decompresses itself: starting a thread costs as much as
/// decompressing these.
const INLINE_BYTES: u64 = 256 << 10;

/// Pieces of up to 256 KiB that wait for the caller.
const PIECES_AHEAD: usize = 4;

/// Frames that wait for the caller, beside the one that the decoding thread has at hand: each may have as
/// many bytes as hundreds of pieces.
const FRAMES_AHEAD: usize = 0;

/// Frames in memory beside one for each worker: one that waits for a worker, one that the decoding thread has
/// at hand, and one that the caller reads.
const FRAMES_AT_ONCE: usize = 3;

impl Decoder {
    /// Makes a decoder. Nothing is read yet.
    pub fn new(source: impl Read + Send + 'static, plan: DecodePlan) -> Decoder {
        let reading = Reading { input: Input::new(source), decode: None, bytes_out: 0 };
        Decoder {
            reader: Some(Box::new(reading)),
            pieces: None,
            thread: None,
            summary: Summary::default(),
            start: None,
            plan,
            points: Points::Ignore,
            piece: (Vec::new(), 0),
            spare: Spare::new(0, 0),
            ahead: PIECES_AHEAD,
        }
    }

    /// Makes a decoder of a format that the caller knows. Of gzip, ZIP, `compress` and `pack` the
    /// stream itself says which it is, as gzip reads it; with [`Format::Plain`] bytes are passed on.
    pub fn of(source: impl Read + Send + 'static, plan: DecodePlan, format: Format) -> Decoder {
        let mut decoder = Decoder::new(source, plan);
        if format == Format::Zstd {
            let bytes = usize::try_from(plan.memory.in_flight_bytes).unwrap_or(usize::MAX);
            decoder.spare = Spare::new(plan.jobs + FRAMES_AT_ONCE, bytes);
            decoder.ahead = FRAMES_AHEAD;
        }
        let known: Option<Box<dyn Decode>> = match format {
            Format::Gzip | Format::Zip | Format::Lzw | Format::Pack => None,
            Format::Plain => Some(Box::new(Plain)),
            Format::Zstd => Some(Box::new(zstd::Decode::new(plan, &decoder.spare))),
            Format::Xz => Some(in_order(xz::Decode::new(xz::Kind::Xz, plan))),
            Format::Lzma => Some(in_order(xz::Decode::new(xz::Kind::Lzma, plan))),
            Format::Bzip2 => Some(bzip2::decoder(plan)),
        };
        if let (Some(decode), Some(reading)) = (known, &mut decoder.reader) {
            reading.decode = Some(decode);
            decoder.start = Some(Start { format, header: None });
        }
        decoder
    }

    /// Finds points of a gzip stream, where a later reader can begin, while it is decompressed. That is
    /// done in order, whatever the number of jobs. To be called before anything else.
    pub fn find_points(&mut self, sink: PointSink) {
        self.points = Points::Find(sink);
    }

    /// Decompresses a gzip stream from points that are known, several segments at a time. Points that
    /// are wrong cost time and change nothing of what is returned: each is proved before it is used.
    /// Segments between points are at most 6 MiB of the stream and 8 MiB of data. To be called before
    /// anything else.
    pub fn follow_points(&mut self, source: PointSource) {
        self.points = Points::Follow(source);
    }

    /// Reads what the stream begins with. Blocks as the source does. With [`Garbage::Pass`] a stream that begins
    /// with the magic number of no format is [`Format::Plain`], and its bytes are passed on as they are. One
    /// that begins with a magic number is in that format, however early it ends.
    pub fn start(&mut self) -> Result<Start, DecodeError> {
        if let Some(start) = &self.start {
            return Ok(start.clone());
        }
        let Some(reading) = &mut self.reader else { return Err(Damage::UnknownFormat.into()) };
        let start = match recognise(&mut reading.input)? {
            Recognised::Format(start) => start,
            Recognised::Nothing(_) if self.plan.garbage == Garbage::Pass => {
                Start { format: Format::Plain, header: None }
            }
            Recognised::Nothing(damage) => return Err(damage.into()),
        };
        reading.decode = Some(match start.format {
            Format::Gzip => {
                let points = std::mem::replace(&mut self.points, Points::Ignore);
                Box::new(GzipDecode::new(self.plan, points))
            }
            Format::Zip => Box::new(Zip::new()),
            Format::Lzw => Box::new(Lzw::new()),
            Format::Pack => Box::new(Pack::new()),
            // Bytes that are passed on; the other formats are not recognised, but named by the caller.
            _ => Box::new(Plain),
        });
        self.start = Some(start.clone());
        Ok(start)
    }

    /// Returns the next bytes, at least one; `None` at the end, when every check has been made.
    /// Blocks until they are there. What precedes an error is returned before it.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        self.start()?;
        if self.reader.as_ref().is_some_and(|reading| reading.input.taken() >= INLINE_BYTES) {
            self.begin_thread();
        }
        // Also where no thread could be started.
        if let Some(reading) = &mut self.reader {
            let next = reading.next()?;
            if next.is_none() {
                self.summary = reading.summary();
            }
            return Ok(next);
        }
        let Some(pieces) = &self.pieces else { return Ok(None) };
        match pieces.recv() {
            Ok(Event::Piece(piece)) => Ok(Some(piece)),
            Ok(Event::Failed(error)) => Err(error),
            Ok(Event::Ended(summary)) => {
                self.summary = summary;
                self.pieces = None;
                Ok(None)
            }
            // The thread ended without a word: it panicked.
            Err(_) => Err(DecodeError::Input(io::Error::other("the decoding thread failed"))),
        }
    }

    fn begin_thread(&mut self) {
        let Some(mut reading) = self.reader.take() else { return };
        let (events, pieces) = sync_channel(self.ahead);
        let (hand_over, handed_over) = std::sync::mpsc::channel::<Box<Reading>>();
        let thread = crate::threads::builder().name("haul decode".to_owned()).spawn(move || {
            let Ok(mut reading) = handed_over.recv() else { return };
            loop {
                let (event, is_last) = match reading.next() {
                    Ok(Some(piece)) => (Event::Piece(piece), false),
                    Ok(None) => (Event::Ended(reading.summary()), true),
                    Err(error) => (Event::Failed(error), true),
                };
                // A caller that gave up does not want it.
                if events.send(event).is_err() || is_last {
                    return;
                }
            }
        });
        match thread {
            Ok(thread) => {
                // The thread waits for it.
                let _handed_over = hand_over.send(reading);
                self.pieces = Some(pieces);
                self.thread = Some(thread);
            }
            // Without threads everything is done here.
            Err(_) => {
                reading.input.never_leave();
                self.reader = Some(reading);
            }
        }
    }

    /// Returns facts about the stream; they are complete when [`Decoder::next_piece`] has returned
    /// `None`.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summary
    }
}

impl Reading {
    fn next(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        let Some(decode) = &mut self.decode else { return Ok(None) };
        let next = decode.next(&mut self.input)?;
        self.bytes_out += next.as_ref().map_or(0, |piece| piece.len() as u64);
        Ok(next)
    }

    fn summary(&self) -> Summary {
        let summary = self.decode.as_ref().map(|decode| decode.summary()).unwrap_or_default();
        Summary { bytes_in: self.input.total(), bytes_out: self.bytes_out, ..summary }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported that itself.
            let _ended = thread.join();
        }
    }
}

impl Read for Decoder {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.piece.1 >= self.piece.0.len() {
            self.spare.keep(std::mem::take(&mut self.piece.0));
            match self.next_piece()? {
                Some(piece) => self.piece = (piece, 0),
                None => return Ok(0),
            }
        }
        let (piece, at) = &mut self.piece;
        let left = &piece[*at..];
        let count = left.len().min(room.len());
        if let (Some(room), Some(left)) = (room.get_mut(..count), left.get(..count)) {
            room.copy_from_slice(left);
        }
        *at += count;
        Ok(count)
    }
}

fn in_order(library: impl Library + 'static) -> Box<dyn Decode> {
    Box::new(InOrder::new(library))
}

/// What the first bytes of a stream are.
enum Recognised {
    /// Those of a format.
    Format(Start),
    /// No magic number; this is what is wrong with the stream if it is compressed all the same.
    Nothing(Damage),
}

/// Finds out which format a stream is in, as gzip does, by its first bytes. An error is one of a stream
/// whose format is known, or of the source.
fn recognise(input: &mut Input) -> Result<Recognised, DecodeError> {
    const ZIP: [u8; 4] = *b"PK\x03\x04";
    const PACK: [u8; 2] = [0x1f, 0x1e];
    const LZW: [u8; 2] = [0x1f, 0x9d];
    const LZH: [u8; 2] = [0x1f, 0xa0];
    let of = |format| Ok(Recognised::Format(Start { format, header: None }));
    let has_magic = input.fill(2)?;
    let magic = &input.bytes()[..input.bytes().len().min(2)];
    if MAGICS.iter().any(|known| known == magic) {
        loop {
            if let Some(header) = parse(input.bytes())? {
                let start = Start { format: Format::Gzip, header: Some(header) };
                return Ok(Recognised::Format(start));
            }
            if !input.read()? {
                return Err(Damage::UnexpectedEnd.into());
            }
        }
    }
    if magic == PACK {
        return of(Format::Pack);
    }
    if magic == LZW {
        return of(Format::Lzw);
    }
    if magic == LZH {
        return Err(Damage::Lzh.into());
    }
    if input.fill(ZIP.len())? && input.bytes().starts_with(&ZIP) {
        return of(Format::Zip);
    }
    // A single zero may be padding, and then something follows that is not a format.
    let is_padding = input.bytes().first() == Some(&0);
    let is_short = !has_magic && !is_padding;
    let damage = if is_short { Damage::UnexpectedEnd } else { Damage::UnknownFormat };
    Ok(Recognised::Nothing(damage))
}
