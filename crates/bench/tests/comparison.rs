//! Before and after.

use haul_bench::Case;
use haul_bench::render::{compare, comparison_text};

use crate::samples::{measured, results};

#[test]
fn what_became_faster_or_slower_is_said_and_what_did_not_is_not() {
    let old = results();
    let mut new = results();
    for run in &mut new.cases[0].runs {
        let factor = match run.tool.as_str() {
            "haul" => 0.5,
            "cp" => 1.5,
            _ => 1.0,
        };
        run.measured = measured(run.measured.wall_s * factor);
    }
    new.environment.kernel = "Linux 7.0 x86_64".to_owned();
    let found = compare(&old, &new).unwrap();
    let of = |tool: &str| found.changes.iter().find(|change| change.tool == tool).unwrap();
    assert!((of("haul").ratio - 0.5).abs() < 1e-9 && of("haul").is_shown());
    assert!((of("cp").ratio - 1.5).abs() < 1e-9 && of("cp").is_shown());
    assert!(!of("dd-1M").is_shown());
    assert_eq!(found.changes.len(), 4);
    let text = comparison_text(&found);
    let line = |tool: &str| text.lines().find(|line| line.trim().starts_with(tool)).unwrap();
    assert!(line("haul").ends_with("faster") && line("cp").ends_with("SLOWER"), "{text}");
    assert!(line("dd-1M").ends_with("no difference shown"));
    assert!(text.contains("The kernel was Linux 6.18"), "{text}");
    assert!(text.contains("tool cannot be compared"), "who failed is not compared: {text}");
}

#[test]
fn what_has_nothing_in_common_is_not_compared() {
    let old = results();
    let mut new = results();
    new.cases[0].ground.name = "xfs in RAM".to_owned();
    let unrelated = compare(&old, &new).unwrap_err();
    assert!(unrelated.to_string().contains("in common"), "{unrelated}");
    let has = |note: &str| unrelated.notes.iter().any(|found| found.contains(note));
    assert!(has("xfs in RAM was not measured before"), "{unrelated:?}");
    assert!(has("ext4 in RAM was measured before, but not after"), "{unrelated:?}");
    let mut new = results();
    new.cases[0].scenario.recipe.seed = 99;
    assert!(compare(&old, &new).is_err(), "another corpus is another case");
    // Other tools, and tools that failed, cannot be compared either.
    for change in [|case: &mut Case| case.tools.clear(), |case: &mut Case| case.runs.clear()] {
        let mut new = results();
        change(&mut new.cases[0]);
        assert!(compare(&old, &new).is_err());
    }
}
