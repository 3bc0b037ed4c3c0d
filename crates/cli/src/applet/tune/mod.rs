//! `haul tune`: measures the methods on this machine and writes a profile for `haul cp`.

mod options;
mod run;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "tune",
    summary: "measure what is fastest here, for haul cp to do from then on",
    drop_in: false,
    unwritten: 1,
    page: options::help,
    run: Run::Words(run::run),
};
