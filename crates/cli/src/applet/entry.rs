//! One row of the table of applets.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::page::{Page, Topic};

/// A command within haul.
pub(crate) struct Applet {
    /// Its name, on the command line and as a link.
    pub(crate) name: &'static str,
    /// One line for the overview.
    pub(crate) summary: &'static str,
    /// Whether a link of this name runs it, as with the tools that it replaces.
    pub(crate) drop_in: bool,
    /// The exit status if standard output could not take what was written.
    pub(crate) unwritten: u8,
    /// Returns what `--help` says.
    pub(crate) page: fn() -> Page,
    /// What runs it.
    pub(crate) run: Run,
}

/// What runs an applet with its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Most applets need their words alone.
    Words(fn(&[OsString]) -> ExitCode),
    /// This one also reads the table of applets.
    Table(fn(&[OsString], &[Applet]) -> ExitCode),
}

/// Returns the pages of applets, for what is made of all of them.
pub(crate) fn topics(applets: &[Applet]) -> Vec<Topic> {
    let topic = |applet: &Applet| Topic {
        name: applet.name,
        summary: applet.summary,
        drop_in: applet.drop_in,
        page: (applet.page)(),
    };
    applets.iter().map(topic).collect()
}
