//! Runs benchmarks by hand, before there is an applet for it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "an example talks to a person"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use haul_bench::{
    Backing, BenchOptions, CacheState, CaseSpec, ColdMeans, Event, Found, GroundSpec, Group,
    Monitor, Ranking, Results, Rounds, SCENARIOS, Scale, Services, Template, Tool, Trouble,
    TuneOptions, Work, discover, parse_scenario, render, run, tune, write_profile,
};

const HELP: &str = "\
usage: cargo run --release -p haul-bench --example bench -- [OPTION]... [SCENARIO]...

Measures tools on fresh file systems (as root), and prints a table for each case.
A SCENARIO is a name with changes to its recipe: nested-small, huge:size=4G. Default: nested-small.

  --list            list scenarios and the tools that are found, and exit
  --fs FS[,FS]...   fresh file systems: ext4, xfs, btrfs, tmpfs; pairs: xfs:ext4 [ext4]
  --disk DIR        hold their images in DIR instead of in RAM
  --here DIR        no fresh file systems: use the scratch folder DIR (new, or empty)
  --tool NAME=CMD   measure CMD, a command with {source} and {target}; may be given often
  --only NAMES      of the known tools take these only, separated by commas ('none' for none)
  --add NAMES       and these, which do not usually take part (cp-noreflink, dd-direct, ...)
  --sizes, --jobs   add the series: dd with many I/O sizes, haul with many jobs
  --path DIR        look for tools here first; may be given often
  --haul FILE       the haul to measure
  --baseline NAME   relate the others to this tool [cp or rm]
  --rounds N        counted rounds [5]
  --warm-up N       rounds that are not counted [1]
  --cold            start with a cold cache (fresh file systems are; folders are advised to be)
  --fsync           rank by the time with the final sync
  --full            the full corpora, not the quick ones
  --seed N          [1]
  --minutes N       leave out rounds after this time
  --out DIR         write report.html, results.json and plots here

  --compare A B     compare two results.json, and exit
  --tune DIR        measure haul's methods and jobs in the scratch folder --here (or on --fs), and
                    write a profile into DIR

Examples:
  bench nested-small flat-small --fs ext4,xfs --full --rounds 5
  bench huge --only cp --tool new='./target/release/haul cp {source} {target}'
";

struct Arguments {
    scenarios: Vec<String>,
    list: bool,
    grounds: Vec<String>,
    disk: Option<PathBuf>,
    here: Option<PathBuf>,
    tools: Vec<Tool>,
    only: Option<Vec<String>>,
    add: Vec<String>,
    groups: Vec<Group>,
    path: Vec<PathBuf>,
    haul: Option<PathBuf>,
    baseline: Option<String>,
    rounds: Rounds,
    cache: CacheState,
    ranking: Ranking,
    scale: Scale,
    seed: u64,
    budget: Option<Duration>,
    out: Option<PathBuf>,
    tune: Option<PathBuf>,
}

fn fail(message: &str) -> ! {
    eprintln!("bench: {message}");
    std::process::exit(2)
}

fn results_in(path: &str) -> Results {
    let text = std::fs::read_to_string(path);
    let text = text.unwrap_or_else(|error| fail(&format!("{path}: {error}")));
    Results::from_json(&text).unwrap_or_else(|error| fail(&format!("{path}: {error}")))
}

fn parse() -> Arguments {
    let mut given = Arguments {
        scenarios: Vec::new(),
        list: false,
        grounds: vec!["ext4".to_owned()],
        disk: None,
        here: None,
        tools: Vec::new(),
        only: None,
        add: Vec::new(),
        groups: vec![Group::Usual],
        path: Vec::new(),
        haul: None,
        baseline: None,
        rounds: Rounds { warm_up: 1, counted: 5 },
        cache: CacheState::Warm,
        ranking: Ranking::Command,
        scale: Scale::Quick,
        seed: 1,
        budget: None,
        out: None,
        tune: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| fail(&format!("{word} needs a value")));
        let names = |text: String| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let number =
            |text: String| text.parse().unwrap_or_else(|_| fail(&format!("{text} is no number")));
        match word.as_str() {
            "--help" | "-h" => {
                print!("{HELP}");
                std::process::exit(0)
            }
            "--tune" => given.tune = Some(value().into()),
            "--compare" => {
                let (old, new) = (results_in(&value()), results_in(&value()));
                print!("{}", render::comparison_text(&render::compare(&old, &new)));
                std::process::exit(0)
            }
            "--list" => given.list = true,
            "--fs" => given.grounds = names(value()),
            "--disk" => given.disk = Some(value().into()),
            "--here" => given.here = Some(value().into()),
            "--tool" => {
                let text = value();
                let (name, command) =
                    text.split_once('=').unwrap_or_else(|| fail("--tool takes NAME=CMD"));
                match Template::parse(command) {
                    Ok(template) => given.tools.push(Tool::new(name, template)),
                    Err(error) => fail(&format!("{name}: {error}")),
                }
            }
            "--only" => given.only = Some(names(value())),
            "--add" => given.add = names(value()),
            "--sizes" => given.groups.push(Group::Sizes),
            "--jobs" => given.groups.push(Group::Jobs),
            "--path" => given.path.push(value().into()),
            "--haul" => given.haul = Some(value().into()),
            "--baseline" => given.baseline = Some(value()),
            "--rounds" => given.rounds.counted = number(value()) as u32,
            "--warm-up" => given.rounds.warm_up = number(value()) as u32,
            "--cold" => given.cache = CacheState::Cold,
            "--fsync" => given.ranking = Ranking::WithSync,
            "--full" => given.scale = Scale::Full,
            "--seed" => given.seed = number(value()),
            "--minutes" => given.budget = Some(Duration::from_secs(60 * number(value()))),
            "--out" => given.out = Some(value().into()),
            option if option.starts_with('-') => fail(&format!("no option {option}; see --help")),
            _ => given.scenarios.push(word),
        }
    }
    if given.scenarios.is_empty() {
        given.scenarios.push("nested-small".to_owned());
    }
    given
}

