//! `haul dd`: GNU dd's command line and messages; `haul_io::record` moves the records.

mod adapter;
mod help;
mod operands;
mod report;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "dd",
    summary: "copy and convert by records, as GNU dd",
    drop_in: true,
    unwritten: 1,
    page: help::help,
    run: Run::Words(run::run),
};
