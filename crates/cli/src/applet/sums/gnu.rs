//! `md5sum` and its family, `cksum`, `sum`, and `haul hash`: reading the command line, printing digests.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::sum::{Turn, in_order};
use haul_sys::{Errno, errno_text};

use super::check::check;
use super::hash::{Hashed, Hashing, Method};
use super::options::{help, options};
use super::settings::{Program, Refusal, Settings, find};
use crate::ending::{print_and_end, usage_error};
use crate::escape::quote_if_needed;
use crate::getopt::{Usage, parse};
use crate::option::effect::{Asked, read_words};
use crate::output::Output;

/// `md5sum`
pub(super) const MD5: Program = Program::Fixed("MD5 (128-bit)");
/// `sha1sum`
pub(super) const SHA1: Program = Program::Fixed("SHA1 (160-bit)");
/// `sha224sum`
pub(super) const SHA224: Program = Program::Fixed("SHA224 (224-bit)");
/// `sha256sum`
pub(super) const SHA256: Program = Program::Fixed("SHA256 (256-bit)");
/// `sha384sum`
pub(super) const SHA384: Program = Program::Fixed("SHA384 (384-bit)");
/// `sha512sum`
pub(super) const SHA512: Program = Program::Fixed("SHA512 (512-bit)");

pub(crate) fn md5sum(arguments: &[OsString]) -> ExitCode {
    run("md5sum", MD5, "md5", arguments)
}

pub(crate) fn sha1sum(arguments: &[OsString]) -> ExitCode {
    run("sha1sum", SHA1, "sha1", arguments)
}

pub(crate) fn sha224sum(arguments: &[OsString]) -> ExitCode {
    run("sha224sum", SHA224, "sha224", arguments)
}

pub(crate) fn sha256sum(arguments: &[OsString]) -> ExitCode {
    run("sha256sum", SHA256, "sha256", arguments)
}

pub(crate) fn sha384sum(arguments: &[OsString]) -> ExitCode {
    run("sha384sum", SHA384, "sha384", arguments)
}

pub(crate) fn sha512sum(arguments: &[OsString]) -> ExitCode {
    run("sha512sum", SHA512, "sha512", arguments)
}

pub(crate) fn b2sum(arguments: &[OsString]) -> ExitCode {
    run("b2sum", Program::Blake2, "blake2b", arguments)
}

pub(crate) fn cksum(arguments: &[OsString]) -> ExitCode {
    run("cksum", Program::Cksum, "crc", arguments)
}

pub(crate) fn sum(arguments: &[OsString]) -> ExitCode {
    let code = run("sum", Program::Sum, "bsd", arguments);
    if code == ExitCode::FAILURE && is_of_hash(arguments) {
        let output = Output::new("sum");
        output.error("what 'haul sum' was is called 'haul hash' now, with the same options");
    }
    code
}

/// Returns whether the words are those of `haul hash`, which was called `haul sum` once.
fn is_of_hash(arguments: &[OsString]) -> bool {
    let is_invalid = parse(arguments, &options(Program::Sum)).is_err();
    is_invalid && parse(arguments, &options(Program::Own)).is_ok()
}

pub(crate) fn hash(arguments: &[OsString]) -> ExitCode {
    run("haul hash", Program::Own, "blake3", arguments)
}

enum Command {
    Print(String),
    Sum(Settings, Vec<OsString>),
}

fn run(name: &str, program: Program, algorithm: &str, arguments: &[OsString]) -> ExitCode {
    let output = Output::new(name);
    let refusal = match read(name, program, algorithm, arguments) {
        Ok(Command::Print(text)) => return print_and_end(&output, &text),
        Ok(Command::Sum(settings, operands)) => match sum_all(&output, &settings, operands) {
            Ok(ok) => {
                let written = output.finish();
                return if ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            }
            Err(refusal) => refusal,
        },
        Err(refusal) => refusal,
    };
    match refusal {
        Refusal::Usage(text) => usage_error(&output, &Usage(text)),
        Refusal::Plain(texts) => {
            for text in texts {
                output.error(&text);
            }
            ExitCode::FAILURE
        }
    }
}