fn tools(given: &Arguments, found: &[Found], work: Work) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    let groups = [Group::Usual, Group::Sizes, Group::Jobs, Group::Extra];
    for group in groups {
        for tool in found.iter().flat_map(|program| program.tools(work, group)) {
            let named = given.only.as_ref().is_some_and(|only| only.contains(&tool.name));
            let usual =
                given.groups.contains(&group) && (given.only.is_none() || group != Group::Usual);
            if named || usual || given.add.contains(&tool.name) {
                tools.push(tool);
            }
        }
    }
    tools.extend(given.tools.iter().cloned());
    tools
}

struct Progress;

impl Monitor for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Case { number, count, scenario, ground, cache } => {
                eprintln!("[{number}/{count}] {scenario}, {cache}, {ground}");
            }
            Event::Preparing => eprintln!("  preparing"),
            Event::Run { round, rounds, tool, left } => {
                let left = left.map(|left| format!(", {} s left", left.as_secs()));
                eprintln!("  round {round}/{rounds}: {tool}{}", left.unwrap_or_default());
            }
            Event::Counting { tool } => eprintln!("  counting the calls of {tool}"),
            Event::Fault { tool, message } => eprintln!("  {tool} FAILED: {message}"),
            Event::Warning(text) => eprintln!("  warning: {text}"),
        }
    }
}

fn list(found: &[Found]) {
    for each in SCENARIOS {
        println!("{:<14} {} ({}; full: {})", each.name, each.about, each.quick, each.full);
    }
    for each in found {
        let version = each.version.as_deref().unwrap_or("?");
        println!("{}: {} ({version})", each.program, each.path.display());
    }
}

fn grounds(given: &Arguments) -> Vec<GroundSpec> {
    if let Some(path) = &given.here {
        return vec![GroundSpec::Folder { path: path.clone(), cold: ColdMeans::Advise }];
    }
    let backing = given.disk.clone().map_or(Backing::Ram, Backing::Disk);
    let fresh = |text: &String| GroundSpec::fresh(text, backing.clone());
    let grounds: Result<Vec<GroundSpec>, _> = given.grounds.iter().map(fresh).collect();
    grounds.unwrap_or_else(|error| fail(&error.to_string()))
}

fn cases(given: &Arguments, found: &[Found]) -> Vec<CaseSpec> {
    let mut cases = Vec::new();
    for text in &given.scenarios {
        let scenario = parse_scenario(text, given.scale, given.seed)
            .unwrap_or_else(|error| fail(&error.to_string()));
        for ground in grounds(given) {
            let usual = if scenario.work == Work::Delete { "rm" } else { "cp" };
            cases.push(CaseSpec {
                tools: tools(given, found, scenario.work),
                baseline: given.baseline.clone().unwrap_or_else(|| usual.to_owned()),
                scenario: scenario.clone(),
                ground,
                cache: given.cache,
            });
        }
    }
    cases
}

fn measure(
    given: &Arguments,
    found: &[Found],
    services: &mut Services<'_>,
) -> Result<Results, Trouble> {
    let Some(profiles) = &given.tune else {
        let options = BenchOptions {
            cases: cases(given, found),
            rounds: given.rounds,
            ranking: given.ranking,
            seed: given.seed,
            budget: given.budget,
            run_limit: Duration::from_secs(600),
            work: std::env::temp_dir(),
        };
        return run(&options, services);
    };
    let haul = found.iter().find(|program| program.program == "haul");
    let options = TuneOptions {
        ground: grounds(given).swap_remove(0),
        haul: haul.unwrap_or_else(|| fail("no haul was found; see --haul")).clone(),
        rounds: given.rounds.counted,
        seed: given.seed,
        budget: given.budget,
        work: std::env::temp_dir(),
    };
    let (results, learned) = tune(&options, services)?;
    for profile in learned {
        println!("{}", write_profile(profiles, &profile)?.display());
    }
    Ok(results)
}

fn main() -> ExitCode {
    let given = parse();
    let mut path = given.path.clone();
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let found = discover(&path, given.haul.as_deref());
    if given.list {
        list(&found);
        return ExitCode::SUCCESS;
    }
    let interrupt = haul_sys::process::hear_stop();
    let mut services = Services { monitor: &mut Progress, interrupt, counter: None };
    let done = measure(&given, &found, &mut services).and_then(|results| {
        print!("{}", render::text(&results));
        given.out.as_ref().map_or(Ok(()), |folder| render::write_report(folder, &results))
    });
    let Err(trouble) = done else { return ExitCode::SUCCESS };
    eprintln!("bench: {trouble}");
    if let Some(hint) = trouble.hint() {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}
