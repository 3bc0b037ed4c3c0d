//! The options of `gzip`, `gunzip` and `zcat`, and `--help`.

use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use haul_codec::Cut;

use super::settings::{Settings, Switch, Target, Task, refuse_bits};
use crate::ending::usage;
use crate::getopt::Takes::{Digits, Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, opt, own};
use crate::option::data::{DIGEST_VALUES, cache, own_cache};
use crate::option::effect::{Answer, Effect, answer, read, read_optional, set, set_to};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT, VALUES};
use crate::option::metrics::{job, metrics};
use crate::option::stream::sum_algorithm;
use crate::page::Page;
use crate::value::{Dash, WHEN_VALUES, file, jobs, when};

/// All options. One without help is not shown.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|gzip| gzip.target = Target::Stdout),
        ("c", "stdout"),
        Nothing,
        "write to standard output; inputs stay",
    ),
    opt(set(|gzip| gzip.target = Target::Stdout), ("", "to-stdout"), Nothing, ""),
    opt(set(Settings::decompress), ("d", "decompress"), Nothing, "restore the original data"),
    opt(set(Settings::decompress), ("", "uncompress"), Nothing, ""),
    opt(
        set(|gzip| gzip.force += 1),
        ("f", "force"),
        Nothing,
        "replace outputs that exist; also compress links and\nfiles with several names; allow terminals",
    ),
    opt(answer(Answer::Help), ("hH", "help"), Nothing, "show this text and exit"),
    opt(set(|gzip| gzip.keep = Switch::On), ("k", "keep"), Nothing, "let inputs stay"),
    opt(
        set(|gzip| (gzip.task, gzip.target) = (Task::List, Target::Stdout)),
        ("l", "list"),
        Nothing,
        "show sizes and ratio of compressed files",
    ),
    opt(answer(Answer::Version), ("L", "license"), Nothing, "show the licence and exit"),
    opt(
        set(|gzip| (gzip.name, gzip.time) = (Some(Switch::Off), Some(Switch::Off))),
        ("n", "no-name"),
        Nothing,
        "neither store nor restore name and time",
    ),
    opt(
        set(|gzip| (gzip.name, gzip.time) = (Some(Switch::On), Some(Switch::On))),
        ("N", "name"),
        Nothing,
        "store or restore name and time",
    ),
    opt(
        set(|gzip| (gzip.quiet, gzip.verbose) = (Switch::On, 0)),
        ("q", "quiet"),
        Nothing,
        "print no warnings",
    ),
    opt(set(|gzip| (gzip.quiet, gzip.verbose) = (Switch::On, 0)), ("", "silent"), Nothing, ""),
    opt(
        set(|gzip| gzip.recursive = Switch::On),
        ("r", "recursive"),
        Nothing,
        "enter directories; several files at once",
    ),
    opt(
        set(|gzip| gzip.cut = Cut::ByContent),
        ("", "rsyncable"),
        Nothing,
        "let the data decide where blocks end, so that a\nsmall change of the input changes little",
    ),
    opt(
        set_to(|gzip, suffix| gzip.suffix = suffix.into_vec()),
        ("S", "suffix"),
        Required("SUF"),
        "use SUF in place of .gz",
    ),
    opt(
        set(|gzip| gzip.synchronous = Switch::On),
        ("", "synchronous"),
        Nothing,
        "remove an input only when its output is on stable\nstorage",
    ),
    opt(
        set(Settings::test),
        ("t", "test"),
        Nothing,
        "decompress, compare sums and lengths, write nothing",
    ),
    opt(
        set(|gzip| (gzip.quiet, gzip.verbose) = (Switch::Off, gzip.verbose + 1)),
        ("v", "verbose"),
        Nothing,
        "print name and ratio of every file",
    ),
    opt(answer(Answer::Version), ("V", "version"), Nothing, "show the version and exit"),
    opt(set(|gzip| gzip.level = 1), ("", "fast"), Nothing, "stands for -1"),
    opt(set(|gzip| gzip.level = 9), ("", "best"), Nothing, "stands for -9"),
    opt(
        read(|gzip, digits| gzip.set_level(digits.as_bytes())),
        ("123456789", ""),
        Digits,
        "level: -1 is fast, -9 small, -6 the default",
    ),
    opt(set(|gzip| gzip.ascii = Switch::On), ("a", "ascii"), Nothing, ""),
    opt(read(|_, bits| refuse_bits(bits.as_bytes())), ("b", "bits"), Required("BITS"), ""),
    opt(set(|gzip| gzip.time = Some(Switch::Off)), ("m", ""), Nothing, ""),
    opt(set(|gzip| gzip.time = Some(Switch::On)), ("M", ""), Nothing, ""),
    opt(set(|gzip| gzip.presume_terminal = Switch::On), ("", "-presume-input-tty"), Nothing, ""),
    opt(
        read(|_, _| usage("-Z not supported in this version".to_owned())),
        ("Z", "lzw"),
        Nothing,
        "",
    ),
    own(
        set(|gzip| gzip.atomic = Switch::On),
        "atomic",
        Nothing,
        "give outputs their names when they are complete\n(always so; refused with -c)",
    ),
    own_cache(read(|gzip, policy| {
        gzip.policy.cache = cache(&policy)?;
        Ok(())
    })),
    own(set(|gzip| gzip.synchronous = Switch::On), "durable", Nothing, "the same as --synchronous"),
    gentle(begins()),
    own(
        read_optional(|gzip, name| {
            gzip.index = Some(file("--index", name, Dash::NoOutput)?);
            Ok(())
        }),
        "index",
        Required("FILE"),
        "decompress one file on all processors by the index in\nFILE, which is written where it does not exist",
    ),
    job(read_optional(|gzip, name| Ok(gzip.metrics.set_job(name.as_deref())?))),
    own(
        read(|gzip, count| {
            gzip.jobs = Some(jobs(Some(&count))?);
            Ok(())
        }),
        "jobs",
        Required("N"),
        "workers (default: one for each processor)",
    ),
    metrics(read_optional(|gzip, name| Ok(gzip.metrics.set_file(name)?))),
    own(
        read_optional(|gzip: &mut Settings, word| {
            gzip.progress = when("--progress", word.as_deref())?;
            Ok(())
        }),
        "progress",
        Optional("WHEN"),
        "show progress on standard error: always, never, auto",
    )
    .with(WHEN_VALUES),
    own(
        read(|gzip: &mut Settings, name| {
            gzip.sum = Some(sum_algorithm(&name)?);
            Ok(())
        }),
        "sum",
        Required("ALGORITHM"),
        "print a digest of the original data on standard\nerror: blake3, xxh3-64, sha256, md5, ...",
    )
    .with(DIGEST_VALUES),
];

