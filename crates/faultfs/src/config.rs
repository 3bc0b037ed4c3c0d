//! What a mount is like: how slow, how parallel, how faulty.

use std::time::Duration;

use crate::Rule;

/// Whether the kernel's page cache stands between programs and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// It does, as usual: reads are cached and read ahead, writes go through it.
    #[default]
    Cached,
    /// It does not: each read and write reaches the server as it was issued.
    Direct,
}

/// Whether the server copies ranges by itself when it is asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Offload {
    /// It does not know `copy_file_range`.
    #[default]
    No,
    /// It does.
    Yes,
}

/// The clock of the server, by which it gives files their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// It agrees with ours.
    #[default]
    Right,
    /// It is ahead of ours by so many seconds, or behind.
    Off(i64),
    /// The time of the last change is not kept: it is said to be that of the last modification.
    ChangeIsModification,
}

/// What a mount is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The time that each read, write and range copied takes.
    pub data_delay: Duration,
    /// The time that every other request takes.
    pub metadata_delay: Duration,
    /// Whether the page cache is in between.
    pub mode: Mode,
    /// Whether the server copies ranges by itself.
    pub offload: Offload,
    /// Requests that can be on their way at once.
    pub in_flight: usize,
    /// The server's clock.
    pub clock: Clock,
    /// How long the kernel may believe what it was told of names and attributes.
    pub remembered: Duration,
    /// What goes wrong.
    pub rules: Vec<Rule>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            data_delay: Duration::ZERO,
            metadata_delay: Duration::ZERO,
            mode: Mode::Cached,
            offload: Offload::No,
            // What an NFS mount may have on its way (its default of session slots is 64) and to
            // spare, for the limit is to be the tested program's.
            in_flight: 128,
            clock: Clock::Right,
            // As FUSE file systems and NFS do by default, in order of magnitude.
            remembered: Duration::from_secs(1),
            rules: Vec::new(),
        }
    }
}
