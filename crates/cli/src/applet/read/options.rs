//! The options of `read`, and `--help`.

use crate::getopt::Takes::Required;
use crate::getopt::{Opt, Origin, own};
use crate::option::data::size_or_zero;
use crate::option::effect::{Effect, read};
use crate::option::stream::{self, Settings, shared};
use crate::page::Page;

/// What the options change.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) settings: Settings,
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
}

impl Wanted {
    pub(super) fn new() -> Wanted {
        Wanted { settings: Settings::new(), offset: 0, length: None }
    }
}

impl stream::Wanted for Wanted {
    fn shared(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

const OWN: &[Opt<Effect<Wanted>>] = &[
    own(
        read(|wanted, bytes| {
            wanted.offset = size_or_zero("--offset", &bytes)?;
            Ok(())
        }),
        "offset",
        Required("N"),
        "begin at byte N of each FILE",
    ),
    own(
        read(|wanted, bytes| {
            wanted.length = Some(size_or_zero("--length", &bytes)?);
            Ok(())
        }),
        "length",
        Required("N"),
        "read at most N bytes of each FILE",
    ),
];

/// Returns all options.
pub(super) fn all_options() -> Vec<Opt<Effect<Wanted>>> {
    let mut all = OWN.to_vec();
    all.extend(shared::<Wanted>());
    all
}

/// Returns the page of `--help`.
pub(super) fn help(all: &[Opt<Effect<Wanted>>]) -> Page {
    Page::new(
        "Usage: haul read [OPTION]... FILE...\n\
         Write FILEs to standard output, one after the other, with many large reads in\n\
         flight. FILE - is standard input.\n\n",
    )
    .options(all, Origin::Haul)
    .text(
        "\nWith --cache=auto haul reads cached pages from the cache and keeps them there; of\n\
         files of 8 MiB and more it adds no pages. Holes are written as zeros without reads.\n\
         Digests go to standard error, as lines of a check file.\n",
    )
    .examples([
        ("haul read dump.sql | zstd | haul write dump.sql.zst", "compress a large file"),
        (
            "haul read --bandwidth=50M --sum=sha256 dump.sql | ssh host 'cat > dump.sql'",
            "send a file, and print its digest",
        ),
    ])
    .exit("The exit status is 0 if every FILE was written out completely, 1 otherwise.")
}
