//! How much a run prints, and in which format.

use haul_engine::request::Request;

use super::item_format::ItemFormat;
use super::item_log::ItemLog;

use crate::value::When;

/// In which form entries and failures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// JSON lines for programs.
    Json,
}

/// Which entries of a synchronisation are listed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// None of them.
    Nothing,
    /// The names of entries that are made, replaced or removed.
    Names,
    /// The same, and files that stay as they are.
    AllNames,
    /// Every entry that changes, with what changes.
    Items,
    /// The same, and entries that stay as they are.
    AllItems,
}

/// The lines about the entries of a synchronisation: those of rsync.
#[derive(Clone, Debug)]
pub(crate) struct EntryLines {
    pub(crate) lists: Lists,
    /// The target operand without slashes at its end; names are relative to it.
    pub(crate) target: Vec<u8>,
    /// The form of a line, if it is not that of `lists`.
    pub(crate) format: Option<ItemFormat>,
    /// Where the lines are written, too.
    pub(crate) log: Option<ItemLog>,
}

impl EntryLines {
    /// Makes the lines for a request.
    pub(crate) fn new(lists: Lists, request: &Request) -> EntryLines {
        let mut target = request.target.as_bytes().to_vec();
        while target.last() == Some(&b'/') {
            target.pop();
        }
        EntryLines { lists, target, format: None, log: None }
    }
}

/// How much is printed.
#[derive(Clone, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    pub(crate) verbose: bool,
    /// How entries are listed, if not in the words of GNU's programs.
    pub(crate) entry_lines: Option<EntryLines>,
    pub(crate) debug: bool,
    /// Whether a target that cannot be written to would be removed.
    pub(crate) overrides: bool,
    /// Whether blocks may not be shared, nor holes kept, by the policy.
    pub(crate) never_shares: bool,
    pub(crate) stats: bool,
    pub(crate) explain: bool,
    pub(crate) progress: When,
    /// Whether a list of errors has all that is missing at the end of the run. It has not if the run goes on
    /// with another one that did not come to its end.
    pub(crate) lists_all: bool,
}

impl How {
    /// Prints failures alone, as text.
    pub(crate) const QUIET: How = How {
        format: Format::Text,
        verbose: false,
        entry_lines: None,
        debug: false,
        overrides: false,
        never_shares: false,
        stats: false,
        explain: false,
        progress: When::Auto,
        lists_all: true,
    };
}
