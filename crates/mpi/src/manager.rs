//! The manager: a state machine that decides which rank gets which unit of work. Rank 0 feeds it
//! events and sends its commands; it makes no call of its own.
//!
//! A unit is a part of the tree that its finder can do without: a directory with everything below
//! it, names of one directory, or a part of a large file. A rank that finds more work keeps it until the manager asks. The
//! manager asks only while other ranks can use units, and for no more at a time than those
//! can use, within [`CREDIT`] for each rank, so it never holds more than that for each rank.
//!
//! **Dependencies.** A unit is done when its own entries and all units that were found in it are
//! done. The finder of a unit still owes it to the directory, so that completing a directory (its
//! attributes, and all directories above it) waits for the command [`Command::Release`], which the
//! manager gives exactly once for each unit.
//!
//! **Answers.** A directory of a removal stays if an entry below it does, also one that another rank
//! has; the digests of a part of a file are needed by the rank that completes the file. The report
//! that a unit is done has such an answer, which the manager passes to the unit's finder.
//!
//! **Leases.** Each time a unit is given to a rank it gets a new lease. A report about a lease that
//! is no longer valid has no effect. If a rank is lost, its units go to others under new leases, but
//! only after the units that were found in them are done: two ranks never work on one entry at the
//! same time. All units can be repeated. An MPI job ends when one of its ranks is lost, so there
//! this only matters where a transport reports [`Event::Lost`] and continues.
//!
//! **Order of messages.** Messages of one pair of ranks may overtake each other. What a rank can
//! use, and what it is asked for, are states with a number, of which the newest counts.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use haul_engine::peers::{Answer, Occupies};

/// Number of a process among all that take part, from 0.
pub type Rank = usize;

/// Number that identifies one hand-over of a unit.
pub type Lease = u64;

/// Lease of the operands, which rank 0 has from the start.
pub const ROOT: Lease = 0;

/// Least and greatest number of units that a rank may send before it is asked again: its part of those
/// that others can use. The least one hides the time of a message; the greatest one limits what waits.
const CREDIT: RangeInclusive<u64> = 4..=32;

/// Report to the manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// What a rank could use.
    Status {
        /// Rank that reports.
        rank: Rank,
        /// Number that rises with each report of the rank.
        sequence: u64,
        /// Number of idle workers.
        idle: u64,
        /// Number of units that it can use.
        usable: u64,
        /// Number of units that the rank has received so far.
        received: u64,
    },
    /// A unit that a rank found.
    Offer {
        /// Rank that found it.
        rank: Rank,
        /// The rank's own number of the unit.
        ticket: u64,
        /// Lease of the unit in which it was found.
        within: Lease,
        /// Rank that must do it; `None` for any.
        to: Option<Rank>,
        /// What it keeps busy in the rank that gets it.
        occupies: Occupies,
        /// The unit, which the manager does not interpret.
        bytes: Vec<u8>,
    },
    /// A unit is done with everything that was found in it.
    Done {
        /// Rank that had it.
        rank: Rank,
        /// Lease under which it had it.
        lease: Lease,
        /// What the rank tells the one that found the unit.
        answer: Answer,
    },
    /// A rank does not work any more, and its messages cannot arrive any more.
    Lost {
        /// The rank.
        rank: Rank,
    },
    /// A rank was stopped by a signal, or cannot take part; the copy ends early.
    Stopped,
}

/// Action that the manager asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A rank gets a unit.
    Give {
        /// Rank that gets it.
        to: Rank,
        /// Lease under which it gets it.
        lease: Lease,
        /// The unit.
        bytes: Vec<u8>,
    },
    /// A rank may send units that any rank can have, until it has sent this many since the start.
    Ask {
        /// Rank that is asked.
        to: Rank,
        /// Number that rises with each question to the rank.
        sequence: u64,
        /// Total number of units.
        limit: u64,
    },
    /// A unit is done, and its finder need not wait for it any longer.
    Release {
        /// Rank that found it.
        to: Rank,
        /// The rank's own number of the unit.
        ticket: u64,
        /// What the rank that had the unit tells this one.
        answer: Answer,
    },
}

/// How far the copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Units are out.
    Running,
    /// Everything is done.
    Over,
    /// The copy ended before everything was done.
    Stopped,
}

/// Number of a unit, which it keeps under all leases.
type UnitId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The unit waits for a rank.
    Ready,
    /// A rank has the unit.
    Leased(Rank, Lease),
    /// The unit's rank was lost, and units that were found in it are not done.
    Orphan,
}

