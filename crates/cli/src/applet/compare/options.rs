//! The options of `compare`, and `--help`.

use std::ffi::OsStr;

use haul_io::{Cache, DataPolicy};
use haul_manifest::{Aspect, Aspects, CompareOptions, Precision};

use crate::escape::quote_word;
use crate::getopt::{Opt, Origin, Takes, Usage, Values, opt};
use crate::option::color::{COLOR, color};
use crate::option::data::{CACHE_VALUES, cache};
use crate::option::effect::{Effect, help_row, read, read_optional, set, version_row};
use crate::option::gentle::{begins, plain};
use crate::option::select::{SELECTION, Select, Selects, select_rows};
use crate::page::Page;
use crate::value::{When, when};

/// What the options change.
pub(super) struct Settings {
    aspects: Aspects,
    precision: Precision,
    cache: Cache,
    pub(super) color: When,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) select: Select,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            aspects: Aspects::all(),
            precision: Precision::Stored,
            cache: Cache::Auto,
            color: When::Auto,
            json: false,
            quiet: false,
            select: Select::default(),
        }
    }

    /// Returns what is compared, and how.
    pub(super) fn compare_options(&self) -> CompareOptions {
        CompareOptions { precision: self.precision, ..CompareOptions::new(self.aspects) }
    }

    /// Uses colors only if that is asked for: what starts the processes of a job, such as Open MPI's mpirun, gives each
    /// a terminal of its own, whatever reads their output.
    pub(super) fn leave_auto_color(&mut self) {
        if self.color == When::Auto {
            self.color = When::Never;
        }
    }

    /// Returns the policy for the bytes of files.
    pub(super) fn data(&self) -> DataPolicy {
        DataPolicy { cache: self.cache, ..DataPolicy::of_run() }
    }

    fn set_only(&mut self, names: &OsStr) -> Result<(), Usage> {
        self.aspects = list(names)?.into_iter().fold(Aspects::none(), Aspects::with);
        Ok(())
    }

    fn ignore(&mut self, names: &OsStr) -> Result<(), Usage> {
        self.aspects = list(names)?.into_iter().fold(self.aspects, Aspects::without);
        Ok(())
    }
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

fn list(value: &OsStr) -> Result<Vec<Aspect>, Usage> {
    let text = value.to_string_lossy();
    text.split(',')
        .map(|word| {
            word.parse().map_err(|_| {
                let quoted = quote_word(word.as_bytes());
                Usage(format!("there is no aspect {quoted}; there are {}", names()))
            })
        })
        .collect()
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(
    Settings,
    &[
        opt(
            set(|compare| compare.aspects = Aspects::contents_only()),
            ("c", "contents"),
            Takes::Nothing,
            "compare names, kinds and contents alone",
        ),
        opt(
            read(|compare: &mut Settings, names| Ok(compare.set_only(&names)?)),
            ("", "only"),
            Takes::Required("ASPECTS"),
            "compare these aspects alone",
        )
        .with(Values::List(aspects)),
        opt(
            read(|compare: &mut Settings, names| Ok(compare.ignore(&names)?)),
            ("", "ignore"),
            Takes::Required("ASPECTS"),
            "do not compare these aspects",
        )
        .with(Values::List(aspects)),
        opt(
            read(|compare: &mut Settings, policy| {
                compare.cache = cache(&policy)?;
                Ok(())
            }),
            ("", "cache"),
            Takes::Required("POLICY"),
            "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
        )
        .with(CACHE_VALUES),
        color(read_optional(|compare, word| {
            compare.color = when(COLOR, word.as_deref())?;
            Ok(())
        })),
        plain(begins()),
        opt(
            set(|compare| compare.precision = Precision::Exact),
            ("", "exact"),
            Takes::Nothing,
            "report also what one file system cannot store as\nthe other does",
        ),
        opt(
            set(|compare| compare.json = true),
            ("", "json"),
            Takes::Nothing,
            "print differences and the summary as JSON lines",
        ),
        opt(
            set(|compare| compare.quiet = true),
            ("q", "quiet"),
            Takes::Nothing,
            "print nothing; the exit status says it",
        ),
        help_row(),
        version_row(),
    ]
);

fn aspects() -> Vec<&'static str> {
    Aspect::ALL.iter().map(|aspect| aspect.name()).collect()
}

const STORED: &str = "
Without --exact, times are compared as the file system with the coarser ones stores
them (FAT even seconds, exFAT hundredths), owners, permission bits, flags and
projects where both have them, and allocation between file systems of one kind. A list of NFS 4
that says no more than the permission bits is no difference. A line says what was
left out.
";

const BOTH: &str = "
The root of patterns is that of each tree, without its name. Merge files are those of
A. A name counts if its entry is selected in A or in B.
";

/// Returns the names of all aspects.
fn names() -> String {
    aspects().join(", ")
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul compare [OPTION]... A B\n\
         Compare the trees (or files) A and B, and say what differs.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(format!("\nSeparate ASPECTS by commas; there are {}.\n", names()))
    .text(STORED)
    .heading("Options that select entries")
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(BOTH)
    .examples([
        ("haul compare photos /mnt/backup/photos", "compare two trees in everything"),
        ("haul compare --exclude='*.o' A B", "leave out object files"),
        ("haul compare --ignore=mtime,owner,group A B", "leave out times and owners"),
    ])
    .exit("The exit status is 0 if nothing differs, 1 if something does, 2 after an error.")
}
