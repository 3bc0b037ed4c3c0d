//! The ledger of a run: how much the run has put into the page cache, and whether it may put in more.
//!
//! Free memory costs other processes nothing, so a run fills it as every program does. When none is
//! left, each further page pushes out one that another process may need: of these a run takes an eighth
//! of the memory that is available to it, but no more than half of the pages that no process has used
//! twice, for the run's own pages cannot be reclaimed while they are dirty. It takes nothing if the kernel
//! reports that reclaimed pages are read again, or that processes wait for memory. From then on its files go past the page cache. Memory is that of the machine and of every memory
//! cgroup above the process, whichever has least.
//!
//! Two commands at the ends of a pipe move the same bytes, and each has a ledger. So a command takes half of the
//! share for each of standard input and output that is a pipe: `haul read` and `haul write` together take an
//! eighth. Which program is at the other end is not asked: another one may fill the page cache as well, and keeps
//! no account of it.
//!
//! A run below [`FREE_OF_LOOKS_BYTES`] reads no file of /proc or /sys.

use haul_sys::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haul_sys::fs::{Kind, Stat, fstat};
use haul_sys::memory::{MemoryCgroups, MemoryState, machine_state, page_bytes};

/// Bytes that may wait for their writeback before those that came first are waited for: enough to
/// keep a disk busy while the next are read. Where memory is scarce they are fewer.
pub(crate) const BEHIND_BYTES: u64 = 32 << 20;

/// Bytes that are drawn at a time where pages are dropped behind.
pub(crate) const WINDOW_BYTES: u64 = 4 << 20;

/// Bytes that a run may put into the page cache before the ledger looks at the memory: less than a
/// sixteenth of the smallest machine that anything is built on.
const FREE_OF_LOOKS_BYTES: u64 = 64 << 20;

/// Bytes between two looks at the memory, which other processes use meanwhile. A look takes 0.1 ms, a
/// copy of so many bytes 100.
const STEP_BYTES: u64 = 256 << 20;

/// The part of the available memory whose pages a run may push out.
const SHARE: u64 = 8;

/// The part of the memory that the kernel keeps free by itself, so that it reclaims before all is used.
const KEPT_FREE: u64 = 64;

/// What is left free at least, for memory of the kernel that the run needs: inodes, requests, page tables.
const KEPT_FREE_BYTES: u64 = 16 << 20;

/// The part of the available memory that may be taken by bytes that wait for their writeback.
const BEHIND_SHARE: u64 = 32;

/// Bytes between two looks while a run pushes out pages, so that signs of harm are seen soon.
const PUSHING_STEP_BYTES: u64 = 64 << 20;

/// Pages that other processes read again soon after they were reclaimed, in bytes between two looks,
/// from which on a run takes nothing more: about a second of a disk's random reads.
const HARM_BYTES: u64 = 4 << 20;

/// Time for which processes waited for memory between two looks from which on a run takes nothing more. A
/// copy that reclaims clean pages waits a tenth of that.
const HARM_STALL: Duration = Duration::from_millis(100);

/// A run's account of the page cache. Clones share it. The account is not part of what a policy asks for,
/// so all ledgers are equal.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Option<Arc<Account>>);

impl PartialEq for Ledger {
    fn eq(&self, _other: &Ledger) -> bool {
        true
    }
}

impl Eq for Ledger {}

/// What a ledger has decided, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerSummary {
    /// Bytes that went into the page cache, those read included.
    pub cached_bytes: u64,
    /// Bytes of files that went past the page cache, because the share was used up.
    pub past_bytes: u64,
    /// Memory available to the process when the ledger looked last; `None` if it never looked.
    pub available_bytes: Option<u64>,
    /// Whether pages of other processes were reclaimed and read again, or processes waited for memory, so that
    /// the rest of the share was not used.
    pub is_harmful: bool,
}

/// Bytes that a run has counted and is putting into the page cache. They are there when it is dropped.
#[derive(Debug)]
pub struct Put {
    account: Option<Arc<Account>>,
    bytes: u64,
}

