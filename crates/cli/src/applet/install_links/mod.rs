//! `haul install-links`: makes links with the names of the tools that haul replaces.

mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "install-links",
    summary: "make links of the names that haul stands in for",
    drop_in: false,
    unwritten: 1,
    page: run::help,
    run: Run::Table(run::run),
};