fn read(
    name: &str,
    program: Program,
    algorithm: &str,
    arguments: &[OsString],
) -> Result<Command, Refusal> {
    let algorithm = find(algorithm)
        .ok_or_else(|| Refusal::Plain(vec![format!("{algorithm} was left out of this build")]))?;
    let mut settings = Settings::new(program, algorithm);
    let words = parse(arguments, &options(program));
    match read_words(words, &mut settings, name, || help(program, name))? {
        Asked::Print(text) => Ok(Command::Print(text)),
        Asked::Work(operands) => Ok(Command::Sum(settings, operands)),
    }
}

fn sum_all(
    output: &Output,
    settings: &Settings,
    mut operands: Vec<OsString>,
) -> Result<bool, Refusal> {
    let digest_bytes = settings.digest_bytes()?;
    settings.validate()?;
    let format = settings.format(!operands.is_empty());
    if operands.is_empty() {
        operands.push("-".into());
    } else if operands.len() > 1 && settings.is_raw() {
        let text = "the --raw option is not supported with multiple files";
        return Err(Refusal::Plain(vec![text.to_owned()]));
    }
    if settings.debug {
        output.error(implementation(settings.algorithm.name));
    }
    let hashing = Hashing::new(settings.cache, settings.jobs);
    if settings.check {
        let mut ok = true;
        for name in &operands {
            ok &= check(output, settings, &hashing, name.as_bytes());
        }
        return Ok(ok);
    }
    let method = Method::of(settings.algorithm, digest_bytes);
    Ok(print_all(output, &hashing, &method, &operands, &|name, hashed| format.line(name, hashed)))
}

/// Prints a line for each operand, in order; tells whether all could be read.
pub(super) fn print_all(
    output: &Output,
    hashing: &Hashing,
    method: &Method,
    operands: &[OsString],
    line: &dyn Fn(&[u8], &Hashed) -> Vec<u8>,
) -> bool {
    let mut ok = true;
    let mut warned_not_direct = false;
    let work = |name: &OsString, turn: &Turn<'_>| {
        let hashed = hashing.of_name(name.as_bytes(), method, turn);
        (name.clone(), hashed)
    };
    let workers = if operands.len() > 1 { hashing.workers() } else { 1 };
    in_order(workers, &mut operands.iter(), &work, &mut |(name, hashed)| {
        let name = name.as_bytes();
        match hashed {
            Ok(hashed) => {
                if let (Some(_), false) = (hashed.not_direct, warned_not_direct) {
                    warned_not_direct = true;
                    warn_not_direct(output, name);
                }
                output.bytes(&line(name, &hashed));
                // The reader of this line may be waiting for it.
                output.flush();
            }
            Err(errno) => {
                ok = false;
                tell(output, name, errno);
            }
        }
        ControlFlow::Continue(())
    });
    ok
}

fn tell(output: &Output, name: &[u8], errno: Errno) {
    output.error(&format!("{}: {}", quote_if_needed(name), errno_text(errno)));
}

fn warn_not_direct(output: &Output, name: &[u8]) {
    output.error(&format!(
        "warning: direct I/O is not possible on {} and what else is on its file system; its pages \
         are dropped from the cache instead",
        crate::escape::quote(name)
    ));
}

/// Says with what an algorithm is computed here, as far as the processor decides it.
#[cfg(target_arch = "x86_64")]
fn implementation(algorithm: &str) -> &'static str {
    use std::arch::is_x86_feature_detected as has;
    match algorithm {
        "crc" | "crc32b" if has!("vpclmulqdq") && has!("avx512vl") => {
            "using avx512 hardware support"
        }
        "crc" | "crc32b" if has!("pclmulqdq") => "using pclmul hardware support",
        "sha1" | "sha224" | "sha256" if has!("sha") => "using sha hardware support",
        "sha384" | "sha512" | "blake2b" if has!("avx2") => "using avx2 hardware support",
        _ => "using generic code",
    }
}

/// The same where nothing has to be asked: the libraries use what the architecture always has.
#[cfg(not(target_arch = "x86_64"))]
fn implementation(_algorithm: &str) -> &'static str {
    "using what the architecture has"
}
