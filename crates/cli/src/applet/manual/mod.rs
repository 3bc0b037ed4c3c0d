//! `haul manual`: print manual pages, in the macros of man(7).

mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "manual",
    summary: "print manual pages, in the macros of man(7)",
    drop_in: false,
    unwritten: 1,
    page: run::help,
    run: Run::Table(run::run),
};
