//! Reads the time of each kernel stack, and the names of the functions.

use std::collections::BTreeMap;

use rustix::time::{ClockId, clock_gettime};

use super::load::Maps;
use crate::calls::{CALL_ROWS, row_name};
use crate::{StackTime, Unit};

/// States of a thread beside a call's row plus one: `IN_NONE`, `IN_UNWANTED` and `IN_EARLIER` of `bpf/task.h`.
const IN_NONE: u32 = 0;
const IN_UNWANTED: u32 = 0xffff_fffe;
const IN_EARLIER: u32 = 0xffff_ffff;

/// The answer of the kernel where two stacks have one hash.
const COLLIDES: i32 = -libc::EEXIST;

/// Symbols of the kernel, by address.
struct Symbols(Vec<(u64, String)>);

impl Symbols {
    /// Reads the text of `/proc/kallsyms`. Returns `None` where the kernel does not show its addresses.
    fn parse(text: &str) -> Option<Symbols> {
        let mut symbols: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        // Of several names of one address the first stays.
        symbols.sort_by_key(|(address, _)| *address);
        symbols.dedup_by_key(|(address, _)| *address);
        (symbols.len() > 1).then_some(Symbols(symbols))
    }

    /// Returns the function that has an address.
    fn name(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(first, _)| *first <= address);
        self.0.get(after.checked_sub(1)?).map(|(_, name)| name.as_str())
    }
}

/// Reads a line: address, type, name, and the module in brackets.
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok().filter(|address| *address != 0)?;
    let is_function = matches!(fields.next()?, "t" | "T" | "w" | "W");
    is_function.then_some((address, fields.next()?.to_owned()))
}

/// Returns the time of each stack of these units, the longest first, and what limits it.
pub(super) fn stacks(maps: &Maps, units: &BTreeMap<u32, Unit>) -> (Vec<StackTime>, Vec<String>) {
    let symbols = std::fs::read_to_string("/proc/kallsyms").ok();
    let symbols = symbols.as_deref().and_then(Symbols::parse);
    let mut notices = Vec::new();
    if symbols.is_none() {
        notices.push("functions have no names: the kernel hides its symbols".to_owned());
    }
    let mut sums: BTreeMap<Key, u64> = BTreeMap::new();
    for ([unit, stack, call, waits], ns) in maps.stack_times.iter().flatten() {
        *sums.entry(Key { unit, stack: stack.cast_signed(), call, waits }).or_default() += ns;
    }
    for (key, ns) in open_waits(maps) {
        *sums.entry(key).or_default() += ns;
    }
    let unknown_ns: u64 =
        sums.iter().filter(|(key, _)| key.stack == COLLIDES).map(|(_, ns)| ns).sum();
    if unknown_ns > 0 {
        let milliseconds = unknown_ns.div_ceil(1_000_000);
        notices.push(format!("{milliseconds} ms are of stacks that share a place in a full table"));
    }
    let mut times = Vec::new();
    for (Key { unit, stack, call, waits }, ns) in sums {
        // Before its exec the child is no part of the command.
        let Some(unit) = units.get(&unit) else { continue };
        times.push(StackTime {
            command: unit.command.clone(),
            call: call_name(call),
            functions: functions(maps, stack, symbols.as_ref()),
            waits: waits != 0,
            ns,
        });
    }
    times.sort_by_key(|time| std::cmp::Reverse(time.ns));
    (times, notices)
}

/// What a sum of times belongs to: `struct stack_key` of `bpf/stacks.h`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    unit: u32,
    stack: i32,
    call: u32,
    waits: u32,
}

/// Returns the waits that have not ended.
fn open_waits(maps: &Maps) -> Vec<(Key, u64)> {
    let now = clock_gettime(ClockId::Monotonic);
    let now_ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
    let waits = (0..maps.waits.len()).filter_map(|place| {
        let [since_ns, stack_and_call] = maps.waits.get(&place, 0).ok()?;
        if since_ns == 0 {
            return None;
        }
        let unit = (maps.tasks.get(&place, 0).ok()?.first()? >> 32) as u32;
        let stack = (stack_and_call as u32).cast_signed();
        let key = Key { unit, stack, call: (stack_and_call >> 32) as u32, waits: 1 };
        Some((key, now_ns.saturating_sub(since_ns)))
    });
    waits.collect()
}

fn call_name(call: u32) -> Option<String> {
    match call {
        IN_NONE => None,
        IN_UNWANTED => Some("other calls".to_owned()),
        IN_EARLIER => Some("an earlier call".to_owned()),
        row => Some(row_name((row as usize - 1).min(CALL_ROWS - 1)).to_string()),
    }
}

fn functions(maps: &Maps, stack: i32, symbols: Option<&Symbols>) -> Vec<String> {
    let unknown = || vec!["unknown".to_owned()];
    let Ok(id) = u32::try_from(stack) else {
        return if stack == COLLIDES { unknown() } else { Vec::new() };
    };
    let Ok(trace) = maps.stacks.get(&id, 0) else { return unknown() };
    let name = |ip: u64| match symbols.and_then(|symbols| symbols.name(ip)) {
        Some(name) => name.to_owned(),
        None => format!("{ip:#x}"),
    };
    let mut functions: Vec<String> = trace.frames().iter().map(|frame| name(frame.ip)).collect();
    functions.drain(..own_frames(&functions));
    functions.reverse();
    functions
}

/// Returns how many of the innermost functions are those by which the kernel calls this program at a tracepoint. The
/// program itself has no name when it is gone.
fn own_frames(innermost: &[String]) -> usize {
    const TRACERS: [&str; 3] = ["bpf_trace_run", "__traceiter_", "__bpf_trace_"];
    const MOST: usize = 6;
    let is_tracer = |name: &String| TRACERS.iter().any(|tracer| name.starts_with(tracer));
    innermost.iter().take(MOST).rposition(is_tracer).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let text = "ffffffff81000100 T second\nffffffff81000000 t first\n\
            ffffffff81000000 T also_first\nffffffff81000080 d data\nffffffffc0000000 t in_module\t[xfs]\n";
        let symbols = Symbols::parse(text).unwrap();
        assert_eq!(symbols.name(0xffff_ffff_8100_00ff), Some("first"));
        assert_eq!(symbols.name(0xffff_ffff_8100_0100), Some("second"));
        assert_eq!(symbols.name(0xffff_ffff_c000_0010), Some("in_module"));
        assert_eq!(symbols.name(5), None);
        // As an unprivileged reader sees it.
        assert!(Symbols::parse("0000000000000000 T first\n0000000000000000 T second\n").is_none());
    }

    #[test]
    fn the_frames_of_the_tracer_are_left_out() {
        let own = |names: &[&str]| {
            own_frames(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let names = ["_einittext", "bpf_trace_run4", "__traceiter_sched_switch", "__schedule"];
        assert_eq!(own(&names), 3);
        assert_eq!(own(&["__schedule", "schedule"]), 0);
    }

    #[test]
    fn states_beside_calls_have_words() {
        assert_eq!(call_name(IN_NONE), None);
        assert_eq!(call_name(1).as_deref(), Some(&*row_name(0).to_string()));
        assert_eq!(call_name(IN_UNWANTED).as_deref(), Some("other calls"));
    }
}
