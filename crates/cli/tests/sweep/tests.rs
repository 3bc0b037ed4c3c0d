//! One test for each case, so that they run side by side and are named where they fail.

use super::case::CASES;
use super::faults::sweep;
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
fn every_case_has_its_test() {
    let here = include_str!("tests.rs");
    for case in CASES {
        assert!(here.contains(&format!("sweep(\"{}\")", case.name)), "{} is not swept", case.name);
    }
}
