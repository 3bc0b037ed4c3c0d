//! `haul cache`: shows what is in the page cache, drops it, reads files into it, and brings it back after a restart.

mod drop;
mod files;
mod list;
mod options;
mod run;
mod saved;
mod show;
mod warm;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "cache",
    summary: "show, drop, warm, save or restore what is in the page cache",
    drop_in: false,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
