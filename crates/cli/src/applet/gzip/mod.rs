//! `haul gzip`, `gunzip`, `zcat`: gzip 1.13's command line; several processors, past the page cache.
//!
//! An output gets its name when it is complete, with owner, mode, times and attributes of the input,
//! and only then the input is removed. `names.rs` decides about names alone, `settings.rs` about
//! options alone; `file.rs` does one file, `run.rs` all of them.

mod choose;
mod codes;
mod conflicts;
mod file;
mod identity;
mod index;
mod indexing;
mod input;
mod list;
mod messages;
mod names;
mod options;
mod replace;
mod reports;
mod run;
mod settings;
mod sink;
mod stream;
mod walk;
mod words;

use super::entry::{Applet, Run};

/// The row of `gzip` in the table.
pub(super) const GZIP: Applet = Applet {
    name: "gzip",
    summary: "compress files on all processors, as GNU gzip",
    drop_in: true,
    unwritten: 1,
    page: || options::help("gzip"),
    run: Run::Words(run::gzip),
};

/// The row of `gunzip` in the table.
pub(super) const GUNZIP: Applet = Applet {
    name: "gunzip",
    summary: "decompress files, as GNU gunzip",
    drop_in: true,
    unwritten: 1,
    page: || options::help("gunzip"),
    run: Run::Words(run::gunzip),
};

/// The row of `zcat` in the table.
pub(super) const ZCAT: Applet = Applet {
    name: "zcat",
    summary: "decompress files to standard output, as GNU zcat",
    drop_in: true,
    unwritten: 1,
    page: || options::help("zcat"),
    run: Run::Words(run::zcat),
};
