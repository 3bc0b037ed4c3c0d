//! `--metrics` and `--job`: their texts, for every command that has them.

/// What `--job` does.
pub(crate) const JOB: &str = "with --metrics: the value of the label 'haul_job'";

/// What `--metrics` does.
pub(crate) const METRICS: &str = "when the run ends, also if it failed, write FILE:\na text for Prometheus with \
     entries, bytes,\nfailures, time, waits, devices and cache";
