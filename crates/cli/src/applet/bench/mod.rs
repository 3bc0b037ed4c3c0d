//! `haul bench`: measures which way of copying or deleting is fastest here.

#[cfg(feature = "trace")]
mod calls;
mod help;
mod options;
mod plan;
mod run;
mod watch;

use super::entry::{Applet, Run};
pub(super) use options::scenarios;
pub(super) use plan::{Refusal, fresh, scenario, usual_ground};
pub(super) use run::{announce, end, session, tools_with_this_haul};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "bench",
    summary: "find out which way of copying is fastest here, with evidence",
    drop_in: false,
    unwritten: 1,
    page: || help::help("haul bench"),
    run: Run::Words(run::run),
};
