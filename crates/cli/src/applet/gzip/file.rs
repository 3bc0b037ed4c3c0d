//! One file: checked, compressed or decompressed, and replaced.

use haul_sys::sync::Mutex;
use std::cell::RefCell;
use std::io::IsTerminal as _;
use std::sync::Arc;

use haul_codec::{Decoder, Format, Header, Stamp, Summary, Trailing};
use haul_io::last_check::LastNames;
use haul_io::stream::{AtomicFile, Onto, Source};
use haul_start::Standard;
use haul_sys::fs::{Time, duplicate, fstat};
use haul_sys::{Errno, errno_text};

use super::index::Index;
use super::input::{Named, Opened};
use super::list::{Row, Totals};
use super::messages::{PROGRAM, Said, ends_run, ratio};
use super::names::base;
use super::settings::{Settings, Switch, Target, Task};
use super::sink::Sink;
use super::stream::{Failed, Means};
use crate::output::Output;
use crate::progress::Progress;
use crate::standard::demand;

/// Files of this size and more are done one at a time, each by all workers.
const LARGE_BYTES: u64 = 4 << 20;

/// What all files of a worker share.
pub(super) struct Files<'a> {
    pub(super) means: Means<'a>,
    pub(super) output: &'a Output,
    pub(super) progress: &'a Progress<'a>,
    /// Standard output, where outputs go there: only one worker has it.
    pub(super) stdout: RefCell<Option<Sink>>,
    /// The index of the file, of which there is only one then.
    pub(super) index: RefCell<Index>,
    pub(super) totals: &'a Mutex<Totals>,
    /// Held while a large file is done, so that memory is that of one.
    pub(super) large: &'a Mutex<()>,
    /// Whether a person can be asked.
    pub(super) may_ask: Switch,
    /// Names of inputs that are about to be removed.
    pub(super) last_names: LastNames,
}

/// What was done with the data of a file.
struct Moved {
    bytes_in: u64,
    bytes_out: u64,
    header_bytes: u64,
    digest: Option<String>,
}

/// A file that was decompressed.
struct Restored {
    moved: Moved,
    summary: Summary,
    created: Created,
    /// The time that it gets, where the header says one.
    time: Option<Time>,
}

/// An output file that has no name yet.
pub(super) struct Created {
    pub(super) file: AtomicFile,
    pub(super) named: Named,
    pub(super) onto: Onto,
}

/// A file is left out, or done, or failed: what is to be said is said.
pub(super) type Step<T> = Result<T, ()>;

