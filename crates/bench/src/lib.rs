//! Measures commands as black boxes: which tool copies fastest on this machine.
//!
//! README's claims of speed are measured with this crate, so it does not depend on haul's
//! implementation: haul and its peers are command lines. A session runs *cases* (a scenario in a
//! workspace in a cache state); in each round of a case every tool runs once, in random order, on a
//! fresh copy of the same file system. The first result of each tool is compared with the source
//! byte by byte, and a tool with a wrong result is never ranked.
//!
//! * [`BenchOptions`] goes in, [`run`] does the work, [`Results`] come out: plain data.
//! * [`Monitor`] receives progress events; an `AtomicBool` stops the session, which then cleans up.
//! * [`CallCounter`] is the interface to a tracer.
//! * [`render`] has pure functions from results to text, HTML, SVG.
//! * [`stats`] has the statistics.
//!
//! The library never prints, reads no environment and never ends the process.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures of measurements are far below 2^52, and those cut to integers are positive"
)]

mod error;
mod measure;
mod publish;
pub mod render;
mod scenario;
mod session;
pub mod stats;
mod tool;
mod tune;
pub mod units;
mod workspace;

pub use error::{Error, Result};
pub use measure::{BystanderUse, CacheUse, DeviceUse, Pressure, ReadTimes, Sample, Stall};
pub use scenario::{
    Definition, SCENARIOS, Scale, Scenario, ScenarioError, Volume, Work, parse_scenario,
};
pub use session::{
    Attempt, BenchOptions, CacheState, CallCounter, Calls, Case, CaseRuns, CaseSpec, Check,
    Conditions, Environment, Event, FORMAT, Fault, Measurement, Monitor, Overhead, Plan,
    ProcessUse, Quiet, Ranking, Results, Rounds, Run, Runner, Services, TimeLimit, ToolFault,
    estimate, estimate_case, kernel_series, run, run_case,
};
pub use tool::{
    Command, Found, Group, PEERS, Peer, Template, TemplateError, Tool, Variation, discover,
    haul_methods, version_of,
};
pub use tune::{
    Choice, PROFILE_VERSION, Profile, TUNE_SCENARIOS, TuneOptions, profile_file_name, profiles,
    tune, tune_session, write_profile,
};
pub use workspace::{
    Backing, ColdMeans, FileSystem, GroundFacts, GroundSpec, MARKER, Space, SpecError, Storage,
    Swept, file_system_of, space, storage_of, sweep,
};
