//! One test for each case, so that they run in parallel and a failure names its case.

use super::case::CASES;
use super::faults::sweep;
use super::power::cut;
use crate::support::Outcome;

#[test]
fn cp() -> Outcome {
    sweep("cp")
}

#[test]
fn cp_archive() -> Outcome {
    sweep("cp -a")
}

#[test]
fn cp_archive_by_several_workers() -> Outcome {
    sweep("cp -a, several workers")
}

#[test]
fn cp_archive_over_older_files() -> Outcome {
    sweep("cp -a, over older files")
}

#[test]
fn cp_archive_that_removes_older_files() -> Outcome {
    sweep("cp -a --remove-destination")
}

#[test]
fn sync_that_deletes() -> Outcome {
    sweep("sync -aHX --delete")
}

#[test]
fn sync_that_deletes_over_older_files() -> Outcome {
    sweep("sync -aHX --delete, over older files")
}

#[test]
fn cp_archive_to_stable_storage() -> Outcome {
    sweep("cp -a --fsync")
}

#[test]
fn cp_archive_that_goes_on() -> Outcome {
    sweep("cp -a --resume")
}

#[test]
fn cp_archive_with_backups() -> Outcome {
    sweep("cp -ab")
}

#[test]
fn cp_atomic() -> Outcome {
    sweep("cp -a --atomic, over older files")
}

#[test]
fn cp_durable() -> Outcome {
    sweep("cp -a --durable")
}

#[test]
fn cp_durable_over_older_files() -> Outcome {
    sweep("cp -a --durable, over older files")
}

#[test]
fn cp_verified() -> Outcome {
    sweep("cp -a --verify")
}

#[test]
fn cp_verified_and_durable() -> Outcome {
    sweep("cp -a --verify --durable, over older files")
}

#[test]
fn mv() -> Outcome {
    sweep("mv across file systems")
}

#[test]
fn mv_by_several_workers() -> Outcome {
    sweep("mv across file systems, several workers")
}

#[test]
fn mv_over_an_older_file() -> Outcome {
    sweep("mv of a file across file systems, over an older one")
}

#[test]
fn cp_archive_with_rules() -> Outcome {
    sweep("cp -a --filter, with rules in each directory")
}

#[test]
fn mv_with_rules() -> Outcome {
    sweep("mv across file systems --filter, with rules in each directory")
}

#[test]
fn rm_with_rules() -> Outcome {
    sweep("rm -r --filter, with rules in each directory")
}

#[test]
fn dd() -> Outcome {
    sweep("dd")
}

#[test]
fn dd_record_by_record() -> Outcome {
    sweep("dd, record by record")
}

#[test]
fn write() -> Outcome {
    sweep("write")
}

#[test]
fn write_atomically() -> Outcome {
    sweep("write --atomic")
}

#[test]
fn rm() -> Outcome {
    sweep("rm -r")
}

#[test]
fn rm_by_several_workers() -> Outcome {
    sweep("rm -r, several workers")
}

#[test]
fn write_atomically_to_stable_storage() -> Outcome {
    sweep("write --atomic --fsync")
}

#[test]
fn the_power_goes_while_cp_is_durable() -> Outcome {
    cut("cp -a --durable")
}

#[test]
fn the_power_goes_while_cp_is_durable_over_older_files() -> Outcome {
    cut("cp -a --durable, over older files")
}

#[test]
fn the_power_goes_while_mv_crosses_file_systems() -> Outcome {
    cut("mv across file systems")
}

#[test]
fn the_power_goes_while_mv_replaces_a_file() -> Outcome {
    cut("mv of a file across file systems, over an older one")
}

#[test]
fn the_power_goes_while_write_is_durable() -> Outcome {
    cut("write --atomic --fsync")
}

#[test]
fn every_case_has_its_test() {
    let here = include_str!("tests.rs");
    for case in CASES {
        assert!(here.contains(&format!("sweep(\"{}\")", case.name)), "{} is not swept", case.name);
    }
}
