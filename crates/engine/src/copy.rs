//! Entry point of a copy: takes a request, returns counts.
//!
//! Actions on each entry, in three steps that a batch goes through as a whole.
//!
//! *Find* opens and describes sources, with any number of workers in parallel. *Make* makes the
//! names in the target, with one worker at a time in each directory, because the kernel's lock on
//! the directory allows no more. *Fill* moves bytes and applies attributes, again with any number
//! of workers. A flat directory is therefore a pipeline of its workers, and a single worker does
//! the same three steps.
//!
//! A step returns what comes next for its entry ([`next::Next`]); only [`compose`] calls steps.

mod already_done;
mod among;
pub(crate) mod among_ranks;
mod basis;
pub mod census;
mod changed;
pub(crate) mod commit_group;
mod complete;
mod complete_directory;
mod compose;
pub(crate) mod context;
pub(crate) mod copied_entries;
mod created;
pub(crate) mod cut_short;
pub(crate) mod directory;
pub(crate) mod durable_names;
pub(crate) mod entry;
pub(crate) mod existing;
mod fill;
mod find;
pub(crate) mod finish;
mod finished;
mod flags;
pub(crate) mod group;
pub(crate) mod hardlink;
mod inherited;
pub(crate) mod item;
pub(crate) mod known;
mod layout;
pub(crate) mod links;
pub(crate) mod made_entries;
mod make;
mod next;
pub(crate) mod node;
pub(crate) mod pairs;
pub(crate) mod part;
pub(crate) mod pin_later;
mod pinning;
mod regular;
pub(crate) mod resumable;
pub(crate) mod root;
pub(crate) mod run;
mod sample;
mod shared;
pub(crate) mod shared_file;
pub(crate) mod spelling;
mod symlink;
pub(crate) mod synchronized;
pub(crate) mod temporary;
pub(crate) mod turn;
mod turns;
mod unfinished;
mod verified;
pub(crate) mod worker;

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::last_check::LastNames;
use haul_io::space::Space;
use haul_sys::fs::{CWD, statat};

use crate::copy::among_ranks::last_part::LastPart;
use crate::copy::among_ranks::routes::Routes;
use crate::copy::commit_group::secure_names;
use crate::copy::context::DIRECTORY_WORKERS;
use crate::copy::copied_entries::CopiedEntries;
use crate::copy::group::CommitGroup;
use crate::copy::links::LinkMap;
use crate::copy::made_entries::MadeEntries;
use crate::copy::node::OpenDirectories;
use crate::copy::node::{CopyDirectory, Handles, Node};
use crate::copy::pairs::Pairs;
use crate::copy::pin_later::PinLater;
use crate::copy::pinning::pin_remaining;
use crate::copy::root::root_directory;
use crate::copy::run::{CREATE_LOCKS, Run};
use crate::copy::turn::Turns;
use crate::data::budget::{Budget, without_governor};
use crate::data::error::{Failure, JournalFlaw, Operation, Severity, What};
use crate::data::monitor::{Control, Counts, Detail, Monitor, Report};
use crate::data::request::{Again, Appearance, Order, Policy, Request, Resources, Resume};
use crate::data::selected::missing;
use crate::journal::{self, Ended, Journal, Secure};
use crate::metadata::owners::Owners;
use crate::names::by_identity::{Identity, Locks};
use crate::names::file_systems::FileSystems;
use crate::names::known_names::KnownName;
use crate::peers::state::{Foreign, PeerState};
use crate::peers::{Conclusion, Peers, Ranks, Units, Unsupported, unsupported};
use crate::plan::Plan;
use crate::sync::given::Missing;
use crate::sync::shared::Synchronized;
use haul_tree::{Outside, Reader, Task, walk, walk_with};

pub(crate) use compose::{commit_remaining, draw, run};

/// Copies the sources of the request as a whole.
pub fn copy(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    let (plan, journal) = match &request.resume {
        None => (Plan::resolve(request), None),
        Some(resume) => match take_up(request, resume, 1) {
            Ok((plan, journal)) => (Ok(plan), Some(journal)),
            Err(failure) => (Err(failure), None),
        },
    };
    carry_out(request, plan, Records::of(journal.as_ref()), None, monitor, control)
}

