//! Observing a running process.
//!
//! The loader enters its threads into the maps before it attaches the program, and searches again
//! afterwards: the attached program follows every clone, so the second search finds the threads
//! that were started in between.

use std::collections::BTreeSet;
use std::time::Instant;

use aya::maps::MapError;
use haul_sys::{Call, CallError, Errno};

use super::collect::{Counter, FIRST_ATTACHED};
use super::list::Whose;
use super::load::{self, Loaded, Maps, Setup, TaskWords};
use super::{Failure, LINGER_TICK, Watch};
use crate::wait_notice::nanoseconds;
use crate::{Ending, Observer, Report, TraceError, TraceOptions, mark, process};

/// The call state of a thread that may be in a call which began before the trace: `IN_EARLIER` of
/// `bpf/task.h`.
const IN_EARLIER: u64 = 0xffff_ffff;

/// Slots for threads that are already running: see `PLACES` and `OWN_PLACES` of `bpf/task.h`.
const FIRST_PLACE: u32 = 32_768;
const LAST_PLACE: u32 = 28_672;

/// Observes a process until it ends, the time limit is reached, or the flag is set.
pub(super) fn attach(pid: u32, options: &TraceOptions) -> Result<Report, Failure> {
    if !process::is_first_pid_namespace() {
        let reason = "in a container, process numbers are not the kernel's own";
        return Err(Failure::Unavailable(reason.into()));
    }
    let shapes = options.shapes()?;
    if process::threads(pid).is_empty() {
        let error = CallError::new(Call::Ptrace, Errno::SRCH);
        return Err(TraceError::Attach(error).into());
    }
    let setup = Setup::new(&shapes, options, mark::fresh());
    let mut loaded = load::load(&setup).map_err(Failure::Unavailable)?;
    let mut entered = BTreeSet::new();
    enter(&mut loaded, pid, &mut entered).map_err(Failure::Unavailable)?;
    loaded.attach().map_err(Failure::Unavailable)?;
    let started = Instant::now();
    for _ in 0..2 {
        enter(&mut loaded, pid, &mut entered).map_err(Failure::Unavailable)?;
    }
    let before = process::cpu_split_us(pid);
    let mut watch = Watch::new(options, loaded, Whose::Attached);
    let deadline = options.duration.map(|duration| started + duration);
    while watch.live() > 0
        && !watch.interrupts.poll(None)
        && deadline.is_none_or(|end| Instant::now() < end)
    {
        std::thread::sleep(LINGER_TICK);
        watch.tick();
    }
    let wall_ns = nanoseconds(started.elapsed());
    let after = process::cpu_split_us(pid);
    let seen = watch.finish()?;
    Ok(Report {
        title: format!("pid {pid}"),
        observer: Observer::Ebpf,
        ending: Ending::Unknown,
        wall_ns,
        user_us: after.0.saturating_sub(before.0),
        system_us: after.1.saturating_sub(before.1),
        units: seen.units,
        files: seen.files,
        stacks: seen.stacks,
        notices: seen.notices,
    })
}

/// Enters the threads of a process that are not in the maps yet.
fn enter(loaded: &mut Loaded, pid: u32, entered: &mut BTreeSet<u32>) -> Result<(), String> {
    let failed = |_| "the kernel refuses to fill an eBPF map".to_owned();
    for tid in process::threads(pid) {
        let maps = &mut loaded.maps;
        if place(maps, tid) != 0 || !entered.insert(tid) {
            continue;
        }
        let id = FIRST_ATTACHED + u32::try_from(entered.len()).unwrap_or(0);
        let faults = process::faults(pid, tid);
        let mut unit = [0; super::decode::UNIT_WORDS];
        let name = name_words(&process::name(tid));
        for (index, word) in [
            (0, u64::from(pid) << 32 | u64::from(tid)),
            (4, faults.minor),
            (5, faults.major),
            (6, process::cpu_ns(pid, tid)),
            (10, name[0]),
            (11, name[1]),
        ] {
            if let Some(slot) = unit.get_mut(index) {
                *slot = word;
            }
        }
        maps.units.insert(id, unit, 0).map_err(failed)?;
        let task: TaskWords = [IN_EARLIER | u64::from(id) << 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let place = FIRST_PLACE.checked_sub(u32::try_from(entered.len()).unwrap_or(0));
        let place = place.filter(|place| *place >= LAST_PLACE).ok_or("too many threads")?;
        maps.tasks.set(place, task, 0).map_err(failed)?;
        if tid == pid {
            maps.groups.insert(tid, id, 0).map_err(failed)?;
        }
        let live = maps.counter(Counter::Live);
        maps.counters.set(Counter::Live as u32, live + 1, 0).map_err(failed)?;
        set_place(maps, tid, place).map_err(failed)?;
    }
    Ok(())
}

/// Returns the slot of a thread in the map; 0 for none.
fn place(maps: &Maps, tid: u32) -> u64 {
    maps.places.get(&(tid / 4), 0).unwrap_or(0) >> (tid % 4 * 16) & 0xffff
}

/// Stores a thread in its slot.
fn set_place(maps: &mut Maps, tid: u32, place: u32) -> Result<(), MapError> {
    let places = maps.places.get(&(tid / 4), 0).unwrap_or(0);
    maps.places.set(tid / 4, places | u64::from(place) << (tid % 4 * 16), 0)
}

/// Packs a name into the two words of a unit.
fn name_words(name: &str) -> [u64; 2] {
    let mut bytes = [0; 16];
    for (target, source) in bytes.iter_mut().zip(name.bytes().take(15)) {
        *target = source;
    }
    let word = |half: &[u8]| half.try_into().map_or(0, u64::from_ne_bytes);
    [word(&bytes[..8]), word(&bytes[8..])]
}
