//! One rank: runs the engine's copy, and carries units between it and the manager. Rank 0 has the
//! manager itself.

use std::collections::VecDeque;
use std::time::Duration;

use haul_engine::monitor::{Control, Counts, Monitor};
use haul_engine::peers::{Exchange, Peers, Ranks, Sent, Unsupported};
use haul_engine::request::Request;

use crate::link::Link;
use crate::manager::{Command, Event, Manager, Progress, Rank};
use crate::message::{Message, add, numbers_of};

/// Shortest and longest wait for a message while there is nothing else to do: the connection looks
/// at the workers after each, so the longest one is also how long a unit may take to be noticed.
const WAITS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));

/// Wait for the counts of the other ranks. Only how often the loop turns depends on it.
const END_WAIT: Duration = Duration::from_millis(100);

/// Takes part in a copy, and returns the counts: on rank 0 those of all ranks, elsewhere its own.
/// All ranks call it with the same request and the same current directory. Blocks until the copy is
/// over on all ranks.
///
/// Fails without any effect, on all ranks alike, if several processes cannot carry out the request.
pub fn run(
    link: Link,
    request: &Request,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> Result<Counts, Unsupported> {
    let ranks = Ranks { own: link.own(), count: link.count() };
    let manager = (ranks.own == 0).then(|| Manager::new(ranks.count));
    let mut member = Member::new(link, manager);
    let copied = haul_engine::copy_among(request, ranks, &mut member, monitor, control);
    let mut counts = match copied {
        Ok(counts) => counts,
        Err(unsupported) => {
            // The operands may show only on rank 0 what cannot be done, so the others wait.
            if ranks.own == 0 {
                member.end(Progress::Stopped);
            }
            return Err(unsupported);
        }
    };
    if !member.has_ended {
        // The engine refused the operands, so no exchange took place.
        match &mut member.manager {
            Some(_) => member.end(Progress::Stopped),
            None => member.send(0, Message::Event(Event::Stopped)),
        }
    }
    if ranks.own == 0 {
        member.collect(&mut counts);
    } else {
        member.send(0, Message::Counts(numbers_of(&counts)));
    }
    Ok(counts)
}

struct Member {
    link: Link,
    /// The manager, on rank 0.
    manager: Option<Manager>,
    /// Messages of this rank to itself.
    own: VecDeque<Message>,
    /// Counts of other ranks that have ended.
    counts: Vec<Vec<u64>>,
    has_ended: bool,
    is_stopping: bool,
    /// The last report, without its number, and the number.
    status: (u64, u64),
    sequence: u64,
    received: u64,
    /// The newest question: its number, and the total up to which this rank may send units.
    asked: u64,
    limit: u64,
    offered: u64,
}

impl Member {
    const fn new(link: Link, manager: Option<Manager>) -> Member {
        Member {
            link,
            manager,
            own: VecDeque::new(),
            counts: Vec::new(),
            has_ended: false,
            is_stopping: false,
            status: (0, 0),
            sequence: 0,
            received: 0,
            asked: 0,
            limit: 0,
            offered: 0,
        }
    }

    fn send(&mut self, to: Rank, message: Message) {
        if to == self.link.own() {
            self.own.push_back(message);
        } else {
            self.link.send(to, message.encode());
        }
    }

    fn tell(&mut self, event: Event) {
        self.send(0, Message::Event(event));
    }

    /// Handles all messages that are here; waits for the first one. Returns whether there were any.
    fn receive(&mut self, exchange: &mut Exchange<'_, '_, '_>, wait: Duration) -> bool {
        let mut wait = if self.own.is_empty() { wait } else { Duration::ZERO };
        let mut any = false;
        while !self.has_ended {
            let message = match self.own.pop_front() {
                Some(message) => message,
                None => match self.link.receive(wait) {
                    Some((_, bytes)) => match Message::decode(&bytes) {
                        Some(message) => message,
                        // Another version of the program: the ranks cannot work together.
                        None => Message::Event(Event::Stopped),
                    },
                    None => return any,
                },
            };
            wait = Duration::ZERO;
            any = true;
            self.handle(message, Some(exchange));
        }
        any
    }

    fn handle(&mut self, message: Message, exchange: Option<&mut Exchange<'_, '_, '_>>) {
        match (message, exchange) {
            (Message::Event(event), _) => self.manage(event),
            (Message::Counts(counts), _) => self.counts.push(counts),
            (Message::Command(command), Some(exchange)) => self.obey(command, exchange),
            (Message::End { is_complete }, Some(exchange)) => {
                self.has_ended = true;
                if !is_complete {
                    exchange.stop();
                }
            }
            // The exchange is over.
            (Message::Command(_) | Message::End { .. }, None) => {}
        }
    }

    /// Lets the manager take an event, and sends what follows. A message for the manager that
    /// reaches another rank by error of a program stops the copy.
    fn manage(&mut self, event: Event) {
        let Some(manager) = &mut self.manager else {
            self.tell(Event::Stopped);
            return;
        };
        if manager.progress() != Progress::Running {
            return;
        }
        let commands = manager.handle(event);
        let progress = manager.progress();
        for command in commands {
            let (Command::Give { to, .. } | Command::Ask { to, .. } | Command::Release { to, .. }) =
                command;
            self.send(to, Message::Command(command));
        }
        if progress != Progress::Running {
            self.end(progress);
        }
    }

    /// Tells all ranks that the copy is over.
    fn end(&mut self, progress: Progress) {
        let is_complete = progress == Progress::Over;
        for to in 0..self.link.count() {
            self.send(to, Message::End { is_complete });
        }
    }

    fn obey(&mut self, command: Command, exchange: &mut Exchange<'_, '_, '_>) {
        match command {
            Command::Give { lease, bytes, .. } => {
                self.received += 1;
                exchange.receive(lease, bytes);
            }
            Command::Ask { sequence, limit, .. } => {
                if sequence > self.asked {
                    (self.asked, self.limit) = (sequence, limit);
                }
            }
            Command::Release { ticket, .. } => exchange.release(ticket),
        }
    }

    /// Reports what the workers have done and sends what others can have. Returns whether there was
    /// anything.
    fn report(&mut self, exchange: &mut Exchange<'_, '_, '_>) -> bool {
        let rank = self.link.own();
        let mut any = false;
        if exchange.is_stopped() && !self.is_stopping {
            self.is_stopping = true;
            self.tell(Event::Stopped);
        }
        while let Some(sent) = exchange.take_routed() {
            any = true;
            self.offer(sent);
        }
        let wanted = self.limit.saturating_sub(self.offered);
        exchange.ask(usize::try_from(wanted).unwrap_or(usize::MAX));
        while self.offered < self.limit
            && let Some(sent) = exchange.take()
        {
            any = true;
            self.offered += 1;
            self.offer(sent);
        }
        // After the units that were found in them.
        for lease in exchange.completed() {
            any = true;
            self.tell(Event::Done { rank, lease });
        }
        let status = (exchange.idle_workers() as u64, self.received);
        if status != self.status {
            self.status = status;
            self.sequence += 1;
            let (idle, received) = status;
            self.tell(Event::Status { rank, sequence: self.sequence, idle, received });
        }
        any
    }

    fn offer(&mut self, sent: Sent) {
        let Sent { ticket, within, to, bytes } = sent;
        self.tell(Event::Offer { rank: self.link.own(), ticket, within, to, bytes });
    }

    /// Waits for the counts of all other ranks, on rank 0.
    fn collect(&mut self, counts: &mut Counts) {
        while self.counts.len() + 1 < self.link.count() {
            if let Some((_, bytes)) = self.link.receive(END_WAIT)
                && let Some(message) = Message::decode(&bytes)
            {
                self.handle(message, None);
            }
        }
        for numbers in std::mem::take(&mut self.counts) {
            if !add(counts, &numbers) {
                counts.failures += 1;
            }
        }
    }
}

impl Peers for Member {
    fn exchange(&mut self, exchange: &mut Exchange<'_, '_, '_>) {
        let (shortest, longest) = WAITS;
        let mut wait = shortest;
        while !self.has_ended {
            let is_busy = self.receive(exchange, wait) | self.report(exchange);
            wait = if is_busy { shortest } else { (wait * 2).min(longest) };
        }
        exchange.ask(0);
    }
}
