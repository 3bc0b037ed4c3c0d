//! `--metrics` and `--job`: their texts, for every command that has them.

/// What `--job` does.
pub(crate) const JOB: &str = "with --metrics: the value of the label 'job'";

/// What `--metrics` does.
pub(crate) const METRICS: &str = "when the run ends, also if it failed, replace FILE by\na text file for Prometheus: \
     entries, bytes, failures,\ntime, waits, cache";
