//! A model of a copy for the manager's property test: ranks that walk a random tree, and a network
//! that delays messages, lets them overtake each other, and loses ranks with all their messages.

use std::collections::{BTreeMap, HashMap};

use haul_engine::peers::Occupies;
use haul_mpi::{Command, Event, Lease, Manager, Progress, ROOT, Rank};

/// Numbers from a seed (xorshift64*).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(mixed).unwrap() % bound.max(1)
    }
}

/// A tree: the children of each node. Node 0 stands for the operands.
pub(crate) fn tree(numbers: &mut Numbers, nodes: usize) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); nodes];
    // A small window makes deep trees, a large one flat trees.
    let window = 1 + numbers.below(nodes);
    for node in 1..nodes {
        let parent = node - 1 - numbers.below(node.min(window));
        children[parent].push(node);
    }
    children
}

/// A node that a rank has: it found the children, and some of them are with other ranks.
struct Open {
    parent: Option<usize>,
    /// Lease, if another rank or the start gave the node.
    lease: Option<Lease>,
    left: usize,
    /// Whether an entry in it or below it stays.
    kept: bool,
}

/// A rank.
#[derive(Default)]
pub(crate) struct Walker {
    open: HashMap<usize, Open>,
    /// Nodes that were found and not begun, with their parents and leases.
    stack: Vec<(usize, Option<usize>, Option<Lease>)>,
    tickets: HashMap<u64, usize>,
    next_ticket: u64,
    sequence: u64,
    received: u64,
    asked: u64,
    limit: u64,
    offered: u64,
    status: Option<(u64, u64)>,
}

/// What happened to the nodes in a run of the model.
#[derive(Default)]
pub(crate) struct Record {
    /// How often each node was begun and completed.
    pub(crate) begun: BTreeMap<usize, usize>,
    pub(crate) completed: BTreeMap<usize, usize>,
    /// Whether a node stayed, each time it was completed.
    pub(crate) kept: Vec<(usize, bool)>,
    /// How often the manager released each unit: finder and ticket.
    pub(crate) released: HashMap<(Rank, u64), usize>,
    pub(crate) lost: usize,
    pub(crate) given: usize,
    pub(crate) most_waiting: usize,
}

/// A message on its way.
enum Mail {
    ToManager(Rank, Event),
    ToRank(Rank, Command),
}

