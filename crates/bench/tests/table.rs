//! The text on the terminal, letter by letter.

use haul_bench::{Fault, Ranking, Results, Run, ToolFault, render};

use crate::samples::{measured, results};
use crate::support::tool;

const TABLE: &str = "\
huge, 64 MiB, warm, ext4 in RAM
  flat:files=1,size=67108864,seed=1: 1 entry, 64 MiB
  tool     time  95 % interval             ratio     CPU    sync  memory  calls
  haul   200 ms   190 – 210 ms  0.50 (0.47–0.51)  190 ms  100 ms   4 MiB  1,234
  cp     400 ms   390 – 410 ms  1.00 (1.00–1.00)  370 ms  100 ms   4 MiB
  dd-1M  400 ms   380 – 420 ms  1.02 (0.95–1.05)  370 ms  100 ms   4 MiB
  dd-4K  900 ms  890 ms – 2.50 s  2.25 (2.22–6.25)  820 ms  100 ms   4 MiB
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
        "note: Some runs are outliers; was the machine busy? all of them.",
        "note: The times vary widely; run more rounds for reliable results: dd-4K.",
        "note: <evil> \"&\" tool: run by sh -c",
        "`true` takes 350 µs",
        "note: Times end with the command",
    ] {
        assert!(text.contains(note), "{note} in {text}");
    }
}

#[test]
fn marks_stand_around_titles_and_verdicts() {
    let text = render::marked_text(&results(), &|text| format!("[{text}]"));
    assert!(text.starts_with("[huge, 64 MiB, warm, ext4 in RAM]\n"), "{text}");
    assert!(text.contains("\n[haul is fastest here at 200 ms;"), "{text}");
    assert_eq!(text.replace(['[', ']'], ""), render::text(&results()));
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
        text.contains(
            "No tool leads: cp (400 ms) and haul (400 ms) are level, and 5 rounds cannot tell them \
             apart."
        ),
        "{text}"
    );
}

/// Replaces the runs of a case by others: for each tool its times, round by round.
fn with_times(times: &[(&str, &[f64])]) -> Results {
    let mut results = results();
    let case = &mut results.cases[0];
    case.faults.clear();
    case.tools = times.iter().map(|(name, _)| tool(name, "cp {source} {target}")).collect();
    case.runs = times
        .iter()
        .flat_map(|(name, times)| {
            (1..).zip(*times).map(|(round, time)| Run {
                tool: (*name).to_owned(),
                round,
                measured: measured(*time),
            })
        })
        .collect();
    results
}

#[test]
fn a_lead_is_claimed_only_against_every_other_tool() {
    const CP: (&str, &[f64]) = ("cp", &[0.40, 0.41, 0.39, 0.40, 0.40]);
    const FAST: (&str, &[f64]) = ("fast", &[0.20, 0.21, 0.20, 0.19, 0.20]);
    const NEAR: (&str, &[f64]) = ("near", &[0.25, 0.25, 0.26, 0.24, 0.25]);
    // Its median is the third, but now and then it is faster than the first.
    const WILD: (&str, &[f64]) = ("wild", &[0.10, 0.90, 0.30, 0.11, 0.95]);
    type Row = (&'static [(&'static str, &'static [f64])], &'static str);
    let table: &[Row] = &[
        (&[CP, FAST, NEAR], "fast is fastest here at 200 ms; 0.50 (0.47 to 0.51) of cp's time"),
        (&[CP, NEAR], "near is fastest here at 250 ms; 0.62 (0.60 to 0.67) of cp's time"),
        (
            &[CP, FAST, NEAR, WILD],
            "No tool leads: fast (200 ms) and wild (300 ms) are level, and 5 rounds cannot tell them \
             apart; fast takes 0.50 (0.47 to 0.51) of cp's time",
        ),
        (
            &[CP, WILD],
            "No tool leads: wild (300 ms) and cp (400 ms) are level, and 5 rounds cannot tell them \
             apart.",
        ),
        (
            &[("cp", &[0.4]), ("a", &[0.1]), ("b", &[0.2])],
            "No tool leads: a (100 ms), b (200 ms) and cp (400 ms) are level, and 1 round cannot tell \
             them apart.",
        ),
        (&[("cp", &[0.2; 5]), ("b", &[0.3; 5])], "cp is fastest here at 200 ms; b follows at 1.50"),
        (&[CP], "cp, the only one that can be ranked, takes 400 ms."),
    ];
    for (times, expected) in table {
        let results = with_times(times);
        let verdict = render::summarise(&results, &results.cases[0]).verdict;
        assert!(verdict.starts_with(expected), "{expected}\n{verdict}");
        assert_eq!(verdict.ends_with("apart."), expected.ends_with("apart."), "{verdict}");
    }
}

