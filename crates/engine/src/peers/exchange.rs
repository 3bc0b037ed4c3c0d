//! The connection between the workers of a run and the process that sends and receives units.

use crate::journal::Conclusion;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_tree::{Node, Operation, Outgoing, Outside};

use super::divided::{Divided, Routed, within};
use super::state::{Answer, PeerState, ROOT, Token};

/// Maximum number of names in a unit. The process that receives it opens a chain of directories
/// first, and shares the names among its workers.
const UNIT_ENTRIES: usize = 256;

/// What a unit keeps busy in the process that gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupies {
    /// One worker, until it finds work for others.
    Worker,
    /// All workers that have nothing else to do: a part of a large file.
    Process,
}

/// A unit of work on its way to another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number by which the caller reports to [`Exchange::release`] that the unit is done.
    pub ticket: u64,
    /// Unit in which this one was found: [`ROOT`], or the token of a unit that this process received.
    pub within: Token,
    /// Process that must have the unit; `None` for any.
    pub to: Option<usize>,
    /// What it keeps busy there.
    pub occupies: Occupies,
    /// The unit, for [`Exchange::receive`] of the same version.
    pub bytes: Vec<u8>,
}

/// The other processes of a run, as this one reaches them.
pub trait Peers: Send {
    /// Passes what the first process tells the others before the run begins; returns it on each. On
    /// the others, returns `None` if the run is over before that. Blocks until then.
    fn begin(&mut self, told: Option<Vec<u8>>) -> Option<Vec<u8>> {
        told
    }

    /// Sends and receives units until the run of all processes is over or stopped, on a thread of
    /// its own.
    fn exchange(&mut self, exchange: &mut dyn Exchange);

    /// On the first process, waits until all others have ended, and returns what those have done
    /// together. On the others, keeps what this process has done for the first one.
    fn conclude(&mut self, own: Conclusion) -> Conclusion {
        own
    }
}

/// Exchange of units with other processes.
pub trait Exchange {
    /// Returns how many workers have nothing to do.
    fn idle_workers(&self) -> usize;

    /// Returns how many units this process can use: one for each idle worker that will have nothing to do
    /// either when the units that were received are begun; and one while it moves a part of a file.
    fn usable_units(&self) -> usize {
        self.idle_workers()
    }

    /// Sets how many units other processes could use now.
    fn ask(&self, units: usize);

    /// Commits the files that wait for a common flush, if no worker has anything to do: no further
    /// file follows that would fill the group, and the process that sent their unit waits for them.
    /// The workers do so after this call has returned.
    fn commit_if_idle(&self) {}

    /// Returns whether a signal or the caller stopped the run.
    fn is_stopped(&self) -> bool;

    /// Stops the run: workers complete what they have begun.
    fn stop(&self);

    /// Takes a unit that a certain process must have.
    fn take_routed(&mut self) -> Option<Sent>;

    /// Takes a unit that any process may have, if workers can do without one.
    fn take(&mut self) -> Option<Sent>;

    /// Releases what waits for a unit, because the process that has it reports that it is done, with this
    /// answer.
    fn release(&mut self, ticket: u64, answer: &[u8]);

    /// Adds a unit of another process to the work of this one. [`Exchange::completed`] returns the
    /// token when the unit is done, whether or not it succeeded.
    fn receive(&self, token: Token, bytes: Vec<u8>);

    /// Returns the tokens of the units that are done with everything below them, once each;
    /// [`ROOT`] on the first rank when its operands are.
    fn completed(&self) -> Vec<(Token, Answer)>;
}

/// What waits for a unit.
enum Waiting<O: Operation> {
    /// A directory, once for each name.
    Nodes(Vec<Arc<Node<O::Directory>>>),
    /// A file, of which the unit is a part.
    Part(Arc<O::Shared>, Range<u64>),
}

/// The units of one operation that this process has sent.
pub(crate) struct Units<'e, 'w, O: Operation> {
    outside: &'e mut Outside<'w, O>,
    /// What waits for units that other processes have.
    sent: HashMap<u64, Waiting<O>>,
    tickets: u64,
}

impl<'e, 'w, O: Divided> Units<'e, 'w, O> {
    pub(crate) fn new(outside: &'e mut Outside<'w, O>) -> Units<'e, 'w, O> {
        Units { outside, sent: HashMap::new(), tickets: 0 }
    }

    /// Registers a unit, and returns it on its way.
    fn send(
        &mut self,
        waiting: Waiting<O>,
        (within, to): (Token, Option<usize>),
        bytes: Vec<u8>,
    ) -> Sent {
        self.tickets += 1;
        let ticket = self.tickets;
        let occupies = match waiting {
            Waiting::Nodes(_) => Occupies::Worker,
            Waiting::Part(..) => Occupies::Process,
        };
        self.sent.insert(ticket, waiting);
        Sent { ticket, within, to, occupies, bytes }
    }

