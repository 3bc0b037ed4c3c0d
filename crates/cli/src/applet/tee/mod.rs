//! `haul tee`: GNU tee's command line; `haul_io::tee` writes to all files at once.

mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "tee",
    summary: "copy standard input to files and standard output, as GNU tee",
    drop_in: true,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
