//! The list of what went wrong (`--errors FILE`), and reading it again (`--retry-failed FILE`).
//!
//! A terminal scrolls, and a name that is not UTF-8 cannot be shown; so the list is a file of JSON
//! lines in which every name is lossless. The first line has the command and its directory, then comes a
//! line for each failure as with `--json`, then one for each file with several names of which not all were
//! copied (`known_name.rs`), and the last line marks the list as complete: a list without it belongs to a run
//! that did not come to its end, and lacks what that run did not get to.

use haul_sys::sync::Mutex;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use haul_engine::known_names::KnownName;
use haul_io::stream::Durable;
use haul_manifest::safe_json;
use serde_json::{Value, json};

use crate::escape::quote;
use crate::file_error::{close_error, describe};
use crate::known_name;
use crate::lossless::{bytes, name as lossless};
use crate::own_lock::is_in_use;
use crate::target_file::{self, TargetFile};

/// The format's version; a list of another one is refused.
const VERSION: u64 = 1;

/// How the first line of every list begins; serde_json sorts the keys of an object.
const BEGINNING: &[u8] = br#"{"arguments":["#;

/// A list that is being written.
pub(crate) struct ErrorList {
    path: OsString,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    lines: u64,
    failed: Option<io::Error>,
    ending: Ending,
    /// The file that `file` is to become, and the list that it replaces.
    staged: Option<(TargetFile, File)>,
    /// Lines that replace those of `file` at the end of the run, if no other file can be made for them.
    kept_back: Option<Vec<u8>>,
}

/// What is known of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The run has not come to its end.
    Open,
    /// Everything that the run did not do is on the list.
    Complete,
    /// The run has come to its end, but another one, which it goes on with, did not.
    OfPart,
}

/// What becomes of a list that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Older {
    /// It is emptied at once, so that a killed run leaves its own lines.
    Emptied,
    /// It is replaced at the end of the run. A run that does not come to its end leaves the older list,
    /// because some of its entries are still missing.
    KeptUntilEnd,
}

impl ErrorList {
    /// Begins a list; an existing file is replaced only if it is a list, too, and no other run writes it.
    pub(crate) fn create(
        path: &OsStr,
        older: Older,
        program: &str,
        (arguments, sources): (&[OsString], &[OsString]),
    ) -> Result<ErrorList, String> {
        let shown = quote(path.as_bytes());
        let refused = |why: &str| format!("cannot write the list of errors {shown}: {why}");
        let message = |error: &io::Error| refused(&describe(error));
        let mut file = open(path).map_err(|error| match error {
            OpenError::Call(error) => message(&error),
            OpenError::InUse => refused("another run writes it"),
            OpenError::NoList => format!("will not overwrite {shown}: it is not a list of errors"),
        })?;
        let (mut staged, mut kept_back) = (None, None);
        if older == Older::KeptUntilEnd && file.metadata().is_ok_and(|file| file.is_file()) {
            if let Ok(target) = target_file::open(path, true) {
                let new = target.target().file.try_clone().map_err(|error| message(&error))?;
                staged = Some((target, std::mem::replace(&mut file, new.into())));
            } else {
                kept_back = Some(Vec::new());
            }
        } else {
            empty(&file).map_err(|error| message(&error))?;
        }
        let directory = std::env::current_dir().map_err(|error| message(&error))?;
        let ending = Ending::Open;
        let inner = Inner { file, lines: 0, failed: None, ending, staged, kept_back };
        let list = ErrorList { path: path.to_owned(), inner: Mutex::new(inner) };
        let names = |words: &[OsString]| -> Vec<Value> {
            words.iter().map(|word| lossless(word.as_bytes())).collect()
        };
        list.push(
            &json!({
                "arguments": names(arguments),
                "directory": lossless(directory.as_os_str().as_bytes()),
                "event": "run",
                "program": program,
                "sources": names(sources),
                "version": VERSION,
            })
            .to_string(),
        );
        Ok(list)
    }

    /// Adds a line at once: a killed run leaves all lines up to its end.
    pub(crate) fn push(&self, line: &str) {
        let mut inner = self.inner.lock();
        inner.lines += 1;
        let line = safe_json(format!("{line}\n"));
        if let Some(lines) = &mut inner.kept_back {
            lines.extend_from_slice(line.as_bytes());
        } else if inner.failed.is_none() {
            inner.failed = inner.file.write_all(line.as_bytes()).err();
        }
    }

