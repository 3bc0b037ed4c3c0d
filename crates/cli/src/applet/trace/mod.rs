//! `haul trace`: counts, sizes and times the system calls of a command.

mod help;
mod options;
mod run;
mod sinks;
mod words;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "trace",
    summary: "show what a command asks of the kernel: counts, sizes, latencies",
    drop_in: false,
    unwritten: 125,
    page: || help::help("haul trace"),
    run: Run::Words(run::run),
};
