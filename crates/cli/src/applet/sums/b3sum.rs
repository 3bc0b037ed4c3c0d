//! `b3sum`: the command line of BLAKE3's reference program, and its check files.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;

use haul_io::Cache;
use haul_io::digest::{Algorithm, Keying, hex};
use haul_io::sum::{Turn, in_order};
use haul_sys::errno_text;

use super::format::shown;
use super::gnu::print_all;
use super::hash::{Hashed, Hashing, Method};
use super::lines::{Line, Reader};
use super::options::{EXIT, cache};
use crate::ending::{print_and_end, refused};
use crate::escape::quote_word;
use crate::file_error::describe;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, Usage, opt, parse};
use crate::option::data;
use crate::option::effect::{Answer, Asked, Effect, answer, read, read_words, set};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT};
use crate::output::Output;
use crate::page::Page;
use crate::standard::opened;
use crate::sum_file::{escaped, needs_escape};
use crate::value;

const PROGRAM: &str = "b3sum";

const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|sums| sums.keyed = true),
        ("", "keyed"),
        Nothing,
        "compute keyed digests; standard input is the key, of\n32 bytes",
    ),
    opt(
        read(|sums, context| Ok(sums.derive_key(&context)?)),
        ("", "derive-key"),
        Required("CONTEXT"),
        "derive keys, in this CONTEXT",
    ),
    opt(
        read(|sums, word| Ok(sums.set_length(&word)?)),
        ("l", "length"),
        Required("LEN"),
        "bytes of the digest (default 32)",
    ),
    opt(
        read(|sums, word| {
            sums.seek = number("--seek <SEEK>", &word)?;
            Ok(())
        }),
        ("", "seek"),
        Required("SEEK"),
        "leave out the first SEEK bytes of the digest\n(default 0)",
    ),
    opt(
        read(|sums, word| Ok(sums.set_threads(&word)?)),
        ("", "num-threads"),
        Required("NUM"),
        "threads to hash with; 0 stands for one on each\nprocessor (default)",
    ),
    opt(
        set(|sums| sums.jobs = Some(1)),
        ("", "no-mmap"),
        Nothing,
        "one thread for each file; this b3sum never maps\nfiles",
    ),
    opt(set(|sums| sums.names = false), ("", "no-names"), Nothing, "print digests without names"),
    opt(
        set(|sums| sums.raw = true),
        ("", "raw"),
        Nothing,
        "print the bytes of the digest; only one FILE is\npossible then",
    ),
    opt(
        set(|sums| sums.tag = true),
        ("", "tag"),
        Nothing,
        "print lines with a tag: BLAKE3 (FILE) = DIGEST",
    ),
    opt(
        set(|sums| sums.check = true),
        ("c", "check"),
        Nothing,
        "compare with the sums that each FILE lists",
    ),
    opt(
        set(|sums| sums.quiet = true),
        ("", "quiet"),
        Nothing,
        "with -c: list only files that differ",
    ),
    opt(answer(Answer::Help), ("h", "help"), Nothing, "print help"),
    opt(answer(Answer::Version), ("V", "version"), Nothing, "print version"),
    cache(read(|sums, policy| {
        sums.cache = data::cache(&policy)?;
        Ok(())
    })),
    gentle(begins()),
];

#[derive(Debug)]
struct Settings {
    keying: Keying,
    keyed: bool,
    bytes: usize,
    seek: u64,
    jobs: Option<usize>,
    names: bool,
    raw: bool,
    tag: bool,
    check: bool,
    quiet: bool,
    cache: Cache,
}