struct Unit {
    /// Rank that found the unit, and its number there; `None` if that rank was lost, and for the
    /// operands.
    finder: Option<(Rank, u64)>,
    /// Unit in which it was found.
    within: Option<UnitId>,
    state: State,
    /// Number of units that were found in it and are not done.
    open: u64,
    occupies: Occupies,
    /// The unit, kept for another lease.
    bytes: Vec<u8>,
}

struct RankState {
    is_alive: bool,
    sequence: u64,
    idle: u64,
    usable: u64,
    received: u64,
    /// Units given to the rank, ever and now.
    given: u64,
    leases: u64,
    /// Number of units given up to the last one that occupies all its workers.
    given_when_filled: u64,
    /// Units that the rank sent because it was asked, and the total up to which it may.
    offered: u64,
    limit: u64,
    asked: u64,
}

impl RankState {
    const NEW: RankState = RankState {
        is_alive: true,
        sequence: 0,
        idle: 0,
        usable: 0,
        received: 0,
        given: 0,
        leases: 0,
        given_when_filled: 0,
        offered: 0,
        limit: 0,
        asked: 0,
    };

    /// Returns how many more units the rank can use, those on their way to it not counted.
    fn wants(&self) -> u64 {
        // What it reports before it has that unit says nothing of what it can use afterwards.
        let is_filled = self.received < self.given_when_filled;
        if self.is_alive && !is_filled {
            self.usable.saturating_sub(self.given - self.received)
        } else {
            0
        }
    }
}

/// State of one copy by several ranks.
pub struct Manager {
    members: Vec<RankState>,
    units: HashMap<UnitId, Unit>,
    leased: HashMap<Lease, UnitId>,
    ready: VecDeque<UnitId>,
    numbers: u64,
    progress: Progress,
}

impl Manager {
    /// Starts with this many ranks, at least 1; rank 0 has the operands.
    #[must_use]
    pub fn new(ranks: usize) -> Manager {
        let mut members: Vec<RankState> =
            std::iter::repeat_with(|| RankState::NEW).take(ranks.max(1)).collect();
        members[0].leases = 1;
        let state = State::Leased(0, ROOT);
        let occupies = Occupies::Worker;
        let bytes = Vec::new();
        let root = Unit { finder: None, within: None, state, open: 0, occupies, bytes };
        Manager {
            members,
            units: HashMap::from([(0, root)]),
            leased: HashMap::from([(ROOT, 0)]),
            ready: VecDeque::new(),
            numbers: 0,
            progress: Progress::Running,
        }
    }

    /// Returns how far the copy is.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// Returns the number of units that no rank has at present.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Takes a report and returns the actions that follow. After the end there are none.
    pub fn handle(&mut self, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.progress != Progress::Running {
            return commands;
        }
        match event {
            Event::Status { rank, sequence, idle, usable, received } => {
                if let Some(member) = self.member(rank)
                    && sequence > member.sequence
                {
                    (member.sequence, member.received) = (sequence, received);
                    (member.idle, member.usable) = (idle, usable);
                }
            }
            Event::Offer { rank, ticket, within, to, occupies, bytes } => {
                self.offered((rank, ticket), within, to, (occupies, bytes), &mut commands);
            }
            Event::Done { rank, lease, answer } => self.done((rank, lease), answer, &mut commands),
            Event::Lost { rank } => self.lost(rank),
            Event::Stopped => self.progress = Progress::Stopped,
        }
        if self.progress == Progress::Running {
            self.hand_out(&mut commands);
            self.ask(&mut commands);
        }
        commands
    }

