//! Copying: a request in, counts out.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use haul_sys::fs::{CWD, fstat, statat};

use crate::apply::commit_group::{secure_names, settle_all};
use crate::apply::group::CommitGroup;
use crate::apply::links::LinkMap;
use crate::context::DIRECTORY_WORKERS;
use crate::copied_entries::CopiedEntries;
use crate::error::{Failure, What};
use crate::facts::Pairs;
use crate::journal::{self, Ended, Journal, Secure};
use crate::metadata::DirectoryAttributes;
use crate::monitor::{Control, Counts, Monitor};
use crate::plan::Plan;
use crate::request::{Again, Appearance, ModePolicy, Policy, Request, Resources, Resume};
use crate::run::Run;
use crate::schedule::budget::Budget;
use crate::walk::node::OpenDirectories;
use crate::walk::node::{CopyDirectory, Handles, Node, Origin};
use haul_tree::{Reader, Task, walk};

/// Copies what the request asks for, and returns what was done. Blocks until it is done or
/// stopped; failures reach the monitor as they happen.
pub fn copy(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    let Some(resume) = &request.resume else {
        return carry_out(request, (Plan::resolve(request), None), monitor, control);
    };
    match take_up(request, resume) {
        Ok((plan, journal)) => carry_out(request, (Ok(plan), Some(&journal)), monitor, control),
        Err(failure) => carry_out(request, (Err(failure), None), monitor, control),
    }
}

/// Opens the journal, and sees the target as the run did that began it.
fn take_up(request: &Request, resume: &Resume) -> Result<(Plan, Journal), Failure> {
    let plan = Plan::resolve(request)?;
    let opened = journal::open(request, resume, &plan)?;
    let plan = match opened.form {
        Some(form) if form != request.form => Plan::resolve(&Request { form, ..request.clone() })?,
        _ => plan,
    };
    Ok((plan, opened.journal))
}

/// Copies single entries again, each to its own target, in one run: what were names of one file
/// are so again. The request says how; its sources, target and form are not looked at.
pub fn copy_again(
    request: &Request,
    again: &[Again],
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    carry_out(request, (Plan::of_pairs(request, again), None), monitor, control)
}

fn carry_out(
    request: &Request,
    (plan, journal): (Result<Plan, Failure>, Option<&Journal>),
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
    copy_planned(&policy, request.resources, (plan, records), monitor, control)
}

/// What is written down of a run while it goes on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Records<'r> {
    /// What a later run goes on with.
    pub(crate) journal: Option<&'r Journal>,
    /// What was copied, for a removal of the source.
    pub(crate) copied: Option<&'r CopiedEntries>,
}

/// Copies operands whose names in the target are settled.
pub(crate) fn copy_planned(
    policy: &Policy,
    resources: Resources,
    (plan, records): (Plan, Records<'_>),
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
        several_names: Mutex::new(()),
        group: CommitGroup::default(),
        unnamed_files: AtomicBool::new(can_name_open(policy)),
        told_of_cache: AtomicBool::new(false),
        journal: records.journal,
        copied: records.copied,
        me: (me.uid, me.gid),
        tells_entries: monitor.wants_entries(),
        tells_moves: monitor.wants_moves(),
    };
    let task = root(&run, plan);
    // All workers are done by then, so nothing more is held from here on.
    walk(&run, run.workers(), task, settle_all);
    if policy.appearance == Appearance::Durable && !run.stopped() {
        secure_names(&run);
    }
    end_journal(&run);
    control.counts()
}

/// Removes the journal of a run that has done everything, and says where that of another is.
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

/// Tells whether a file without a name can get one, for which `/proc` may be needed.
fn can_name_open(policy: &Policy) -> bool {
    policy.appears_whole() && statat(CWD, c"/proc/self/fd").is_ok()
}

/// Makes the task whose entries are the operands.
fn root(run: &Run<'_>, plan: Plan) -> Task<CopyDirectory> {
    let Plan { operands, source, target, target_name, .. } = plan;
    // A directory that is held open can be described; if not, its zero device makes the first
    // file look its file systems up.
    let dev = |fd: std::os::fd::BorrowedFd<'_>| fstat(fd).map_or(0, |stat| stat.dev);
    let pair =
        run.pairs.of((dev(source.as_fd()), source.as_fd()), (dev(target.as_fd()), target.as_fd()));
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