    /// Takes a part of a file, which the caller has joined.
    fn part(&mut self, file: Arc<O::Shared>) -> Option<Sent> {
        if let Some((range, within, bytes)) = self.outside.operation().part_unit(&file) {
            return Some(self.send(Waiting::Part(file, range), (within, None), bytes));
        }
        self.outside.call(move |worker| O::work(worker, &file));
        None
    }

    /// Takes back the parts of files that other processes have when the run ends: it was stopped. The
    /// workers then end those files as they end all that are not complete.
    pub(crate) fn end(mut self) {
        for waiting in std::mem::take(&mut self.sent).into_values() {
            if let Waiting::Part(file, range) = waiting {
                O::part_returned(&file, &range, &[]);
                self.outside.call(move |worker| O::work(worker, &file));
            }
        }
    }
}

impl<O: Divided> Exchange for Units<'_, '_, O> {
    fn idle_workers(&self) -> usize {
        self.outside.idle_workers()
    }

    fn usable_units(&self) -> usize {
        let parts = self.outside.operation().peers().map(PeerState::received_parts);
        let free = self.outside.free_workers();
        usable(parts.unwrap_or_default(), free, self.outside.has_several_workers())
    }

    fn ask(&self, units: usize) {
        self.outside.ask(units);
    }

    fn commit_if_idle(&self) {
        if self.outside.operation().holds_files() && self.outside.is_idle() {
            self.outside.call(|worker| O::commit(worker));
        }
    }

    fn is_stopped(&self) -> bool {
        self.outside.operation().is_stopped()
    }

    fn stop(&self) {
        self.outside.operation().stop_flag().store(true, Ordering::Relaxed);
    }

    fn take_routed(&mut self) -> Option<Sent> {
        let Routed { to, nodes, bytes } = self.outside.operation().routed_unit(UNIT_ENTRIES)?;
        let within = nodes.first().map_or(ROOT, within::<O>);
        Some(self.send(Waiting::Nodes(nodes), (within, Some(to)), bytes))
    }

    fn take(&mut self) -> Option<Sent> {
        let operation = self.outside.operation();
        if operation.order() == haul_tree::Order::Listed {
            return None;
        }
        let outgoing = self.outside.take(
            UNIT_ENTRIES,
            |found| operation.may_send(found),
            |node| operation.may_share(node),
            |file| operation.may_split(file),
        )?;
        let (node, bytes) = match outgoing {
            Outgoing::Found(found) => operation.directory_unit(found),
            Outgoing::Entries(node, entries) => {
                let bytes = operation.entries_unit(&node, &entries);
                (node, bytes)
            }
            Outgoing::Shared(file) => return self.part(file),
        };
        let within = within::<O>(&node);
        Some(self.send(Waiting::Nodes(vec![node]), (within, None), bytes))
    }

    fn release(&mut self, ticket: u64, answer: &[u8]) {
        match self.sent.remove(&ticket) {
            None => {}
            Some(Waiting::Nodes(nodes)) => {
                for node in nodes {
                    O::returned(&node, answer);
                    self.outside.call(move |worker| worker.release_child(node));
                }
            }
            Some(Waiting::Part(file, range)) => {
                // Workers in the file look at it after their next range.
                O::part_returned(&file, &range, answer);
                self.outside.call(move |worker| O::work(worker, &file));
            }
        }
    }

    fn receive(&self, token: Token, bytes: Vec<u8>) {
        if let Some(peers) = self.outside.operation().peers()
            && O::is_part(&bytes)
        {
            peers.part_received();
        }
        self.outside.call(move |worker| O::adopt(worker, token, &bytes));
    }

    fn completed(&self) -> Vec<(Token, Answer)> {
        self.outside.operation().peers().map(PeerState::take_completed).unwrap_or_default()
    }
}

/// Returns how many units a process can use that has so many parts of files, not open yet and open, and so
/// many free workers.
fn usable((unopened, open): (usize, usize), free: usize, has_several_workers: bool) -> usize {
    match (unopened, open) {
        // One worker opens the next part while the others are in the last one.
        (0, 1) if has_several_workers => free.max(1),
        (0, _) => free,
        // All idle workers join the part that is being opened.
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::usable;

    #[test]
    fn a_process_has_one_part_more_than_it_moves() {
        for (parts, free, several, expected) in [
            ((0, 0), 0, true, 0),
            ((0, 0), 3, true, 3),
            ((1, 0), 7, true, 0),
            ((0, 1), 0, true, 1),
            ((0, 1), 3, true, 3),
            // The only worker would begin it after its part.
            ((0, 1), 0, false, 0),
            ((1, 1), 7, true, 0),
            ((0, 2), 0, true, 0),
            ((0, 2), 3, true, 3),
        ] {
            assert_eq!(usable(parts, free, several), expected, "{parts:?}, {free} free");
        }
    }
}
