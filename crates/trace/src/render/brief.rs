//! The short form of a report: the calls that take most time, those that are made most often, and the sizes of
//! the requests that move most bytes.
//!
//! A run makes dozens of kinds of calls, most of them once, while it starts. A reader first asks where the time
//! goes and how large the requests are; the long form has the rest.

use super::named::moves_bytes;
use super::quantity::{bytes, count, share, size_edge, time};
use super::table::{columns, or_blank, row};
use super::{bars, named};
use crate::report::{Group, Tallies, Tally};

/// Number of calls in the list by time.
const MOST_BY_TIME: usize = 8;

/// Number of calls in the list by count.
const MOST_BY_COUNT: usize = 5;

/// Number of calls whose sizes are drawn.
const MOST_SIZES: usize = 2;

/// Part of the largest sum of bytes below which a call's sizes are not drawn.
pub(super) const SMALL_PART: u64 = 16;

/// A call or operation with the name that a report shows.
type Named<'a> = (String, &'a Tally);

/// Returns the short form of a group's calls.
pub(super) fn brief(group: &Group) -> String {
    let all = named::by_time(&group.tallies);
    let by_time: Vec<&Named<'_>> = all.iter().take(MOST_BY_TIME).collect();
    let mut frequent: Vec<&Named<'_>> = all.iter().collect();
    frequent.sort_by_key(|(name, tally)| (std::cmp::Reverse(tally.count), name.clone()));
    frequent.truncate(MOST_BY_COUNT);
    let is_shown = |name: &str| by_time.iter().any(|(shown, _)| shown == name);
    let has_more = frequent.iter().any(|(name, tally)| tally.count > 1 && !is_shown(name));
    let mut text = String::from("  calls with the most time\n");
    text.push_str(&table(&by_time, &group.tallies));
    let mut shown = by_time.clone();
    if has_more {
        text.push_str("\n  calls made most often\n");
        text.push_str(&table(&frequent, &group.tallies));
        shown.extend(frequent.iter().filter(|(name, _)| !is_shown(name)));
    }
    text.push_str(&rest(&all, &shown));
    let mut sized: Vec<&Named<'_>> = all
        .iter()
        .filter(|(name, tally)| moves_bytes(name) && tally.bytes > 0 && tally.sizes.total() > 1)
        .collect();
    sized.sort_by_key(|(name, tally)| (std::cmp::Reverse(tally.bytes), name.clone()));
    let most = sized.first().map_or(0, |(_, tally)| tally.bytes);
    let is_large = |(_, tally): &&Named<'_>| tally.bytes >= most / SMALL_PART;
    for (name, tally) in sized.iter().copied().filter(is_large).take(MOST_SIZES) {
        text.push('\n');
        let title = format!("{name}: number of calls by size in bytes");
        text.push_str(&bars::histogram(&title, &tally.sizes, size_edge));
    }
    text
}

fn table(calls: &[&Named<'_>], all: &Tallies) -> String {
    let (all_time, all_count) = (all.total_ns(), all.all_counts());
    // Where processor time is known it takes the place of the mean, which follows from time and count.
    let has_cpu = all.calls.values().any(|tally| tally.cpu_ns.is_some());
    let figure = if has_cpu { "cpu" } else { "mean" };
    let mut rows = vec![row(&["time", "", "count", "", figure, "bytes", "usual size", "call"])];
    for (name, tally) in calls {
        let usual = if tally.sizes.total() == 0 {
            String::new()
        } else {
            size_edge(tally.sizes.quantile(0.5))
        };
        // The time of an operation overlaps with that of the calls.
        let is_call = !name.starts_with(named::OPERATION);
        let of = |part, whole| if is_call { share(part, whole) } else { String::new() };
        rows.push(vec![
            or_blank(tally.total_ns, time),
            of(tally.total_ns, all_time),
            count(tally.count),
            of(tally.count, all_count),
            or_blank(if has_cpu { tally.cpu_ns.unwrap_or(0) } else { tally.mean_ns() }, time),
            or_blank(tally.bytes, bytes),
            usual,
            named::label(name, tally),
        ]);
    }
    columns(&rows, "  ")
}

/// Says what the lists leave out.
fn rest(all: &[Named<'_>], shown: &[&Named<'_>]) -> String {
    let left: Vec<_> =
        all.iter().filter(|(name, _)| shown.iter().all(|(other, _)| other != name)).collect();
    if left.is_empty() {
        return String::new();
    }
    let calls = left.iter().map(|(_, tally)| tally.count).sum();
    let kinds = if left.len() == 1 {
        "1 other kind".to_owned()
    } else {
        format!("{} other kinds", left.len())
    };
    let taken: u64 = left.iter().map(|(_, tally)| tally.total_ns).sum();
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{} calls", count(calls)) };
    format!("  and {kinds}, {calls} in {}: see --all\n", time(taken))
}
