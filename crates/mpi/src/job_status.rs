//! The status: what rank 0 knows about the job, for `haul-mpi status`. Makes no call of its own.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use haul_engine::monitor::Counts;
use serde_json::{Value, json};

use crate::manager::{Lease, Rank};

/// How each status begins, so that the file is never mistaken for another one.
pub const BEGINNING: &str = "{\"event\":\"haul-mpi status\",";

/// Version of the format.
pub(crate) const SCHEMA: u64 = 1;

/// Time over which rates are told: long enough for units that take seconds.
const WINDOW: Duration = Duration::from_secs(30);

/// Units of a rank that are named: those that it has had longest.
const NAMED_UNITS: usize = 3;

/// Tells what a unit is, for people; nothing of one that a program of another version made.
pub(crate) type Describe = fn(&[u8]) -> Option<String>;

/// What the ranks have done, and which of them has what.
pub(crate) struct JobStatus {
    command: &'static str,
    describe: Describe,
    /// Beginning of the job, by both clocks.
    started: (Instant, u64),
    ranks: Vec<RankStatus>,
    held: HashMap<Lease, Held>,
}

#[derive(Default)]
struct RankStatus {
    host: String,
    /// Number of idle workers, since when, and the sum of the times of all that were idle before.
    idle: u64,
    idle_since: Option<Instant>,
    idle_time: Duration,
    counts: Counts,
    changed: Option<Instant>,
    /// What it had done at moments of the last half minute, the oldest first.
    samples: VecDeque<(Instant, Done)>,
}

/// Amounts that a rank has done.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Done {
    entries: u64,
    bytes: u64,
}

struct Held {
    rank: Rank,
    since: Instant,
    unit: String,
}