pub(crate) struct Model<'a> {
    pub(crate) numbers: &'a mut Numbers,
    pub(crate) children: &'a [Vec<usize>],
    /// Nodes that a removal cannot remove.
    pub(crate) stubborn: &'a [bool],
    pub(crate) manager: Manager,
    pub(crate) ranks: Vec<Option<Walker>>,
    pub(crate) record: Record,
    mail: Vec<Mail>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(
        numbers: &'a mut Numbers,
        children: &'a [Vec<usize>],
        stubborn: &'a [bool],
        count: usize,
    ) -> Model<'a> {
        let mut ranks: Vec<Option<Walker>> = Vec::new();
        ranks.resize_with(count, || Some(Walker::default()));
        ranks[0].as_mut().unwrap().stack.push((0, None, Some(ROOT)));
        let manager = Manager::new(count);
        let record = Record::default();
        Model { numbers, children, stubborn, manager, ranks, record, mail: Vec::new() }
    }

    /// Runs until the manager says that the copy ended; panics if nothing can happen before that.
    /// One turn in `loss` loses a rank; 0 loses none.
    pub(crate) fn run(&mut self, loss: usize, keeps_order: bool) {
        let bound = 200 * (self.children.len() + 10) * self.ranks.len();
        for _ in 0..bound {
            if self.manager.progress() != Progress::Running {
                return;
            }
            if loss > 0 && self.numbers.below(loss) == 0 {
                self.lose();
            }
            let rank = self.numbers.below(self.ranks.len());
            if self.numbers.below(2) == 0 {
                self.deliver(keeps_order);
            } else {
                self.work(rank);
            }
        }
        panic!("the copy does not end: {} messages are on their way", self.mail.len());
    }

    /// Loses a rank other than 0, with all messages from it and to it.
    fn lose(&mut self) {
        let rank = 1 + self.numbers.below(self.ranks.len().saturating_sub(1).max(1));
        if rank >= self.ranks.len() || self.ranks[rank].take().is_none() {
            return;
        }
        self.record.lost += 1;
        self.mail.retain(|mail| {
            let (Mail::ToManager(other, _) | Mail::ToRank(other, _)) = mail;
            *other != rank
        });
        // The news may be late, too.
        self.mail.push(Mail::ToManager(usize::MAX, Event::Lost { rank }));
    }

    fn deliver(&mut self, keeps_order: bool) {
        if self.mail.is_empty() {
            return;
        }
        let index = if keeps_order { 0 } else { self.numbers.below(self.mail.len()) };
        match self.mail.remove(index) {
            Mail::ToManager(_, event) => {
                for command in self.manager.handle(event) {
                    let (Command::Give { to, .. }
                    | Command::Ask { to, .. }
                    | Command::Release { to, .. }) = command;
                    if let Command::Release { ticket, .. } = command {
                        *self.record.released.entry((to, ticket)).or_default() += 1;
                    }
                    self.record.given += usize::from(matches!(command, Command::Give { .. }));
                    if self.ranks[to].is_some() {
                        self.mail.push(Mail::ToRank(to, command));
                    }
                }
                self.record.most_waiting = self.record.most_waiting.max(self.manager.waiting());
            }
            Mail::ToRank(rank, command) => self.obey(rank, command),
        }
    }

    fn obey(&mut self, rank: Rank, command: Command) {
        let Some(walker) = &mut self.ranks[rank] else { return };
        match command {
            Command::Give { lease, bytes, .. } => {
                walker.received += 1;
                let node = usize::from_le_bytes(bytes.try_into().unwrap());
                walker.stack.push((node, None, Some(lease)));
            }
            Command::Ask { sequence, limit, .. } => {
                if sequence > walker.asked {
                    (walker.asked, walker.limit) = (sequence, limit);
                }
            }
            Command::Release { ticket, answer, .. } => {
                let node = walker.tickets.remove(&ticket).expect("a ticket is released once");
                walker.open.get_mut(&node).unwrap().kept |= !answer.is_empty();
                self.close_one(rank, node);
            }
        }
    }

    /// Lets a rank do one step: send what was asked for, begin a node, or say how it stands.
    fn work(&mut self, rank: Rank) {
        let routed = self.numbers.below(20) == 0;
        let to = self.numbers.below(self.ranks.len());
        let Some(walker) = &mut self.ranks[rank] else { return };
        // Only what this rank found itself may leave it, and it sends its oldest work.
        let found = walker.stack.iter().position(|(_, parent, _)| parent.is_some());
        if let Some(index) = found
            && (routed || walker.offered < walker.limit && walker.stack.len() > 1)
        {
            let (node, parent, _) = walker.stack.remove(index);
            walker.offered += u64::from(!routed);
            let to = routed.then_some(to);
            return self.offer(rank, node, parent.unwrap(), to);
        }
        match walker.stack.pop() {
            Some((node, parent, lease)) => self.begin(rank, node, parent, lease),
            None => self.tell_status(rank),
        }
    }

    fn offer(&mut self, rank: Rank, node: usize, parent: usize, to: Option<Rank>) {
        let walker = self.ranks[rank].as_mut().unwrap();
        walker.next_ticket += 1;
        let ticket = walker.next_ticket;
        walker.tickets.insert(ticket, parent);
        let mut at = parent;
        let within = loop {
            let open = &walker.open[&at];
            match (open.lease, open.parent) {
                (Some(lease), _) => break lease,
                (None, Some(parent)) => at = parent,
                (None, None) => panic!("node {at} belongs to no unit"),
            }
        };
        let bytes = node.to_le_bytes().to_vec();
        let occupies = if node.is_multiple_of(3) { Occupies::Process } else { Occupies::Worker };
        let event = Event::Offer { rank, ticket, within, to, occupies, bytes };
        self.mail.push(Mail::ToManager(rank, event));
    }

    fn begin(&mut self, rank: Rank, node: usize, parent: Option<usize>, lease: Option<Lease>) {
        *self.record.begun.entry(node).or_default() += 1;
        for other in self.ranks.iter().flatten() {
            assert!(!other.open.contains_key(&node), "two ranks work on node {node}");
        }
        let children = &self.children[node];
        let walker = self.ranks[rank].as_mut().unwrap();
        walker.open.insert(
            node,
            Open { parent, lease, left: children.len() + 1, kept: self.stubborn[node] },
        );
        walker.stack.extend(children.iter().map(|child| (*child, Some(node), None)));
        self.close_one(rank, node);
    }

    /// Counts a part of a node as done: itself, or a child with everything below it.
    fn close_one(&mut self, rank: Rank, node: usize) {
        let mut node = node;
        loop {
            let walker = self.ranks[rank].as_mut().unwrap();
            let open = walker.open.get_mut(&node).expect("an open node");
            open.left -= 1;
            if open.left > 0 {
                return;
            }
            let Open { parent, lease, kept, .. } = walker.open.remove(&node).unwrap();
            *self.record.completed.entry(node).or_default() += 1;
            self.record.kept.push((node, kept));
            if let Some(lease) = lease {
                let answer = if kept { vec![1] } else { Vec::new() };
                self.mail.push(Mail::ToManager(rank, Event::Done { rank, lease, answer }));
                return;
            }
            node = parent.expect("a node without a lease has a parent");
            walker.open.get_mut(&node).unwrap().kept |= kept;
        }
    }

    fn tell_status(&mut self, rank: Rank) {
        let walker = self.ranks[rank].as_mut().unwrap();
        let idle = u64::from(walker.stack.is_empty());
        let status = (idle, walker.received);
        if walker.status != Some(status) {
            walker.status = Some(status);
            walker.sequence += 1;
            let (sequence, received) = (walker.sequence, walker.received);
            let event = Event::Status { rank, sequence, idle, usable: idle, received };
            self.mail.push(Mail::ToManager(rank, event));
        }
    }
}
