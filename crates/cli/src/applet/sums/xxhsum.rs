//! `xxhsum`: the command line of xxHash's own program, and its check files.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::Cache;
use haul_io::digest::{Algorithm, hex};
use haul_io::sum::{Turn, in_order};
use haul_sys::errno_text;

use super::format::shown;
use super::gnu::print_all;
use super::hash::{Hashed, Hashing, Method};
use super::lines::{Expected, Line, Reader};
use super::options::{EXIT, cache, jobs};
use crate::ending::{CommandError, print_and_end, refused};
use crate::file_error::describe;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, Usage, Values, opt, parse, words_of};
use crate::option::data;
use crate::option::effect::{Answer, Asked, Effect, answer, read, read_words, set};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT};
use crate::output::Output;
use crate::page::Page;
use crate::standard::opened;
use crate::sum_file::{escaped, needs_escape};
use crate::value;

const PROGRAM: &str = "xxhsum";

const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        read(|sums: &mut Settings, word| {
            sums.algorithm = hash(&word)?;
            Ok(())
        }),
        ("H", ""),
        Required("#"),
        "which sum: 0 or 32 for XXH32, 1 or 64 for XXH64\n(default), 2 or 128 for XXH128, 3 for XXH3",
    ).with(Values::Words(|| words_of(HASHES))),
    opt(
        set(|sums| sums.check = true),
        ("c", "check"),
        Nothing,
        "compare with the sums that each FILE lists",
    ),
    opt(
        set(|sums| sums.tag = true),
        ("", "tag"),
        Nothing,
        "print lines with a tag: TYPE (FILE) = DIGEST",
    ),
    opt(
        set(|sums| sums.little_endian = true),
        ("", "little-endian"),
        Nothing,
        "print the bytes of each sum in reverse order",
    ),
    opt(
        set(|sums| sums.quiet = true),
        ("q", "quiet"),
        Nothing,
        "with -c: list only files that differ",
    ),
    opt(
        set(|sums| sums.status = true),
        ("", "status"),
        Nothing,
        "with -c: print nothing, and use the exit status",
    ),
    opt(
        set(|sums| sums.strict = true),
        ("", "strict"),
        Nothing,
        "with -c: fail if a line is malformed",
    ),
    opt(set(|sums| sums.warn = true), ("", "warn"), Nothing, "with -c: report each malformed line"),
    opt(answer(Answer::Help), ("h", "help"), Nothing, "show this text and exit"),
    opt(answer(Answer::Version), ("V", "version"), Nothing, "show the version and exit"),
    cache(read(|sums, policy| {
        sums.cache = data::cache(&policy)?;
        Ok(())
    })),
    gentle(begins()),
    jobs(read(|sums, count| {
        sums.jobs = Some(value::jobs(Some(&count))?);
        Ok(())
    })),
];

#[derive(Debug)]
struct Settings {
    algorithm: &'static Algorithm,
    check: bool,
    tag: bool,
    little_endian: bool,
    quiet: bool,
    status: bool,
    strict: bool,
    warn: bool,
    cache: Cache,
    jobs: Option<usize>,
}

