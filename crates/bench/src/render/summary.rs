//! Summary of the runs of a case: the same figures for every format.

use super::row::{BesideRow, EachRow, Row, relation};
use super::verdict::verdict;
use crate::measure::{BystanderUse, ReadTimes};
use crate::session::{Case, Measurement, Ranking, Results};
use crate::stats::{VALUES_MIN, fences, interval, median};
use crate::units;

/// A case's table.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseSummary {
    /// Description of the case, in one line.
    pub title: String,
    /// Description of the corpus, in one line.
    pub corpus: String,
    /// The baseline.
    pub baseline: String,
    /// The tools: the fastest first, those that failed last.
    pub rows: Vec<Row>,
    /// The outcome in one sentence.
    pub verdict: String,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Sums up a case.
#[must_use]
pub fn summarise(results: &Results, case: &Case) -> CaseSummary {
    let mut rows: Vec<Row> = case
        .tools
        .iter()
        .map(|tool| row(results, case, &tool.name, tool.template.text()))
        .collect();
    rows.sort_by(|a, b| b.is_ranked().cmp(&a.is_ranked()).then(a.time_s.total_cmp(&b.time_s)));
    let volume = case.volume;
    let corpus = format!(
        "{}: {} {}, {}",
        case.scenario.recipe,
        units::count(volume.entries),
        if volume.entries == 1 { "entry" } else { "entries" },
        units::bytes(volume.data_bytes)
    );
    CaseSummary {
        title: case.title(),
        corpus,
        baseline: case.baseline.clone(),
        verdict: verdict(results, case, &rows),
        notes: notes(results, case, &rows),
        rows,
    }
}

fn row(results: &Results, case: &Case, tool: &str, command: &str) -> Row {
    let ranking = results.ranking;
    let runs: Vec<&Measurement> = case.runs_of(tool).map(|run| &run.measured).collect();
    let figures = |figure: &dyn Fn(&Measurement) -> f64| -> Vec<f64> {
        runs.iter().map(|run| figure(run)).collect()
    };
    let middle = |figure: &dyn Fn(&Measurement) -> f64| median(&figures(figure)).unwrap_or(0.0);
    let known = |figure: &dyn Fn(&Measurement) -> Option<f64>| -> Option<f64> {
        let values: Option<Vec<f64>> = runs.iter().map(|run| figure(run)).collect();
        median(&values?)
    };
    let times_s = figures(&|run| run.ranked_s(ranking));
    let baseline = case.baseline.as_str();
    Row {
        tool: tool.to_owned(),
        command: command.to_owned(),
        fault: case.fault_of(tool).map(|fault| fault.fault.clone()),
        time_s: median(&times_s).unwrap_or(0.0),
        time_interval: interval(&times_s, median, results.seed),
        ratio: relation(case, tool, baseline, results.seed, &|run| run.ranked_s(ranking)),
        cpu_ratio: relation(case, tool, baseline, results.seed, &cpu_s),
        wall_s: middle(&|run| run.wall_s),
        sync_s: middle(&|run| run.sync_s),
        user_s: middle(&|run| run.user_s),
        system_s: middle(&|run| run.system_s),
        max_rss_bytes: runs.iter().map(|run| run.max_rss_bytes).max().unwrap_or(0),
        memory_is_bound: runs.iter().all(|run| run.max_rss_bytes <= run.floor_rss_bytes),
        written_bytes: known(&|run| run.device.map(|used| used.written_bytes as f64))
            .map(|bytes| bytes as u64),
        cached_pages: known(&|run| {
            Some((run.cache.source_after? + run.cache.target_after?) as f64)
        })
        .map(|pages| pages as u64),
        hot_evicted: known(&|run| run.cache.hot_evicted.map(|pages| pages as f64))
            .map(|pages| pages as u64),
        bystander: bystander(&runs),
        each: each(&runs),
        dirty_bytes: known(&|run| run.dirty_bytes.map(|bytes| bytes as f64))
            .map(|bytes| bytes as u64),
        io_stall_s: known(&|run| run.pressure.map(|pressure| pressure.io.some_s)),
        calls: case.calls.iter().find(|(name, _)| name == tool).map(|(_, calls)| calls.total),
        outliers: fences(&times_s).map_or(0, |fences| fences.outside(&times_s)),
        times_s,
    }
}

