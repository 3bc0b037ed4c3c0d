//! Where the reports of `haul trace` go: opened before anything runs, written when all is over.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::fstat;
use haul_sys::sync::Mutex;
use haul_trace::render::{
    Detail, Labels, PictureOptions, TextOptions, comparison, flames, folded, json, listed, picture,
    text,
};
use haul_trace::{CallList, Ending, Files, Report};

use super::options::Settings;
use crate::escape::quote;
use crate::file_error::describe;
use crate::output::Output;

/// A place for a report.
enum Sink {
    StandardError,
    StandardOutput,
    /// The name is for messages.
    File(String, Arc<Place>),
}

/// A file that a report, and a list of calls before it, is written to.
struct Place {
    file: File,
    /// Whether it was emptied.
    has_room: AtomicBool,
}

/// The first failure to write the list.
type ListFailure = Arc<Mutex<Option<io::Error>>>;

/// Number of files in the short form of the report.
const SHORT_FILES: usize = 10;

/// What makes the text of a file.
type Form = fn(&Report) -> String;

/// All of them.
pub(super) struct Sinks {
    text: Sink,
    json: Option<Sink>,
    svg: Option<Sink>,
    /// Files for kernel stacks, and the form that each gets.
    stacks: Vec<(Sink, Form)>,
    list_failure: ListFailure,
}

impl Sinks {
    /// Opens what the command line names, or returns a message.
    pub(super) fn open(settings: &Settings) -> Result<Sinks, String> {
        let open = |name: &Option<std::ffi::OsString>| name.as_deref().map(open).transpose();
        let text = open(&settings.output)?.unwrap_or(Sink::StandardError);
        let (json, svg) = (open(&settings.json)?, open(&settings.svg)?);
        let form = |name: &std::ffi::OsString| {
            let is_picture = name.as_bytes().ends_with(b".svg");
            if is_picture { flames } else { folded as Form }
        };
        let stacks = settings.stacks.iter().map(|name| Ok((self::open(name)?, form(name))));
        let stacks = stacks.collect::<Result<_, String>>()?;
        Ok(Sinks { text, json, svg, stacks, list_failure: ListFailure::default() })
    }

    /// Returns a list that writes each call where the text of the report goes, before it.
    pub(super) fn list(&self) -> CallList {
        let failure = Arc::clone(&self.list_failure);
        let place = match &self.text {
            Sink::File(_, place) => Some(Arc::clone(place)),
            Sink::StandardError | Sink::StandardOutput => None,
        };
        let is_output = matches!(self.text, Sink::StandardOutput);
        CallList::new(move |call| {
            let line = listed(call);
            let written = match &place {
                Some(place) => place.write(&line),
                None if is_output => io::stdout().write_all(line.as_bytes()),
                None => io::stderr().write_all(line.as_bytes()),
            };
            if let Err(error) = written {
                failure.lock().get_or_insert(error);
            }
        })
    }

    /// Writes the reports (one, or two to compare) in every form, and returns messages about what
    /// could not be written.
    pub(super) fn deliver(
        self,
        output: &Output,
        settings: &Settings,
        reports: &[Report],
    ) -> Vec<String> {
        let grouping = settings.grouping.unwrap_or_default();
        let mut written = Vec::new();
        if let Some(sink) = self.json {
            let document = match reports {
                [first, second, ..] => format!(
                    "{{\"version\":1,\"first\":{},\"second\":{}}}\n",
                    json(first, grouping),
                    json(second, grouping)
                ),
                _ => reports.iter().map(|report| json(report, grouping) + "\n").collect(),
            };
            written.push(sink.write(output, &document));
        }
        if let Some(sink) = self.svg {
            let all: Vec<&Report> = reports.iter().collect();
            let how =
                PictureOptions { detail: settings.detail, grouping: settings.shown_grouping() };
            written.push(sink.write(output, &picture(&all, &how)));
        }
        for (sink, form) in self.stacks {
            written.push(sink.write(output, &reports.iter().map(form).collect::<String>()));
        }
        if let Some(error) = self.list_failure.lock().take() {
            written.push(Err(format!("the list is not complete: {}", describe(&error))));
        }
        written.push(self.text.write(output, &words(settings, reports)));
        written.into_iter().filter_map(Result::err).collect()
    }
}

/// Opens a file for writing; `-` is standard output. The file keeps what it has until there is a report.
fn open(name: &OsStr) -> Result<Sink, String> {
    if name == "-" {
        return Ok(Sink::StandardOutput);
    }
    let quoted = quote(name.as_bytes());
    match File::options().write(true).create(true).truncate(false).open(name) {
        Ok(file) => {
            Ok(Sink::File(quoted, Arc::new(Place { file, has_room: AtomicBool::new(false) })))
        }
        Err(error) => Err(format!("cannot write {quoted}: {}", describe(&error))),
    }
}

/// Empties a file, if it is one that has a length. If it is what a standard stream of the command is
/// redirected to, goes behind what that has.
fn make_room(mut file: &File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let streams = [fstat(io::stdout()), fstat(io::stderr())];
    let is_stream =
        fstat(file).is_ok_and(|it| streams.iter().flatten().any(|stream| stream.same_file(&it)));
    if is_stream { file.seek(SeekFrom::End(0)).map(drop) } else { file.set_len(0) }
}

impl Place {
    /// Writes a text, the first one in place of what the file has.
    fn write(&self, text: &str) -> io::Result<()> {
        if !self.has_room.swap(true, Ordering::Relaxed) {
            make_room(&self.file)?;
        }
        (&self.file).write_all(text.as_bytes())
    }
}

impl Sink {
    fn write(self, output: &Output, text: &str) -> Result<(), String> {
        match self {
            Sink::StandardError => output.raw_error(text),
            Sink::StandardOutput => output.line(text.trim_end_matches('\n')),
            Sink::File(quoted, place) => {
                let failed = |why: String| format!("cannot write {quoted}: {why}");
                place.write(text).map_err(|error| failed(describe(&error)))?;
                // A file server may refuse at the end what it took before. The list, which has the file, too, ends
                // with the settings.
                let closed = place.file.try_clone().map_err(|error| failed(describe(&error)))?;
                haul_sys::fs::close(closed.into()).map_err(|error| failed(error.text()))?;
            }
        }
        Ok(())
    }
}

/// Makes the report for people.
fn words(settings: &Settings, reports: &[Report]) -> String {
    let most_files = match settings.detail {
        Detail::Short => SHORT_FILES,
        Detail::All => TextOptions::default().most_files,
    };
    let how = TextOptions {
        detail: settings.detail,
        grouping: settings.shown_grouping(),
        most_files,
        ..TextOptions::default()
    };
    let [first, second] = reports else {
        return reports.iter().map(|report| text(report, &how)).collect();
    };
    let mut told = comparison(&noted(first), &noted(second), &Labels::default(), settings.detail);
    if settings.grouping.is_some() || settings.trace.files == Files::Observed {
        for report in reports {
            told.push('\n');
            told.push_str(&text(report, &how));
        }
    }
    told
}

/// Adds a note on a command that ended badly: then the comparison may be of something else than
/// was meant.
fn noted(report: &Report) -> Report {
    let mut noted = report.clone();
    match report.ending {
        Ending::Exited(0) | Ending::Unknown => {}
        Ending::Exited(code) => noted.notices.push(format!("it ended with exit status {code}")),
        Ending::Signaled(signal) => noted.notices.push(format!("signal {signal} killed it")),
    }
    noted
}