/// Runs `xxhsum` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let read = Settings::new().map_err(CommandError::from).and_then(|mut settings| {
        let asked = read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help)?;
        Ok((settings, asked))
    });
    match read {
        Err(error) => refused(&output, &error),
        Ok((_, Asked::Print(text))) => print_and_end(&output, &text),
        Ok((settings, Asked::Work(operands))) => {
            let ok = settings.run(&output, operands);
            let written = output.finish();
            if ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

/// The values of `-H`.
const HASHES: &[(&str, &str)] = &[
    ("0", "xxh32"),
    ("32", "xxh32"),
    ("1", "xxh64"),
    ("64", "xxh64"),
    ("2", "xxh3-128"),
    ("128", "xxh3-128"),
    ("3", "xxh3-64"),
];

fn hash(word: &OsStr) -> Result<&'static Algorithm, Usage> {
    let found = HASHES.iter().find(|(name, _)| word == *name);
    Algorithm::find(found.map_or("", |(_, name)| *name)).ok_or_else(|| {
        let shown = crate::escape::quote_word(word.as_bytes());
        Usage(format!("no algorithm {shown}: give 0, 1, 2, 3, 32, 64 or 128"))
    })
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: {PROGRAM} [OPTION]... [FILE]...\n\
         Compute xxHash sums, or check files against them. They find accidents, not\n\
         forgeries.\n\n\
         {STANDARD_INPUT}\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading(OWN_OPTIONS)
    .options(OPTIONS, Origin::Haul)
    .examples([(
        "haul xxhsum -H3 *.iso > sums && haul xxhsum -c sums",
        "write sums, and check files against them",
    )])
    .exit(EXIT)
}

/// The suffix of a tag whose digits are in reverse order.
const LITTLE: &str = "_LE";

impl Settings {
    fn new() -> Result<Settings, Usage> {
        Ok(Settings {
            algorithm: hash(OsStr::new("1"))?,
            check: false,
            tag: false,
            little_endian: false,
            quiet: false,
            status: false,
            strict: false,
            warn: false,
            cache: Cache::Auto,
            jobs: None,
        })
    }

    fn run(&self, output: &Output, mut operands: Vec<OsString>) -> bool {
        if operands.is_empty() {
            operands.push("-".into());
        }
        let hashing = Hashing::new(self.cache, self.jobs);
        if self.check {
            let mut ok = true;
            for name in &operands {
                ok &= self.check_file(output, &hashing, name.as_bytes());
            }
            return ok;
        }
        let method = Method::of(self.algorithm, self.algorithm.bytes);
        print_all(output, &hashing, &method, &operands, &|name, hashed| self.line(name, hashed))
    }

    fn line(&self, name: &[u8], hashed: &Hashed) -> Vec<u8> {
        let mut digest = hashed.digest.clone();
        if self.little_endian {
            digest.reverse();
        }
        let digits = hex(&digest).into_bytes();
        let name: &[u8] = if name == b"-" { b"stdin" } else { name };
        // Later versions of xxhsum escape names as GNU's programs do, and all read plain ones.
        let mark: &[u8] = if needs_escape(name) { b"\\" } else { b"" };
        let name = escaped(name);
        // XXH3 has a tag always, for without one every version but the latest takes it for XXH64.
        if self.tag || self.algorithm.name == "xxh3-64" {
            let little = if self.little_endian { LITTLE } else { "" };
            let tag = format!("{}{little} (", self.algorithm.tag);
            return [mark, tag.as_bytes(), &name, b") = ", &digits, b"\n"].concat();
        }
        [mark, &digits, b"  ", &name, b"\n"].concat()
    }

    fn check_file(&self, output: &Output, hashing: &Hashing, name: &[u8]) -> bool {
        let shown_name = crate::escape::quote_if_needed(name);
        let source = match opened(name) {
            Ok(file) => file,
            Err(error) => {
                output.error(&format!("{shown_name}: {}", describe(&error)));
                return false;
            }
        };
        let mut lines = Lines::new();
        let mut jobs = BufReader::new(source).split(b'\n').filter_map(move |line| match line {
            Ok(line) => {
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                (!line.is_empty() && !line.starts_with(b"#")).then(|| lines.read(line))
            }
            Err(_) => Some(None),
        });
        let work = |job: Option<Line>, turn: &Turn<'_>| {
            job.map(|line| {
                let from: &[u8] = if line.name == b"stdin" { b"-" } else { &line.name };
                let hashed = hashing.of_name(from, &Method::of(line.algorithm, line.bytes), turn);
                (line, hashed)
            })
        };
        let (mut good, mut bad, mut unread, mut malformed, mut number) =
            (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        in_order(hashing.workers(), &mut jobs, &work, &mut |verdict| {
            number += 1;
            let Some((line, hashed)) = verdict else {
                malformed += 1;
                if self.warn {
                    let text = format!(
                        "{shown_name}:{number}: Error: Improperly formatted checksum line."
                    );
                    output.error(&text);
                }
                return ControlFlow::Continue(());
            };
            let verdict = match hashed {
                Ok(hashed) if line.expected.is(&hashed.digest) => {
                    good += 1;
                    "OK".to_owned()
                }
                Ok(_) => {
                    bad += 1;
                    "FAILED".to_owned()
                }
                Err(errno) => {
                    unread += 1;
                    format!("FAILED open or read: {}", errno_text(errno))
                }
            };
            if !self.status && (verdict != "OK" || !self.quiet) {
                let mut text = shown(&line.name);
                text.extend_from_slice(format!(": {verdict}\n").as_bytes());
                output.bytes(&text);
                output.flush();
            }
            ControlFlow::Continue(())
        });
        if good + bad + unread == 0 {
            output
                .error(&format!("{shown_name}: no properly formatted xxHash checksum lines found"));
            return false;
        }
        if !self.status {
            let tell = |count: u64, one: &str, several: &str| {
                if count > 0 {
                    let noun = if count == 1 { one } else { several };
                    output.error(&format!("WARNING: {count} {noun}"));
                }
            };
            tell(malformed, "line is improperly formatted", "lines are improperly formatted");
            tell(unread, "listed file could not be read", "listed files could not be read");
            tell(bad, "computed checksum did NOT match", "computed checksums did NOT match");
        }
        bad == 0 && unread == 0 && (!self.strict || malformed == 0)
    }
}

/// Reads lines of any of xxHash's algorithms, which their length or tag tells.
struct Lines {
    of: Vec<(usize, Reader)>,
}

impl Lines {
    fn new() -> Lines {
        let known: Vec<&'static Algorithm> = ["xxh32", "xxh64", "xxh3-128", "xxh3-64"]
            .into_iter()
            .filter_map(Algorithm::find)
            .collect();
        let untagged = known.iter().filter(|algorithm| algorithm.name != "xxh3-64");
        let reader = |algorithm: &&'static Algorithm| {
            (algorithm.bytes, Reader::new(known.clone(), Some(algorithm), false, "xxHash"))
        };
        Lines { of: untagged.map(reader).collect() }
    }

    fn read(&mut self, line: &[u8]) -> Option<Line> {
        let at = line.windows(LITTLE.len() + 2).position(|piece| piece == b"_LE (");
        if let Some(at) = at.filter(|at| line.starts_with(b"XXH") && *at <= b"XXH128".len()) {
            let big = [line.get(..at)?, line.get(at + LITTLE.len()..)?].concat();
            let mut line = self.read(&big)?;
            if let Expected::Hex(digest) = &mut line.expected {
                digest.reverse();
            }
            return Some(line);
        }
        self.of.iter_mut().find_map(|(_, reader)| reader.read(line))
    }
}
