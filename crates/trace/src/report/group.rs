//! Aggregation of units: by process, by command, by thread, or in total.

use serde::Serialize;

use super::{Faults, Tallies, Unit};

/// The aggregation of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// The threads of a process and the programs that it executed.
    #[default]
    Process,
    /// All processes that ran a program of one name, from its exec on.
    Command,
    /// Each thread separately.
    Thread,
    /// Everything.
    Total,
}

/// The aggregated figures of some units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The common attributes of the units, such as `dd (pid 71)`.
    pub label: String,
    /// Number of units: threads, times the programs that each executed.
    pub units: usize,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Page faults.
    pub faults: Faults,
    /// Calls and operations.
    pub tallies: Tallies,
}

/// Aggregates units, in order of their start.
pub(super) fn groups(units: &[Unit], grouping: Grouping) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut index_of = std::collections::HashMap::new();
    for unit in units {
        let key = key(unit, grouping);
        let index = *index_of.entry(key).or_insert_with(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(index) else { continue };
        // The last program gives a process its name: a shell's child is named after the program
        // that it executed.
        group.label = label(unit, grouping);
        group.units += 1;
        group.cpu_ns += unit.cpu_ns;
        group.faults = group.faults + unit.faults;
        group.tallies.add(&unit.tallies);
    }
    groups
}

/// The key by which units are aggregated.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key<'a> {
    Number(u32),
    Name(&'a str),
    All,
}

fn key(unit: &Unit, grouping: Grouping) -> Key<'_> {
    match grouping {
        Grouping::Process => Key::Number(unit.pid),
        Grouping::Command => Key::Name(&unit.command),
        Grouping::Thread => Key::Number(unit.tid),
        Grouping::Total => Key::All,
    }
}

fn label(unit: &Unit, grouping: Grouping) -> String {
    if unit.command.is_empty() && unit.pid == 0 {
        return "(not recorded separately)".into();
    }
    match grouping {
        Grouping::Process => format!("{} (pid {})", unit.command, unit.pid),
        Grouping::Command => unit.command.clone(),
        Grouping::Thread => format!("{} (pid {}, tid {})", unit.command, unit.pid, unit.tid),
        Grouping::Total => "total".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(pid: u32, tid: u32, command: &str) -> Unit {
        Unit { pid, tid, command: command.into(), ..Unit::default() }
    }

    #[test]
    fn each_grouping_tells_apart_what_it_says() {
        let units = [unit(1, 1, "sh"), unit(2, 2, "sh"), unit(2, 2, "ls"), unit(2, 3, "ls")];
        let labels = |grouping| -> Vec<String> {
            groups(&units, grouping).into_iter().map(|group| group.label).collect()
        };
        assert_eq!(labels(Grouping::Process), ["sh (pid 1)", "ls (pid 2)"]);
        assert_eq!(labels(Grouping::Command), ["sh", "ls"]);
        assert_eq!(
            labels(Grouping::Thread),
            ["sh (pid 1, tid 1)", "ls (pid 2, tid 2)", "ls (pid 2, tid 3)"]
        );
        assert_eq!(labels(Grouping::Total), ["total"]);
    }
}
