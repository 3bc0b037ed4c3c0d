//! The integration tests of haul-select: files of rules, trees with merge files, and rsync as the judge.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking, helpers too")]

mod beside_rsync;
mod files;
mod support;
