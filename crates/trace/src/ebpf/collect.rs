//! Reads the maps: the figures of each unit and of each file, and the overflow counters.

use std::collections::{BTreeMap, HashMap};

use super::decode::{self, FileName, TALLY_WORDS, UnitFacts};
use super::load::Maps;
use crate::calls::{ROWS, row_name};
use crate::report::merged;
use crate::{FileUse, Tallies, Unit, process};

/// First unit number for processes attached to; the program counts from 1.
pub(super) const FIRST_ATTACHED: u32 = 1 << 30;
/// Number of used cells above which the cells of ended units are freed while the command runs: a
/// quarter of all (`bpf/tally.h`), which leaves time before the rest is used.
const CROWDED_CELLS: u64 = 4_096;

/// The indices of `enum counter` in `bpf/tally.h` that are read or set here.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Counter {
    Live = 1,
    LostThreads = 3,
    LostUnits = 4,
    SharedCalls = 5,
    LostErrors = 6,
    LostFiles = 7,
    LostFileRows = 8,
    ExtraCompletions = 9,
    LostOperations = 10,
    LastCell = 12,
    LostEvents = 13,
    LostStacks = 14,
}

impl Maps {
    /// Returns one of the program's counters.
    pub(super) fn counter(&self, which: Counter) -> u64 {
        self.counters.get(&(which as u32), 0).unwrap_or(0)
    }
}

/// The data read so far.
#[derive(Default)]
pub(super) struct Collected {
    units: BTreeMap<u32, Unit>,
    errors: HashMap<u32, Vec<(usize, i32, u64)>>,
}

impl Collected {
    /// Removes ended units from the maps, if the cells may run out.
    pub(super) fn drain_if_crowded(&mut self, maps: &mut Maps) {
        if maps.counter(Counter::LastCell) < CROWDED_CELLS {
            return;
        }
        while let Ok(id) = maps.ended.pop(0) {
            self.take_unit(maps, id);
        }
    }

    /// Reads a unit and its tallies, and deletes both.
    fn take_unit(&mut self, maps: &mut Maps, id: u32) {
        let Ok(words) = maps.units.get(&id, 0) else { return };
        let facts = decode::unit(&words);
        let unit = read_unit(maps, id, &facts);
        for row in &facts.rows {
            let Ok(cell) = maps.cell_of.get(&tally_key(id, *row), 0) else { continue };
            let _gone = maps.cell_of.remove(&tally_key(id, *row));
            // Only an empty cell may be reused.
            if maps.cells.set(cell, [0; TALLY_WORDS], 0).is_ok() {
                let _full = maps.free_cells.push(cell, 0);
            }
        }
        let _gone = maps.units.remove(&id);
        self.insert(id, &facts, unit);
    }

    fn insert(&mut self, id: u32, facts: &UnitFacts, unit: Unit) {
        // Before its exec a child does not run the command yet: `execvp` may try several
        // directories.
        let is_prelude = facts.parent == 0 && id < FIRST_ATTACHED;
        if !is_prelude {
            self.units.insert(id, unit);
        }
    }

    /// Reads all remaining data, and adds the errors. Returns the units by number.
    pub(super) fn finish(mut self, maps: &Maps) -> BTreeMap<u32, Unit> {
        for entry in maps.units.iter() {
            let Ok((id, words)) = entry else { continue };
            let facts = decode::unit(&words);
            let unit = read_unit(maps, id, &facts);
            self.insert(id, &facts, unit);
        }
        let shared = read_shared(maps);
        if shared != Tallies::default() {
            self.units.insert(0, Unit { tallies: shared, ..Unit::default() });
        }
        for (key, count) in maps.errors.iter().flatten() {
            let (id, row, errno) = decode::error_key(key);
            self.errors.entry(id).or_default().push((row, errno, count));
        }
        for (id, unit) in &mut self.units {
            for (row, errno, count) in self.errors.remove(id).unwrap_or_default() {
                let tally = decode::slot(&mut unit.tallies, row);
                *tally.errors.entry(errno).or_default() += count;
            }
        }
        self.units
    }
}

/// Returns units in the order of their starts.
pub(super) fn in_order(units: BTreeMap<u32, Unit>) -> Vec<Unit> {
    let mut units: Vec<Unit> = units.into_values().collect();
    units.sort_by_key(|unit| (unit.start_ns, unit.tid));
    units
}

