//! Configuration of a mount: delays, concurrency and faults.

use std::time::Duration;

use crate::Rule;

/// Whether programs access the server through the kernel's page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Cached, the default: the kernel caches reads and reads ahead, and writes go through the
    /// cache.
    #[default]
    Cached,
    /// Direct: each read and write reaches the server as the program issued it.
    Direct,
}

/// Whether the server implements `copy_file_range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Offload {
    /// It does not support `copy_file_range`.
    #[default]
    No,
    /// It copies ranges itself.
    Yes,
}

/// Whether files have a striping, as on Lustre.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Striping {
    /// They have none.
    #[default]
    No,
    /// They have the attribute `lustre.lov`. It is fixed when a file is created, unless the flags of
    /// open(2) delay that; setting it later has no effect.
    Lustre,
}

/// Whether names that differ only in case are different names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Case {
    /// They are.
    #[default]
    Distinct,
    /// They are one name, as on SMB and exFAT: a name keeps the spelling that it was made with. Letters
    /// beyond ASCII are distinct.
    Ignored,
}

/// The renames that the server makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Renames {
    /// All.
    #[default]
    All,
    /// Only those without flags: no `RENAME_NOREPLACE` and no `RENAME_EXCHANGE`, as where libfuse has no
    /// function for them.
    Plain,
}

/// The clock of the server, from which files get their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// It agrees with the local clock.
    #[default]
    Right,
    /// It is ahead of the local clock by this many seconds, or behind if negative.
    Off(i64),
    /// The server does not record the change time; it reports the modification time instead.
    ChangeIsModification,
}

/// Configuration of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Delay of each read, write and range copy.
    pub data_delay: Duration,
    /// Delay of every other request.
    pub metadata_delay: Duration,
    /// Whether the page cache is used.
    pub mode: Mode,
    /// Whether the server copies ranges itself.
    pub offload: Offload,
    /// Whether files have a striping.
    pub striping: Striping,
    /// Whether the case of names counts.
    pub case: Case,
    /// Which renames the server makes.
    pub renames: Renames,
    /// Maximum number of requests in flight.
    pub in_flight: usize,
    /// The server's clock.
    pub clock: Clock,
    /// How long the kernel may cache names and attributes.
    pub remembered: Duration,
    /// The faults to inject.
    pub rules: Vec<Rule>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            data_delay: Duration::ZERO,
            metadata_delay: Duration::ZERO,
            mode: Mode::Cached,
            offload: Offload::No,
            striping: Striping::No,
            case: Case::Distinct,
            renames: Renames::All,
            // More than an NFS mount has in flight (its default is 64 session slots), so that the
            // program under test sets the limit.
            in_flight: 128,
            clock: Clock::Right,
            // The order of magnitude of the defaults of FUSE file systems and NFS.
            remembered: Duration::from_secs(1),
            rules: Vec::new(),
        }
    }
}
