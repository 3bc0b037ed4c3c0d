//! The options of the GNU family, from one table: each program takes those that it has.

use crate::applet::cp_help::options;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, opt, own};

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Algorithm,
    Base64,
    Binary,
    Cache,
    Check,
    Debug,
    Help,
    IgnoreMissing,
    Jobs,
    Length,
    Quiet,
    Raw,
    Status,
    Strict,
    Tag,
    Text,
    Untagged,
    Version,
    Warn,
    Zero,
}

/// Which program is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// One algorithm, named.
    Fixed(&'static str),
    /// `b2sum`
    Blake2,
    /// `cksum`
    Cksum,
    /// `haul sum`
    Own,
}

impl Program {
    fn has(self, id: Id) -> bool {
        match id {
            Id::Algorithm | Id::Base64 | Id::Raw | Id::Untagged => {
                matches!(self, Program::Cksum | Program::Own)
            }
            Id::Debug => self == Program::Cksum,
            Id::Length => !matches!(self, Program::Fixed(_)),
            _ => true,
        }
    }

    /// Returns the options that this program has.
    pub(super) fn options(self) -> Vec<Opt<Id>> {
        OPTIONS.iter().filter(|option| self.has(option.id)).copied().collect()
    }
}

/// `--cache`, as all of these applets have it.
pub(super) const fn cache<I>(id: I) -> Opt<I> {
    own(
        id,
        "cache",
        Required("WHEN"),
        "what becomes of the page cache: auto, keep, drop,\ndirect or restore, as in cp",
    )
}

/// `--jobs`, as most of them have it.
pub(super) const fn jobs<I>(id: I) -> Opt<I> {
    own(id, "jobs", Required("N"), "use at most N workers (default: one for each\nprocessor)")
}

const OPTIONS: &[Opt<Id>] = &[
    opt(
        Id::Algorithm,
        ("a", "algorithm"),
        Required("TYPE"),
        "select the digest type to use.  See DIGEST below",
    ),
    opt(Id::Base64, ("", "base64"), Nothing, "emit base64-encoded digests, not hexadecimal"),
    opt(Id::Binary, ("b", "binary"), Nothing, "read in binary mode"),
    opt(Id::Check, ("c", "check"), Nothing, "read checksums from the FILEs and check them"),
    opt(
        Id::Length,
        ("l", "length"),
        Required("BITS"),
        "digest length in bits; must not exceed the max for\nthe algorithm and must be a multiple of 8",
    ),
    opt(Id::Raw, ("", "raw"), Nothing, "emit a raw binary digest, not hexadecimal"),
    opt(Id::Tag, ("", "tag"), Nothing, "create a BSD-style checksum"),
    opt(
        Id::Untagged,
        ("", "untagged"),
        Nothing,
        "create a reversed style checksum, without digest type",
    ),
    opt(Id::Text, ("t", "text"), Nothing, "read in text mode (default)"),
    opt(
        Id::Zero,
        ("z", "zero"),
        Nothing,
        "end each output line with NUL, not newline,\nand disable file name escaping",
    ),
    opt(
        Id::IgnoreMissing,
        ("", "ignore-missing"),
        Nothing,
        "don't fail or report status for missing files",
    ),
    opt(Id::Quiet, ("", "quiet"), Nothing, "don't print OK for each successfully verified file"),
    opt(Id::Status, ("", "status"), Nothing, "don't output anything, status code shows success"),
    opt(
        Id::Strict,
        ("", "strict"),
        Nothing,
        "exit non-zero for improperly formatted checksum lines",
    ),
    opt(Id::Warn, ("w", "warn"), Nothing, "warn about improperly formatted checksum lines"),
    opt(Id::Debug, ("", "debug"), Nothing, "indicate which implementation used"),
    opt(Id::Help, ("", "help"), Nothing, "display this help and exit"),
    opt(Id::Version, ("", "version"), Nothing, "output version information and exit"),
    cache(Id::Cache),
    jobs(Id::Jobs),
];

const DIGESTS: &str = "
DIGEST determines the digest algorithm and default output format:
  sysv      (equivalent to sum -s)
  bsd       (equivalent to sum -r)
  crc       (equivalent to cksum)
  crc32b    (only available through cksum)
  md5       (equivalent to md5sum)
  sha1      (equivalent to sha1sum)
  sha224    (equivalent to sha224sum)
  sha256    (equivalent to sha256sum)
  sha384    (equivalent to sha384sum)
  sha512    (equivalent to sha512sum)
  blake2b   (equivalent to b2sum)
  sm3       (only available through cksum)

When checking, the input should be a former output of this program,
or equivalent standalone program.
";

/// Returns the text of `--help`.
pub(super) fn help(program: Program, name: &str) -> String {
    let what = match program {
        Program::Fixed(tag) => format!("Print or check {tag} checksums."),
        Program::Blake2 => "Print or check BLAKE2b (512-bit) checksums.".to_owned(),
        Program::Cksum => {
            "Print or verify checksums.\nBy default use the 32 bit CRC algorithm.".to_owned()
        }
        Program::Own => "Print or verify checksums.\nBy default use BLAKE3.".to_owned(),
    };
    let table = program.options();
    let mut text = format!(
        "Usage: {name} [OPTION]... [FILE]...\n{what}\n\n\
         With no FILE, or when FILE is -, read standard input.\n\n{}",
        options(&table, Origin::Gnu)
    );
    text.push_str(
        "\nThe options --ignore-missing, --quiet, --status, --strict and --warn are useful\n\
         only when verifying checksums.\n",
    );
    match program {
        Program::Cksum => text.push_str(DIGESTS),
        Program::Own => text.push_str(&own_digests()),
        Program::Fixed(_) | Program::Blake2 => text.push_str(
            "\nWhen checking, the input should be a former output of this program.\n\
             The default mode is to print a line with: checksum, a space,\n\
             a character indicating input mode ('*' for binary, ' ' for text\n\
             or where binary is insignificant), and name for each FILE.\n",
        ),
    }
    text.push_str("\nOptions that GNU's programs do not have:\n");
    text.push_str(&options(&table, Origin::Haul));
    text.push_str(
        "\nSeveral files are read at once, but one at a time from a disk that spins; BLAKE3\n\
         of a large file uses all processors.\n",
    );
    text
}

fn own_digests() -> String {
    let mut text = String::from("\nDIGEST is one of:\n");
    for algorithm in haul_io::digest::TABLE {
        text.push_str(&format!("  {:10}({} bits)\n", algorithm.name, algorithm.bytes * 8));
    }
    text.push_str("\nWhen checking, lines with a tag may be of any of them, and lines without one\nare of the DIGEST that is selected.\n");
    text
}