impl Files<'_> {
    pub(super) fn settings(&self) -> &Settings {
        self.means.settings
    }

    /// Does standard input.
    pub(super) fn stdin(&self) -> Said {
        let mut said = Said::default();
        let settings = self.settings();
        let decompresses = settings.decompresses();
        let is_terminal = if decompresses {
            std::io::stdin().is_terminal()
        } else {
            std::io::stdout().is_terminal()
        };
        let is_refused = settings.presume_terminal.is_on() || is_terminal;
        if settings.force == 0 && settings.task != Task::List && is_refused {
            if !settings.is_quiet() {
                let (way, de) = if decompresses { ("read from", "de") } else { ("written to", "") };
                said.raw(
                    format!(
                        "{PROGRAM}: compressed data not {way} a terminal. Use -f to force \
                         {de}compression.\nFor help, type: {PROGRAM} -h\n"
                    )
                    .as_bytes(),
                );
            }
            said.fail();
            said.is_end = true;
            return said;
        }
        let opened = demand(Standard::Input).and_then(|()| {
            let file = duplicate(std::io::stdin())?;
            let stat = fstat(&file)?;
            Ok(Opened { source: Source::Shared(Arc::new(file)), stat })
        });
        match opened {
            Ok(opened) => {
                if self.stdin_opened(&opened, &mut said).is_ok() {
                    said.done();
                }
            }
            Err(error) => {
                said.error(b"standard input", &format!(": {}", error.text()));
                said.is_end = true;
            }
        }
        said
    }

    fn stdin_opened(&self, opened: &Opened, said: &mut Said) -> Step<()> {
        const NAME: &[u8] = b"stdin";
        let settings = self.settings();
        self.open_index(opened, None, said)?;
        if settings.task == Task::Compress {
            let stamp = self.stamp(opened, None, (NAME, said));
            let moved = self.to_stdout(|sink| self.compress(opened, stamp, sink));
            let moved = moved.map_err(|failed| self.failed((NAME, b"stdout"), failed, said))?;
            self.end_index(&compressed_summary(&moved), said);
            self.tell_sum(&moved, b"-", said);
            if settings.verbose > 0 {
                said.raw(format!("{}\n", compressed_ratio(&moved)).as_bytes());
            }
            return Ok(());
        }
        let time = self.mtime(opened);
        let (moved, _) = self.decompress(opened, (NAME, b"stdout"), time, said)?;
        self.tell_sum(&moved, b"-", said);
        if settings.verbose > 0 && settings.task == Task::Test {
            said.raw(b" OK\n");
        }
        Ok(())
    }

    /// Does a file that was named, or found in a directory.
    pub(super) fn named(&self, named: Named) -> Said {
        let mut said = Said::default();
        if self.named_file(named, &mut said).is_ok() {
            said.done();
        }
        said
    }

    fn named_file(&self, named: Named, said: &mut Said) -> Step<()> {
        let settings = self.settings();
        let (named, opened) = self.open(named, said)?;
        self.check(&named, &opened.stat, said)?;
        let output = self.output_name(&named, said)?;
        self.open_index(&opened, Some(&named), said)?;
        let is_large = opened.size().is_none_or(|size| size >= LARGE_BYTES);
        let _one_at_a_time = is_large.then(|| self.large.lock());
        if settings.task == Task::Compress {
            return self.compress_file(&named, &opened, output, said);
        }
        self.decompress_file(&named, &opened, output, said)
    }

    fn compress(&self, opened: &Opened, stamp: Stamp, sink: &mut Sink) -> Result<Moved, Failed> {
        let index = &mut *self.index.borrow_mut();
        let (totals, digest) = self.means.compress(opened, stamp, (sink, index))?;
        let haul_codec::Totals { bytes_in, bytes_out, header_bytes } = totals;
        Ok(Moved { bytes_in, bytes_out, header_bytes, digest })
    }

    fn compress_file(
        &self,
        named: &Named,
        opened: &Opened,
        output: Vec<u8>,
        said: &mut Said,
    ) -> Step<()> {
        let settings = self.settings();
        let name = settings.keeps_name().then(|| base(&named.shown));
        let compress = |sink: &mut Sink, stamp| self.compress(opened, stamp, sink);
        let (moved, output) = if settings.target == Target::Stdout {
            let stamp = self.stamp(opened, name, (&named.shown, said));
            let moved = self.to_stdout(|sink| compress(sink, stamp));
            let moved =
                moved.map_err(|failed| self.failed((&named.shown, b"stdout"), failed, said))?;
            (moved, b"stdout".to_vec())
        } else {
            let (created, is_shortened) = self.create((named, opened), output, said)?;
            let output = created.named.shown.clone();
            if is_shortened && settings.verbose == 0 && !settings.is_quiet() {
                let shown = String::from_utf8_lossy(&output);
                said.note(&named.shown, &format!(" compressed to {shown}"));
            }
            let name = if is_shortened { Some(base(&named.shown)) } else { name };
            let stamp = self.stamp(opened, name, (&named.shown, said));
            let moved = self.fill(&created, named, said, |sink| compress(sink, stamp))?;
            self.replace((named, opened, Some(moved.bytes_in)), created, None, said)?;
            (moved, output)
        };
        self.end_index(&compressed_summary(&moved), said);
        let stays = settings.target == Target::Stdout || settings.keep.is_on();
        if stays && opened.size().is_some_and(|size| size != moved.bytes_in) {
            said.note(&named.shown, ": file size changed while zipping");
        }
        self.tell_sum(&moved, &named.shown, said);
        if settings.verbose > 0 {
            self.tell_ratio(named, &compressed_ratio(&moved), &output, said);
        }
        Ok(())
    }

    fn decompress_file(
        &self,
        named: &Named,
        opened: &Opened,
        output: Vec<u8>,
        said: &mut Said,
    ) -> Step<()> {
        let settings = self.settings();
        let time = self.mtime(opened);
        if settings.target == Target::Stdout {
            let (moved, output) = self.decompress(opened, (&named.shown, &output), time, said)?;
            self.tell_sum(&moved, &output, said);
            if settings.verbose > 0 && settings.task == Task::Test {
                said.raw(&[named.shown.as_slice(), b":\t OK\n"].concat());
            } else if settings.verbose > 0 && settings.task == Task::Decompress {
                self.tell_ratio(named, &original_ratio(&moved), &output, said);
            }
            return Ok(());
        }
        let create = |output: Vec<u8>, said: &mut Said| -> Step<Created> {
            let (created, is_shortened) = self.create((named, opened), output, said)?;
            if is_shortened {
                let text = ": warning, name truncated";
                said.warn(settings, &created.named.shown, text);
            }
            Ok(created)
        };
        let Restored { moved, summary, created, time } =
            self.decompress_into(named, opened, output, said, create)?;
        let output = created.named.shown.clone();
        // Behind garbage nothing is read.
        let is_read = summary.members > 0 && summary.trailing != Trailing::Garbage;
        let read_bytes = is_read.then_some(summary.bytes_in);
        self.replace((named, opened, read_bytes), created, time, said)?;
        self.end_index(&summary, said);
        self.tell_sum(&moved, &output, said);
        if settings.verbose > 0 {
            self.tell_ratio(named, &original_ratio(&moved), &output, said);
        }
        Ok(())
    }

    /// Begins to decompress a file. Returns the decoder and, of a gzip file, the header.
    fn begin(
        &self,
        opened: &Opened,
        (shown, output): (&[u8], &[u8]),
        said: &mut Said,
    ) -> Step<(Decoder, Option<Header>)> {
        let begun = self.means.begin(opened, &self.index.borrow());
        let begun = begun.map_err(|failed| self.failed((shown, output), failed, said))?;
        if begun.1.is_none() && self.settings().index.is_some() {
            said.error(shown, ": only a gzip file can have an index");
            return Err(());
        }
        Ok(begun)
    }

    /// Decompresses what was begun.
    fn run_decoder(
        &self,
        decoder: &mut Decoder,
        sink: &mut Sink,
    ) -> Result<(Summary, Option<String>), Failed> {
        self.means.decompress(decoder, (sink, &mut *self.index.borrow_mut()))
    }

    /// Decompresses into a file that `create` makes once the header is known.
    fn decompress_into(
        &self,
        named: &Named,
        opened: &Opened,
        output: Vec<u8>,
        said: &mut Said,
        create: impl FnOnce(Vec<u8>, &mut Said) -> Step<Created>,
    ) -> Step<Restored> {
        let shown = named.shown.as_slice();
        let (mut decoder, header) = self.begin(opened, (shown, &output), said)?;
        let output = self.header(header.as_ref(), (shown, output), said)?;
        let created = create(output, said)?;
        let header = header.unwrap_or_default();
        let mut summary = Summary::default();
        let moved = self.fill(&created, named, said, |sink| {
            let (found, digest) = self.run_decoder(&mut decoder, sink)?;
            summary = found;
            Ok(moved(&found, &header, digest))
        })?;
        if summary.has_more_entries {
            said.error(shown, " has more than one entry -- unchanged");
            created.file.abandon();
            return Err(());
        }
        self.trailing(&summary, shown, said);
        let time = (header.mtime != 0 && self.settings().keeps_time())
            .then(|| Time { seconds: i64::from(header.mtime), nanoseconds: 0 });
        Ok(Restored { moved, summary, created, time })
    }

    /// Decompresses to standard output, or to nowhere.
    fn decompress(
        &self,
        opened: &Opened,
        (shown, output): (&[u8], &[u8]),
        time: Option<Time>,
        said: &mut Said,
    ) -> Step<(Moved, Vec<u8>)> {
        let settings = self.settings();
        let (mut decoder, header) = self.begin(opened, (shown, output), said)?;
        let format = if header.is_some() { Format::Gzip } else { Format::Lzw };
        let output = self.header(header.as_ref(), (shown, output.to_vec()), said)?;
        let header = header.unwrap_or_default();
        let known = self.index.borrow().summary().filter(|_| settings.task == Task::List);
        let mut decompress = |sink: &mut Sink| self.run_decoder(&mut decoder, sink);
        let decompressed = match (settings.task, known) {
            (_, Some(known)) => Ok((known, None)),
            (Task::Test | Task::List, None) => decompress(&mut Sink::Nothing),
            (Task::Compress | Task::Decompress, None) => self.to_stdout(decompress),
        };
        let (summary, digest) =
            decompressed.map_err(|failed| self.failed((shown, b"stdout"), failed, said))?;
        let format = decoder.start().map_or(format, |start| start.format);
        if summary.has_more_entries {
            said.warn(settings, shown, " has more than one entry--rest ignored");
        }
        self.trailing(&summary, shown, said);
        self.end_index(&summary, said);
        if settings.task == Task::List {
            let stored = (header.mtime != 0 && settings.keeps_time())
                .then(|| Time { seconds: i64::from(header.mtime), nanoseconds: 0 });
            let row = Row {
                format,
                summary,
                header_bytes: framing_bytes(&header),
                time: stored.or(time),
                name: &output,
            };
            said.lines.extend(self.totals.lock().row(settings, &row));
        }
        Ok((moved(&summary, &header, digest), output))
    }

    /// Tells what was ignored behind the data.
    fn trailing(&self, summary: &Summary, shown: &[u8], said: &mut Said) {
        let settings = self.settings();
        match summary.trailing {
            Trailing::Nothing => {}
            Trailing::Zeros if settings.verbose == 0 => {}
            Trailing::Zeros => {
                let text = ": decompression OK, trailing zero bytes ignored";
                said.warn_behind("\n", settings, shown, text);
            }
            Trailing::Garbage => {
                let text = ": decompression OK, trailing garbage ignored";
                said.warn_behind("\n", settings, shown, text);
            }
        }
    }

    /// Runs a stream to standard output.
    fn to_stdout<T>(
        &self,
        stream: impl FnOnce(&mut Sink) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        match &mut *self.stdout.borrow_mut() {
            Some(sink) => stream(sink),
            None => Err(Failed::Output(errno_text(Errno::BADF), false)),
        }
    }

    /// Says why a stream ended early.
    pub(super) fn failed(&self, (input, output): (&[u8], &[u8]), failed: Failed, said: &mut Said) {
        let settings = self.settings();
        match failed {
            Failed::Input(text) => said.break_off(input, &format!(": {text}")),
            Failed::Data(damage) => {
                said.damage(settings, input, damage);
                // As in gzip; a test tells about the other files, too.
                said.is_end |= settings.task == Task::Decompress && ends_run(damage);
            }
            Failed::Output(text, is_pipe) => {
                let text = format!(": {text}");
                if is_pipe {
                    said.warn_behind("\n", settings, output, &text);
                } else {
                    said.break_off(output, &text);
                }
                // As in gzip: the next output would have no room either.
                said.is_end = true;
            }
            Failed::Stopped => {
                said.fail();
                said.is_end = true;
            }
        }
    }

    fn tell_ratio(&self, named: &Named, ratio: &str, output: &[u8], said: &mut Said) {
        let replaced = if self.settings().keep.is_on() { "created" } else { "replaced with" };
        said.raw(&named.shown);
        said.raw(format!(":\t{ratio} -- {replaced} ").as_bytes());
        said.raw(output);
        said.raw(b"\n");
    }

    fn tell_sum(&self, moved: &Moved, name: &[u8], said: &mut Said) {
        if let (Some(digits), Some(algorithm)) = (&moved.digest, self.settings().sum) {
            said.raw(&crate::sum_file::line(algorithm, digits, name));
        }
    }
}

