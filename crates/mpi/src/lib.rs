//! One copy, removal or comparison by many processes, which `srun` or `mpirun` starts on many machines.
//!
//! Each process (rank) runs haul's engine with its own pool of workers. Work stays with the rank
//! that found it until another rank has idle workers; then a unit of it moves. Rank 0 also has the
//! [`Manager`], which knows which rank has which unit, and works like all others.
//!
//! | to | see |
//! | --- | --- |
//! | decide which rank gets which unit | [`Manager`], without any input or output |
//! | run one rank | [`copy`], [`remove`], [`compare`], with a [`Link`] to the others |
//! | print what a rank reports | [`Relay`]: rank 0 prints it |
//! | show what the ranks of a job are doing | [`status`] |
//! | connect ranks that are threads of one process | [`links`] |
//!
//! The transport by MPI is behind the feature `mpi`; all else is built and tested without it.

pub mod job_options;
mod job_status;
mod link;
mod manager;
mod member;
mod message;
mod relay;
pub mod status;
mod status_file;
#[cfg(feature = "mpi")]
pub mod transport;
mod wire;

pub use job_status::BEGINNING as STATUS_BEGINNING;
pub use link::{Link, links};
pub use manager::{Command, Event, Lease, Manager, Progress, ROOT, Rank};
pub use member::{call_off, compare, copy, exchange, remove};
pub use relay::Relay;
