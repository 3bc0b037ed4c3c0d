//! How much a run prints, and in which format.

use crate::value::When;

/// In which form entries and failures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// JSON lines for programs.
    Json,
}

/// How much is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    pub(crate) verbose: bool,
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
        debug: false,
        overrides: false,
        never_shares: false,
        stats: false,
        explain: false,
        progress: When::Auto,
        lists_all: true,
    };
}
