//! `haul split`: GNU split's command line; files are cut by several workers where nothing has to be
//! looked at on the way.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::retry::again;
use haul_io::split::{
    ByteChunks, LineChunks, Moved, Pieces, Taken, by_bytes, by_line_bytes, by_lines, by_turns,
    move_ranges, nth_byte_chunk, only_turn,
};
use haul_io::stream::StreamError;
use haul_sys::data::pread;
use haul_sys::errno_text;
use haul_sys::process::{Ignorable, ignore};

use super::input::{BUFFER_BYTES, FileEnd, Input, Sized, print};
use super::options::{OPTIONS, UNDOCUMENTED, help};
use super::output::{Fatal, InOrder, Maker, NamedFile};
use super::settings::{How, Settings};
use super::turns::AllPieces;
use crate::ending::{print_and_end, refused, usage_error};
use crate::escape::quote_word;
use crate::getopt::{Opt, Usage, parse};
use crate::option::effect::{Asked, Effect, read_words};
use crate::output::Output;

const PROGRAM: &str = "split";

/// Runs `split` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let options: Vec<Opt<Effect<Settings>>> = OPTIONS.iter().chain(UNDOCUMENTED).copied().collect();
    let mut settings = Settings::new();
    let words = parse(arguments, &options);
    let ended = match read_words(words, &mut settings, PROGRAM, || help(PROGRAM)) {
        Ok(Asked::Print(text)) => return print_and_end(&output, &text),
        Ok(Asked::Work(operands)) => split(&output, &settings, &operands),
        Err(error) => return refused(&output, &error),
    };
    match ended {
        Ok(()) if output.finish() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(fatal) if fatal.usage => usage_error(&output, &Usage(fatal.text)),
        Err(fatal) => {
            output.flush();
            output.error(&fatal.text);
            output.finish();
            ExitCode::from(fatal.code)
        }
    }
}

fn split(output: &Output, settings: &Settings, operands: &[OsString]) -> Result<(), Fatal> {
    let how = settings.how.unwrap_or(How::Lines(1000));
    let nth = match how {
        How::ByteChunks(nth, _) | How::LineChunks(nth, _) | How::Turns(nth, _) => nth,
        _ => None,
    };
    if nth.is_some() && settings.filter.is_some() {
        let text = "--filter does not process a chunk extracted to stdout";
        return Err(Fatal::usage(text.to_owned()));
    }
    if how == How::Lines(0) {
        let text = format!("invalid number of lines: {}", quote_word(b"0"));
        return Err(Fatal::usage(text));
    }
    let mut operands = operands.iter().map(OsString::as_os_str);
    let input = operands.next().unwrap_or(OsStr::new("-"));
    let prefix = operands.next().unwrap_or(OsStr::new("x"));
    if let Some(extra) = operands.next() {
        return Err(Fatal::usage(format!("extra operand {}", quote_word(extra.as_bytes()))));
    }
    let names = settings.names(how, prefix.as_bytes())?;
    let input = Input::open(input)?;
    if settings.filter.is_some() {
        ignore(Ignorable::BrokenPipe);
    }
    let filter = settings.filter.as_deref();
    let policy = &settings.policy;
    let verbose = settings.verbose;
    let mut maker = Maker {
        output,
        names,
        filter,
        verbose,
        input: input.stat,
        emptied: HashSet::new(),
        policy,
    };
    let run = Run { settings, separator: settings.separator.unwrap_or(b'\n') };
    match (how, nth) {
        (How::ByteChunks(_, count), Some(nth)) => {
            let input = input.into_sized()?;
            run.extract(&input, nth_byte_chunk(nth - 1, count, input.bytes))
        }
        (How::LineChunks(_, count), Some(nth)) => run.extract_lines(input, nth - 1, count),
        (How::Turns(_, count), Some(nth)) => run.extract_turn(input, nth - 1, count),
        (How::Turns(_, count), None) => run.turns(input, count, &mut maker),
        (How::ByteChunks(_, count), None) => {
            let (name, input) = (input.name.clone(), input.into_sized()?);
            let ranges = ByteChunks::new(input.bytes, count).map(Ok);
            run.ranges(&name, &input, &mut { ranges }, &mut maker)
        }
        (How::LineChunks(_, count), None) => run.line_chunks(input, count, &mut maker),
        (How::Bytes(bytes), _) => run.bytes(input, bytes, &mut maker),
        (How::Lines(lines), _) => run.in_order(input, &mut maker, |run, source, pieces| {
            by_lines(lines, run.separator, source, pieces)
        }),
        (How::LineBytes(bytes), _) => run.in_order(input, &mut maker, |run, source, pieces| {
            by_line_bytes(bytes, run.separator, source, pieces)
        }),
    }
}

