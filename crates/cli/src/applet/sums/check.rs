//! Verifying files against a check file: lines are read in order, files hashed by several workers,
//! and the results printed in the order of the lines.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use haul_io::sum::{Turn, in_order};
use haul_sys::{Errno, errno_text};

use super::format::shown;
use super::hash::{Hashed, Hashing, Method};
use super::lines::{Line, Reader};
use super::settings::{Loudness, Program, Settings};
use crate::escape::quote_if_needed;
use crate::file_error::describe;
use crate::output::Output;
use crate::standard::opened;

/// How much of what was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    malformed: u64,
    unreadable: u64,
    mismatched: u64,
    formatted: bool,
    matched: bool,
}

/// What a line of a check file asks for.
enum Job {
    Malformed { number: u64, tag: &'static str },
    Check(Line),
    Unread(std::io::Error),
}

enum Verdict {
    Malformed { number: u64, tag: &'static str },
    Hashed { line: Line, hashed: Result<Hashed, Errno> },
    Unread(std::io::Error),
}

/// Verifies what a check file lists; tells whether all is well.
pub(super) fn check(output: &Output, settings: &Settings, hashing: &Hashing, name: &[u8]) -> bool {
    let is_stdin = name == b"-";
    let source = match opened(name) {
        Ok(file) => file,
        Err(error) => {
            complain(output, name, &describe(&error));
            return false;
        }
    };
    let shown_name = if is_stdin { b"standard input".as_slice() } else { name };
    let (tags, untagged) = settings.checkable();
    let base64 = matches!(settings.program, Program::Cksum | Program::Own);
    let reader = Reader::new(tags, untagged, base64, settings.algorithm.tag);
    let mut jobs = Jobs { reader, lines: BufReader::new(Box::new(source)), number: 0, is_stdin };
    let mut run = Run { output, settings, name: shown_name, tally: Tally::default(), read: true };
    let work = |job, turn: &Turn<'_>| match job {
        Job::Malformed { number, tag } => Verdict::Malformed { number, tag },
        Job::Unread(error) => Verdict::Unread(error),
        Job::Check(line) => {
            let method = Method::of(line.algorithm, line.bytes);
            let hashed = hashing.of_name(&line.name, &method, turn);
            Verdict::Hashed { line, hashed }
        }
    };
    in_order(hashing.workers(), &mut jobs, &work, &mut |verdict| {
        run.tell(verdict);
        ControlFlow::Continue(())
    });
    run.end()
}

fn complain(output: &Output, name: &[u8], why: &str) {
    output.error(&format!("{}: {why}", quote_if_needed(name)));
}

/// The lines of a check file as jobs.
struct Jobs {
    reader: Reader,
    lines: BufReader<Box<dyn Read + Send>>,
    number: u64,
    is_stdin: bool,
}

impl Iterator for Jobs {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        loop {
            let mut line = Vec::new();
            self.number += 1;
            match self.lines.read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    self.lines = BufReader::new(Box::new(std::io::empty()));
                    return Some(Job::Unread(error));
                }
            }
            if line.first() == Some(&b'#') {
                continue;
            }
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if text.is_empty() {
                continue;
            }
            return Some(match self.reader.read(text) {
                Some(line) if !(self.is_stdin && line.name == b"-") => Job::Check(line),
                _ => Job::Malformed { number: self.number, tag: self.reader.current },
            });
        }
    }
}

struct Run<'r> {
    output: &'r Output,
    settings: &'r Settings,
    name: &'r [u8],
    tally: Tally,
    read: bool,
}

impl Run<'_> {
    fn tell(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Malformed { number, tag } => {
                self.tally.malformed += 1;
                if self.settings.loudness == Loudness::Warn {
                    let why = format!("{number}: improperly formatted {tag} checksum line");
                    complain(self.output, self.name, &why);
                }
            }
            Verdict::Unread(error) => {
                self.read = false;
                let _counted_as_read_error = error;
                complain(self.output, self.name, "read error");
            }
            Verdict::Hashed { line, hashed } => self.judge(&line, &hashed),
        }
    }

    fn judge(&mut self, line: &Line, hashed: &Result<Hashed, Errno>) {
        self.tally.formatted = true;
        match hashed {
            Err(Errno::NOENT) if self.settings.ignore_missing => {}
            Err(errno) => {
                complain(self.output, &line.name, &errno_text(*errno));
                self.tally.unreadable += 1;
                self.say(&line.name, "FAILED open or read");
            }
            Ok(hashed) if line.expected.is(&hashed.digest) => {
                self.tally.matched = true;
                if self.settings.loudness != Loudness::Quiet {
                    self.say(&line.name, "OK");
                }
            }
            Ok(_) => {
                self.tally.mismatched += 1;
                self.say(&line.name, "FAILED");
            }
        }
    }

    fn say(&self, name: &[u8], what: &str) {
        if self.settings.loudness != Loudness::Status {
            let mut line = shown(name);
            line.extend_from_slice(format!(": {what}\n").as_bytes());
            self.output.bytes(&line);
            self.output.flush();
        }
    }

    fn end(&self) -> bool {
        let tally = self.tally;
        if !self.read {
            return false;
        }
        if !tally.formatted {
            complain(self.output, self.name, "no properly formatted checksum lines found");
        } else if self.settings.loudness != Loudness::Status {
            warn(self.output, tally.malformed, "line is", "lines are", "improperly formatted");
            let read = ("listed file", "listed files", "could not be read");
            warn(self.output, tally.unreadable, read.0, read.1, read.2);
            let sums = ("computed checksum", "computed checksums", "did NOT match");
            warn(self.output, tally.mismatched, sums.0, sums.1, sums.2);
            if self.settings.ignore_missing && !tally.matched {
                complain(self.output, self.name, "no file was verified");
            }
        }
        tally.formatted
            && tally.matched
            && tally.mismatched == 0
            && tally.unreadable == 0
            && (!self.settings.strict || tally.malformed == 0)
    }
}

fn warn(output: &Output, count: u64, one: &str, several: &str, what: &str) {
    if count > 0 {
        let noun = if count == 1 { one } else { several };
        output.error(&format!("WARNING: {count} {noun} {what}"));
    }
}
