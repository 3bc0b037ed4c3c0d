//! `haul compare`: compares two trees in everything that a copy should keep.

mod among;
mod desk;
mod difference;
mod options;
mod pages;
mod run;
mod selecting;

use super::entry::{Applet, Run};
pub use among::{Comparison, compare_among, unit_of_comparison};
pub(super) use run::run_as;

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "compare",
    summary: "compare two trees in everything, and say what differs",
    drop_in: false,
    unwritten: 2,
    page: options::help,
    run: Run::Words(run::run),
};