/// Returns the bytes of header and trailer: of a gzip stream only, as in gzip.
fn framing_bytes(header: &Header) -> u64 {
    if header.bytes > 0 { header.bytes + 8 } else { 0 }
}

fn moved(summary: &Summary, header: &Header, digest: Option<String>) -> Moved {
    Moved {
        bytes_in: summary.bytes_in,
        bytes_out: summary.bytes_out,
        header_bytes: framing_bytes(header),
        digest,
    }
}

/// Returns what is known about a stream that was compressed; its trailer has the check sum.
fn compressed_summary(moved: &Moved) -> Summary {
    let &Moved { bytes_in: original, bytes_out: bytes, .. } = moved;
    Summary {
        bytes_in: bytes,
        bytes_out: original,
        members: 1,
        last_bytes: original,
        ..Summary::default()
    }
}

/// Returns how much smaller the compressed data are, without the header.
fn compressed_ratio(moved: &Moved) -> String {
    let data = i128::from(moved.bytes_out) - i128::from(moved.header_bytes);
    ratio(i128::from(moved.bytes_in) - data, moved.bytes_in)
}

/// Returns the same for data that were decompressed.
fn original_ratio(moved: &Moved) -> String {
    let data = i128::from(moved.bytes_in) - i128::from(moved.header_bytes);
    ratio(i128::from(moved.bytes_out) - data, moved.bytes_out)
}
