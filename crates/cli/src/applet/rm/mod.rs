//! `haul rm`: GNU rm's command line, with haul's engine behind it.

mod among;
mod help;
mod options;
mod run;

use super::entry::{Applet, Run};
pub use among::remove_among;
#[cfg(test)]
pub(super) use run::refusal;

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "rm",
    summary: "remove files and trees, as GNU rm",
    drop_in: true,
    unwritten: 1,
    page: || help::help("rm"),
    run: Run::Words(run::run),
};
