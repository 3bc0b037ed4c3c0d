//! `haul spare`: runs any command so that it leaves the page cache to others.

mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "spare",
    summary: "run a command so that it leaves the page cache to others",
    drop_in: false,
    unwritten: 125,
    page: options::help,
    run: Run::Words(run::run),
};
