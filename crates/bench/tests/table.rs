//! The text on the terminal, letter by letter.

use haul_bench::{Ranking, render};

use crate::samples::{measured, results};

const TABLE: &str = "\
huge, 64 MiB, warm, ext4 in RAM
  flat:files=1,size=67108864,seed=1: 1 entry, 64 MiB
  tool     time  95 % interval                ratio     user  system    sync  memory  calls
  haul   200 ms   190 – 210 ms  0.50 (0.47 to 0.51)  10.0 ms  180 ms  100 ms   4 MiB  1,234
  cp     400 ms   390 – 410 ms  1.00 (1.00 to 1.00)  10.0 ms  360 ms  100 ms   4 MiB
  dd-1M  400 ms   380 – 420 ms  1.02 (0.95 to 1.05)  10.0 ms  360 ms  100 ms   4 MiB
  dd-4K  900 ms  890 ms – 2.50 s  2.25 (2.22 to 6.25)  10.0 ms  810 ms  100 ms   4 MiB
  <evil> \"&\" tool  FAILED: wrong result: 1 difference, the first: <b>bold</b>
haul is fastest here at 200 ms; 0.50 (0.47 to 0.51) of cp's time and 0.51 of its CPU.
";

/// Widths are checked by the eye; words and figures by this.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn the_table_is_what_it_was() {
    let text = render::text(&results());
    let shown: Vec<&str> = text.lines().take(9).collect();
    assert_eq!(words(&shown.join("\n")), words(TABLE), "{text}");
    let columns: Vec<usize> = text
        .lines()
        .skip(2)
        .take(5)
        .map(|line| line.chars().take(line.find(" 95 %").unwrap_or(16)).count())
        .collect();
    assert!(!columns.is_empty());
    for note in [
        "note: a <warning> & more",
        "note: Runs lie apart from the others; was the machine busy? all of them.",
        "note: The times scatter; take more rounds before believing them: dd-4K.",
        "note: <evil> \"&\" tool: run by sh -c",
        "`true` takes 350 µs",
        "note: Times end with the command",
    ] {
        assert!(text.contains(note), "{note} in {text}");
    }
}

#[test]
fn what_is_noted_of_all_cases_stands_once_at_the_end() {
    let mut results = results();
    results.cases.push(results.cases[0].clone());
    results.cases[1].ground.warnings = vec!["only here".to_owned()];
    let text = render::text(&results);
    let count = |note: &str| text.matches(note).count();
    assert_eq!(count("note: Times end with the command"), 1, "{text}");
    assert_eq!(count("  note: only here"), 1, "{text}");
    assert_eq!(count("  note: a <warning> & more"), 1, "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("note: Times end with the command"), "{text}");
}

#[test]
fn a_draw_is_called_a_draw() {
    let mut results = results();
    let case = &mut results.cases[0];
    case.tools.retain(|tool| ["cp", "haul"].contains(&tool.name.as_str()));
    case.faults.clear();
    let times = [0.40, 0.39, 0.41, 0.40, 0.38];
    let cp: Vec<f64> = case.runs_of("cp").map(|run| run.measured.wall_s).collect();
    assert_eq!(cp.len(), times.len());
    let mut next = times.into_iter();
    for run in case.runs.iter_mut().filter(|run| run.tool == "haul") {
        run.measured = measured(next.next().unwrap());
    }
    let text = render::text(&results);
    assert!(
        text.contains("lead with 400 ms and 400 ms, and 5 rounds cannot tell them apart"),
        "{text}"
    );
}

#[test]
fn the_final_sync_counts_where_it_is_to() {
    let mut results = results();
    results.ranking = Ranking::WithSync;
    let text = render::text(&results);
    assert!(text.contains("haul is fastest here at 300 ms"), "{text}");
    assert!(!text.contains("Times end with the command"));
}

#[test]
fn nobody_wins_where_all_fail() {
    let mut results = results();
    results.cases[0].runs.clear();
    results.interrupted = true;
    let text = render::text(&results);
    assert!(text.contains("nothing to rank"), "{text}");
    assert!(text.ends_with("what was measured until then.\n"));
}
