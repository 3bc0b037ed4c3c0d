//! `--metrics` and `--job`: their rows, for every command that has them.

use crate::getopt::Takes::Required;
use crate::getopt::{Opt, own};

/// Makes the row of `--job`.
pub(crate) const fn job<I: Copy>(id: I) -> Opt<I> {
    own(id, "job", Required("NAME"), "with --metrics: the value of the label 'haul_job'")
}

/// Makes the row of `--metrics`.
pub(crate) const fn metrics<I: Copy>(id: I) -> Opt<I> {
    own(
        id,
        "metrics",
        Required("FILE"),
        "when the run ends, also if it failed, write FILE:\na text for Prometheus with \
         entries, bytes,\nfailures, time, waits, devices and cache",
    )
}
