//! `haul read`: writes files to a pipe, with many large reads in flight.

mod direct_splice;
mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "read",
    summary: "write files to a pipe, with many large reads in flight",
    drop_in: false,
    unwritten: 1,
    page: || options::help(&options::all_options()),
    run: Run::Words(run::run),
};