    /// Returns a rank that is not lost.
    fn member(&mut self, rank: Rank) -> Option<&mut RankState> {
        self.members.get_mut(rank).filter(|member| member.is_alive)
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn offered(
        &mut self,
        (rank, ticket): (Rank, u64),
        within: Lease,
        to: Option<Rank>,
        (occupies, bytes): (Occupies, Vec<u8>),
        commands: &mut Vec<Command>,
    ) {
        let Some(member) = self.member(rank) else { return };
        member.offered += u64::from(to.is_none());
        // A rank finds units only in those that it has.
        let Some(&within) = self.leased.get(&within) else { return };
        if let Some(outer) = self.units.get_mut(&within) {
            outer.open += 1;
        }
        let id = self.next_number();
        let finder = Some((rank, ticket));
        let within = Some(within);
        let unit = Unit { finder, within, state: State::Ready, open: 0, occupies, bytes };
        self.units.insert(id, unit);
        match to.filter(|to| self.members.get(*to).is_some_and(|member| member.is_alive)) {
            Some(to) => self.give(id, to, commands),
            None => self.ready.push_back(id),
        }
    }

    fn done(&mut self, (rank, lease): (Rank, Lease), answer: Answer, commands: &mut Vec<Command>) {
        let Some(&id) = self.leased.get(&lease) else { return };
        let is_valid = self
            .units
            .get(&id)
            .is_some_and(|unit| unit.state == State::Leased(rank, lease) && unit.open == 0);
        if !is_valid {
            return;
        }
        self.leased.remove(&lease);
        let Some(unit) = self.units.remove(&id) else { return };
        if let Some(member) = self.member(rank) {
            member.leases -= 1;
        }
        if let Some((to, ticket)) = unit.finder {
            commands.push(Command::Release { to, ticket, answer });
        }
        match unit.within {
            None => self.progress = Progress::Over,
            Some(outer) => self.close_one(outer),
        }
    }

    /// Counts a unit that was found in another one as done.
    fn close_one(&mut self, outer: UnitId) {
        let Some(unit) = self.units.get_mut(&outer) else { return };
        unit.open -= 1;
        if unit.open == 0 && unit.state == State::Orphan {
            unit.state = State::Ready;
            self.ready.push_back(outer);
        }
    }

    fn lost(&mut self, rank: Rank) {
        let Some(member) = self.member(rank) else { return };
        (member.is_alive, member.leases) = (false, 0);
        if rank == 0 {
            self.progress = Progress::Stopped;
            return;
        }
        let mut again: Vec<UnitId> = Vec::new();
        for (id, unit) in &mut self.units {
            if unit.finder.is_some_and(|(finder, _)| finder == rank) {
                unit.finder = None;
            }
            let State::Leased(holder, lease) = unit.state else { continue };
            if holder != rank {
                continue;
            }
            self.leased.remove(&lease);
            unit.state = if unit.open == 0 { State::Ready } else { State::Orphan };
            if unit.open == 0 {
                again.push(*id);
            }
        }
        again.sort_unstable();
        self.ready.extend(again);
    }

    fn give(&mut self, id: UnitId, to: Rank, commands: &mut Vec<Command>) {
        let lease = self.next_number();
        let Some(unit) = self.units.get_mut(&id) else { return };
        unit.state = State::Leased(to, lease);
        let (occupies, bytes) = (unit.occupies, unit.bytes.clone());
        self.leased.insert(lease, id);
        if let Some(member) = self.member(to) {
            member.given += 1;
            member.leases += 1;
            if occupies == Occupies::Process {
                member.given_when_filled = member.given;
            }
        }
        commands.push(Command::Give { to, lease, bytes });
    }

    /// Gives units to the ranks that can use most, and first to those with idle workers.
    fn hand_out(&mut self, commands: &mut Vec<Command>) {
        while !self.ready.is_empty() {
            let Some(id) = self.ready.front().copied() else { return };
            // The finder offered it because others asked.
            let finder = self.units.get(&id).and_then(|unit| unit.finder).map(|(rank, _)| rank);
            let wants = |rank: &Rank| {
                let member = &self.members[*rank];
                let wants = member.wants();
                (wants > 0 && finder != Some(*rank), member.idle > 0, wants)
            };
            let most_wanting = (0..self.members.len()).max_by_key(wants);
            let Some(rank) = most_wanting.filter(|rank| self.members[*rank].wants() > 0) else {
                return;
            };
            self.ready.pop_front();
            self.give(id, rank, commands);
        }
    }

    /// Asks ranks that have work while others have none, and tells them when that is over.
    fn ask(&mut self, commands: &mut Vec<Command>) {
        let wanted: u64 = self.members.iter().map(RankState::wants).sum();
        let givers = self.members.iter().filter(|member| member.leases > 0).count() as u64;
        for (to, member) in self.members.iter_mut().enumerate() {
            if !member.is_alive {
                continue;
            }
            // What its own idle workers want they get without a message.
            let wanted = wanted - member.wants();
            let credit = wanted.div_ceil(givers.max(1)).clamp(*CREDIT.start(), *CREDIT.end());
            // A rank that answered most of the last question is asked again in advance.
            let left = member.limit.saturating_sub(member.offered);
            let limit = match (wanted > 0 && member.leases > 0, left) {
                (true, left) if left <= credit / 2 => member.offered + credit,
                (false, 1..) => member.offered,
                _ => continue,
            };
            member.limit = limit;
            member.asked += 1;
            commands.push(Command::Ask { to, sequence: member.asked, limit });
        }
    }
}
