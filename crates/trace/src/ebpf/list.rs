//! Takes the calls of the list out of the queue in which the program puts them.

use std::collections::HashMap;

use super::collect;
use super::decode::{self, Event, FileName};
use super::load::Maps;
use crate::calls::{CALL_ROWS, Outcome, row_name, shape_of};
use crate::{CallEnd, CallList, ListedCall};

/// Whose calls are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of a process that was attached to, and of its descendants.
    Attached,
    /// Those of a command. Before its `execve` the calls are those of the child that is to execute it, which is the
    /// first unit.
    Command,
}

/// The number of the first unit that the program makes.
const FIRST_UNIT: u32 = 1;

/// Calls that are taken at a time, so that a program with ever more of them does not keep the tracer from watching it.
const MOST_AT_A_TIME: usize = 65_536;

/// The list so far.
pub(super) struct List<'a> {
    list: &'a CallList,
    whose: Whose,
    /// When the first call began.
    first_ns: Option<u64>,
    names: HashMap<u32, FileName>,
}

impl<'a> List<'a> {
    pub(super) fn new(list: &'a CallList, whose: Whose) -> List<'a> {
        List { list, whose, first_ns: None, names: HashMap::new() }
    }

    /// Passes on the calls that have ended since the last time.
    pub(super) fn drain(&mut self, maps: &mut Maps) {
        for _ in 0..MOST_AT_A_TIME {
            let Ok(words) = maps.events.pop(0) else { return };
            let event = decode::event(&words);
            if self.whose == Whose::Command && event.unit == FIRST_UNIT {
                continue;
            }
            let call = self.call(maps, event);
            self.list.receive(&call);
        }
    }

    fn call(&mut self, maps: &Maps, event: Event) -> ListedCall {
        let first_ns = *self.first_ns.get_or_insert(event.start_ns);
        let name = row_name(event.row.min(CALL_ROWS - 1));
        let never_fails = shape_of(&name).result == Outcome::Infallible;
        let end = match i32::try_from(event.value.wrapping_neg()) {
            _ if event.is_unfinished => CallEnd::Unfinished,
            Ok(errno @ 1..=4095) if !never_fails => CallEnd::Failed(errno),
            _ => CallEnd::Returned(event.value),
        };
        ListedCall {
            pid: event.pid,
            tid: event.tid,
            start_ns: event.start_ns.saturating_sub(first_ns),
            name,
            arguments: event.arguments,
            file: self.path(maps, event.file),
            second_file: self.path(maps, event.second_file),
            second_path: event.second_path,
            end,
            elapsed_ns: event.elapsed_ns,
            cpu_ns: Some(event.cpu_ns),
        }
    }

    /// Returns the path of a file by its number, which never changes.
    fn path(&mut self, maps: &Maps, id: u32) -> Option<String> {
        if id == 0 {
            return None;
        }
        self.learn(maps, id);
        if let Some(FileName::Below(directory, _)) = self.names.get(&id) {
            let directory = *directory;
            self.learn(maps, directory);
        }
        self.names.contains_key(&id).then(|| collect::path(&self.names, id))
    }

    fn learn(&mut self, maps: &Maps, id: u32) {
        if !self.names.contains_key(&id)
            && let Ok(value) = maps.names.get(&id, 0)
        {
            self.names.insert(id, decode::file_name(&value));
        }
    }
}
