//! `haul mv`: GNU mv's command line, with haul's engine behind it.

mod help;
mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "mv",
    summary: "move files and trees, as GNU mv, durably across file systems",
    drop_in: true,
    unwritten: 1,
    page: || help::help("mv"),
    run: Run::Words(run::run),
};
