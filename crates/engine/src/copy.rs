//! Entry point of a copy: takes a request, returns counts.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use haul_sys::fs::{CWD, fstat, statat};

use crate::apply::commit_group::secure_names;
use crate::apply::group::CommitGroup;
use crate::apply::links::LinkMap;
use crate::context::DIRECTORY_WORKERS;
use crate::copied_entries::CopiedEntries;
use crate::error::{Failure, What};
use crate::journal::{self, Ended, Journal, Secure};
use crate::metadata::DirectoryAttributes;
use crate::monitor::{Control, Counts, Monitor};
use crate::pairs::Pairs;
use crate::plan::Plan;
use crate::request::{Again, Appearance, ModePolicy, Policy, Request, Resources, Resume};
use crate::run::Run;
use crate::schedule::budget::Budget;
use crate::walk::node::OpenDirectories;
use crate::walk::node::{CopyDirectory, Handles, Node, Origin};
use haul_tree::{Reader, Task, walk};

/// Copies the sources of the request and returns the counts. Blocks until the copy is complete or
/// stopped. The monitor receives each failure when it occurs.
pub fn copy(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    let Some(resume) = &request.resume else {
        return carry_out(request, Plan::resolve(request), None, monitor, control);
    };
    match take_up(request, resume) {
        Ok((plan, journal)) => carry_out(request, Ok(plan), Some(&journal), monitor, control),
        Err(failure) => carry_out(request, Err(failure), None, monitor, control),
    }
}

/// Opens the journal, and interprets the target as the run did that started the journal.
fn take_up(request: &Request, resume: &Resume) -> Result<(Plan, Journal), Failure> {
    let plan = Plan::resolve(request)?;
    let opened = journal::open(request, resume, &plan)?;
    let plan = match opened.form {
        Some(form) if form != request.form => Plan::resolve(&Request { form, ..request.clone() })?,
        _ => plan,
    };
    Ok((plan, opened.journal))
}

/// Copies single entries again, each to its own target, in one run. Names of one file become hard
/// links again. The request supplies the policy; its sources, target and form are ignored.
pub fn copy_again(
    request: &Request,
    again: &[Again],
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    carry_out(request, Plan::of_pairs(request, again), None, monitor, control)
}

fn carry_out(
    request: &Request,
    plan: Result<Plan, Failure>,
    journal: Option<&Journal>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let plan = match plan {
        Ok(plan) => plan,
        Err(failure) => {
            control.failures.fetch_add(1, Ordering::Relaxed);
            monitor.failed(&failure);
            return control.counts();
        }
    };
    let mut policy = Policy { order: plan.order, ..request.policy.clone() };
    if plan.backs_itself_up {
        policy.backup = None;
    }
    let records = Records { journal, copied: None };
    copy_planned(&policy, request.resources, plan, records, monitor, control)
}

/// Records that a run writes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Records<'r> {
    /// Journal that a later run resumes from.
    pub(crate) journal: Option<&'r Journal>,
    /// Copied entries, for the removal of the source.
    pub(crate) copied: Option<&'r CopiedEntries>,
}

/// Copies operands whose target names are known.
pub(crate) fn copy_planned(
    policy: &Policy,
    resources: Resources,
    plan: Plan,
    records: Records<'_>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let Resources { jobs, waiting_jobs, descriptors } = resources;
    let budget = Budget::new(jobs, waiting_jobs, descriptors);
    let me = haul_sys::process::identity();
    let shown = plan.shown.clone();
    let run = Run {
        policy,
        target: &shown,
        monitor,
        control,
        budget,
        cache: OpenDirectories::new(budget.directories),
        pairs: Pairs::default(),
        pace: policy.bytes_per_second.map(haul_io::Pace::new),
        links: LinkMap::default(),
        made_roots: Mutex::default(),
        operand_targets: Mutex::default(),
        operand_sources: Mutex::default(),
        several_operands: plan.operands.len() > 1,
        other_names: Mutex::new(()),
        group: CommitGroup::default(),
        unnamed_files: AtomicBool::new(can_name_open(policy)),
        warned_of_cache: AtomicBool::new(false),
        journal: records.journal,
        copied: records.copied,
        me: (me.uid, me.gid),
        tells_entries: monitor.wants_entries(),
        tells_moves: monitor.wants_moves(),
    };
    let task = root(&run, plan);
    // All workers have ended by then, so no more files join the commit group.
    walk(&run, run.workers(), task, crate::apply::commit_remaining);
    if policy.appearance == Appearance::Durable && !run.stopped() {
        secure_names(&run);
    }
    end_journal(&run);
    control.counts()
}

/// Removes the journal of a complete run; reports the journal of an incomplete one.
fn end_journal(run: &Run<'_>) {
    let Some(journal) = run.journal else { return };
    let is_complete = run.control.failures.load(Ordering::Relaxed) == 0 && !run.stopped();
    if !is_complete {
        run.write_journal(Secure::Yes);
    }
    match journal.end(is_complete) {
        Ok(Ended::Removed) => {}
        Ok(Ended::Kept) => run.tell_of_journal(journal, What::JournalKept, None),
        Err(error) => run.tell_of_journal(journal, What::JournalRemove, Some(error.errno)),
    }
}

/// Returns whether a file without a name can get one, which may need `/proc`.
fn can_name_open(policy: &Policy) -> bool {
    policy.appears_whole() && statat(CWD, c"/proc/self/fd").is_ok()
}

/// Creates the task whose entries are the operands.
fn root(run: &Run<'_>, plan: Plan) -> Task<CopyDirectory> {
    let Plan { operands, source, target, target_name, .. } = plan;
    // `fstat` of an open directory works. If it fails nevertheless, the zero device makes the
    // first file look up its file systems.
    let dev = |fd: std::os::fd::BorrowedFd<'_>| fstat(fd).map_or(0, |stat| stat.dev);
    let pair =
        run.pairs.of(dev(source.as_fd()), source.as_fd(), dev(target.as_fd()), target.as_fd());
    let inherits_acl = run.policy.preserve.mode == ModePolicy::Keep;
    let directory = CopyDirectory {
        source_name: CString::default(),
        target_name: Some(target_name),
        source_id: (0, 0),
        target_id: (0, 0),
        root_dev: 0,
        through_link: false,
        target_through_link: false,
        inherits_acl,
        pair,
        position: 0,
        lists_operands: true,
        attributes: DirectoryAttributes::nothing(),
        origin: Origin::Found,
        new_owner: None,
        create: Mutex::new(()),
    };
    let node = Arc::new(Node::new(None, directory));
    let handles = run.cache.adopt(Handles { source, target });
    run.cache.keep(&node, &handles);
    let reader = Reader::of_operands(&operands);
    Task::new(node, reader, DIRECTORY_WORKERS).holding(handles)
}
