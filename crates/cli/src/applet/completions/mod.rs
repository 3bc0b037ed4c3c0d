//! `haul completions`: print completions for bash, zsh or fish.

mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "completions",
    summary: "print completions for bash, zsh or fish",
    drop_in: false,
    unwritten: 1,
    page: run::help,
    run: Run::Table(run::run),
};
