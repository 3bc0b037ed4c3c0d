//! `haul cat`: GNU cat's command line; bytes stay in the kernel where it lets them.

mod format;
mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "cat",
    summary: "write files to standard output, as GNU cat",
    drop_in: true,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