/// Opens the journal for a run by so many processes, and interprets the target as the run did that
/// started the journal.
fn take_up(request: &Request, resume: &Resume, processes: u64) -> Result<(Plan, Journal), Failure> {
    let plan = Plan::resolve(request)?;
    let opened = journal::open(request, resume, &plan, processes)?;
    let plan = match opened.form {
        Some(form) if form != request.form => Plan::resolve(&Request { form, ..request.clone() })?,
        _ => plan,
    };
    Ok((plan, opened.journal))
}

/// Copies single entries again, each to its own target, in one run. Names of one file become hard
/// links again, also of files that an earlier run has copied under the names in `known`, as far as these
/// still are as that run left them. The request supplies the policy; its sources, target and form are
/// ignored.
pub fn copy_again(
    request: &Request,
    again: &[Again],
    known: &[KnownName],
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let records = Records { known, ..Records::default() };
    carry_out(request, Plan::of_pairs(request, again), records, None, monitor, control)
}

/// Carries out a copy together with other processes, which all have the same request and the same
/// current directory. The first one resolves the operands; the others copy only the units that
/// `peers` receives. Returns the counts of this process. Blocks until `peers` has returned and all
/// workers are idle.
///
/// Fails without any effect if the request has something that several processes cannot do together.
pub fn copy_among(
    request: &Request,
    ranks: Ranks,
    peers: &mut dyn Peers,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Result<Counts, Unsupported> {
    if let Some(unsupported) = unsupported(request) {
        return Err(unsupported);
    }
    let plan = if ranks.own == 0 { Plan::resolve(request) } else { Plan::empty(request) };
    if plan.as_ref().is_ok_and(|plan| plan.order == Order::Listed) {
        return Err(Unsupported::Order);
    }
    let Some(resume) = request.resume.as_ref().filter(|_| plan.is_ok()) else {
        let others = Others { ranks, peers };
        return Ok(carry_out(request, plan, Records::default(), Some(others), monitor, control));
    };
    let begun = if ranks.own == 0 {
        take_up(request, resume, ranks.count as u64).map(|(plan, journal)| {
            peers.begin(Some(journal.shared().encode()));
            (plan, journal)
        })
    } else {
        // The first process reports why it does not begin.
        let Some(told) = peers.begin(None) else { return Ok(control.counts()) };
        plan.and_then(|plan| join(request, plan, ranks, &told))
    };
    let others = Others { ranks, peers };
    Ok(match begun {
        Ok((plan, journal)) => {
            let records = Records::of(Some(&journal));
            carry_out(request, Ok(plan), records, Some(others), monitor, control)
        }
        Err(failure) => {
            carry_out(request, Err(failure), Records::default(), None, monitor, control)
        }
    })
}

/// Opens the journal of which the first process has told this one.
fn join(
    request: &Request,
    plan: Plan,
    ranks: Ranks,
    told: &[u8],
) -> Result<(Plan, Journal), Failure> {
    let refused = |what| Failure {
        operation: Operation::Copy,
        what,
        source: Vec::new(),
        target: request.target.to_bytes().to_vec(),
        errno: None,
        severity: Severity::Failure,
    };
    let shared = journal::Shared::decode(told)
        .map_err(|_| refused(What::JournalRefused(JournalFlaw::OtherVersion)))?;
    let journal = journal::join(request, &plan, &shared, ranks.own as u64)?;
    Ok((plan, journal))
}

/// Processes that carry out a copy with this one.
pub(crate) struct Others<'p> {
    ranks: Ranks,
    peers: &'p mut dyn Peers,
}

fn carry_out(
    request: &Request,
    plan: Result<Plan, Failure>,
    records: Records<'_>,
    others: Option<Others<'_>>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let plan = plan.and_then(|mut plan| plan.make_target(&request.policy).map(|()| plan));
    let plan = match plan {
        Ok(plan) => plan,
        Err(failure) => {
            refuse(&failure, monitor, control);
            return control.counts();
        }
    };
    let mut policy = Policy { order: plan.order, ..request.policy.clone() };
    if plan.backs_itself_up {
        policy.backup = None;
    }
    copy_planned((&policy, request.resources), plan, records, others, monitor, control)
}

