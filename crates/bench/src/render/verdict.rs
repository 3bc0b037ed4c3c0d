//! The outcome of a case in one sentence.
//!
//! A tool leads only if it is significantly faster than every other tool. Otherwise the tools
//! without a significant difference to the fastest one are named as level.

use super::row::{Row, relation, with_interval};
use crate::session::{Case, Measurement, Results};
use crate::stats::{Ratio, level_with};
use crate::units;

/// How many tools a sentence names.
const NAMED_MAX: usize = 5;

/// Returns a sentence that names the fastest tool and its lead, or says that there is none. `rows`
/// are sorted: the fastest first, unranked ones last.
pub(super) fn verdict(results: &Results, case: &Case, rows: &[Row]) -> String {
    let ranked: Vec<&Row> = rows.iter().filter(|row| row.is_ranked()).collect();
    let Some((first, others)) = ranked.split_first() else {
        // A session that was ended early has tools whose turn did not come.
        let all_failed = !rows.is_empty() && rows.iter().all(|row| row.fault.is_some());
        return if all_failed {
            "No tool produced a correct result; there is nothing to rank.".to_owned()
        } else {
            "Nothing was measured that can be ranked.".to_owned()
        };
    };
    let (name, time) = (name_of(case, first), units::seconds(first.time_s));
    let Some(second) = others.first() else {
        return format!("{name}, the only one that can be ranked, takes {time}.");
    };
    let figure = |run: &Measurement| run.ranked_s(results.ranking);
    let against: Vec<Option<Ratio>> = others
        .iter()
        .map(|other| relation(case, &first.tool, &other.tool, results.seed, &figure))
        .collect();
    let intervals: Vec<_> = against.iter().map(|ratio| ratio.and_then(|it| it.interval)).collect();
    let places = level_with(&intervals);
    if places.is_empty() {
        let text = format!("{name} is fastest here at {time}");
        return match second.ratio {
            Some(ratio) if first.tool == case.baseline => {
                format!("{text}; {} follows at {} of that.", second.tool, with_interval(&ratio))
            }
            _ => text + &to_baseline(case, first, "") + ".",
        };
    }
    let level: Vec<&Row> = std::iter::once(*first)
        .chain(places.iter().filter_map(|place| others.get(*place).copied()))
        .collect();
    let shared = places.iter().filter_map(|place| against.get(*place).copied());
    let rounds = shared.map(|ratio| ratio.map_or(0, |ratio| ratio.rounds)).min().unwrap_or(0);
    let times = if rounds == 1 { "round" } else { "rounds" };
    let mut text = format!(
        "No tool leads: {} are level, and {rounds} {times} cannot tell them apart",
        listed(case, &level)
    );
    // If the baseline is level with the first, the comparison would not be significant.
    if !level.iter().any(|row| row.tool == case.baseline) {
        text += &to_baseline(case, first, &format!("{} takes ", first.tool));
    }
    text + "."
}

/// Relates the fastest to the baseline: `; 0.50 (0.47 to 0.51) of cp's time and 0.51 of its CPU`.
fn to_baseline(case: &Case, first: &Row, who: &str) -> String {
    let Some(ratio) = first.ratio.filter(|_| first.tool != case.baseline) else {
        return String::new();
    };
    let mut text = format!("; {who}{} of {}'s time", with_interval(&ratio), case.baseline);
    if let Some(cpu) = first.cpu_ratio {
        text += &format!(" and {} of its CPU", units::ratio(cpu.median));
    }
    text
}

/// Lists tools with their times: `cp (400 ms), dd (401 ms) and haul (402 ms)`.
fn listed(case: &Case, rows: &[&Row]) -> String {
    let shown = |row: &&Row| format!("{} ({})", name_of(case, row), units::seconds(row.time_s));
    let mut words: Vec<String> = rows.iter().take(NAMED_MAX).map(shown).collect();
    let more = rows.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        Some((last, begin @ [_, ..])) => format!("{} and {last}", begin.join(", ")),
        _ => words.concat(),
    }
}

/// Names a tool, and for one of a series what was varied: `haul-q8 [requests in flight: 8]`.
fn name_of(case: &Case, row: &Row) -> String {
    let tool = case.tools.iter().find(|tool| tool.name == row.tool);
    let Some(variation) = tool.and_then(|tool| tool.variation.as_ref()) else {
        return row.tool.clone();
    };
    let value = match variation.axis.as_str() {
        axis if axis.contains("bytes") => units::bytes(variation.value),
        _ => variation.value.to_string(),
    };
    format!("{} [{}: {value}]", row.tool, variation.axis)
}
