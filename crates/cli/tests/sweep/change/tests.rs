//! One test for each case, so that they run in parallel and a failure names its case.

use haul_faultfs::Clock;

use super::case::CASES;
use super::run::{demand_found, sweep, sweep_by};
use crate::support::Outcome;

#[test]
fn files_copied_while_they_change() -> Outcome {
    sweep("cp of files")
}

#[test]
fn files_copied_over_older_ones_while_they_change() -> Outcome {
    sweep("cp of files, over older ones")
}

#[test]
fn a_tree_copied_while_it_changes() -> Outcome {
    sweep("cp -r")
}

#[test]
fn a_tree_archived_while_it_changes() -> Outcome {
    sweep("cp -a")
}

#[test]
fn a_tree_copied_atomically_while_it_changes() -> Outcome {
    sweep("cp -a --atomic")
}

#[test]
fn a_tree_copied_durably_while_it_changes() -> Outcome {
    sweep("cp -a --durable")
}

#[test]
fn a_tree_copied_and_verified_while_it_changes() -> Outcome {
    sweep("cp -a --verify")
}

#[test]
fn a_tree_moved_while_it_changes() -> Outcome {
    sweep("mv")
}

#[test]
fn many_operands_moved_while_they_change() -> Outcome {
    sweep("mv of many operands")
}

#[test]
fn files_moved_over_older_ones_while_they_change() -> Outcome {
    sweep("mv of files, over older ones")
}

#[test]
fn a_tree_removed_while_it_changes() -> Outcome {
    sweep("rm -r")
}

#[test]
fn files_removed_while_they_change() -> Outcome {
    sweep("rm of files")
}

#[test]
fn a_file_written_while_its_name_changes() -> Outcome {
    sweep("write")
}

#[test]
fn a_file_written_atomically_while_its_name_changes() -> Outcome {
    sweep("write --atomic")
}

#[test]
fn a_folder_cleaned_while_it_changes() -> Outcome {
    sweep("clean")
}

#[test]
fn a_tree_moved_from_a_server_whose_clock_is_behind_while_it_changes() -> Outcome {
    sweep_by("mv", Clock::Off(-3600))
}

#[test]
fn operands_moved_from_a_server_whose_clock_is_behind_while_they_change() -> Outcome {
    sweep_by("mv of many operands", Clock::Off(-3600))
}

#[test]
fn a_tree_moved_from_a_server_whose_clock_is_ahead_while_it_changes() -> Outcome {
    sweep_by("mv", Clock::Off(3600))
}

#[test]
fn a_tree_moved_from_a_server_without_times_of_change_while_it_changes() -> Outcome {
    sweep_by("mv", Clock::ChangeIsModification)
}

#[test]
fn every_case_has_its_test() {
    let here = include_str!("tests.rs");
    for case in CASES {
        assert!(here.contains(&format!("sweep(\"{}\")", case.name)), "{} is not swept", case.name);
    }
}

#[test]
fn a_move_that_removes_whatever_is_there_by_then_is_found_out() -> Outcome {
    demand_found("mv of many operands", "cp -a \"$@\" && rm -rf s/*", "lost")
}

#[test]
fn a_copy_that_believes_in_the_first_size_is_found_out() -> Outcome {
    let line = "for f in a b; do n=$(stat -c %s s/$f); dd if=s/$f of=\"$3/$f\" bs=$n count=1 \
                iflag=fullblock status=none; done";
    demand_found("cp of files", line, "exit 0")
}

#[test]
fn a_removal_that_follows_links_is_found_out() -> Outcome {
    let line =
        "for i in 1 2 3 4 5 6 7 8 9; do ls s/d; printf x 1<>s/d/c; done >/dev/null; rm -rf s";
    demand_found("rm -r", line, "outside")
}