fn tally_key(unit: u32, row: usize) -> u64 {
    u64::from(unit) << 32 | row as u64
}

fn read_unit(maps: &Maps, id: u32, facts: &UnitFacts) -> Unit {
    let (faults, cpu_ns) = if facts.has_ended {
        facts.after
    } else if process::is_first_pid_namespace() {
        let now = process::faults(facts.pid, facts.tid);
        (now, process::cpu_ns(facts.pid, facts.tid))
    } else {
        // In a container the same number identifies another process.
        facts.before
    };
    let before = facts.before;
    let mut unit = Unit {
        pid: facts.pid,
        tid: facts.tid,
        command: facts.command.clone(),
        start_ns: facts.start_ns,
        cpu_ns: cpu_ns.saturating_sub(before.1),
        faults: crate::Faults {
            minor: faults.minor.saturating_sub(before.0.minor),
            major: faults.major.saturating_sub(before.0.major),
        },
        tallies: Tallies::default(),
    };
    for row in &facts.rows {
        let cell = maps.cell_of.get(&tally_key(id, *row), 0);
        if let Ok(words) = cell.and_then(|cell| maps.cells.get(&cell, 0)) {
            *decode::slot(&mut unit.tallies, *row) = decode::tally(*row, &words);
        }
    }
    unit
}

/// Reads the shared overflow tallies.
fn read_shared(maps: &Maps) -> Tallies {
    let mut tallies = Tallies::default();
    if maps.counter(Counter::SharedCalls) == 0 {
        return tallies;
    }
    for row in 0..ROWS {
        let Ok(index) = u32::try_from(row) else { continue };
        let Ok(words) = maps.shared.get(&index, 0) else { continue };
        if words.iter().any(|word| *word != 0) {
            *decode::slot(&mut tallies, row) = decode::tally(row, &words);
        }
    }
    tallies
}

/// Reads the figures of each file.
pub(super) fn files(maps: &Maps) -> Vec<FileUse> {
    let names: HashMap<u32, FileName> =
        maps.names.iter().flatten().map(|(id, value)| (id, decode::file_name(&value))).collect();
    let mut uses: HashMap<u32, FileUse> = HashMap::new();
    for (key, words) in maps.file_tallies.iter().flatten() {
        let (id, row) = (decode::high(key), decode::low(key) as usize);
        let file = uses
            .entry(id)
            .or_insert_with(|| FileUse { path: path(&names, id), ..FileUse::default() });
        file.calls.insert(row_name(row), decode::file_tally(&words));
    }
    merged(uses.into_values())
}

/// Returns the path of a file by its number.
pub(super) fn path(names: &HashMap<u32, FileName>, id: u32) -> String {
    match names.get(&id) {
        None => "?".into(),
        Some(FileName::Whole(path)) => path.clone(),
        Some(FileName::Below(directory, argument)) => {
            if argument.starts_with('/') {
                return argument.clone();
            }
            // A directory's path is always complete, and its number is lower than those of the
            // entries below it.
            match names.get(directory) {
                Some(FileName::Whole(base)) if base == "/" => format!("/{argument}"),
                Some(FileName::Whole(base)) => format!("{base}/{argument}"),
                _ => argument.clone(),
            }
        }
    }
}

/// Returns notices of table overflows.
pub(super) fn overflows(maps: &Maps) -> Vec<String> {
    let notices: [(Counter, &str); 10] = [
        (Counter::LostThreads, "threads were not observed: the table of threads was full"),
        (Counter::LostUnits, "threads' calls were added up together: the table was full"),
        (Counter::SharedCalls, "calls are only in the total: the table was full"),
        (Counter::LostErrors, "failures have no errno: the table of errors was full"),
        (
            Counter::LostFiles,
            "times a file was not recorded separately: the table of files was full",
        ),
        (Counter::LostFileRows, "calls on files are in no file's figures: the table was full"),
        (Counter::ExtraCompletions, "completions of multishot io_uring operations were additional"),
        (
            Counter::LostEvents,
            "calls are not in the list: they came faster than they could be read",
        ),
        (Counter::LostStacks, "times on a stack were not recorded: the table of stacks was full"),
        (Counter::LostOperations, "io_uring operations have no latency: the table was full"),
    ];
    notices
        .iter()
        .filter_map(|(counter, text)| match maps.counter(*counter) {
            0 => None,
            count => Some(format!("{count} {text}")),
        })
        .collect()
}
