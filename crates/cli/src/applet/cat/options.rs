//! The options of `cat`, and `--help`.

use haul_io::DataPolicy;

use super::format::{Blank, Format, Number, Shown};
use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Origin, opt};
use crate::option::data::{cache, own_cache};
use crate::option::effect::{Effect, help_row, nothing, read, set, version_row};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{CACHE, STANDARD_INPUT};
use crate::page::Page;

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) format: Format,
    pub(super) policy: DataPolicy,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings { format: Format::default(), policy: DataPolicy::of_run() }
    }

    /// Numbers every line, unless those that are not empty are numbered.
    fn number_all(&mut self) {
        if self.format.number == Number::None {
            self.format.number = Number::All;
        }
    }

    fn show_nonprinting(&mut self) -> &mut Format {
        self.format.nonprinting = Shown::Shown;
        &mut self.format
    }
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|cat| {
            let format = cat.show_nonprinting();
            (format.ends, format.tabs) = (Shown::Shown, Shown::Shown);
        }),
        ("A", "show-all"),
        Nothing,
        "stands for -vET",
    ),
    opt(
        set(|cat| cat.format.number = Number::Nonblank),
        ("b", "number-nonblank"),
        Nothing,
        "number the lines that are not empty; overrides -n",
    ),
    opt(
        set(|cat| cat.show_nonprinting().ends = Shown::Shown),
        ("e", ""),
        Nothing,
        "stands for -vE",
    ),
    opt(
        set(|cat| cat.format.ends = Shown::Shown),
        ("E", "show-ends"),
        Nothing,
        "mark the end of each line: $, or ^M$ behind a\ncarriage return",
    ),
    opt(set(Settings::number_all), ("n", "number"), Nothing, "number every line"),
    opt(
        set(|cat| cat.format.blank = Blank::Squeezed),
        ("s", "squeeze-blank"),
        Nothing,
        "print one empty line where several follow each\nother",
    ),
    opt(
        set(|cat| cat.show_nonprinting().tabs = Shown::Shown),
        ("t", ""),
        Nothing,
        "stands for -vT",
    ),
    opt(set(|cat| cat.format.tabs = Shown::Shown), ("T", "show-tabs"), Nothing, "print tabs as ^I"),
    opt(nothing(), ("u", ""), Nothing, "no effect"),
    opt(
        set(|cat| cat.format.nonprinting = Shown::Shown),
        ("v", "show-nonprinting"),
        Nothing,
        "print other control characters as ^X and bytes\nfrom 128 on as M-X; tabs and newlines stay",
    ),
    own_cache(read(|cat, policy| {
        cat.policy.cache = cache(&policy)?;
        Ok(())
    })),
    gentle(begins()),
    help_row(),
    version_row(),
];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: cat [OPTION]... [FILE]...\n\
         Write every FILE to standard output, one behind the other.\n\n\
         {STANDARD_INPUT}\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading("An option that GNU cat does not have")
    .options(OPTIONS, Origin::Haul)
    .text(CACHE)
    .examples([("haul cat head - tail", "print standard input between two files")])
    .exit("The exit status is 0 if everything was written, 1 otherwise.")
}