impl Put {
    /// Takes the bytes back: they did not go into the page cache after all.
    pub fn take_back(&self) {
        if let Some(account) = &self.account {
            account.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        if let Some(account) = &self.account {
            account.under_way.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct Account {
    used: AtomicU64,
    /// The part of `used` that is not in the page cache yet.
    under_way: AtomicU64,
    /// Value of `used` up to which nothing has to be looked at.
    granted: AtomicU64,
    past: AtomicU64,
    /// Value of `past` from which on a refused run looks again.
    look_at: AtomicU64,
    seen: Mutex<Seen>,
}

/// What the last look found.
#[derive(Debug, Default)]
struct Seen {
    /// How many of standard input and output are pipes.
    pipe_ends: u32,
    cgroups: Option<MemoryCgroups>,
    last: Option<Look>,
    is_harmful: bool,
}

/// One look at the memory, and the account at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    used: u64,
    free_bytes: u64,
    available_bytes: u64,
    /// Bytes of other processes' pages that the run may still push out.
    share_left: u64,
    refaulted_pages: Option<u64>,
    stalled: Option<Duration>,
}

impl Ledger {
    /// A ledger that admits everything.
    pub const UNBOUNDED: Ledger = Ledger(None);

    /// Opens the ledger of a run.
    #[must_use]
    pub fn of_run() -> Ledger {
        Ledger(Some(Arc::new(Account {
            used: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            granted: AtomicU64::new(FREE_OF_LOOKS_BYTES),
            past: AtomicU64::new(0),
            look_at: AtomicU64::new(0),
            seen: Mutex::default(),
        })))
    }

    /// A ledger that admits nothing more.
    #[cfg(test)]
    pub(crate) fn full() -> Ledger {
        let ledger = Ledger::of_run();
        if let Some(account) = &ledger.0 {
            account.granted.store(0, Ordering::Relaxed);
            account.look_at.store(u64::MAX, Ordering::Relaxed);
        }
        ledger
    }

    /// Returns whether the run may put so many more bytes into the page cache. Reads files of /proc and
    /// /sys now and then; does not block on I/O.
    #[must_use]
    pub fn admits(&self, bytes: u64) -> bool {
        let Some(account) = &self.0 else { return true };
        account.fits(bytes) || (account.is_due() && account.look(bytes))
    }

    /// Counts bytes that are about to go into the page cache, if the run may put them there; otherwise
    /// counts `past_bytes` that go past it. Reads files of /proc and /sys now and then; does not block on
    /// I/O.
    #[must_use]
    pub fn put(&self, bytes: u64, past_bytes: u64) -> Option<Put> {
        let Some(account) = &self.0 else { return Some(Put { account: None, bytes }) };
        let is_put =
            account.take(bytes) || (account.is_due() && account.look(bytes) && account.take(bytes));
        if !is_put {
            account.past.fetch_add(past_bytes, Ordering::Relaxed);
            return None;
        }
        Some(Put { account: Some(Arc::clone(account)), bytes })
    }

    /// Returns how many bytes that do not stay may wait for their writeback: a small part of the memory.
    pub(crate) fn behind_bytes(&self) -> u64 {
        let last = self.0.as_ref().and_then(|account| account.seen.lock().last);
        last.map_or(BEHIND_BYTES, |look| {
            (look.available_bytes / BEHIND_SHARE).clamp(WINDOW_BYTES, BEHIND_BYTES)
        })
    }

    /// Returns what the ledger has decided so far.
    #[must_use]
    pub fn summary(&self) -> LedgerSummary {
        let Some(account) = &self.0 else { return LedgerSummary::default() };
        let seen = account.seen.lock();
        LedgerSummary {
            cached_bytes: account.used.load(Ordering::Relaxed),
            past_bytes: account.past.load(Ordering::Relaxed),
            available_bytes: seen.last.map(|look| look.available_bytes),
            is_harmful: seen.is_harmful,
        }
    }
}

impl Account {
    fn fits(&self, bytes: u64) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used.saturating_add(bytes) <= self.granted.load(Ordering::Relaxed)
    }

    /// Counts bytes if they fit. Several workers together take no more than what was granted.
    fn take(&self, bytes: u64) -> bool {
        let granted = self.granted.load(Ordering::Relaxed);
        let next = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= granted);
        let is_taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok();
        if is_taken {
            self.under_way.fetch_add(bytes, Ordering::Relaxed);
        }
        is_taken
    }

    /// Returns whether a run that was refused looks at the memory again.
    fn is_due(&self) -> bool {
        self.past.load(Ordering::Relaxed) >= self.look_at.load(Ordering::Relaxed)
    }

    /// Looks at the memory, unless another worker has just done so, and grants what it allows.
    fn look(&self, bytes: u64) -> bool {
        let mut seen = self.seen.lock();
        if self.fits(bytes) {
            return true;
        }
        if seen.cgroups.is_none() {
            seen.pipe_ends = pipe_ends();
        }
        let states = states(seen.cgroups.get_or_insert_with(MemoryCgroups::of_process));
        let used = self.used.load(Ordering::Relaxed);
        let under_way = self.under_way.load(Ordering::Relaxed);
        let grant = seen.grant(used.saturating_sub(under_way), &states).saturating_sub(under_way);
        let is_admitted = bytes <= grant;
        let is_pushing = seen.last.is_some_and(|look| look.free_bytes == 0);
        let usual = if is_pushing { PUSHING_STEP_BYTES } else { STEP_BYTES };
        let step = if is_admitted { usual.max(bytes) } else { usual };
        self.granted.store(used.saturating_add(grant.min(step)), Ordering::Relaxed);
        let past = self.past.load(Ordering::Relaxed);
        let wait = if is_admitted { 0 } else { STEP_BYTES };
        self.look_at.store(past.saturating_add(wait), Ordering::Relaxed);
        is_admitted
    }
}

/// Returns how many of standard input and output are pipes. One that is closed is none.
fn pipe_ends() -> u32 {
    let is_pipe = |stat: haul_sys::Result<Stat>| stat.is_ok_and(|stat| stat.kind() == Kind::Fifo);
    let ends = [fstat(std::io::stdin()), fstat(std::io::stdout())];
    ends.into_iter().map(|stat| u32::from(is_pipe(stat))).sum()
}

/// Returns how many bytes a new run may put into the page cache now; `None` if the kernel reports nothing.
/// Reads files of /proc and /sys; does not block on I/O.
#[must_use]
pub fn room_of_run() -> Option<u64> {
    let grant = Seen::default().grant(0, &states(&MemoryCgroups::of_process()));
    (grant < u64::MAX).then_some(grant)
}

/// Returns the states of the machine's memory and of the cgroups with a limit.
fn states(cgroups: &MemoryCgroups) -> Vec<MemoryState> {
    machine_state().into_iter().chain(cgroups.states()).collect()
}

impl Seen {
    /// Returns how many bytes a run that has put `used` into the page cache may add, in the present
    /// states of the machine and its cgroups.
    fn grant(&mut self, used: u64, states: &[MemoryState]) -> u64 {
        let least = |of: fn(&MemoryState) -> u64| states.iter().map(of).min();
        let free_of = |state: &MemoryState| {
            state.free_bytes.saturating_sub((state.limit_bytes / KEPT_FREE).max(KEPT_FREE_BYTES))
        };
        // Where the kernel reports nothing, nothing is known to be harmed.
        let (Some(free_bytes), Some(available_bytes)) =
            (least(free_of), least(MemoryState::available_bytes))
        else {
            return u64::MAX;
        };
        let refaulted_pages = states.iter().filter_map(|state| state.refaulted_pages).max();
        let stalled = states.iter().filter_map(|state| state.stalled).max();
        let inactive_bytes = least(|state| state.inactive_bytes).unwrap_or(0);
        let share = (available_bytes / SHARE).min(inactive_bytes / 2) >> self.pipe_ends;
        let share_left = self.last.map_or(share, |last| {
            let pushed = used.saturating_sub(last.used).saturating_sub(last.free_bytes);
            let again = refaulted_pages
                .zip(last.refaulted_pages)
                .map_or(0, |(now, then)| now.saturating_sub(then).saturating_mul(page_bytes()));
            // While there is free memory, what others lose is not this run's doing.
            let stall = stalled
                .zip(last.stalled)
                .map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
            let is_harmful = free_bytes == 0 && (again >= HARM_BYTES || stall >= HARM_STALL);
            self.is_harmful |= is_harmful;
            if is_harmful { 0 } else { last.share_left.saturating_sub(pushed).min(share) }
        });
        let look = Look { used, free_bytes, available_bytes, share_left, refaulted_pages, stalled };
        self.last = Some(look);
        free_bytes + share_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn state(free: u64, cached: u64) -> MemoryState {
        MemoryState {
            limit_bytes: 1024 * MIB,
            free_bytes: free * MIB,
            cached_bytes: cached * MIB,
            inactive_bytes: cached * MIB,
            refaulted_pages: Some(0),
            stalled: Some(Duration::ZERO),
        }
    }

    #[test]
    fn small_runs_look_at_nothing() {
        let ledger = Ledger::of_run();
        assert!(ledger.admits(FREE_OF_LOOKS_BYTES));
        assert!(ledger.put(FREE_OF_LOOKS_BYTES, 0).is_some());
        assert_eq!(ledger.summary().available_bytes, None);
        let _answer = ledger.admits(1);
        assert!(ledger.summary().available_bytes.is_some());
    }

    #[test]
    fn clones_share_the_account() {
        let ledger = Ledger::of_run();
        assert!(ledger.clone().put(7, 0).is_some());
        ledger.put(2, 0).unwrap().take_back();
        assert!(ledger.put(1, 0).is_some());
        assert!(ledger.put(1 << 60, 5).is_none());
        let summary = ledger.summary();
        assert_eq!((summary.cached_bytes, summary.past_bytes), (8, 5));
        assert!(Ledger::UNBOUNDED.admits(u64::MAX));
    }

    #[test]
    fn more_than_there_is_is_refused_and_less_still_admitted() {
        let ledger = Ledger::of_run();
        assert!(!ledger.admits(1 << 60));
        assert!(ledger.admits(1), "a file that is too large leaves room for small ones");
    }

    #[test]
    fn free_memory_is_free_and_an_eighth_of_the_rest_may_be_pushed_out() {
        let mut seen = Seen::default();
        // 16 of 1,024 MiB are kept free by the kernel.
        assert_eq!(seen.grant(0, &[state(616, 400)]), (600 + 127) * MIB);
        // All of the free memory was used, and 100 MiB more: 27 of the share are left.
        assert_eq!(seen.grant(700 * MIB, &[state(0, 1016)]), 27 * MIB);
        assert_eq!(seen.grant(727 * MIB, &[state(0, 1016)]), 0);
        // Another process has ended.
        assert_eq!(seen.grant(727 * MIB, &[state(116, 900)]), 100 * MIB);
    }

    #[test]
    fn two_commands_in_a_pipe_take_no_more_than_one() {
        let share = |pipe_ends| Seen { pipe_ends, ..Seen::default() }.grant(0, &[state(0, 800)]);
        assert_eq!(share(0), 100 * MIB);
        assert_eq!(share(1) + share(1), share(0));
        assert_eq!(share(2), 25 * MIB);
        // What is free is free for both.
        assert_eq!(
            Seen { pipe_ends: 1, ..Seen::default() }.grant(0, &[state(116, 800)]),
            (100 + 57) * MIB + MIB / 4
        );
    }

    #[test]
    fn the_tightest_limit_counts() {
        let mut seen = Seen::default();
        assert_eq!(seen.grant(0, &[state(800, 200), state(116, 100)]), (100 + 27) * MIB);
    }

    #[test]
    fn pages_that_are_read_again_end_the_share() {
        let mut seen = Seen::default();
        let refaulted = |pages| MemoryState { refaulted_pages: Some(pages), ..state(0, 1024) };
        let few = HARM_BYTES / page_bytes() - 1;
        assert_eq!(seen.grant(0, &[refaulted(10)]), 128 * MIB);
        assert_eq!(seen.grant(0, &[refaulted(10 + few)]), 128 * MIB);
        assert_eq!(seen.grant(0, &[refaulted(12 + 2 * few)]), 0);
        assert!(seen.is_harmful);
        assert_eq!(seen.grant(0, &[refaulted(12 + 2 * few)]), 0, "not given back");
    }

    #[test]
    fn processes_that_wait_for_memory_end_the_share() {
        let mut seen = Seen::default();
        let stalled = |ms, free| MemoryState {
            stalled: Some(Duration::from_millis(ms)),
            ..state(free, 1024)
        };
        assert_eq!(seen.grant(0, &[stalled(500, 0)]), 128 * MIB);
        assert_eq!(seen.grant(0, &[stalled(599, 0)]), 128 * MIB);
        assert_eq!(seen.grant(0, &[stalled(900, 116)]), (100 + 128) * MIB, "memory is free");
        assert_eq!(seen.grant(0, &[stalled(1000, 0)]), 0);
        assert!(seen.is_harmful);
    }

    #[test]
    fn less_waits_for_writeback_where_memory_is_scarce() {
        let ledger = Ledger::of_run();
        assert_eq!(ledger.behind_bytes(), BEHIND_BYTES);
        let look = |mib| {
            let account = ledger.0.as_ref().unwrap();
            account.seen.lock().grant(0, &[state(0, mib)]);
            ledger.behind_bytes()
        };
        assert_eq!([look(64), look(256), look(16 << 10)], [WINDOW_BYTES, 8 * MIB, BEHIND_BYTES]);
    }

    #[test]
    fn pages_that_are_in_use_are_not_pushed_out() {
        let mut seen = Seen::default();
        let used = MemoryState { inactive_bytes: 10 * MIB, ..state(0, 1024) };
        assert_eq!(seen.grant(0, &[used]), 5 * MIB);
    }

    #[test]
    fn memory_that_grows_scarce_shrinks_the_share() {
        let mut seen = Seen::default();
        assert_eq!(seen.grant(0, &[state(0, 800)]), 100 * MIB);
        assert_eq!(seen.grant(0, &[state(0, 80)]), 10 * MIB);
    }

    #[test]
    fn unknown_memory_is_not_invented() {
        assert_eq!(Seen::default().grant(0, &[]), u64::MAX);
    }
}
