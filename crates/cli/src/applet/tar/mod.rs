//! `haul tar`: GNU tar's command line; `haul-archive` reads and writes the archives.

mod append;
mod appending;
mod compare;
mod create;
mod creation;
mod event;
mod extract;
mod list;
mod member_name;
mod names;
mod old_style;
mod open;
mod options;
mod owner_map;
mod packed;
mod print;
mod quoting;
mod refuse;
mod run;
mod session;
mod settings;
mod totals;
mod unsupported;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "tar",
    summary: "create, list and extract archives, as GNU tar",
    drop_in: true,
    unwritten: 2,
    page: options::help,
    run: Run::Words(run::run),
};
