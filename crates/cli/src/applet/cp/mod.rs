//! `haul cp`: GNU cp's command line, with haul's engine behind it.

mod among;
mod help;
mod options;
mod profile;
mod retry;
mod run;
mod settings;
mod sum_file;
mod values;

use super::entry::{Applet, Run};
pub use among::copy_among;
#[cfg(test)]
pub(super) use run::refusal;

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "cp",
    summary: "copy files and trees, as GNU cp",
    drop_in: true,
    unwritten: 1,
    page: || help::help("cp"),
    run: Run::Words(run::run),
};
