//! A session: from options, through runs, to results.

mod calls;
mod environment;
mod live;
mod monitor;
mod options;
mod results;
mod run;
mod runner;
mod schedule;

pub use calls::{CallCounter, Calls};
pub use environment::{Environment, kernel_series};
pub use monitor::{Event, Monitor, Quiet};
pub use options::{BenchOptions, CacheState, CaseSpec, Conditions, Ranking, Rounds, TimeLimit};
pub use results::{
    Case, FORMAT, Fault, Measurement, Overhead, ProcessUse, Results, Run, ToolFault,
};
pub use run::{Services, estimate, run};
pub use runner::{Attempt, Check, Runner};
pub use schedule::{CaseRuns, Plan, estimate_case, run_case};
