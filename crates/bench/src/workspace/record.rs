//! The record that a run keeps of its directory, so that the next run knows what it may remove.
//!
//! The marker lists the process, the directory's inode and every name that the run creates in it,
//! each before its creation. It is valid only if no other user can have written it, and only for
//! the directory with that inode: a copy of a directory does not belong to the run.

use std::ffi::{CStr, CString};
use std::fs;

/// The name of the marker in each scratch directory.
pub const MARKER: &str = ".haul-bench-scratch";

/// The same name as a C string.
pub(super) const MARKER_NAME: &CStr = c".haul-bench-scratch";

/// Prefix of the directory names that a run chooses itself.
pub(super) const PREFIX: &str = "haul-bench-";

/// Suffix of such names that are not random: `haul-bench-PID-here`.
const HERE: &str = "here";

/// The characters of a random suffix.
pub(super) const RANDOM_LETTERS: usize = 8;

/// The version of the format; other versions are rejected.
const FORMAT: u64 = 2;

/// The names that runs create in their directories, besides [`RUN`] and a number.
const NAMES: [&str; 7] =
    ["corpus", "source", "target", "hot", "template.img", "empty.img", "run.img"];

/// Prefix of the directory of one run.
const RUN: &str = "run-";

/// Returns whether a run may have chosen this name for its directory.
pub(super) fn is_folder_name(name: &str) -> bool {
    let Some((process, end)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    let is_random =
        end.len() == RANDOM_LETTERS && end.bytes().all(|letter| letter.is_ascii_hexdigit());
    is_number(process) && (is_random || end == HERE)
}

/// Returns whether a run may have created this name in its directory.
fn is_own_name(name: &str) -> bool {
    NAMES.contains(&name) || name.strip_prefix(RUN).is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit())
}

/// The process that owns a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: u32,
    /// Its start time, in ticks since boot, because process ids are reused.
    started: u64,
}

impl Owner {
    pub(super) fn this() -> Owner {
        let pid = std::process::id();
        Owner { pid, started: started(pid).unwrap_or(0) }
    }

    pub(super) fn is_alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Returns when a process started; `None` if there is no such process.
fn started(pid: u32) -> Option<u64> {
    start_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads the start from `/proc/PID/stat`; `None` for a process that has ended and is not reaped
/// yet, which may never happen in a container.
fn start_in(stat: &str) -> Option<u64> {
    // The name, in brackets, may have blanks and brackets in it; the fields after it do not.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    fields.nth(18)?.parse().ok().filter(|_| !has_ended)
}

/// The contents of a marker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) owner: Owner,
    /// The directory's inode.
    pub(super) inode: u64,
    /// The names that the run created in it.
    pub(super) names: Vec<CString>,
}

impl Record {
    /// Returns the initial text of a marker.
    pub(super) fn first_text(owner: Owner, inode: u64) -> String {
        let Owner { pid, started } = owner;
        format!(
            "A scratch folder of haul bench. When process {pid} is gone, the next run removes what is\n\
             listed below, and nothing else.\n\
             format {FORMAT}\npid {pid}\nstarted {started}\nfolder {inode}\n"
        )
    }

    /// Returns the line for a name that is about to be created.
    pub(super) fn line(name: &str) -> String {
        format!("made {name}\n")
    }

    /// Parses a marker; `None` if no run of this version wrote it.
    pub(super) fn parse(text: &str) -> Option<Record> {
        // A line without a newline was cut off by the kill, and its name was not created.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let field = |name: &str| {
            whole.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        if field("format ")? != FORMAT {
            return None;
        }
        let owner = Owner { pid: u32::try_from(field("pid ")?).ok()?, started: field("started ")? };
        let made = whole.lines().filter_map(|line| line.strip_prefix("made "));
        let names = made
            .map(|name| is_own_name(name).then(|| CString::new(name).ok()).flatten())
            .collect::<Option<Vec<CString>>>()?;
        Some(Record { owner, inode: field("folder ")?, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let owner = Owner { pid: 7, started: 99 };
        let text = Record::first_text(owner, 12) + &Record::line("corpus") + &Record::line("run-1");
        let names = vec![c"corpus".to_owned(), c"run-1".to_owned()];
        assert_eq!(Record::parse(&text), Some(Record { owner, inode: 12, names }));
        let cut = text + "made run-";
        assert_eq!(Record::parse(&cut).map(|record| record.names.len()), Some(2));
    }

    #[test]
    fn a_record_of_names_that_no_run_makes_is_not_believed() {
        let begin = Record::first_text(Owner { pid: 7, started: 99 }, 12);
        for name in ["thesis", "..", "../corpus", "corpus/..", "/etc", "run-", "run-x", ""] {
            assert_eq!(Record::parse(&(begin.clone() + &Record::line(name))), None, "{name}");
        }
        for text in ["", "hello\n", "format 1\npid 7\nstarted 99\nfolder 12\n"] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_process_that_has_ended_has_no_start_time() {
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
        assert_eq!(start_in(&format!("12 (odd) S name) S {rest}")), Some(777));
        assert_eq!(start_in(&format!("12 (haul) Z {rest}")), None);
        assert_eq!(start_in("12 (haul) S 1"), None);
        assert!(Owner::this().is_alive());
    }

    #[test]
    fn names_of_folders_have_one_form() {
        for name in ["haul-bench-12-0a1b2c3d", "haul-bench-12-here"] {
            assert!(is_folder_name(name), "{name}");
        }
        for name in
            ["haul-bench-", "haul-bench-results", "haul-bench-12-results", "haul-bench--here", "x"]
        {
            assert!(!is_folder_name(name), "{name}");
        }
    }
}