/// Returns the page of `--help`.
pub(super) fn help(program: &str) -> Page {
    let shown: Vec<Opt<Effect<Settings>>> =
        OPTIONS.iter().filter(|option| !option.help.is_empty()).copied().collect();
    let replaces = "An output has its name only\nwhen it is complete, and owner, mode, times and \
                    attributes of the input.";
    let (does, examples) = match program {
        "gunzip" => (
            format!("Replace every FILE by its original. {replaces}"),
            [
                ("haul gunzip dump.sql.gz", "replace a file by its original"),
                ("haul gunzip -t *.gz", "check files, and write nothing"),
            ],
        ),
        "zcat" => (
            "Write the originals of all FILEs to standard output.".to_owned(),
            [
                ("haul zcat log.2.gz log.1.gz | sort", "sort what two files contain"),
                ("haul zcat --cache=drop dump.sql.gz | psql", "leave no pages in the page cache"),
            ],
        ),
        _ => (
            format!("Replace every FILE by a compressed one. {replaces}"),
            [
                ("haul gzip -9 dump.sql", "replace a file by a compressed one"),
                (
                    "haul gzip -k --cache=drop dump.sql",
                    "keep the file, and not its pages in memory",
                ),
            ],
        ),
    };
    Page::new(format!(
        "Usage: {program} [OPTION]... [FILE]...\n{does}\n\n{VALUES}{STANDARD_INPUT}\n"
    ))
    .options(&shown, Origin::Gnu)
    .heading(OWN_OPTIONS)
    .options(&shown, Origin::Haul)
    .text("\nThe output is the same for any number of workers.\n")
    .examples(examples)
    .exit("The exit status is 0 for success, 1 for an error, 2 for a warning.")
}

/// Returns the text of `--license` and `--version`. Scripts look for the word of its second line in that of gzip.
pub(super) fn licence(program: &str) -> String {
    let text = crate::option::help::version(program);
    text.replacen('\n', "\nCopyright (c) the haul authors.\n", 1)
}
