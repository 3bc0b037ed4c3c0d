//! `haul verify`: checks a tree against a file of checksums or another tree.

mod files;
mod options;
mod run;
mod sums;
mod walk;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "verify",
    summary: "say which files of a tree are not what checksums, or another tree, say",
    drop_in: false,
    unwritten: 2,
    page: options::help,
    run: Run::Words(run::run),
};
