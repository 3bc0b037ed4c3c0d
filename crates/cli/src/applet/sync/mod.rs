//! `haul sync`: rsync's command line for local trees, with haul's engine behind it.

mod help;
mod options;
mod other_options;
mod request;
mod run;
mod settings;
mod status;
mod values;

use super::entry::{Applet, Run};

/// The row of this applet in the table. It is no drop-in: GNU has a program of its name that does something else.
pub(super) const APPLET: Applet = Applet {
    name: "sync",
    summary: "make a tree the same as another, as rsync does locally",
    drop_in: false,
    unwritten: status::PARTIAL,
    page: || help::help("haul sync"),
    run: Run::Words(run::run),
};
