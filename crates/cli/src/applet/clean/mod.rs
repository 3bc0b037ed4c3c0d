//! `haul clean`: removes the hidden files that killed runs left behind.

mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "clean",
    summary: "remove the hidden files that runs which were killed have left",
    drop_in: false,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
