//! Results of a session: the contents of `results.json`.

use serde::{Deserialize, Serialize};

use super::calls::Calls;
use super::environment::Environment;
use super::options::{CacheState, Conditions, Ranking, Rounds};
use crate::measure::{BystanderUse, CacheUse, DeviceUse, Pressure, Sample};
use crate::scenario::{Scenario, Volume, Work};
use crate::tool::Tool;
use crate::units;
use crate::workspace::GroundFacts;

/// The version of this format; a reader refuses others.
pub const FORMAT: u32 = 1;

/// All results of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of haul that measured.
    pub haul_version: String,
    /// The machine.
    pub environment: Environment,
    /// The seed of random choices.
    pub seed: u64,
    /// The requested number of runs.
    pub rounds: Rounds,
    /// By which time tools are ranked.
    pub ranking: Ranking,
    /// What the benchmark itself costs.
    pub overhead: Option<Overhead>,
    /// The tables, in the order of the options.
    pub cases: Vec<Case>,
    /// Whether the session was interrupted.
    pub interrupted: bool,
}

/// The cost of a run that does nothing: `true` as the tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The median of its wall time in seconds, which every figure includes.
    pub wall_s: f64,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The scenario.
    pub scenario: Scenario,
    /// Its size.
    pub volume: Volume,
    /// Where.
    pub ground: GroundFacts,
    /// In which state of the cache.
    pub cache: CacheState,
    /// What was beside the tools.
    #[serde(default)]
    pub conditions: Conditions,
    /// The baseline tool.
    pub baseline: String,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The measurements, in the order of the runs.
    pub runs: Vec<Run>,
    /// The tools that failed.
    pub faults: Vec<ToolFault>,
    /// The system calls of tools, where they were counted.
    pub calls: Vec<(String, Calls)>,
    /// The error that ended the case early.
    pub trouble: Option<String>,
}

/// One successful run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The tool's name.
    pub tool: String,
    /// The round, from 1.
    pub round: u32,
    /// The measurement.
    #[serde(flatten)]
    pub measured: Measurement,
}

/// The measurement of a run. Where a scenario starts the command many times within a run, times are
/// means over these, and memory is the peak.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Seconds from the start of the command to its end, by the monotonic clock.
    pub wall_s: f64,
    /// Seconds of the `syncfs` after it.
    pub sync_s: f64,
    /// Seconds of CPU in user mode.
    pub user_s: f64,
    /// Seconds of CPU in the kernel, as far as it is accounted to the tool.
    pub system_s: f64,
    /// The peak memory of its largest process.
    pub max_rss_bytes: u64,
    /// The benchmark's own memory, which is a lower bound of the tool's reported memory.
    pub floor_rss_bytes: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// The processes of a run with several at once, in the order in which they were started; `wall_s` is then the time
    /// until the last one has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessUse>,
    /// Activity of the device until the end of the sync.
    pub device: Option<DeviceUse>,
    /// Samples over time.
    pub samples: Vec<Sample>,
    /// Page cache use.
    pub cache: CacheUse,
    /// What the run did to the bystander, if there was one.
    #[serde(default)]
    pub bystander: Option<BystanderUse>,
    /// Bytes that waited to be written when the command ended.
    pub dirty_bytes: Option<u64>,
    /// The pressure on the machine until the command ended.
    pub pressure: Option<Pressure>,
}

/// One of several processes that a run started at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Seconds from its start to its end.
    pub wall_s: f64,
    /// Seconds of CPU, in user mode and in the kernel.
    pub cpu_s: f64,
    /// The largest proportional set size that was sampled: its memory, with an equal part of what it shares; `None` if
    /// it ended before it could be sampled. Processes that it started are not in it.
    pub pss_bytes: Option<u64>,
}

impl Measurement {
    /// Returns the time by which tools are ranked, in seconds.
    #[must_use]
    pub fn ranked_s(&self, ranking: Ranking) -> f64 {
        match ranking {
            Ranking::Command => self.wall_s,
            Ranking::WithSync => self.wall_s + self.sync_s,
        }
    }
}