    /// Records that the run has come to its end. `is_whole` tells whether everything that was not done is on
    /// the list.
    pub(crate) fn complete(&self, is_whole: bool) {
        let mut inner = self.inner.lock();
        inner.ending = if is_whole { Ending::Complete } else { Ending::OfPart };
    }

    /// Ends the list; returns the message if it could not be written.
    pub(crate) fn end(&self) -> Option<String> {
        let (lines, ending) = {
            let inner = self.inner.lock();
            (inner.lines, inner.ending)
        };
        if ending == Ending::Complete {
            self.push(&json!({ "event": "end", "lines": lines }).to_string());
        }
        let mut inner = self.inner.lock();
        if let Some(lines) = inner.kept_back.take().filter(|_| ending != Ending::Open) {
            inner.failed = empty(&inner.file).and_then(|()| inner.file.write_all(&lines)).err();
        }
        let closed = match inner.failed.take() {
            Some(failed) => Err(describe(&failed)),
            None => close_error(&inner.file).map_err(|error| error.text()),
        };
        let ended = match (inner.staged.take(), closed) {
            (Some((target, _older)), Ok(())) if ending != Ending::Open => {
                target.publish(Durable::No, |_| {})
            }
            (Some((target, _older)), closed) => {
                target.abandon();
                closed
            }
            (None, closed) => closed,
        };
        let failed = ended.err()?;
        let path = quote(self.path.as_bytes());
        Some(format!("the list of errors {path} is not complete: {failed}"))
    }
}

enum OpenError {
    Call(io::Error),
    /// Another run writes the list.
    InUse,
    /// It is no list.
    NoList,
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Call(error)
    }
}

/// Opens the file, and locks it until it is closed.
fn open(path: &OsStr) -> Result<File, OpenError> {
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(file);
    }
    if is_in_use(&file) {
        return Err(OpenError::InUse);
    }
    if file.metadata()?.len() > 0 {
        let mut beginning = vec![0; BEGINNING.len()];
        let is_list = file.read_exact(&mut beginning).is_ok() && beginning == BEGINNING;
        if !is_list {
            return Err(OpenError::NoList);
        }
        file.rewind()?;
    }
    Ok(file)
}

fn empty(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// A failure of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// What was being done, as in `--json`.
    pub(crate) what: String,
    /// Whether the failure has an errno.
    pub(crate) has_errno: bool,
    /// Absolute, or relative to the current directory if that is the one of the run.
    pub(crate) source: Vec<u8>,
    pub(crate) target: Vec<u8>,
}

/// A list that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The options of the run.
    pub(crate) arguments: Vec<OsString>,
    /// The directory of the run.
    pub(crate) directory: OsString,
    /// What it was to copy.
    pub(crate) sources: Vec<Vec<u8>>,
    pub(crate) failures: Vec<Listed>,
    /// Files that the run copied under some of their names. Their other names become hard links of these.
    pub(crate) known: Vec<KnownName>,
    /// Whether the run that wrote it came to its end.
    pub(crate) is_complete: bool,
}

/// Reads a list that a run of this program wrote.
pub(crate) fn read(path: &OsStr, program: &str) -> Result<Reading, String> {
    let file = File::open(path).map_err(|error| {
        format!("cannot read the list of errors {}: {}", quote(path.as_bytes()), describe(&error))
    })?;
    let here = std::env::current_dir().unwrap_or_default();
    read_from(BufReader::new(file), program, &here)
        .map_err(|why| format!("{} is not a list of errors: {why}", quote(path.as_bytes())))
}

