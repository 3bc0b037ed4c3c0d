//! The options of `verify`, and `--help`.

use std::ffi::{OsStr, OsString};

use haul_io::Cache;
use haul_io::digest::Algorithm;

use crate::escape::quote_word;
use crate::getopt::{Opt, Origin, Takes, Usage, long, opt};
use crate::option::data::{CACHE_VALUES, DIGEST_VALUES, cache};
use crate::option::effect::{Effect, help_row, read, read_optional, set, version_row};
use crate::option::gentle::{begins, plain};
use crate::option::select::{SELECTION, Select, Selects, select_rows};
use crate::page::Page;
use crate::value::{Dash, file, jobs};

/// What the options change.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) against: Option<OsString>,
    pub(super) algorithm: Option<&'static Algorithm>,
    /// The value of `--cache` as it was given, for a comparison of trees, and what it means.
    pub(super) cache: Option<(OsString, Cache)>,
    pub(super) ignores_extra: bool,
    pub(super) jobs: Option<usize>,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) select: Select,
}

impl Settings {
    fn set_algorithm(&mut self, word: &OsStr) -> Result<(), Usage> {
        self.algorithm = word.to_str().and_then(Algorithm::find);
        if self.algorithm.is_none() {
            let word = quote_word(word.as_encoded_bytes());
            let known = algorithms();
            return Err(Usage(format!("there is no algorithm {word}; there are {known}")));
        }
        Ok(())
    }

    fn set_cache(&mut self, word: OsString) -> Result<(), Usage> {
        let cache = cache(&word)?;
        self.cache = Some((word, cache));
        Ok(())
    }
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(
    Settings,
    &[
        long(
            read_optional(|verify, name| {
                verify.against = Some(file("--against", name, Dash::NoInput)?);
                Ok(())
            }),
            "against",
            Takes::Required("WHAT"),
            "a file of checksums, as sha256sum, b3sum and\nthe like write them, or another tree",
        ),
        long(
            read(|verify: &mut Settings, name| Ok(verify.set_algorithm(&name)?)),
            "algorithm",
            Takes::Required("NAME"),
            "what the checksums are, where the lines do not say\nit and it cannot be found out",
        )
        .with(DIGEST_VALUES),
        long(
            read(|verify: &mut Settings, policy| Ok(verify.set_cache(policy)?)),
            "cache",
            Takes::Required("POLICY"),
            "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
        )
        .with(CACHE_VALUES),
        plain(begins()),
        long(
            set(|verify| verify.ignores_extra = true),
            "ignore-extra",
            Takes::Nothing,
            "files without a checksum are all right",
        ),
        long(
            read(|verify, count| {
                verify.jobs = Some(jobs(Some(&count))?);
                Ok(())
            }),
            "jobs",
            Takes::Required("N"),
            "read with at most N workers",
        ),
        long(
            set(|verify| verify.json = true),
            "json",
            Takes::Nothing,
            "print findings and the summary as JSON lines",
        ),
        opt(set(|verify| verify.quiet = true), ("q", "quiet"), Takes::Nothing, "print no findings"),
        help_row(),
        version_row(),
    ]
);

/// Returns the names of all algorithms.
pub(super) fn algorithms() -> String {
    let names: Vec<&str> = haul_io::digest::TABLE.iter().map(|algorithm| algorithm.name).collect();
    names.join(", ")
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul verify [OPTION]... TREE --against SUMS\n  or:  haul verify [OPTION]... TREE \
         --against TREE\n\
         Say which files of TREE are missing, extra, or differ in their contents.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(format!(
        "\nLines of SUMS are those of sha256sum and its like ('DIGITS  NAME'), with or\n\
         without --tag, and of b3sum and xxhsum. Their names are relative to TREE, or\n\
         begin with the end of TREE's path, as those of 'haul cp --sum-file' do. Where\n\
         neither the lines nor the name of SUMS tell the algorithm, it is the one that fits\n\
         a file. Files are read from storage, as far as their pages can be dropped from the\n\
         cache. Algorithms are {}.\n",
        algorithms()
    ))
    .heading("Options that select entries")
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text("\nThe root of patterns is that of TREE, without its name.\n")
    .examples([
        (
            "haul cp -r A B --sum-file S && haul verify B --against S",
            "copy a tree, and compare the copy with what was read",
        ),
        ("haul verify B --against A", "compare the files of two trees"),
    ])
    .exit(EXIT)
}

const EXIT: &str = "\
The exit status is 0 if all files match, 1 if something is missing, extra or differs,
2 after an error: a file that cannot be read, or a malformed line.";
