//! Loads the eBPF program into the kernel and attaches it.
//!
//! Raw tracepoints are attached by name and need no tracefs; the fields that the program follows
//! come from the kernel's BTF. A missing feature is reported as text, because it makes the tracer
//! fall back to ptrace, and the report shows the reason.

use aya::maps::{Array, HashMap, Map, MapData, Queue, StackTraceMap};
use aya::programs::RawTracePoint;
use aya::programs::perf_event::{
    PerfEvent, PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::util::online_cpus;
use aya::{Ebpf, EbpfLoader};

use super::decode::{EventWords, FileWords, NameValue, TallyWords, UnitWords};
use super::offsets::{self, ARGUMENTS, CALL_NUMBER, FEATURE_FILES, FEATURE_OPCODE};
use crate::calls::ROWS;
use crate::{Files, Stacks, TraceOptions, process};

/// The program, compiled by `build.rs` or checked in.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/trace.o"));

/// Nanoseconds between two samples of a processor's stack.
const SAMPLE_NS: u64 = 500_000;

/// What a program is needed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Everything,
    Files,
    List,
    Stacks,
}

/// Function and tracepoint of the programs that must be attached, in this order: the ends of
/// threads and calls before their beginnings, so that no call is left pending. What looks at a call that ends must
/// run before `call_ends` drops it.
const CORE: &[(&str, &str, For)] = &[
    ("switches", "sched_switch", For::Everything),
    ("stacks_switch", "sched_switch", For::Stacks),
    ("stacks_exit", "sched_process_exit", For::Stacks),
    ("forks", "sched_process_fork", For::Everything),
    ("executes", "sched_process_exec", For::Everything),
    ("list_exits", "sched_process_exit", For::List),
    ("exits", "sched_process_exit", For::Everything),
    ("files_end", "sys_exit", For::Files),
    ("list_ends", "sys_exit", For::List),
    ("call_ends", "sys_exit", For::Everything),
    ("call_begins", "sys_enter", For::Everything),
    ("files_begin", "sys_enter", For::Files),
    ("list_begins", "sys_enter", For::List),
];
/// Programs for io_uring; they are omitted on a kernel without it.
const RING: &[(&str, &str)] = &[
    ("submits", "io_uring_submit_req"),
    ("completes", "io_uring_complete"),
    ("is_punted", "io_uring_queue_async_work"),
];

/// A value of the map of threads: `struct task` of `bpf/task.h`.
pub(super) type TaskWords = [u64; 12];

/// The maps that this crate reads or fills after loading the program.
pub(super) struct Maps {
    pub(super) cells: Array<MapData, TallyWords>,
    pub(super) free_cells: Queue<MapData, u32>,
    pub(super) cell_of: HashMap<MapData, u64, u32>,
    pub(super) units: HashMap<MapData, u32, UnitWords>,
    pub(super) shared: Array<MapData, TallyWords>,
    pub(super) errors: HashMap<MapData, u64, u64>,
    pub(super) counters: Array<MapData, u64>,
    pub(super) ended: Queue<MapData, u32>,
    pub(super) places: Array<MapData, u64>,
    pub(super) tasks: Array<MapData, TaskWords>,
    pub(super) groups: HashMap<MapData, u32, u32>,
    pub(super) names: HashMap<MapData, u32, NameValue>,
    pub(super) file_tallies: HashMap<MapData, u64, FileWords>,
    pub(super) events: Queue<MapData, EventWords>,
    pub(super) stacks: StackTraceMap<MapData>,
    /// By `struct stack_key` of `bpf/stacks.h`, in nanoseconds.
    pub(super) stack_times: HashMap<MapData, [u32; 4], u64>,
    /// By place: `struct wait` of `bpf/stacks.h`.
    pub(super) waits: Array<MapData, [u64; 2]>,
}

/// Configuration of the program.
pub(super) struct Setup<'a> {
    pub(super) shapes: &'a [u32; ROWS],
    files: Files,
    is_listing: bool,
    stacks: Stacks,
    mark: u64,
}

