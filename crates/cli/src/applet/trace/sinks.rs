//! Where the reports of `haul trace` go: opened before anything runs, written when all is over.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;

use haul_sys::fs::fstat;
use haul_trace::render::{
    Detail, Labels, PictureOptions, TextOptions, comparison, json, picture, text,
};
use haul_trace::{Ending, Files, Report};

use super::options::Settings;
use crate::escape::quote;
use crate::file_error::describe;
use crate::output::Output;

/// A place for a report.
enum Sink {
    StandardError,
    StandardOutput,
    /// The name is for messages.
    File(String, File),
}

/// Number of files in the short form of the report.
const SHORT_FILES: usize = 10;

/// All of them.
pub(super) struct Sinks {
    text: Sink,
    json: Option<Sink>,
    svg: Option<Sink>,
}

impl Sinks {
    /// Opens what the command line names, or returns a message.
    pub(super) fn open(settings: &Settings) -> Result<Sinks, String> {
        let open = |name: &Option<std::ffi::OsString>| name.as_deref().map(open).transpose();
        let text = open(&settings.output)?.unwrap_or(Sink::StandardError);
        Ok(Sinks { text, json: open(&settings.json)?, svg: open(&settings.svg)? })
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
        Ok(file) => Ok(Sink::File(quoted, file)),
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

impl Sink {
    fn write(self, output: &Output, text: &str) -> Result<(), String> {
        match self {
            Sink::StandardError => output.raw_error(text),
            Sink::StandardOutput => output.line(text.trim_end_matches('\n')),
            Sink::File(quoted, mut file) => {
                let failed = |why: String| format!("cannot write {quoted}: {why}");
                let written = make_room(&file).and_then(|()| file.write_all(text.as_bytes()));
                written.map_err(|error| failed(describe(&error)))?;
                haul_sys::fs::close(file.into()).map_err(|error| failed(error.text()))?;
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
