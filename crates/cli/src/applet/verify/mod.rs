//! `haul verify`: checks a tree against a file of checksums or another tree.

mod files;
mod options;
mod run;
mod sums;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "verify",
    summary: "compare the files of a tree with checksums, or another tree",
    drop_in: false,
    unwritten: 2,
    page: options::help,
    run: Run::Words(run::run),
};
