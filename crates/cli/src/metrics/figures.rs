//! The figures of a run, in one form for all commands.

use std::time::Duration;

use haul_engine::monitor::Counts;
use haul_engine::relocate;

use crate::waiting::DeviceUse;

/// What was done with entries of a kind, and how many there were.
pub(crate) type MadeOf = (&'static str, &'static str, u64);

/// How long a run waited for its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    pub(crate) source: Duration,
    pub(crate) target: Duration,
    /// In calls that read from one side and write to the other, where there are any.
    pub(crate) both: Option<Duration>,
}

/// Bytes of the files of a run that were in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cached {
    pub(crate) source_before: u64,
    pub(crate) source_after: u64,
    pub(crate) target_before: u64,
    pub(crate) target_after: u64,
}

/// What a run has done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Whether it ended by a signal.
    pub(crate) stopped: bool,
    pub(crate) time: Duration,
    pub(crate) entries: Vec<MadeOf>,
    pub(crate) bytes: u64,
    pub(crate) failures: u64,
    pub(crate) warnings: u64,
    /// Where it is measured.
    pub(crate) waits: Option<Waits>,
    /// What the devices of both sides have done, in copies, moves and removals.
    pub(crate) devices: Vec<DeviceUse>,
    /// Where it is measured: in copies and streams.
    pub(crate) cached: Option<Cached>,
}

impl Figures {
    /// Those of a run that could not begin.
    pub(crate) fn not_begun() -> Figures {
        Figures { failures: 1, ..Figures::default() }
    }

    /// Those of a copy.
    pub(crate) fn of_copy(counts: &Counts) -> Figures {
        let cached = &counts.cached;
        let is_measured = cached.measured + cached.untold > 0;
        Figures {
            entries: [kinds("copied", counts).as_slice(), &[("skipped", "any", counts.skipped)]]
                .concat(),
            bytes: counts.bytes,
            failures: counts.failures,
            warnings: counts.warnings,
            cached: is_measured.then_some(Cached {
                source_before: cached.source_before,
                source_after: cached.source_after,
                target_before: cached.target_before,
                target_after: cached.target_after,
            }),
            ..Figures::default()
        }
    }

    /// Those of a synchronisation.
    pub(crate) fn of_sync(counts: &Counts) -> Figures {
        let mut figures = Figures::of_copy(counts);
        figures.entries.push(("deleted", "any", counts.deleted));
        figures
    }

    /// Those of a move.
    pub(crate) fn of_move(counts: &relocate::Counts) -> Figures {
        let operands = [
            ("renamed", "any", counts.renamed),
            ("exchanged", "any", counts.exchanged),
            ("skipped", "any", counts.skipped),
        ];
        let (copied, removed) =
            (kinds("copied", &counts.copied), kinds("removed", &counts.removed));
        Figures {
            entries: [operands.as_slice(), &copied, &removed].concat(),
            failures: counts.failures,
            warnings: counts.warnings,
            ..Figures::of_copy(&counts.copied).only_bytes()
        }
    }

    /// Those of a removal.
    pub(crate) fn of_removal(counts: &Counts) -> Figures {
        Figures {
            entries: [kinds("removed", counts).as_slice(), &[("skipped", "any", counts.skipped)]]
                .concat(),
            failures: counts.failures,
            warnings: counts.warnings,
            ..Figures::default()
        }
    }

    fn only_bytes(self) -> Figures {
        Figures { bytes: self.bytes, cached: self.cached, ..Figures::default() }
    }
}

fn kinds(action: &'static str, counts: &Counts) -> [MadeOf; 5] {
    [
        (action, "file", counts.files),
        (action, "directory", counts.directories),
        (action, "symlink", counts.symlinks),
        (action, "hard-link", counts.hard_links),
        (action, "special", counts.specials),
    ]
}