/// Returns the figures of the processes; `None` if the runs had one each.
fn each(runs: &[&Measurement]) -> Option<EachRow> {
    let all: Vec<_> = runs.iter().flat_map(|run| &run.processes).collect();
    let middle = |figures: Vec<f64>| median(&figures);
    let walls: Vec<f64> = all.iter().map(|process| process.wall_s).collect();
    let bytes = |figures: Vec<f64>| middle(figures).map(|bytes| bytes as u64);
    let sampled = all.iter().filter_map(|process| process.pss_bytes).map(|bytes| bytes as f64);
    let sums = runs.iter().filter_map(|run| {
        let sizes: Option<Vec<u64>> =
            run.processes.iter().map(|process| process.pss_bytes).collect();
        Some(sizes?.iter().sum::<u64>() as f64)
    });
    Some(EachRow {
        slowest_s: walls.iter().copied().fold(0.0, f64::max),
        time_s: middle(walls)?,
        cpu_s: middle(all.iter().map(|process| process.cpu_s).collect())?,
        pss_bytes: bytes(sampled.collect()),
        all_pss_bytes: bytes(sums.collect()),
    })
}

/// Returns what the runs did to the bystander; `None` if a run had none.
fn bystander(runs: &[&Measurement]) -> Option<BesideRow> {
    let uses: Vec<_> = runs.iter().map(|run| run.bystander).collect::<Option<_>>()?;
    let middle = |figures: Vec<f64>| median(&figures);
    let times = |of: &dyn Fn(&BystanderUse) -> ReadTimes| {
        let figure = |figure: &dyn Fn(ReadTimes) -> f64| {
            middle(uses.iter().map(|used| figure(of(used))).collect())
        };
        Some(ReadTimes {
            reads: figure(&|times| times.reads as f64)? as u64,
            p50_s: figure(&|times| times.p50_s)?,
            p99_s: figure(&|times| times.p99_s)?,
            p999_s: figure(&|times| times.p999_s)?,
        })
    };
    let shares = uses.iter().map(|used| {
        Some(used.pages_after? as f64 / used.pages_before.filter(|pages| *pages > 0)? as f64)
    });
    Some(BesideRow {
        left: shares.collect::<Option<Vec<f64>>>().and_then(middle),
        alone: times(&|used| used.alone)?,
        beside: times(&|used| used.beside)?,
    })
}

fn cpu_s(run: &Measurement) -> f64 {
    run.user_s + run.system_s
}

/// A median is worth little if its interval is wider than this share of it.
const WIDE_INTERVAL: f64 = 0.2;

fn notes(results: &Results, case: &Case, rows: &[Row]) -> Vec<String> {
    let mut notes = case.ground.warnings.clone();
    if let Some(trouble) = &case.trouble {
        notes.push(format!("The case ended early: {trouble}."));
    }
    let rounds = rows.iter().map(|row| row.times_s.len()).max().unwrap_or(0);
    if rounds < VALUES_MIN {
        notes.push(format!(
            "{rounds} counted rounds are too few for intervals; they take {VALUES_MIN}."
        ));
    }
    let named = |which: &dyn Fn(&Row) -> bool| {
        let ranked: Vec<&Row> = rows.iter().filter(|row| row.is_ranked()).collect();
        let named: Vec<&str> =
            ranked.iter().filter(|row| which(row)).map(|row| row.tool.as_str()).collect();
        let is_all = named.len() == ranked.len() && named.len() > 2;
        if is_all { "all of them".to_owned() } else { named.join(", ") }
    };
    let apart = named(&|row| row.outliers > 0);
    if !apart.is_empty() {
        notes.push(format!("Some runs are outliers; was the machine busy? {apart}."));
    }
    let scattered = named(&|row| {
        row.time_interval
            .is_some_and(|interval| interval.high - interval.low > WIDE_INTERVAL * row.time_s)
    });
    if !scattered.is_empty() {
        notes.push(format!(
            "The times vary widely; run more rounds for reliable results: {scattered}."
        ));
    }
    let shells: Vec<&str> = case
        .tools
        .iter()
        .filter(|tool| tool.template.needs_shell())
        .map(|tool| tool.name.as_str())
        .collect();
    if !shells.is_empty() {
        let names = shells.join(", ");
        notes.push(format!("{names}: run by sh -c, whose start is included."));
    }
    if let Some(overhead) = results.overhead {
        notes.push(format!(
            "Starting and ending a process is in every figure: `true` takes {}.",
            units::seconds(overhead.wall_s)
        ));
    }
    if results.ranking == Ranking::Command {
        notes.push(
            "Times end with the command, not with the data on the device; see sync.".to_owned(),
        );
    }
    notes
}
