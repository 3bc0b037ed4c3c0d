//! `haul write`: writes a pipe to files, with many large writes in flight.

mod command;
mod input;
mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "write",
    summary: "write a pipe to files, with many large writes in flight",
    drop_in: false,
    unwritten: 1,
    page: || options::help(&options::all_options()),
    run: Run::Words(run::run),
};
