//! Synthetic results for tests of the output formats.

use haul_bench::{
    CacheState, CacheUse, Calls, Case, Conditions, DeviceUse, Environment, FORMAT, Fault,
    GroundFacts, Measurement, Overhead, Pressure, Ranking, Results, Rounds, Run, Sample, Scale,
    Stall, Tool, ToolFault, Variation, parse_scenario,
};

use crate::support::tool;

/// One run that takes `wall_s`.
pub(crate) fn measured(wall_s: f64) -> Measurement {
    let sample = |at_s: f64| Sample {
        at_s,
        read_rate: 2e8,
        write_rate: 1e9 * at_s,
        request_rate: 900.0,
        request_bytes: 1_048_576.0,
        queue_depth: 7.5,
        utilisation: 0.9,
    };
    let stall = Stall { some_s: 0.02, full_s: 0.01 };
    Measurement {
        wall_s,
        sync_s: 0.1,
        user_s: 0.01,
        system_s: wall_s * 0.9,
        max_rss_bytes: 4 << 20,
        floor_rss_bytes: 3 << 20,
        minor_faults: 120,
        major_faults: 0,
        device: Some(DeviceUse { writes: 12, written_bytes: 64 << 20, ..DeviceUse::default() }),
        samples: (1..=8).map(|tenth| sample(f64::from(tenth) / 10.0)).collect(),
        cache: CacheUse {
            source_before: Some(10),
            source_after: Some(10),
            target_after: Some(20_000),
            hot_evicted: Some(0),
        },
        bystander: None,
        processes: Vec::new(),
        dirty_bytes: Some(32 << 20),
        pressure: Some(Pressure { cpu: stall, io: stall, memory: stall }),
    }
}

fn runs(tool: &str, times: &[f64]) -> Vec<Run> {
    let run = |(round, time): (u32, &f64)| Run {
        tool: tool.to_owned(),
        round,
        measured: measured(*time),
    };
    (1..).zip(times).map(run).collect()
}

fn of_series(name: &str, value: u64) -> Tool {
    let variation = Variation { series: "dd".to_owned(), axis: "I/O bytes".to_owned(), value };
    Tool { variation: Some(variation), ..tool(name, "dd if={source} of={target}") }
}

/// A case with a fastest tool, a slower one, a series, and one that failed.
pub(crate) fn case() -> Case {
    let scenario = parse_scenario("huge:size=64M", Scale::Quick, 1).unwrap();
    let mut all = runs("cp", &[0.40, 0.41, 0.39, 0.40, 0.40]);
    all.extend(runs("haul", &[0.20, 0.21, 0.20, 0.19, 0.20]));
    all.extend(runs("dd-4K", &[0.90, 0.91, 0.89, 0.90, 2.50]));
    all.extend(runs("dd-1M", &[0.41, 0.40, 0.40, 0.42, 0.38]));
    Case {
        volume: scenario.volume(),
        scenario,
        ground: GroundFacts {
            name: "ext4 in RAM".to_owned(),
            source_file_system: None,
            file_system: "ext4".to_owned(),
            mount_options: "rw,relatime".to_owned(),
            device: "loop device over memory".to_owned(),
            warnings: vec!["a <warning> & more".to_owned()],
        },
        cache: CacheState::Warm,
        conditions: Conditions::default(),
        baseline: "cp".to_owned(),
        tools: vec![
            tool("cp", "cp {source} {target}"),
            tool("haul", "haul cp {source} {target}"),
            tool("<evil> \"&\" tool", "cat {source} > {target}"),
            of_series("dd-4K", 4096),
            of_series("dd-1M", 1 << 20),
        ],
        runs: all,
        faults: vec![ToolFault {
            tool: "<evil> \"&\" tool".to_owned(),
            round: 0,
            fault: Fault::Wrong("1 difference, the first: <b>bold</b>".to_owned()),
        }],
        calls: vec![("haul".to_owned(), Calls { total: 1234, frequent: Vec::new() })],
        trouble: None,
    }
}

/// Results with one case.
pub(crate) fn results() -> Results {
    Results {
        format: FORMAT,
        haul_version: "0.1.0".to_owned(),
        environment: Environment {
            kernel: "Linux 6.18 x86_64".to_owned(),
            processor: "Some Processor".to_owned(),
            cores: 2,
            memory_bytes: 24 << 30,
            page_bytes: 4096,
            time_s: 1_767_225_600,
            root: true,
            page_reporting: true,
        },
        seed: 1,
        rounds: Rounds { warm_up: 1, counted: 5 },
        ranking: Ranking::Command,
        overhead: Some(Overhead { wall_s: 0.000_35 }),
        cases: vec![case()],
        interrupted: false,
    }
}
