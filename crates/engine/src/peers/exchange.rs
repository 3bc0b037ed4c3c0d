//! The connection between a copy's workers and the process that sends and receives units.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use haul_tree::{Entries, Outgoing, Outside};

use super::adopt;
use super::state::{PeerState, ROOT, Routed, Token};
use super::unit::{Found, Level, Place, Unit, Work};
use crate::context::Enter;
use crate::request::Order;
use crate::run::Run;
use crate::walk::node::{Foreign, Node};

/// Maximum number of names in a unit. The process that receives it opens a chain of directories
/// first, and shares the names among its workers.
const UNIT_ENTRIES: usize = 256;

/// A unit of work on its way to another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number by which the caller reports to [`Exchange::release`] that the unit is done.
    pub ticket: u64,
    /// Unit in which this one was found: [`ROOT`], or the token of a unit that this process received.
    pub within: Token,
    /// Process that must have the unit; `None` for any.
    pub to: Option<usize>,
    /// The unit, for [`Exchange::receive`] of the same version.
    pub bytes: Vec<u8>,
}

/// Receives the exchange of a copy on a thread of its own, and returns when the copy of all
/// processes is over or stopped.
pub trait Peers: Send {
    /// Sends and receives units until the copy is over.
    fn exchange(&mut self, exchange: &mut Exchange<'_, '_, '_>);
}

/// Exchange of units with other processes.
pub struct Exchange<'e, 'w, 'r> {
    outside: &'e mut Outside<'w, Run<'r>>,
    /// Directories that wait for units that other processes have.
    sent: HashMap<u64, Vec<Arc<Node>>>,
    tickets: u64,
    routed: Vec<Routed>,
}

impl<'e, 'w, 'r> Exchange<'e, 'w, 'r> {
    pub(crate) fn new(outside: &'e mut Outside<'w, Run<'r>>) -> Exchange<'e, 'w, 'r> {
        Exchange { outside, sent: HashMap::new(), tickets: 0, routed: Vec::new() }
    }

    fn run(&self) -> &Run<'r> {
        self.outside.operation()
    }

    /// Returns how many workers have nothing to do.
    #[must_use]
    pub fn idle_workers(&self) -> usize {
        self.outside.idle_workers()
    }

    /// Sets how many units other processes could use now.
    pub fn ask(&self, units: usize) {
        self.outside.ask(units);
    }

    /// Returns whether a signal or the caller stopped the copy.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.run().stopped()
    }

    /// Stops the copy: workers complete what they have begun.
    pub fn stop(&self) {
        self.run().control.stop.store(true, Ordering::Relaxed);
    }

    /// Takes a unit that a certain process must have.
    pub fn take_routed(&mut self) -> Option<Sent> {
        if self.routed.is_empty() {
            self.routed = self.run().peers.as_ref()?.take_routed();
            // Names of one directory for one process follow each other.
            self.routed.sort_by_key(|name| (name.to, Arc::as_ptr(&name.node).addr()));
        }
        let last = self.routed.pop()?;
        let mut names = vec![(last.source, last.target)];
        let mut nodes = vec![Arc::clone(&last.node)];
        while names.len() < UNIT_ENTRIES
            && let Some(next) =
                self.routed.pop_if(|name| name.to == last.to && Arc::ptr_eq(&name.node, &last.node))
        {
            names.push((next.source, next.target));
            nodes.push(next.node);
        }
        Some(self.send(nodes, Some(last.to), Work::Entries(names)))
    }

    /// Takes a unit that any process may have, if workers can do without one.
    pub fn take(&mut self) -> Option<Sent> {
        if self.run().policy.order == Order::Listed {
            return None;
        }
        let outgoing = self.outside.take(
            UNIT_ENTRIES,
            |enter| enter.rest.is_none() && !enter.parent.lists_operands,
            |node| !node.lists_operands,
            |_| false,
        )?;
        match outgoing {
            Outgoing::Found(enter) => Some(self.send_directory(*enter)),
            Outgoing::Entries(node, entries) => {
                let names = names_of(&entries);
                Some(self.send(vec![node], None, Work::Entries(names)))
            }
            // No shared file was accepted.
            Outgoing::Shared(_) => None,
        }
    }

    fn send_directory(&mut self, enter: Enter) -> Sent {
        let found = Found {
            source: enter.source_name,
            target: enter.target_name,
            ino: enter.stat.ino,
            made: enter.made,
            origin: enter.origin,
            through_link: enter.through_link,
            target_through_link: enter.target_through_link,
        };
        self.send(vec![enter.parent], None, Work::Directory(found))
    }

    /// Registers a unit that all these nodes wait for; they are one directory.
    fn send(&mut self, nodes: Vec<Arc<Node>>, to: Option<usize>, work: Work) -> Sent {
        self.tickets += 1;
        let ticket = self.tickets;
        let (place, within) = match nodes.first() {
            Some(node) => (self.place(node), within(node)),
            None => {
                (Place { base: CString::default(), roots: Vec::new(), levels: Vec::new() }, ROOT)
            }
        };
        self.sent.insert(ticket, nodes);
        Sent { ticket, within, to, bytes: Unit { place, work }.encode() }
    }

    fn place(&self, node: &Arc<Node>) -> Place {
        let roots = self.run().made_roots.lock().unwrap_or_else(PoisonError::into_inner);
        let roots = roots.iter().map(|(_, ino)| *ino).collect();
        let mut levels = Vec::new();
        let mut at = node;
        while let Some(parent) = &at.parent {
            levels.push(Level {
                source: at.source_name.clone(),
                target: at.target_name.clone(),
                source_ino: at.source_id.1,
                target_ino: at.target_id.1,
                through_link: at.through_link,
                target_through_link: at.target_through_link,
                inherits_acl: at.inherits_acl,
                lists_operands: at.lists_operands,
                origin: at.origin,
                new_owner: at.new_owner,
            });
            at = parent;
        }
        levels.reverse();
        Place { base: at.target_name().to_owned(), roots, levels }
    }

    /// Releases what waits for a unit, because the process that has it reports that it is done.
    pub fn release(&mut self, ticket: u64) {
        for node in self.sent.remove(&ticket).unwrap_or_default() {
            self.outside.call(move |worker| worker.release_child(node));
        }
    }

    /// Adds a unit of another process to the work of this one. [`Exchange::completed`] returns the
    /// token when the unit is done, whether or not it succeeded.
    pub fn receive(&self, token: Token, bytes: Vec<u8>) {
        self.outside.call(move |worker| adopt::adopt(worker, token, &bytes));
    }

    /// Returns the tokens of the units that are done with everything below them, once each;
    /// [`ROOT`] on the first rank when its operands are.
    #[must_use]
    pub fn completed(&self) -> Vec<Token> {
        self.run().peers.as_ref().map(PeerState::take_completed).unwrap_or_default()
    }
}

/// Returns the unit that a directory belongs to.
fn within(node: &Arc<Node>) -> Token {
    let mut at = Some(node);
    while let Some(node) = at {
        if let Foreign::Unit(token) = node.foreign {
            return token;
        }
        at = node.parent.as_ref();
    }
    ROOT
}

fn names_of(entries: &Entries) -> Vec<(CString, CString)> {
    let name = |slot| (entries.name(slot).to_owned(), entries.target(slot).to_owned());
    entries.slots.iter().map(name).collect()
}
