//! `haul doctor`: what this machine and a file system offer, what haul uses of it, and what is missing.

mod finding;
mod machine;
mod options;
mod place;
mod print;
mod run;
mod scratch;
mod usage;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "doctor",
    summary: "show what machine and file system offer, and what haul uses",
    drop_in: false,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