impl<'a> Setup<'a> {
    /// Returns the configuration for some options. A list names files.
    pub(super) fn new(shapes: &'a [u32; ROWS], options: &TraceOptions, mark: u64) -> Setup<'a> {
        let is_listing = options.list.is_some();
        let files = if is_listing { Files::Observed } else { options.files };
        Setup { shapes, files, is_listing, stacks: options.stacks, mark }
    }
}

/// A loaded program. Dropping it detaches it.
pub(super) struct Loaded {
    ebpf: Option<Ebpf>,
    pub(super) maps: Maps,
    pub(super) notices: Vec<String>,
    files: Files,
    is_listing: bool,
    stacks: Stacks,
    has_opcodes: bool,
}

/// Loads the program; it observes nothing before [`Loaded::attach`].
pub(super) fn load(setup: &Setup<'_>) -> Result<Loaded, String> {
    let bytes = std::fs::read("/sys/kernel/btf/vmlinux")
        .map_err(|_| "the kernel has no type information (BTF)".to_owned())?;
    let btf =
        offsets::parse(&bytes).ok_or("the kernel's type information (BTF) is not readable")?;
    let layout = offsets::layout(&btf)?;
    let mut notices = Vec::new();
    let mut files = setup.files;
    if files == Files::Observed && layout.features & FEATURE_FILES == 0 {
        files = Files::Ignored;
        notices.push("this kernel's files cannot be identified by eBPF".into());
    }
    let mark_call = u32::try_from(libc::SYS_prctl).unwrap_or(u32::MAX);
    // 16 bits for each thread id, four to an entry.
    let entries = process::pid_max().saturating_add(1).max(64).div_ceil(4);
    let mut loader = EbpfLoader::new();
    if files == Files::Ignored {
        // These programs are not loaded then, so their maps get a minimal size.
        for map in ["FILES", "PATHS", "NAMES", "FILE_TALLIES"] {
            loader.map_max_entries(map, 1);
        }
    }
    if !setup.is_listing {
        for map in ["PENDING", "EVENTS"] {
            loader.map_max_entries(map, 1);
        }
    }
    if setup.stacks == Stacks::Ignored {
        for map in ["STACKS", "STACK_TIMES", "WAITS"] {
            loader.map_max_entries(map, 1);
        }
    }
    let mut ebpf = loader
        .btf(None)
        .map_max_entries("PLACE_OF", entries)
        .override_global("SHAPES", setup.shapes, true)
        .override_global("OFFSETS", &layout.offsets, true)
        .override_global("FEATURES", &layout.features, true)
        .override_global("MARK", &setup.mark, true)
        .override_global("MARK_CALL", &mark_call, true)
        .override_global("ARGUMENTS", &ARGUMENTS, true)
        .override_global("CALL_NUMBER", &CALL_NUMBER, true)
        .override_global("SAMPLE_NS", &SAMPLE_NS, true)
        .load(OBJECT)
        .map_err(|error| reason("the kernel refuses eBPF maps", &error))?;
    let maps = Maps {
        cells: map(&mut ebpf, "CELLS")?,
        free_cells: map(&mut ebpf, "FREE_CELLS")?,
        cell_of: map(&mut ebpf, "CELL_OF")?,
        units: map(&mut ebpf, "UNITS")?,
        shared: map(&mut ebpf, "SHARED")?,
        errors: map(&mut ebpf, "ERRORS")?,
        counters: map(&mut ebpf, "COUNTERS")?,
        ended: map(&mut ebpf, "ENDED")?,
        places: map(&mut ebpf, "PLACE_OF")?,
        tasks: map(&mut ebpf, "TASKS")?,
        groups: map(&mut ebpf, "GROUPS")?,
        names: map(&mut ebpf, "NAMES")?,
        file_tallies: map(&mut ebpf, "FILE_TALLIES")?,
        events: map(&mut ebpf, "EVENTS")?,
        stacks: map(&mut ebpf, "STACKS")?,
        stack_times: map(&mut ebpf, "STACK_TIMES")?,
        waits: map(&mut ebpf, "WAITS")?,
    };
    let has_opcodes = layout.features & FEATURE_OPCODE != 0;
    let Setup { is_listing, stacks, .. } = *setup;
    Ok(Loaded { ebpf: Some(ebpf), maps, notices, files, is_listing, stacks, has_opcodes })
}

fn map<M: TryFrom<Map>>(ebpf: &mut Ebpf, name: &str) -> Result<M, String> {
    let map = ebpf.take_map(name).ok_or_else(|| format!("the eBPF object has no map {name}"))?;
    M::try_from(map).map_err(|_| format!("the eBPF object's map {name} has another type"))
}

impl Loaded {
    /// Attaches the programs; from then on they observe the threads that are marked as traced.
    pub(super) fn attach(&mut self) -> Result<(), String> {
        for (function, tracepoint, purpose) in CORE {
            let is_needed = match purpose {
                For::Everything => true,
                For::Files => self.files == Files::Observed,
                For::List => self.is_listing,
                For::Stacks => self.stacks == Stacks::Observed,
            };
            if is_needed {
                self.attach_one(function, tracepoint)?;
            }
        }
        if self.stacks == Stacks::Observed {
            self.attach_samples()?;
        }
        if !self.has_opcodes {
            self.notices.push("io_uring operations are not observed on this kernel".into());
            return Ok(());
        }
        for (function, tracepoint) in RING {
            if let Err(reason) = self.attach_one(function, tracepoint) {
                self.notices.push(format!("io_uring operations are not fully observed: {reason}"));
            }
        }
        Ok(())
    }