/// Runs `b3sum` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut settings = Settings::new();
    let asked = read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help);
    let summed = asked.and_then(|asked| match asked {
        Asked::Print(text) => Ok(print_and_end(&output, &text)),
        Asked::Work(operands) => {
            let ok = settings.run(&output, operands)?;
            let written = output.finish();
            Ok(if ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    });
    summed.unwrap_or_else(|error| refused(&output, &error))
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: {PROGRAM} [OPTION]... [FILE]...\nCompute BLAKE3 sums, or check files against them.\n\n\
         {STANDARD_INPUT}\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading(OWN_OPTIONS)
    .options(OPTIONS, Origin::Haul)
    .examples([("haul b3sum *.iso > sums && haul b3sum -c sums", "write sums, and check files against them")])
    .exit(EXIT)
}

impl Settings {
    fn new() -> Settings {
        Settings {
            keying: Keying::None,
            keyed: false,
            bytes: 32,
            seek: 0,
            jobs: None,
            names: true,
            raw: false,
            tag: false,
            check: false,
            quiet: false,
            cache: Cache::Auto,
        }
    }

    fn derive_key(&mut self, context: &OsStr) -> Result<(), Usage> {
        let Some(text) = context.to_str() else {
            let context = quote_word(context.as_bytes());
            return Err(Usage(format!("the context {context} is no UTF-8")));
        };
        self.keying = Keying::Context(text.to_owned());
        Ok(())
    }

    fn set_length(&mut self, word: &OsStr) -> Result<(), Usage> {
        /// More than any use needs, and still a buffer that can be allocated.
        const LENGTH_MAX: u64 = 1 << 30;
        let bytes = number("--length <LEN>", word)?;
        let fits = usize::try_from(bytes).ok().filter(|_| bytes <= LENGTH_MAX);
        self.bytes = fits.ok_or_else(|| {
            Usage(format!("a length of {bytes} is too much: give at most {LENGTH_MAX}"))
        })?;
        Ok(())
    }

    fn set_threads(&mut self, word: &OsStr) -> Result<(), Usage> {
        let jobs = number("--num-threads <NUM>", word)?;
        let jobs = usize::try_from(jobs).ok().filter(|jobs| *jobs > 0);
        self.jobs = jobs.map(|jobs| jobs.min(value::JOBS_MAX));
        Ok(())
    }

    fn run(mut self, output: &Output, mut operands: Vec<OsString>) -> Result<bool, Usage> {
        self.validate(&operands)?;
        if self.keyed {
            self.keying = Keying::Key(read_key()?);
        }
        if operands.is_empty() {
            operands.push("-".into());
        }
        let hashing = Hashing::new(self.cache, self.jobs);
        if self.check {
            return Ok(self.check_all(output, &hashing, &operands));
        }
        let method = self.method(self.bytes);
        Ok(print_all(output, &hashing, &method, &operands, &|name, hashed| self.line(name, hashed)))
    }

    fn validate(&self, operands: &[OsString]) -> Result<(), Usage> {
        let conflict = |one: &str, other: &str| {
            Err(Usage(format!("the argument '{one}' cannot be used with '{other}'")))
        };
        if self.keyed && self.keying != Keying::None {
            return conflict("--keyed", "--derive-key <CONTEXT>");
        }
        let not_checking = [
            (self.bytes != 32, "--length <LEN>"),
            (self.raw, "--raw"),
            (self.tag, "--tag"),
            (!self.names, "--no-names"),
        ];
        for (given, name) in not_checking {
            if self.check && given {
                return conflict("--check", name);
            }
        }
        if self.tag && self.raw {
            return conflict("--tag", "--raw");
        }
        if self.quiet && !self.check {
            return Err(Usage("--quiet must be used with --check".to_owned()));
        }
        if self.raw && operands.len() > 1 {
            return Err(Usage("Only one filename can be provided when using --raw".to_owned()));
        }
        if self.keyed && (operands.is_empty() || operands.iter().any(|name| name == "-")) {
            return Err(Usage(
                "Cannot open `-` in keyed mode: the key is read from standard input".to_owned(),
            ));
        }
        Ok(())
    }

    fn method(&self, bytes: usize) -> Method {
        Method::Blake3 { keying: Arc::new(self.keying.clone()), seek: self.seek, bytes }
    }

    fn line(&self, name: &[u8], hashed: &Hashed) -> Vec<u8> {
        if self.raw {
            return hashed.digest.clone();
        }
        let digits = hex(&hashed.digest).into_bytes();
        if !self.names {
            return [&digits, b"\n".as_slice()].concat();
        }
        let mark: &[u8] = if needs_escape(name) { b"\\" } else { b"" };
        let name = escaped(name);
        if self.tag {
            return [mark, b"BLAKE3 (", &name, b") = ", &digits, b"\n"].concat();
        }
        [mark, &digits, b"  ", &name, b"\n"].concat()
    }

    fn check_all(&self, output: &Output, hashing: &Hashing, operands: &[OsString]) -> bool {
        let (mut failed, mut read) = (0_u64, true);
        for operand in operands {
            match self.check_file(output, hashing, operand.as_bytes()) {
                Some(count) => failed += count,
                None => read = false,
            }
        }
        if failed > 0 {
            let noun = if failed == 1 { "checksum" } else { "checksums" };
            output.error(&format!("WARNING: {failed} computed {noun} did NOT match"));
        }
        failed == 0 && read
    }

    /// Verifies what a check file lists; returns how much of it is not well, or `None` if there is
    /// no such file.
    fn check_file(&self, output: &Output, hashing: &Hashing, name: &[u8]) -> Option<u64> {
        let source = match opened(name) {
            Ok(file) => file,
            Err(error) => {
                let shown = crate::escape::quote_if_needed(name);
                output.error(&format!("{shown}: {}", describe(&error)));
                return None;
            }
        };
        let blake3 = Algorithm::find("blake3");
        let mut reader = Reader::new(blake3.into_iter().collect(), blake3, false, "BLAKE3");
        let lines = BufReader::new(source).split(b'\n');
        let mut jobs = lines.map(move |line| {
            let line = line.map_err(|error| describe(&error))?;
            let line = line.strip_suffix(b"\r").unwrap_or(&line).to_vec();
            let known = reader.read(&line).filter(|line| line.bytes == 32);
            known.ok_or_else(|| "Invalid check line format".to_owned())
        });
        let work = |job: Result<Line, String>, turn: &Turn<'_>| {
            let line = job?;
            let hashed = hashing.of_name(&line.name, &self.method(line.bytes), turn);
            Ok((line, hashed))
        };
        let mut failed = 0;
        in_order(hashing.workers(), &mut jobs, &work, &mut |verdict: Result<_, String>| {
            let (line, hashed) = match verdict {
                Ok(both) => both,
                Err(why) => {
                    failed += 1;
                    output.error(&why);
                    return ControlFlow::Continue(());
                }
            };
            let verdict = match hashed {
                Ok(hashed) if line.expected.is(&hashed.digest) => None,
                Ok(_) => Some("FAILED".to_owned()),
                Err(errno) => Some(format!("FAILED ({})", errno_text(errno))),
            };
            failed += u64::from(verdict.is_some());
            if verdict.is_some() || !self.quiet {
                let mut text = shown(&line.name);
                let verdict = verdict.as_deref().unwrap_or("OK");
                text.extend_from_slice(format!(": {verdict}\n").as_bytes());
                output.bytes(&text);
                output.flush();
            }
            ControlFlow::Continue(())
        });
        Some(failed)
    }
}

fn number(name: &str, word: &OsStr) -> Result<u64, Usage> {
    word.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        let shown = word.to_string_lossy();
        Usage(format!("invalid value '{shown}' for '{name}': give a number"))
    })
}

fn read_key() -> Result<[u8; 32], Usage> {
    let mut bytes = Vec::new();
    let read = crate::standard::input().and_then(|file| file.take(33).read_to_end(&mut bytes));
    read.map_err(|error| Usage(format!("cannot read the key: {}", describe(&error))))?;
    <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_| {
        Usage(format!("expected 32 key bytes from standard input, found {}", bytes.len()))
    })
}
