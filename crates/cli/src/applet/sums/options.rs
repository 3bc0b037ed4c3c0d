//! The options of the GNU family, from one table: each program takes those that it has.

use super::format::Spelling;
use super::settings::{CKSUM, Loudness, Program, Settings, find};
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, Values, opt, own};
use crate::option::data::{self, CACHE_VALUES, DIGEST_VALUES};
use crate::option::effect::{Effect, help_row, read, set, version_row};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT};
use crate::page::Page;
use crate::value;

/// The programs that have an option.
#[derive(Clone, Copy, Debug)]
enum Of {
    All,
    /// All but `sum`.
    Digests,
    /// Those whose algorithm is an option.
    Choosers,
    /// Those that have an algorithm of digests of several lengths.
    Lengths,
    Cksum,
    Own,
    Sum,
}

impl Of {
    fn has(self, program: Program) -> bool {
        match self {
            Of::All => true,
            Of::Digests => program != Program::Sum,
            Of::Choosers => matches!(program, Program::Cksum | Program::Own),
            Of::Lengths => matches!(program, Program::Blake2 | Program::Cksum | Program::Own),
            Of::Cksum => program == Program::Cksum,
            Of::Own => program == Program::Own,
            Of::Sum => program == Program::Sum,
        }
    }
}

/// Returns the options that a program has.
pub(super) fn options(program: Program) -> Vec<Opt<Effect<Settings>>> {
    let own = OPTIONS.iter().filter(|(of, _)| of.has(program));
    own.map(|(_, option)| *option).collect()
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

/// Makes a row of an option without a value, and says which programs have it.
const fn flag(
    of: Of,
    effect: Effect<Settings>,
    names: (&'static str, &'static str),
    help: &'static str,
) -> (Of, Opt<Effect<Settings>>) {
    (of, opt(effect, names, Nothing, help))
}

/// All options, each with the programs that have it.
const OPTIONS: &[(Of, Opt<Effect<Settings>>)] = &[
    flag(
        Of::Sum,
        set(|sums| sums.algorithm = find("bsd").unwrap_or(sums.algorithm)),
        ("r", ""),
        "BSD's sum, and blocks of 1 KiB (default)",
    ),
    flag(
        Of::Sum,
        set(|sums| sums.algorithm = find("sysv").unwrap_or(sums.algorithm)),
        ("s", "sysv"),
        "System V's sum, and blocks of 512 bytes",
    ),
    (
        Of::Cksum,
        opt(
            read(|sums: &mut Settings, name| sums.set_algorithm(&name)),
            ("a", "algorithm"),
            Required("TYPE"),
            "the kind of sum. See below",
        )
        .with(Values::Words(|| CKSUM.to_vec())),
    ),
    (
        Of::Own,
        opt(
            read(|sums: &mut Settings, name| sums.set_algorithm(&name)),
            ("a", "algorithm"),
            Required("TYPE"),
            "the kind of sum. See below",
        )
        .with(DIGEST_VALUES),
    ),
    flag(
        Of::Choosers,
        set(|sums| sums.spellings.push(Spelling::Base64)),
        ("", "base64"),
        "print digests in base64",
    ),
    flag(Of::Digests, set(|sums| sums.binary = Some(true)), ("b", "binary"), "mark names with '*'"),
    flag(
        Of::Digests,
        set(|sums| sums.check = true),
        ("c", "check"),
        "compare with the sums that each FILE lists",
    ),
    (
        Of::Lengths,
        opt(
            read(Settings::set_length),
            ("l", "length"),
            Required("BITS"),
            "bits of the digest: a multiple of 8, at most the\nalgorithm's own length",
        ),
    ),
    flag(
        Of::Choosers,
        set(|sums| sums.spellings.push(Spelling::Raw)),
        ("", "raw"),
        "print the bytes of the digest and nothing else",
    ),
    flag(
        Of::Digests,
        set(|sums| (sums.tag, sums.binary) = (Some(true), Some(true))),
        ("", "tag"),
        "print lines with a tag: TYPE (FILE) = DIGEST",
    ),
    flag(
        Of::Choosers,
        set(Settings::untag),
        ("", "untagged"),
        "print lines without a tag: DIGEST  FILE",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.binary = Some(false)),
        ("t", "text"),
        "mark names with ' ' (default)",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.zero = true),
        ("z", "zero"),
        "end lines with NUL, and do not escape names",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.ignore_missing = true),
        ("", "ignore-missing"),
        "with -c: pass over files that do not exist",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.loudness = Loudness::Quiet),
        ("", "quiet"),
        "with -c: list only files that differ",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.loudness = Loudness::Status),
        ("", "status"),
        "with -c: print nothing, and use the exit status",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.strict = true),
        ("", "strict"),
        "with -c: fail if a line is malformed",
    ),
    flag(
        Of::Digests,
        set(|sums| sums.loudness = Loudness::Warn),
        ("w", "warn"),
        "with -c: report each malformed line",
    ),
    flag(
        Of::Cksum,
        set(|sums| sums.debug = true),
        ("", "debug"),
        "print which implementation computes the sums",
    ),
    (Of::All, help_row()),
    (Of::All, version_row()),
    (
        Of::All,
        cache(read(|sums, policy| {
            sums.cache = data::cache(&policy)?;
            Ok(())
        })),
    ),
    (Of::All, gentle(begins())),
    (
        Of::All,
        jobs(read(|sums, count| {
            sums.jobs = Some(value::jobs(Some(&count))?);
            Ok(())
        })),
    ),
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
    let table = options(program);
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