fn read_from(mut from: impl io::BufRead, program: &str, here: &Path) -> Result<Reading, String> {
    let mut reading = Reading {
        arguments: Vec::new(),
        directory: OsString::new(),
        sources: Vec::new(),
        failures: Vec::new(),
        known: Vec::new(),
        is_complete: false,
    };
    let mut directory: Option<Vec<u8>> = None;
    for number in 1_u64.. {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line).map_err(|error| describe(&error))?;
        // A line without an end was being written when the run was killed.
        if !line.ends_with(b"\n") {
            break;
        }
        let wrong = |why: &str| format!("line {number}: {why}");
        let value: Value = serde_json::from_slice(&line).map_err(|_| wrong("no JSON object"))?;
        let word = |key: &str| value.get(key).and_then(Value::as_str);
        match (word("event"), &directory) {
            (Some("run"), None) => {
                if value.get("version").and_then(Value::as_u64) != Some(VERSION) {
                    return Err(wrong("of another version"));
                }
                if word("program") != Some(program) {
                    return Err(wrong(&format!("not one of {program}")));
                }
                let arguments = names(&value, "arguments").ok_or_else(|| wrong("no arguments"))?;
                reading.arguments = arguments.into_iter().map(OsString::from_vec).collect();
                let named = value.get("directory").and_then(bytes);
                let named = named.ok_or_else(|| wrong("no directory"))?;
                let sources = names(&value, "sources").unwrap_or_default().into_iter();
                reading.sources =
                    sources.map(|source| from_directory(&named, source, here)).collect();
                reading.directory = OsString::from_vec(named.clone());
                directory = Some(named);
            }
            (Some("failure"), Some(directory)) => {
                let path = |key: &str| {
                    let path = value.get(key).and_then(bytes)?;
                    Some(from_directory(directory, path, here))
                };
                reading.failures.push(Listed {
                    what: word("what").unwrap_or_default().to_owned(),
                    has_errno: value.get("errno").is_some_and(Value::is_number),
                    source: path("source")
                        .or_else(|| path("path"))
                        .ok_or_else(|| wrong("no source"))?,
                    target: path("target").unwrap_or_default(),
                });
            }
            // A line without file systems is of an earlier version, and proves nothing.
            (Some(known_name::EVENT), Some(directory)) if known_name::has_file_systems(&value) => {
                let known = known_name::read(&value, |path| from_directory(directory, path, here));
                reading.known.push(
                    known.ok_or_else(|| wrong("no valid name of a file with several names"))?,
                );
            }
            (Some("end"), Some(_)) => reading.is_complete = true,
            (Some(_), Some(_)) => {}
            (_, None) => return Err(wrong("no beginning")),
            (None, _) => return Err(wrong("no event")),
        }
    }
    if directory.is_none() {
        return Err("it is empty".to_owned());
    }
    Ok(reading)
}

fn names(value: &Value, key: &str) -> Option<Vec<Vec<u8>>> {
    value.get(key)?.as_array()?.iter().map(bytes).collect()
}

/// A relative path belongs to the directory of the run that wrote it.
fn from_directory(directory: &[u8], path: Vec<u8>, here: &Path) -> Vec<u8> {
    let is_here = directory == here.as_os_str().as_bytes();
    if is_here || path.starts_with(b"/") || path.is_empty() {
        return path;
    }
    let mut whole = directory.to_vec();
    if !whole.ends_with(b"/") {
        whole.push(b'/');
    }
    whole.extend_from_slice(&path);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"arguments":["-a"],"directory":"/x","event":"run","program":"cp","sources":["s"],"version":1}"#;

    fn reading(text: &str, here: &str) -> Result<Reading, String> {
        read_from(text.as_bytes(), "cp", Path::new(here))
    }

    #[test]
    fn names_come_back_as_they_were() {
        let failure = r#"{"event":"failure","what":"Read","errno":5,"source":{"bytes":"61ff"},"target":"/t"}"#;
        let list = reading(&format!("{RUN}\n{failure}\n{{\"event\":\"end\"}}\n"), "/").unwrap();
        assert_eq!(list.arguments, ["-a"]);
        assert_eq!(list.sources, [b"/x/s"]);
        assert!(list.is_complete);
        let [one] = list.failures.as_slice() else { panic!("{list:?}") };
        assert_eq!(
            (one.source.as_slice(), one.target.as_slice()),
            (b"/x/a\xff".as_slice(), b"/t".as_slice())
        );
        assert!(one.has_errno);
        let here = reading(&format!("{RUN}\n{failure}\n"), "/x").unwrap();
        assert_eq!(here.failures.first().map(|one| one.source.clone()), Some(b"a\xff".to_vec()));
        assert!(!here.is_complete);
    }

    #[test]
    fn what_was_cut_off_is_left_out_and_what_is_wrong_is_refused() {
        let list = reading(&format!("{RUN}\n{{\"event\":\"failure\",\"sou"), "/").unwrap();
        assert_eq!(list.failures, []);
        for wrong in [
            "",
            "{}\n",
            "not json\n",
            "{\"event\":\"failure\",\"source\":\"a\"}\n",
            &RUN.replace("\"cp\"", "\"rm\"").replace('}', "}\n"),
            &RUN.replace("1}", "2}\n"),
            &format!("{RUN}\n{RUN}x\n"),
            &format!("{RUN}\n{{\"event\":\"failure\",\"source\":{{\"bytes\":\"6\"}}}}\n"),
            &format!("{RUN}\n{{\"event\":\"failure\",\"source\":\"a\\u0000\"}}\n"),
        ] {
            assert!(reading(wrong, "/").is_err(), "{wrong:?}");
        }
    }
}
