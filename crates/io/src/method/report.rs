//! Why a file's bytes were moved as they were: data for `--explain`.

use std::time::Duration;

use haul_sys::CallError;

use crate::cache::residency::Residency;
use crate::method::id::MethodId;
use crate::method::sides::Way;

/// Why a method did not move the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It cannot serve, for this reason.
    Unfit(&'static str),
    /// It could, but another way is better.
    Unwise(&'static str),
    /// The kernel refused it.
    Refused(CallError),
    /// The kernel refused it before, between the same two file systems.
    RefusedBefore,
    /// Another method was asked for.
    NotAsked,
    /// Another method is preferred for files of this size.
    NotPreferred,
}

/// A method that was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The method.
    pub method: MethodId,
    /// Why.
    pub why: Why,
}

/// The way that one side's bytes took, and what spoke against a better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideReport {
    /// The way at the end.
    pub way: Way,
    /// The call that spoke against the one that was wanted.
    pub error: Option<CallError>,
}

/// Number of bytes, and the time in which they were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Number of bytes.
    pub bytes: u64,
    /// Time.
    pub time: Duration,
}

/// How fast one worker moved bytes of a file, and how fast two did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Speed of one worker.
    pub one: Speed,
    /// Speed of two workers.
    pub two: Speed,
    /// Whether two were to move what was left, and not one.
    pub took_two: bool,
}

/// Everything that is reported of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The methods that did not move the bytes, in the ladder's order.
    pub refused: Vec<Refusal>,
    /// The ranges that were drawn.
    pub ranges: u64,
    /// How long it took, from the first call to the last.
    pub time: Duration,
    /// What was found out about the number of workers, if there was a comparison.
    pub compared: Option<Compared>,
    /// The source's way.
    pub source: SideReport,
    /// The target's way.
    pub target: SideReport,
    /// What was cached.
    pub residency: Residency,
}
