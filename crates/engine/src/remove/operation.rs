//! Entry point of a removal: takes a request, returns counts.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::sync::Arc;

use super::delete_profile::DeleteProfiles;
use super::guards;
use super::limit::Counts as Counted;
use super::node::{Node, OpenDirectories, RemoveDirectory};
use super::operand::trimmed;
use super::pace::Throttle;
use super::request::{Approval, Request};
use super::run::{FILE_LOCKS, Run};
use crate::data::budget::without_governor;
use crate::data::error::{self, What};
use crate::data::monitor::{Control, Counts, Detail, Monitor};
use crate::data::request::{Order, Resources};
use crate::data::selected::{missing, of_operands};
use crate::names::by_identity::Locks;
use crate::peers::state::{Foreign, PeerState};
use crate::peers::{Peers, Ranks, Units, Unsupported};
use crate::remove::among::unsupported;
use haul_io::gentle::RunGovernor;
use haul_io::last_check::LastNames;
use haul_tree::Handle;
use haul_tree::{Children, Operand, Outside, Reader, Task, Workers, walk, walk_with};

/// Number of descriptors outside the engine: the three standard ones, and the caller's own (a
/// signal pipe, a journal, a report).
const RESERVED: usize = 7;

/// Number of descriptors that a worker uses: the directory that it works in, the parent, the one
/// that it opens, and one that it looks into.
const PER_WORKER: usize = 4;

/// Number of directories that stay open if there are enough descriptors: deeper trees than this
/// are rare, and each open directory pins its inode in the kernel.
const DIRECTORIES: usize = 1024;

/// Division of the descriptors among workers and waiting directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    workers: usize,
    /// Number of workers where they mostly wait for remote storage.
    waiting_workers: usize,
    directories: usize,
}

/// Divides descriptors. With 20 descriptors: one worker and 9 directories.
fn divide(jobs: usize, waiting_jobs: usize, descriptors: u64) -> Shares {
    let all = usize::try_from(descriptors).unwrap_or(usize::MAX).saturating_sub(RESERVED);
    let most = (all / (2 * PER_WORKER)).max(1);
    let workers = jobs.clamp(1, most);
    let waiting_workers = waiting_jobs.clamp(workers, most);
    let directories = all.saturating_sub(waiting_workers * PER_WORKER).clamp(2, DIRECTORIES);
    Shares { workers, waiting_workers, directories }
}

/// Removes the operands of the request and returns the counts. Blocks until the removal is
/// complete or stopped. The monitor receives each failure when it occurs.
///
/// Directories, symbolic links and special files have their own counts. All other entries, and
/// entries of an unknown kind, count as files. The control must have been made for at least as
/// many jobs as the request has.
pub fn remove(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    carry_out(request, None, monitor, control)
}

/// Carries out a removal together with other processes, which all have the same request and the same
/// current directory. The first one examines and enters the operands; the others remove only the
/// units that `peers` receives. Returns the counts of this process. Blocks until `peers` has returned
/// and all workers are idle.
///
/// Fails without any effect if the request has something that several processes cannot do together.
pub fn remove_among(
    request: &Request,
    ranks: Ranks,
    peers: &mut dyn Peers,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Result<Counts, Unsupported> {
    match unsupported(request) {
        Some(unsupported) => Err(unsupported),
        None => Ok(carry_out(request, Some((ranks, peers)), monitor, control)),
    }
}

fn carry_out(
    request: &Request,
    others: Option<(Ranks, &mut dyn Peers)>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Counts {
    let policy = &request.policy;
    let Resources { jobs, waiting_jobs, descriptors } = request.resources;
    let throttle = Throttle::new(policy.pace);
    let is_own = throttle.is_gentle() && !haul_io::gentle::is_begun();
    let governor = is_own.then(RunGovernor::new);
    let (jobs, waiting_jobs) = match (policy.order, &governor) {
        // The governor of a run has one worker.
        (Order::Listed, _) | (_, Some(_)) => (1, 1),
        (Order::Any, None) => (jobs, waiting_jobs),
    };
    let Shares { workers, waiting_workers, directories } =
        divide(jobs, waiting_jobs, without_governor(descriptors));
    let mut run = Run {
        policy,
        selection: request.selection.as_ref(),
        only: request.only.as_ref(),
        kept: None,
        aside: None,
        unlocks: false,
        limit: None,
        counts: Counted::All,
        monitor,
        control,
        cache: OpenDirectories::new(directories),
        delete_profiles: DeleteProfiles::default(),
        throttle,
        governor,
        root: None,
        asking: Mutex::new(()),
        files: Locks::new(FILE_LOCKS),
        last_names: LastNames::default(),
        peers: others.as_ref().map(|(ranks, _)| PeerState::new(*ranks)),
        tells_entries: monitor.wants(Detail::Entries),
    };
    match guards::root(policy) {
        Ok(root) => run.root = root,
        // Without the identity of the root directory the guard cannot work.
        Err(error) => {
            run.report(What::Remove, b"/".to_vec(), Some(error.errno));
            return control.counts();
        }
    }
    let workers = Workers { busy: workers, waiting: waiting_workers };
    let is_ours = others.as_ref().is_none_or(|(ranks, _)| ranks.own == 0);
    let task = if is_ours { operands(&run, &request.operands) } else { no_operands(&run) };
    match others {
        None => walk(&run, workers, task, |_| ()),
        Some((_, peers)) => {
            let outside = |outside: &mut Outside<'_, Run<'_>>| {
                peers.exchange(&mut Units::new(outside));
            };
            walk_with(&run, workers, task, outside, |_| ());
        }
    }
    // A move reports listed names that are not there itself.
    if !run.stopped() && policy.approval == Approval::NotNeeded {
        for failure in missing(run.selection, (error::Operation::Remove, &request.operands)) {
            run.report(failure.what, failure.source, failure.errno);
        }
    }
    control.counts()
}

/// Creates the task whose entries are the operands.
fn operands(run: &Run<'_>, operands: &[CString]) -> Task<RemoveDirectory> {
    let operands: Vec<CString> = operands.iter().map(|operand| trimmed(operand)).collect();
    let together =
        run.policy.order == Order::Any && !run.tells_entries && guards::are_independent(&operands);
    let operands: Vec<Operand> =
        operands.into_iter().map(|path| Operand::whole(path.clone(), path)).collect();
    let children = if together { Children::Together } else { Children::OneByOne };
    list(run, Foreign::No, &operands).with_children(children)
}

/// Creates the task of a process that removes only what others send.
fn no_operands(run: &Run<'_>) -> Task<RemoveDirectory> {
    list(run, Foreign::Above, &[])
}

fn list(run: &Run<'_>, foreign: Foreign, operands: &[Operand]) -> Task<RemoveDirectory> {
    let root =
        Arc::new(Node::new(None, RemoveDirectory::operands(foreign, of_operands(run.selection))));
    // The current directory need not be readable: the kernel looks up operands by their paths.
    run.cache.keep(&root, &run.cache.adopt(Handle::CURRENT));
    // One worker takes the operands, in their order.
    Task::new(root, Reader::of_operands(operands), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_descriptors_are_enough() {
        let few = divide(8, 32, 20);
        assert_eq!(few, Shares { workers: 1, waiting_workers: 1, directories: 9 });
        assert!(RESERVED + few.workers * PER_WORKER + few.directories <= 20);
        let many = divide(2, 32, 20_000);
        assert_eq!(many, Shares { workers: 2, waiting_workers: 32, directories: DIRECTORIES });
    }
}