/// Reports a failure because of which nothing is copied.
fn refuse(failure: &Failure, monitor: &dyn Monitor, control: &Control<'_>) {
    control.failures.fetch_add(1, Ordering::Relaxed);
    monitor.report(Report::Failed(failure));
}

/// Records that a run writes, and what it is told of an earlier one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Records<'r> {
    /// Journal that a later run resumes from.
    pub(crate) journal: Option<&'r Journal>,
    /// Copied entries, for the removal of the source.
    pub(crate) copied: Option<&'r CopiedEntries>,
    /// Directories that were made before under the target names of operands.
    pub(crate) claimed: Option<&'r HashMap<CString, Identity>>,
    /// Names that an earlier run has made.
    pub(crate) known: &'r [KnownName],
}

impl<'r> Records<'r> {
    /// Returns the records of a run with this journal.
    fn of(journal: Option<&'r Journal>) -> Records<'r> {
        Records { journal, ..Records::default() }
    }
}

/// Copies operands whose target names are known.
pub(crate) fn copy_planned(
    (policy, resources): (&Policy, Resources),
    plan: Plan,
    records: Records<'_>,
    mut others: Option<Others<'_>>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let Resources { jobs, waiting_jobs, descriptors } = resources;
    // The locks on volumes of earlier runs are held all the time.
    let locks = records.journal.map_or(0, Journal::locks);
    let open = without_governor(descriptors.saturating_sub(locks));
    let budget = Budget::new(jobs, waiting_jobs, open);
    let me = haul_sys::process::identity();
    let shown = plan.shown.clone();
    let sources: Vec<CString> =
        plan.operands.iter().take(1).map(|operand| operand.source.clone()).collect();
    let synchronized = Synchronized::new(policy, &plan, Missing::Make);
    let Some(synchronized) = synchronized.map_err(|it| refuse(&it, monitor, control)).ok() else {
        return control.counts();
    };
    let run = Run {
        policy,
        synchronized,
        has_made_target: plan.contents.makes_target,
        target: &shown,
        monitor,
        control,
        budget,
        cache: OpenDirectories::new(budget.directories),
        pairs: Pairs::default(),
        file_systems: FileSystems::default(),
        space: Space::new(),
        pace: policy.bytes_per_second.map(haul_io::Pace::new),
        links: LinkMap::default(),
        pin_later: PinLater::default(),
        made_roots: Mutex::default(),
        operand_names: Mutex::default(),
        made: MadeEntries::default(),
        creating: Locks::new(CREATE_LOCKS),
        operand_sources: Mutex::default(),
        several_operands: plan.operands.len() > 1,
        last_names: LastNames::default(),
        turns: Turns::new(plan.operands.len() > 1 || others.is_some()),
        group: CommitGroup::default(),
        unnamed_files: AtomicBool::new(can_name_open(policy)),
        warned_of_cache: AtomicBool::new(false),
        journal: records.journal,
        copied: records.copied,
        claimed: records.claimed,
        last_part: LastPart::default(),
        routes: Routes::default(),
        peers: others.as_ref().map(|others| PeerState::new(others.ranks)),
        me: (me.uid, me.gid),
        owners: Owners::of(&me),
        tells_entries: monitor.wants(Detail::Entries),
        tells_moves: monitor.wants(Detail::Moves),
    };
    let is_ours = others.as_ref().is_none_or(|others| others.ranks.own == 0);
    let foreign = if is_ours { Foreign::No } else { Foreign::Above };
    let task = root(&run, plan, records.known, foreign);
    // All workers have ended by then, so no more files join the commit group.
    let end = crate::copy::commit_remaining;
    match &mut others {
        None => walk(&run, run.workers(), task, end),
        Some(Others { peers, .. }) => {
            let outside = |outside: &mut Outside<'_, Run<'_>>| {
                let mut units = Units::new(outside);
                peers.exchange(&mut units);
                units.end();
            };
            walk_with(&run, run.workers(), task, outside, end);
        }
    }
    if policy.appearance == Appearance::Durable && !run.stopped() {
        secure_names(&run);
    }
    pin_remaining(&run);
    let not_deleted = run.synchronized.as_ref().map_or(0, Synchronized::not_deleted);
    control.counters[0].not_deleted.fetch_add(not_deleted, Ordering::Relaxed);
    known::tell(&run);
    tell_missing(&run, &sources);
    match others {
        None => end_journal(&run, None),
        Some(Others { ranks, peers }) if ranks.own == 0 => {
            end_journal(&run, run.journal.map(|_| peers.conclude(NOTHING_DONE)));
        }
        Some(Others { peers, .. }) => end_volume(&run, peers),
    }
    control.counts()
}

/// Reports listed names that are not there. A move reports them itself, when all its batches are copied.
fn tell_missing(run: &Run<'_>, sources: &[CString]) {
    if run.stopped() || run.copied.is_some() {
        return;
    }
    let selected = run.policy.selection.as_ref();
    for failure in missing(selected, (Operation::Copy, sources)) {
        run.report(&failure);
    }
}

/// What other processes have done where there are none.
const NOTHING_DONE: Conclusion =
    Conclusion { is_complete: true, found: 0, records: 0, has_joined: true };

/// Returns whether this process has done its part of a run.
fn is_complete(run: &Run<'_>) -> bool {
    run.control.failures.load(Ordering::Relaxed) == 0 && !run.stopped()
}

/// Marks the journal of a complete run, and reports if the run had nothing to copy; reports the
/// journal of an incomplete one. `others` is what the other processes of the run have done.
fn end_journal(run: &Run<'_>, others: Option<Conclusion>) {
    let Some(journal) = run.journal else { return };
    let others = others.unwrap_or(NOTHING_DONE);
    let is_complete = is_complete(run) && others.is_complete;
    if !is_complete {
        run.write_journal(Secure::Yes);
    }
    let found = journal.found() + others.found;
    if is_complete && let Some(count) = unchanged(&run.control.counts(), found) {
        run.monitor.report(Report::AllThere(count));
    }
    let ended = if is_complete {
        journal.end_complete(others.records)
    } else {
        journal.end_incomplete(others)
    };
    match ended {
        Ok(Ended::Removed | Ended::Complete) => {}
        Ok(Ended::Kept) => run.tell_of_journal(journal, What::JournalKept, None),
        Err(error) => run.tell_of_journal(journal, What::JournalRemove, Some(error.errno)),
    }
}

/// Ends the volume of a process that is not the first one, and reports to that one.
fn end_volume(run: &Run<'_>, peers: &mut dyn Peers) {
    let Some(journal) = run.journal else { return };
    run.write_journal(if is_complete(run) { Secure::Later } else { Secure::Yes });
    let (found, records) = (journal.found(), journal.records());
    if let Err(error) = journal.end_volume() {
        run.tell_of_journal(journal, What::JournalRemove, Some(error.errno));
    }
    let is_complete = is_complete(run);
    peers.conclude(Conclusion { is_complete, found, records, has_joined: true });
}

/// Returns the number of entries of a run that found all of them finished, apart from directories,
/// which have no records; `None` for any other run.
pub(crate) const fn unchanged(counts: &Counts, found: u64) -> Option<u64> {
    let is_all = found > 0 && counts.entries() == counts.directories && counts.skipped == found;
    if is_all { Some(found) } else { None }
}

/// Returns whether a file without a name can get one, which may need `/proc`.
fn can_name_open(policy: &Policy) -> bool {
    policy.appears_whole() && statat(CWD, c"/proc/self/fd").is_ok()
}

/// Creates the task whose entries are the operands.
fn root(run: &Run<'_>, plan: Plan, known: &[KnownName], foreign: Foreign) -> Task<CopyDirectory> {
    for failure in run.synchronized.iter().flat_map(Synchronized::missing_bases) {
        run.report(&failure);
    }
    let Plan { operands, source, target, target_name, .. } = plan;
    let handles = Handles { source, target };
    let directory = root_directory(run, &handles, &target_name, foreign);
    let node = Arc::new(Node::new(None, directory));
    let handles = run.cache.adopt(handles);
    run.cache.keep(&node, &handles);
    known::take_over(run, &node, known);
    let reader = Reader::of_operands(&operands);
    Task::new(node, reader, DIRECTORY_WORKERS).holding(handles)
}