#[test]
fn many_that_are_level_are_counted() {
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    let times: Vec<(&str, &[f64])> =
        names.iter().map(|name| (name.as_str(), [0.2; 5].as_slice())).collect();
    let results = with_times(&times);
    let verdict = render::summarise(&results, &results.cases[0]).verdict;
    assert!(verdict.contains("t4 (200 ms) and 3 more are level"), "{verdict}");
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
fn no_tool_wins_if_all_fail() {
    let mut results = results();
    results.cases[0].runs.clear();
    results.interrupted = true;
    let text = render::text(&results);
    assert!(
        text.contains("\nNothing was measured that can be ranked.\n"),
        "one had no turn: {text}"
    );
    assert!(text.ends_with("the measurements up to that point.\n"));
    let fault = results.cases[0].faults[0].clone();
    let names = results.cases[0].tools.iter().map(|tool| tool.name.clone());
    let all = names.map(|tool| ToolFault { tool, ..fault.clone() }).collect();
    let before = std::mem::replace(&mut results.cases[0].faults, all);
    let text = render::text(&results);
    assert!(text.contains("nothing to rank"), "{text}");
    results.cases[0].faults = before;
    // Tools that had no turn have not failed.
    results.cases[0].faults.clear();
    let text = render::text(&results);
    assert!(text.contains("haul  not measured\n") && !text.contains("FAILED"), "{text}");
    assert!(text.contains("\nNothing was measured that can be ranked.\n"), "{text}");
    assert!(!text.lines().any(|line| line == "tool"), "{text}");
}

#[test]
fn a_table_fits_a_terminal_and_says_what_it_leaves_out() {
    let mut results = results();
    let long = "a-tool-with-quite-a-long-name";
    for run in &mut results.cases[0].runs {
        if run.tool == "dd-4K" {
            run.tool = long.to_owned();
        }
    }
    for tool in &mut results.cases[0].tools {
        if tool.name == "dd-4K" {
            tool.name = long.to_owned();
        }
    }
    let text = render::text(&results);
    let rows = text.lines().skip(2).take_while(|line| !line.contains("evil"));
    assert!(rows.clone().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Too wide for this table: calls"), "{text}");
}

#[test]
fn what_a_file_system_cannot_do_is_no_failure() {
    let refusal = |stderr: &str| Fault::Exit { status: 1, stderr: stderr.to_owned() }.is_refusal();
    assert!(refusal("cp: failed to clone 't' from 's': Operation not supported\n"));
    assert!(!refusal("cp: cannot create 't': No space left on device\n"));
    assert!(!Fault::Wrong("Operation not supported".to_owned()).is_refusal());
    let mut results = results();
    let case = &mut results.cases[0];
    case.faults[0].fault =
        Fault::Exit { status: 1, stderr: "x: Operation not supported".to_owned() };
    assert!(render::text(&results).contains("tool  not possible here: exit status 1: x: Op"));
    assert!(render::markdown(&results).contains("| not possible here: exit status 1"));
}

#[test]
fn tables_for_programs_have_every_run_and_escape_names() {
    let results = results();
    let csv = render::csv(&results);
    let runs: usize = results.cases.iter().map(|case| case.runs.len() + case.faults.len()).sum();
    assert_eq!(csv.matches("\r\n").count(), runs + 1, "{csv}");
    assert!(csv.contains("\"<evil> \"\"&\"\" tool\""), "{csv}");
    let markdown = render::markdown(&results);
    assert!(markdown.contains("| haul | 200 ms | 0.50 (0.47 to 0.51) |"), "{markdown}");
    assert!(markdown.contains("\\<evil> \"&\" tool"), "{markdown}");
}
