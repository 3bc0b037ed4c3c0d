//! Profiles contain only significant results.

use haul_bench::{Case, Results, Run, Tool, Variation, profiles, write_profile};

use crate::samples::{measured, results};
use crate::support::{names, tool};

fn add(case: &mut Case, tool: Tool, times: [f64; 5]) {
    for (round, time) in (1..).zip(times) {
        case.runs.push(Run { tool: tool.name.clone(), round, measured: measured(time) });
    }
    case.tools.push(tool);
}

fn tuned() -> Results {
    let mut results = results();
    let case = &mut results.cases[0];
    case.runs.clear();
    case.tools.clear();
    case.faults.clear();
    case.baseline = "haul".to_owned();
    add(case, tool("haul", "haul cp {source} {target}"), [0.20, 0.21, 0.20, 0.19, 0.20]);
    let method = |name: &str| Tool {
        method: Some(name.to_owned()),
        ..tool(&format!("haul-{name}"), "haul cp --method=x {source} {target}")
    };
    add(case, method("ring"), [0.10, 0.11, 0.10, 0.09, 0.10]);
    add(case, method("splice"), [0.30; 5]);
    let variation = Variation { series: "haul".to_owned(), axis: "jobs".to_owned(), value: 2 };
    let jobs = Tool { variation: Some(variation), ..tool("haul-j2", "haul cp --jobs=2 {target}") };
    add(case, jobs, [0.19, 0.22, 0.20, 0.19, 0.20]);
    results
}

#[test]
fn only_what_is_shown_to_be_faster_is_advised() {
    let found = profiles(&tuned(), "sda");
    assert_eq!(found.len(), 1);
    let choice = &found[0].choices[0];
    assert_eq!(choice.method.as_deref(), Some("ring"));
    assert_eq!(choice.method_order, ["ring", "splice"]);
    assert_eq!(choice.jobs, None, "two jobs were not shown to help");
    assert_eq!((choice.file_bytes, choice.rounds), (64 << 20, 5));
    assert_eq!(found[0].source.file_system, "ext4");
    assert_eq!((found[0].source.device.as_str(), found[0].target.device.as_str()), ("sda", "sda"));
}

#[test]
fn the_file_is_readable_and_replaced_in_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut profile = profiles(&tuned(), "sda").remove(0);
    profile.place = "odd \"name\"\\\n".to_owned();
    let path = write_profile(&folder.path().join("haul"), &profile).unwrap();
    write_profile(&folder.path().join("haul"), &profile).unwrap();
    assert!(path.ends_with("haul/ext4@sda--ext4@sda.toml"));
    assert_eq!(names(path.parent().unwrap()), ["ext4@sda--ext4@sda.toml"]);
    let text = std::fs::read_to_string(&path).unwrap();
    for line in [
        "version = 2",
        "source_file_system = \"ext4\"",
        "target_device = \"sda\"",
        "place = \"odd \\\"name\\\"\\\\\\u000A\"",
        "[[choice]]",
        "method = \"ring\"",
        "method_order = [\"ring\", \"splice\"]",
        "[choice.evidence]",
        "method_ratio = 0.5000",
        "own_time_s = 0.200000",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    assert!(!text.contains("\njobs ="));
}

#[test]
fn results_without_haul_as_the_baseline_teach_nothing() {
    let mut results = tuned();
    results.cases[0].runs.retain(|run| run.tool != "haul");
    assert!(profiles(&results, "").is_empty());
}
