//! `haul split`: GNU split's command line; `haul_io::split` cuts the files.

mod input;
mod numbers;
mod options;
mod output;
mod run;
mod settings;
mod turns;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "split",
    summary: "cut a file into pieces, as GNU split",
    drop_in: true,
    unwritten: 1,
    page: || options::help("split"),
    run: Run::Words(run::run),
};