/// A tool that failed: it is never ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFault {
    /// The tool's name.
    pub tool: String,
    /// The round in which it failed; 0 while warming up.
    pub round: u32,
    /// The fault.
    pub fault: Fault,
}

/// The fault of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It could not be started.
    NotStarted(String),
    /// It ended with a status that is not 0.
    Exit {
        /// The status.
        status: i32,
        /// The beginning of its error output.
        stderr: String,
    },
    /// It was ended by a signal.
    Signal {
        /// The signal.
        signal: i32,
        /// The beginning of its error output.
        stderr: String,
    },
    /// It took too long.
    TimedOut,
    /// It exited with status 0, but its result is wrong.
    Wrong(String),
}

impl Fault {
    /// Returns whether the tool said that the kernel or the file system has no such operation, as for
    /// shared blocks on ext4. It is not ranked then, but it did nothing wrong.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        /// `EOPNOTSUPP`, `ENOSYS`, `EXDEV` and `ENOTTY` in the C library's words, which all tools print.
        const TEXTS: [&str; 4] = [
            "Operation not supported",
            "Function not implemented",
            "Invalid cross-device link",
            "Inappropriate ioctl for device",
        ];
        match self {
            Fault::Exit { stderr, .. } => {
                let first = stderr.lines().next().unwrap_or_default();
                TEXTS.iter().any(|text| first.contains(text))
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let said = |stderr: &str| stderr.lines().next().map(|line| format!(": {line}"));
        match self {
            Fault::NotStarted(error) => write!(f, "could not be started: {error}"),
            Fault::Exit { status, stderr } => {
                write!(f, "exit status {status}{}", said(stderr).unwrap_or_default())
            }
            Fault::Signal { signal, stderr } => {
                write!(f, "ended by signal {signal}{}", said(stderr).unwrap_or_default())
            }
            Fault::TimedOut => f.write_str("took too long"),
            Fault::Wrong(difference) => write!(f, "wrong result: {difference}"),
        }
    }
}

impl Case {
    /// Returns one line that names the case: `nested-small, warm, ext4 in RAM`, and for a single file
    /// its size: `huge, 1 GiB, warm, ext4 in RAM`.
    #[must_use]
    pub fn title(&self) -> String {
        let size = match self.scenario.work {
            Work::CopyFile => format!("{}, ", units::bytes(self.volume.data_bytes)),
            Work::CopyTree | Work::Delete => String::new(),
        };
        let memory = self.conditions.memory_bytes;
        let memory =
            memory.map_or(String::new(), |it| format!(", with {} of memory", units::bytes(it)));
        let beside = self.conditions.bystander_percent;
        let beside =
            beside.map_or(String::new(), |it| format!(", beside a reader of {it} % of it"));
        let (name, cache) = (&self.scenario.name, self.cache.name());
        let together = self.scenario.together;
        let together = together.map_or(String::new(), |it| format!(", {it} at once"));
        format!("{name}, {size}{cache}, {}{together}{memory}{beside}", self.ground.name)
    }

    /// Returns what was measured of a tool, round by round.
    pub fn runs_of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.tool == tool)
    }

    /// Returns the fault of a tool, if it failed.
    #[must_use]
    pub fn fault_of(&self, tool: &str) -> Option<&ToolFault> {
        self.faults.iter().find(|fault| fault.tool == tool)
    }
}

impl Results {
    /// Returns the text of `results.json`.
    ///
    /// # Errors
    ///
    /// None in practice: all values can be serialised.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| haul_manifest::safe_json(text + "\n"))
    }

    /// Reads the text of a `results.json`.
    ///
    /// # Errors
    ///
    /// The text is invalid or has another version.
    pub fn from_json(text: &str) -> Result<Results, serde_json::Error> {
        let results: Results = serde_json::from_str(text)?;
        if results.format == FORMAT {
            return Ok(results);
        }
        let message = format!("format {} is not {FORMAT}", results.format);
        Err(<serde_json::Error as serde::de::Error>::custom(message))
    }
}
