//! The options of the GNU family, from one table: each program takes those that it has.

use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, Values, opt, own};
use crate::option::data::{CACHE_VALUES, DIGEST_VALUES};
use crate::option::gentle::gentle;
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT};
use crate::page::Page;

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Algorithm,
    Base64,
    Binary,
    Bsd,
    Cache,
    Check,
    Debug,
    Gentle,
    Help,
    IgnoreMissing,
    Jobs,
    Length,
    Quiet,
    Raw,
    Status,
    Strict,
    Sysv,
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
    /// `sum`
    Sum,
    /// `haul hash`
    Own,
}

impl Program {
    fn has(self, id: Id) -> bool {
        if self == Program::Sum {
            return matches!(
                id,
                Id::Bsd | Id::Sysv | Id::Help | Id::Version | Id::Cache | Id::Gentle | Id::Jobs
            );
        }
        match id {
            Id::Bsd | Id::Sysv => false,
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
        let own = OPTIONS.iter().filter(|option| self.has(option.id)).copied();
        own.map(|option| match (option.id, self) {
            (Id::Algorithm, Program::Own) => option.with(DIGEST_VALUES),
            (Id::Algorithm, _) => option.with(Values::Words(|| CKSUM.to_vec())),
            _ => option,
        })
        .collect()
    }
}

/// `--cache`, as all of these applets have it.
pub(super) const fn cache<I: Copy>(id: I) -> Opt<I> {
    own(
        id,
        "cache",
        Required("WHEN"),
        "how to use the page cache: auto, keep, drop,\ndirect or restore, as in cp",
    )
    .with(CACHE_VALUES)
}

/// `--jobs`, as most of them have it.
pub(super) const fn jobs<I: Copy>(id: I) -> Opt<I> {
    own(id, "jobs", Required("N"), "use at most N workers (default: one for each\nprocessor)")
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bsd, ("r", ""), Nothing, "BSD's sum, and blocks of 1 KiB (default)"),
    opt(Id::Sysv, ("s", "sysv"), Nothing, "System V's sum, and blocks of 512 bytes"),
    opt(Id::Algorithm, ("a", "algorithm"), Required("TYPE"), "the kind of sum. See below"),
    opt(Id::Base64, ("", "base64"), Nothing, "print digests in base64"),
    opt(Id::Binary, ("b", "binary"), Nothing, "mark names with '*'"),
    opt(Id::Check, ("c", "check"), Nothing, "compare with the sums that each FILE lists"),
    opt(
        Id::Length,
        ("l", "length"),
        Required("BITS"),
        "bits of the digest: a multiple of 8, at most the\nalgorithm's own length",
    ),
    opt(Id::Raw, ("", "raw"), Nothing, "print the bytes of the digest and nothing else"),
    opt(Id::Tag, ("", "tag"), Nothing, "print lines with a tag: TYPE (FILE) = DIGEST"),
    opt(Id::Untagged, ("", "untagged"), Nothing, "print lines without a tag: DIGEST  FILE"),
    opt(Id::Text, ("t", "text"), Nothing, "mark names with ' ' (default)"),
    opt(Id::Zero, ("z", "zero"), Nothing, "end lines with NUL, and do not escape names"),
    opt(
        Id::IgnoreMissing,
        ("", "ignore-missing"),
        Nothing,
        "with -c: pass over files that do not exist",
    ),
    opt(Id::Quiet, ("", "quiet"), Nothing, "with -c: list only files that differ"),
    opt(Id::Status, ("", "status"), Nothing, "with -c: print nothing, and use the exit status"),
    opt(Id::Strict, ("", "strict"), Nothing, "with -c: fail if a line is malformed"),
    opt(Id::Warn, ("w", "warn"), Nothing, "with -c: report each malformed line"),
    opt(Id::Debug, ("", "debug"), Nothing, "print which implementation computes the sums"),
    opt(Id::Help, ("", "help"), Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Nothing, "show the version and exit"),
    cache(Id::Cache),
    gentle(Id::Gentle),
    jobs(Id::Jobs),
];

/// The algorithms of `cksum`, in the order of its messages.
pub(super) const CKSUM: [&str; 12] = [
    "bsd", "sysv", "crc", "crc32b", "md5", "sha1", "sha224", "sha256", "sha384", "sha512",
    "blake2b", "sm3",
];

const DIGESTS: &str = "
TYPE is one of these; GNU has a program for most of them:
  sysv      sum -s
  bsd       sum -r
  crc       the default
  crc32b
  md5       md5sum
  sha1      sha1sum
  sha224    sha224sum
  sha256    sha256sum
  sha384    sha384sum
  sha512    sha512sum
  blake2b   b2sum
  sm3
";

/// The note on lines that all of them have.
const LINES: &str = "
-c reads what this program printed before, in any of its forms.
";

/// What all of these programs say about exit statuses.
pub(super) const EXIT: &str = "\
The exit status is 0 if every file was read, and with -c every sum matches, and 1
otherwise.";

/// Returns the page of `--help`.
pub(super) fn help(program: Program, name: &str) -> Page {
    let what = match program {
        Program::Fixed(tag) => format!("Compute {tag} sums, or check files against them."),
        Program::Blake2 => "Compute BLAKE2b sums, or check files against them.".to_owned(),
        Program::Sum => "Print a sum of 16 bits and the number of blocks of each FILE.".to_owned(),
        Program::Cksum | Program::Own => {
            "Compute sums of several kinds, or check files against them.".to_owned()
        }
    };
    let table = program.options();
    let mut notes = match program {
        Program::Cksum => DIGESTS.to_owned(),
        Program::Own => own_digests(),
        Program::Sum => String::new(),
        Program::Fixed(_) | Program::Blake2 => {
            "\nA line is the digest, a space, the mark, and the name. The mark changes\n\
             nothing about how a file is read.\n"
                .to_owned()
        }
    };
    if program != Program::Sum {
        notes.push_str(LINES);
    }
    Page::new(format!("Usage: {name} [OPTION]... [FILE]...\n{what}\n\n{STANDARD_INPUT}\n"))
        .options(&table, Origin::Gnu)
        .text(notes)
        .heading(OWN_OPTIONS)
        .options(&table, Origin::Haul)
        .text(
            "\nSeveral files are read at once, but one at a time from a disk that spins; BLAKE3\n\
             of a large file uses all processors.\n",
        )
        .examples(examples(program, name))
        .exit(EXIT)
}

fn own_digests() -> String {
    let mut text = String::from("\nTYPE is one of these, blake3 by default:\n");
    for algorithm in haul_io::digest::TABLE {
        text.push_str(&format!("  {:10}({} bits)\n", algorithm.name, algorithm.bytes * 8));
    }
    text.push_str("\nWith -c, lines with a tag may be of any TYPE, and lines without one are of the\nTYPE that is selected.\n");
    text
}

/// Returns the examples of a page, for the program as haul's command.
fn examples(program: Program, name: &str) -> Vec<(String, &'static str)> {
    let command = if program == Program::Own { name.to_owned() } else { format!("haul {name}") };
    match program {
        Program::Sum => vec![(format!("{command} dump.sql"), "print the sum of a file")],
        Program::Own => vec![
            (format!("{command} *.iso > sums && {command} -c sums"), "write sums, and check them"),
            (format!("{command} --algorithm=xxh3-128 dump.sql"), "take another digest"),
        ],
        Program::Fixed(_) | Program::Blake2 | Program::Cksum => {
            vec![(
                format!("{command} *.iso > sums && {command} -c sums"),
                "write sums, and check them",
            )]
        }
    }
}