type Source = super::input::InOrder;

/// The ranges of a file that become pieces, in order.
type Ranges<'r> = &'r mut (dyn Iterator<Item = Result<Range<u64>, Fatal>> + Send);

struct Run<'s> {
    settings: &'s Settings,
    separator: u8,
}

impl Run<'_> {
    fn in_order(
        &self,
        input: Input,
        maker: &mut Maker<'_>,
        cut: impl FnOnce(&Self, &mut Source, &mut InOrder<'_, '_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let mut source = input.in_order(self.settings.buffer_bytes, maker.policy);
        let mut pieces = InOrder::new(maker);
        cut(self, &mut source, &mut pieces)?;
        pieces.end()
    }

    fn bytes(&self, input: Input, piece_bytes: u64, maker: &mut Maker<'_>) -> Result<(), Fatal> {
        let Some(sized) = input.sized()? else {
            return self
                .in_order(input, maker, |_, source, pieces| by_bytes(piece_bytes, source, pieces));
        };
        let (mut next, mut has_rest) = (0, false);
        let mut ranges = std::iter::from_fn(|| {
            // A file may grow while it is split; one that becomes shorter ends there.
            let mut end = match sized.described_end() {
                Ok(now) => now.max(next),
                Err(error) => return Some(Err(input.failed(error))),
            };
            if end - next < piece_bytes {
                end = match sized.find_end() {
                    Ok(FileEnd::At(now)) => now.max(next),
                    Ok(FileEnd::Unknown) => {
                        has_rest = true;
                        return None;
                    }
                    Err(error) => return Some(Err(input.failed(error))),
                };
            }
            let range = next..end.min(next.saturating_add(piece_bytes));
            next = range.end;
            (!range.is_empty()).then_some(Ok(range))
        });
        self.ranges(&input.name, &sized, &mut ranges, maker)?;
        if has_rest {
            return self
                .in_order(input, maker, |_, source, pieces| by_bytes(piece_bytes, source, pieces));
        }
        Ok(())
    }

    fn line_chunks(&self, input: Input, count: u64, maker: &mut Maker<'_>) -> Result<(), Fatal> {
        let (name, input) = (input.name.clone(), input.into_sized()?);
        let mut read_at = |buffer: &mut [u8], offset| read_at(&name, &input, buffer, offset);
        let mut lines = LineChunks::new(input.bytes, count, self.separator, &mut read_at);
        let mut next = 0;
        let mut ranges = std::iter::from_fn(|| {
            next += 1;
            (next <= count).then(|| lines.nth(next - 1))
        });
        self.ranges(&name, &input, &mut ranges, maker)
    }

    /// Makes a piece of each range.
    fn ranges(
        &self,
        name: &[u8],
        input: &Sized,
        ranges: Ranges<'_>,
        maker: &mut Maker<'_>,
    ) -> Result<(), Fatal> {
        let elide = self.settings.elide;
        let mut end = 0;
        // One that could not be found is not empty.
        let ranges = ranges.filter(|range| !elide || !range.as_ref().is_ok_and(Range::is_empty));
        let mut ranges = ranges.inspect(|range| {
            end = range.as_ref().map_or(end, |range| end.max(range.end));
        });
        if maker.filter.is_some() {
            self.filter_ranges(name, input, &mut ranges, maker)?;
        } else {
            let policy = maker.policy;
            let mut make = || {
                let Some(range) = ranges.next().transpose()? else { return Ok(None) };
                let range = range.start + input.base..range.end + input.base;
                Ok(Some((range, maker.next_file()?)))
            };
            let done = |piece: NamedFile, moved| match moved {
                Moved::All => piece.close(),
                Moved::Shrank => Err(shrank(name)),
                Moved::Unread(errno) => Err(Fatal::of(name, &errno_text(errno))),
                Moved::Unwritten(errno) => Err(Fatal::of(&piece.name, &errno_text(errno))),
            };
            move_ranges(input.as_fd(), input.bytes, policy, &mut make, &done)?;
        }
        drop(ranges);
        // A process that shares the descriptor sees the offset that reading would have left.
        input.move_to(end).map_err(|error| Fatal::of(name, &error.text()))
    }

    /// Hands each range to a command; what that does not want is left out.
    fn filter_ranges(
        &self,
        name: &[u8],
        input: &Sized,
        ranges: Ranges<'_>,
        maker: &mut Maker<'_>,
    ) -> Result<(), Fatal> {
        let mut pieces = InOrder::new(maker);
        for range in ranges {
            pieces.begin()?;
            self.each_block(name, input, range?, |bytes| pieces.write(bytes))?;
        }
        pieces.end()
    }

    /// Passes on the bytes of a range until the range ends or the callee stops.
    fn each_block(
        &self,
        name: &[u8],
        input: &Sized,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<Taken, Fatal>,
    ) -> Result<(), Fatal> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut offset = range.start;
        let mut trail = input.trail(&self.settings.policy);
        while offset < range.end {
            let most = usize::try_from(range.end - offset).unwrap_or(usize::MAX).min(buffer.len());
            let room = &mut buffer[..most];
            let filled = read_at(name, input, room, offset)?;
            let bytes = &buffer[..filled];
            if bytes.is_empty() {
                // One that has that size all the same never had as many bytes.
                let has_shrunk = input.has_shrunk(range.end);
                let has_shrunk = has_shrunk.map_err(|error| Fatal::of(name, &error.text()))?;
                return if has_shrunk { Err(shrank(name)) } else { Ok(()) };
            }
            let read = input.base + offset..input.base + offset + filled as u64;
            trail.after_read(input.as_fd(), &read);
            if take(bytes)? == Taken::Refused {
                break;
            }
            offset += filled as u64;
        }
        trail.finish(input.as_fd());
        Ok(())
    }

    fn extract(&self, input: &Sized, range: Range<u64>) -> Result<(), Fatal> {
        self.each_block(b"-", input, range, |bytes| print(bytes).map(|()| Taken::All))
    }

    fn extract_lines(&self, input: Input, nth: u64, count: u64) -> Result<(), Fatal> {
        let (name, input) = (input.name.clone(), input.into_sized()?);
        let mut read_at = |buffer: &mut [u8], offset| read_at(&name, &input, buffer, offset);
        let mut lines = LineChunks::new(input.bytes, count, self.separator, &mut read_at);
        self.extract(&input, lines.nth(nth)?)
    }

    fn extract_turn(&self, input: Input, nth: u64, count: u64) -> Result<(), Fatal> {
        let mut gathered = Vec::new();
        let most = if self.settings.unbuffered { 0 } else { BUFFER_BYTES };
        let mut source = input.in_order(self.settings.buffer_bytes, &self.settings.policy);
        only_turn(nth, count, self.separator, &mut source, |bytes| {
            gathered.extend_from_slice(bytes);
            if gathered.len() > most {
                print(&gathered)?;
                gathered.clear();
            }
            Ok(())
        })?;
        print(&gathered)
    }

    fn turns(&self, input: Input, count: u64, maker: &mut Maker<'_>) -> Result<(), Fatal> {
        let mut source = input.in_order(self.settings.buffer_bytes, maker.policy);
        let mut pieces = AllPieces::new(maker, count, !self.settings.unbuffered)?;
        let touched = by_turns(count, self.separator, &mut source, &mut pieces)?;
        pieces.end(touched, self.settings.elide)
    }
}

fn read_at(name: &[u8], input: &Sized, buffer: &mut [u8], offset: u64) -> Result<usize, Fatal> {
    again(|| pread(input, buffer, input.base + offset))
        .map_err(|error| Fatal::of(name, &error.text()))
}

fn shrank(name: &[u8]) -> Fatal {
    Fatal::of(name, &StreamError::Shrank.to_string())
}