impl JobStatus {
    /// Starts with this many ranks. `unix` is the time in seconds since 1970.
    pub(crate) fn new(
        (command, describe): (&'static str, Describe),
        ranks: usize,
        (now, unix): (Instant, u64),
    ) -> JobStatus {
        let ranks = std::iter::repeat_with(RankStatus::default).take(ranks).collect();
        JobStatus { command, describe, started: (now, unix), ranks, held: HashMap::new() }
    }

    /// Takes the name of a rank's machine.
    pub(crate) fn host(&mut self, rank: Rank, name: &[u8]) {
        if let Some(member) = self.ranks.get_mut(rank) {
            member.host = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// Takes the number of idle workers of a rank.
    pub(crate) fn idle(&mut self, rank: Rank, workers: u64, now: Instant) {
        if let Some(member) = self.ranks.get_mut(rank) {
            member.idle_time = member.idle_until(now);
            (member.idle, member.idle_since) = (workers, Some(now));
        }
    }

    /// Takes what a rank has counted.
    pub(crate) fn counted(&mut self, rank: Rank, counts: Counts, now: Instant) {
        if let Some(member) = self.ranks.get_mut(rank)
            && (member.counts != counts || member.changed.is_none())
        {
            (member.counts, member.changed) = (counts, Some(now));
        }
    }

    /// Records that a rank got a unit.
    pub(crate) fn gave(&mut self, (rank, lease): (Rank, Lease), bytes: &[u8], now: Instant) {
        let unit = (self.describe)(bytes).unwrap_or_default();
        self.held.insert(lease, Held { rank, since: now, unit });
    }

    /// Records that a unit is done.
    pub(crate) fn done(&mut self, lease: Lease) {
        self.held.remove(&lease);
    }

    /// Returns the status as a text, and remembers the amounts for the rates of later ones. `waiting` is
    /// the number of units that no rank has.
    pub(crate) fn text(
        &mut self,
        state: &str,
        waiting: usize,
        (now, unix): (Instant, u64),
    ) -> String {
        let ranks: Vec<Value> = (0..self.ranks.len()).map(|rank| self.rank(rank, now)).collect();
        let mut sum = Counts::default();
        self.ranks.iter().for_each(|member| sum.add(&member.counts));
        let rate = |name: &str| ranks.iter().filter_map(|rank| rank[name].as_f64()).sum::<f64>();
        let object = json!({
            "schema": SCHEMA,
            "command": self.command,
            "state": state,
            "started_unix_s": self.started.1,
            "updated_unix_s": unix,
            "running_s": now.duration_since(self.started.0).as_secs(),
            "entries": entries(&sum),
            "bytes": sum.bytes,
            "failures": sum.failures,
            "entries_per_s": rate("entries_per_s"),
            "bytes_per_s": rate("bytes_per_s"),
            "waiting_units": waiting,
            "ranks": ranks,
        });
        let text = haul::safe_json(object.to_string());
        format!("{BEGINNING}{}\n", text.strip_prefix('{').unwrap_or(&text))
    }

    fn rank(&mut self, rank: Rank, now: Instant) -> Value {
        let mut held: Vec<&Held> = self.held.values().filter(|held| held.rank == rank).collect();
        held.sort_by(|one, other| (one.since, &one.unit).cmp(&(other.since, &other.unit)));
        let units: Vec<Value> = held
            .iter()
            .take(NAMED_UNITS)
            .map(|held| {
                json!({ "unit": held.unit, "held_s": now.duration_since(held.since).as_secs() })
            })
            .collect();
        let count = held.len();
        let Some(member) = self.ranks.get_mut(rank) else { return Value::Null };
        let (entries_per_s, bytes_per_s) = member.rates(now, self.started.0);
        let changed = member.changed.unwrap_or(self.started.0);
        json!({
            "rank": rank,
            "host": member.host,
            "workers": member.counts.workers,
            "idle_workers": member.idle,
            "idle_worker_s": member.idle_until(now).as_secs(),
            "entries": entries(&member.counts),
            "bytes": member.counts.bytes,
            "failures": member.counts.failures,
            "entries_per_s": entries_per_s,
            "bytes_per_s": bytes_per_s,
            "unchanged_s": now.duration_since(changed).as_secs(),
            "units": count,
            "oldest_units": units,
        })
    }
}

impl RankStatus {
    /// Returns the sum of the times of all idle workers.
    fn idle_until(&self, now: Instant) -> Duration {
        let since = self.idle_since.map_or(Duration::ZERO, |since| now.duration_since(since));
        self.idle_time + since * u32::try_from(self.idle).unwrap_or(u32::MAX)
    }

    /// Returns the entries and bytes per second, rounded, of the last half minute, or since the start.
    fn rates(&mut self, now: Instant, start: Instant) -> (u64, u64) {
        let done = Done { entries: entries(&self.counts), bytes: self.counts.bytes };
        self.samples.push_back((now, done));
        // The oldest that is left is just outside of the window.
        while self.samples.get(1).is_some_and(|(when, _)| now.duration_since(*when) >= WINDOW) {
            self.samples.pop_front();
        }
        let first = self.samples.front().filter(|(when, _)| *when != now);
        let (when, before) = first.copied().unwrap_or((start, Done::default()));
        let millis = u64::try_from(now.duration_since(when).as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = |amount: u64| {
            u64::try_from(u128::from(amount) * 1000 / u128::from(millis)).unwrap_or(u64::MAX)
        };
        (rate(done.entries - before.entries), rate(done.bytes.saturating_sub(before.bytes)))
    }
}

/// Returns the entries that were made, removed, or found to be there already.
const fn entries(counts: &Counts) -> u64 {
    counts.entries() + counts.skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: u64, bytes: u64) -> Counts {
        Counts { files, bytes, ..Counts::default() }
    }

    #[test]
    fn a_status_says_who_has_what_for_how_long_and_how_fast_all_are() {
        let start = Instant::now();
        let at = |seconds: u64| (start + Duration::from_secs(seconds), 1000 + seconds);
        let describe: Describe = |bytes| Some(String::from_utf8_lossy(bytes).into_owned());
        let mut status = JobStatus::new(("cp", describe), 2, at(0));
        status.host(1, b"node1");
        status.idle(1, 3, at(2).0);
        status.idle(1, 2, at(12).0);
        for lease in 1..=5 {
            status.gave((1, lease), format!("unit {lease}").as_bytes(), at(lease).0);
        }
        status.done(2);
        status.counted(0, files(10, 1000), at(10).0);
        status.counted(1, files(30, 5000), at(10).0);
        status.text("running", 0, at(10));
        status.counted(1, files(30, 5000), at(20).0);
        status.counted(0, files(110, 4000), at(20).0);
        let text = status.text("running", 7, at(20));
        assert!(text.starts_with(BEGINNING) && text.ends_with("}\n"), "{text}");
        let status: Value = serde_json::from_str(&text).unwrap();
        let of = |name: &str| status[name].as_u64().unwrap();
        assert_eq!((of("entries"), of("bytes"), of("waiting_units")), (140, 9000, 7));
        assert_eq!((of("started_unix_s"), of("updated_unix_s"), of("running_s")), (1000, 1020, 20));
        assert_eq!(
            (status["entries_per_s"].as_f64(), status["bytes_per_s"].as_f64()),
            (Some(10.0), Some(300.0))
        );
        let (first, second) = (&status["ranks"][0], &status["ranks"][1]);
        assert_eq!((&first["units"], &first["unchanged_s"]), (&json!(0), &json!(0)));
        assert_eq!(second["host"], json!("node1"));
        assert_eq!((&second["units"], &second["unchanged_s"]), (&json!(4), &json!(10)));
        // Three of them for ten seconds, then two for eight.
        assert_eq!((&second["idle_workers"], &second["idle_worker_s"]), (&json!(2), &json!(46)));
        let named = [("unit 1", 19), ("unit 3", 17), ("unit 4", 16)];
        let named = named.map(|(unit, held)| json!({ "unit": unit, "held_s": held }));
        assert_eq!(second["oldest_units"], json!(named));
    }

    #[test]
    fn rates_are_those_of_the_last_half_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut member = RankStatus::default();
        for second in (2..=100_u64).step_by(2) {
            // A hundred bytes a second, and after a minute a thousand.
            let bytes = second * 100 + second.saturating_sub(60) * 900;
            member.counts = files(0, bytes);
            let (_, rate) = member.rates(at(second), start);
            let expected = match second {
                ..=60 => 100..=100,
                61..=90 => 101..=1000,
                _ => 1000..=1000,
            };
            assert!(expected.contains(&rate), "{rate} after {second} s");
        }
        assert!(member.samples.len() <= 17, "{} samples are kept", member.samples.len());
    }
}
