//! `haul tar`: GNU tar's command line; `haul-archive` reads and writes the archives.

mod append;
mod appending;
mod buffered;
mod checkpoint;
mod checkpoint_options;
mod command_line;
mod compare;
mod count;
mod create;
mod creation;
mod creation_event;
mod creation_table;
mod effect;
mod event;
mod external;
mod extract;
mod extraction;
mod extraction_table;
mod fence;
mod help;
mod kept;
mod limits;
mod list;
mod list_file;
mod member_name;
mod names;
mod names_table;
mod old_style;
mod open;
mod option_table;
mod own;
mod own_table;
mod owner_map;
mod pax;
mod print;
mod quoting;
mod reading;
mod refuse;
mod reporting;
mod run;
mod session;
mod settings;
mod taken_output;
mod tallied;
mod target;
mod task;
mod times;
mod top_level;
mod totals;
mod unfinished;
mod unsupported;
mod verify;
mod warning;
mod watched;

use super::entry::{Applet, Run};

/// The row of this applet in the table.
pub(super) const APPLET: Applet = Applet {
    name: "tar",
    summary: "create, list and extract archives, as GNU tar",
    drop_in: true,
    unwritten: 2,
    page: help::help,
    run: Run::Words(run::run),
};