    fn attach_one(&mut self, function: &str, tracepoint: &str) -> Result<(), String> {
        let ebpf = self.ebpf.as_mut();
        let program: &mut RawTracePoint = ebpf
            .and_then(|ebpf| ebpf.program_mut(function))
            .ok_or_else(|| format!("the eBPF object has no program for {tracepoint}"))?
            .try_into()
            .map_err(|error| reason("the eBPF object has another type", &error))?;
        program.load().map_err(|error| reason("the kernel refuses the eBPF program", &error))?;
        match program.attach(tracepoint) {
            Ok(_) => Ok(()),
            Err(error) => Err(reason(&format!("cannot attach to {tracepoint}"), &error)),
        }
    }

    /// Attaches the program that samples stacks to the clock of each processor.
    fn attach_samples(&mut self) -> Result<(), String> {
        let ebpf = self.ebpf.as_mut();
        let program: &mut PerfEvent = ebpf
            .and_then(|ebpf| ebpf.program_mut("samples"))
            .ok_or("the eBPF object has no program for samples")?
            .try_into()
            .map_err(|error| reason("the eBPF object has another type", &error))?;
        program.load().map_err(|error| reason("the kernel refuses the eBPF program", &error))?;
        let clock = PerfEventConfig::Software(SoftwareEvent::CpuClock);
        let processors = online_cpus().map_err(|(_, error)| format!("no processors: {error}"))?;
        for cpu in processors {
            let scope = PerfEventScope::AllProcessesOneCpu { cpu };
            let attached = program.attach(clock, scope, SamplePolicy::Period(SAMPLE_NS), false);
            attached.map_err(|error| reason("cannot sample a processor", &error))?;
        }
        Ok(())
    }

    /// Stops observing; the maps stay readable.
    pub(super) fn detach(mut self) -> (Maps, Vec<String>) {
        self.ebpf = None;
        (self.maps, self.notices)
    }
}

/// The message for the most frequent error.
const NOT_ALLOWED: &str = "loading eBPF programs needs root, or CAP_BPF and CAP_PERFMON";

/// Appends the first line of each cause to the message; omits a verifier's log.
fn reason(what: &str, error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = what.to_owned();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let line = error.to_string();
        let line = line.lines().next().unwrap_or_default().to_owned();
        if !line.is_empty() && !text.contains(&line) {
            text = format!("{text}: {line}");
        }
        if error.downcast_ref::<std::io::Error>().is_some_and(is_not_allowed) {
            return NOT_ALLOWED.into();
        }
        cause = error.source();
    }
    text
}

fn is_not_allowed(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::EPERM)
}
