//! One rank: runs a copy, a removal or a comparison, and carries units between it and the manager. Rank 0 has the
//! manager itself.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use haul::{Comparison, Part, Stream, WholeFile};
use haul_engine::monitor::{Control, Counts};
use haul_engine::peers::{Conclusion, Exchange, Peers, Ranks, Sent, Summary, Unsupported};
use haul_engine::{remove as removing, request as copying};

use crate::job_status::{BEGINNING, Describe};
use crate::link::Link;
use crate::manager::{Command, Event, Manager, Progress, Rank};
use crate::message::{Message, counts_of, numbers_of};
use crate::relay::{Relay, print_all};
use crate::status::SUFFIX;
use crate::status_file::StatusFile;

/// Shortest and longest wait for a message while there is nothing else to do: the connection looks
/// at the workers after each, so the longest one is also how long a unit may take to be noticed.
const WAITS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));

/// Wait for the counts of the other ranks. Only how often the loop turns depends on it.
const END_WAIT: Duration = Duration::from_millis(100);

/// Shortest time between two reports of what a rank has counted. Progress is shown ten times a second
/// at most, and the message costs little.
const COUNTS_EVERY: Duration = Duration::from_millis(100);

/// Time without work after which a rank commits files that wait for a common flush. A unit that is on
/// its way arrives earlier, and its files share the flush.
const COMMIT_AFTER: Duration = Duration::from_millis(2);

/// What a rank has done that did not take part in a run with a journal, or not yet.
const NOTHING: Conclusion =
    Conclusion { is_complete: false, found: 0, records: 0, has_joined: false };

/// Takes part in a copy, and returns the counts: on rank 0 those of all ranks, elsewhere its own.
/// All ranks call it with the same request and the same current directory. Blocks until the copy is
/// over on all ranks.
///
/// Fails without any effect, on all ranks alike, if several processes cannot carry out the request.
pub fn copy(
    link: &mut Link,
    relay: &Relay,
    part: &Part<'_, copying::Request>,
) -> Result<Counts, Unsupported> {
    describe_beside_journal(link, part);
    let what = ("cp", (|bytes| Summary::of_copy(bytes).as_ref().map(shown)) as Describe);
    run(link, relay, (part, what), |ranks, member| {
        haul_engine::copy_among(part.request, ranks, member, part.monitor, part.control)
    })
}

/// Takes part in a removal, as [`copy`] does in a copy.
pub fn remove(
    link: &mut Link,
    relay: &Relay,
    part: &Part<'_, removing::Request>,
) -> Result<Counts, Unsupported> {
    let what = ("rm", (|bytes| Summary::of_removal(bytes).as_ref().map(shown)) as Describe);
    run(link, relay, (part, what), |ranks, member| {
        removing::remove_among(part.request, ranks, member, part.monitor, part.control)
    })
}

/// Takes part in a comparison, as [`copy`] does in a copy. The counts have failures alone.
pub fn compare(
    link: &mut Link,
    relay: &Relay,
    part: &Part<'_, Comparison<'_>>,
) -> Result<Counts, Unsupported> {
    let what =
        ("compare", (|bytes| haul::unit_of_comparison(bytes).as_ref().map(shown)) as Describe);
    run(link, relay, (part, what), |_, member| {
        let counts = part.request.carry_out(member);
        if counts.failures > 0 {
            part.control.note_failure();
        }
        Ok(counts)
    })
}

/// Takes part in a job whose units are the caller's. It has no work of its own, so its time is that of
/// the manager, the messages and the connection.
pub fn exchange<R>(
    link: &mut Link,
    relay: &Relay,
    part: &Part<'_, R>,
    units: &mut dyn Exchange,
) -> Result<Counts, Unsupported> {
    run(link, relay, (part, ("exchange", |_| None)), |_, member| {
        member.exchange(units);
        Ok(part.control.own_counts())
    })
}

/// Ends a job in which this rank did not take part, because its command line or its environment does
/// not allow it; sends rank 0 what the relay has, which says why. Where the other ranks find the same, the
/// messages are not read.
pub fn call_off(link: &Link, relay: &Relay) {
    if link.is_used() {
        return;
    }
    if link.own() == 0 {
        let end = Message::End { is_complete: false };
        (1..link.count()).for_each(|to| link.send(to, end.clone().encode()));
    } else {
        let counts = Counts { failures: 1, ..Counts::default() };
        link.send(0, Message::Event(Event::Stopped).encode());
        let mut why = relay.take();
        if why.is_empty() {
            // It was asked for help alone, for example. The job fails, so rank 0 has to say why.
            let text = format!("haul-mpi: rank {} takes no part in the job\n", link.own());
            relay.print(Stream::Error, text.as_bytes());
            why = relay.take();
        }
        link.send(0, Message::Text(why).encode());
        let last = Message::Last { conclusion: NOTHING, counts: numbers_of(&counts) };
        link.send(0, last.encode());
    }
}

/// Describes a copy beside the journal that the user named, unless another file was named.
fn describe_beside_journal(link: &mut Link, part: &Part<'_, copying::Request>) {
    let journal = part.request.resume.as_ref().and_then(|resume| resume.journal.as_ref());
    let Some(journal) = journal.filter(|_| link.own() == 0) else { return };
    let status = link.take_status().map_or_else(
        || {
            let mut name = OsStr::from_bytes(journal.to_bytes()).to_owned();
            name.push(SUFFIX);
            WholeFile::begin(&name, "status", BEGINNING)
        },
        Ok,
    );
    match status {
        Ok(file) => link.describe_in(file),
        Err(why) => {
            (part.print)(Stream::Error, format!("haul-mpi: warning: {why}\n").as_bytes());
        }
    }
}

/// Returns what a unit is, in words.
fn shown(unit: &Summary) -> String {
    format!("{} {}", unit.extent, String::from_utf8_lossy(&unit.path))
}

fn run<R>(
    link: &mut Link,
    relay: &Relay,
    (part, what): (&Part<'_, R>, (&'static str, Describe)),
    carry_out: impl FnOnce(Ranks, &mut RankProcess<'_>) -> Result<Counts, Unsupported>,
) -> Result<Counts, Unsupported> {
    let ranks = Ranks { own: link.own(), count: link.count() };
    let manager = (ranks.own == 0).then(|| Manager::new(ranks.count));
    let status = link.take_status().filter(|_| ranks.own == 0);
    let status = status.map(|file| StatusFile::begin(file, what, ranks.count)).transpose();
    let (status, no_thread) = status.map_or_else(|error| (None, Some(error)), |it| (it, None));
    let mut member =
        RankProcess { job_status: status, ..RankProcess::new(link, relay, part, manager) };
    if let Some(error) = no_thread {
        member.warn(&format!("the status is not written: {error}"));
    }
    let own = match carry_out(ranks, &mut member) {
        Ok(counts) => counts,
        Err(unsupported) => {
            // The operands may show only on rank 0 what cannot be done, so the others wait. Where another
            // rank alone finds it, the caller calls the job off when it has said why.
            if ranks.own == 0 {
                member.end(Progress::Stopped);
                member.link.set_used();
            }
            return Err(unsupported);
        }
    };
    member.link.set_used();
    if !member.has_ended {
        // The engine refused the operands, so no exchange took place.
        match &mut member.manager {
            Some(_) => member.end(Progress::Stopped),
            None => member.send(0, Message::Event(Event::Stopped)),
        }
    }
    if ranks.own == 0 {
        return Ok(member.sum_up());
    }
    member.send(0, Message::Text(relay.take()));
    let conclusion = member.conclusion;
    member.send(0, Message::Last { conclusion, counts: numbers_of(&own) });
    Ok(own)
}

struct RankProcess<'a> {
    link: &'a mut Link,
    relay: &'a Relay,
    print: &'a (dyn Fn(Stream, &[u8]) + Sync),
    control: &'a Control<'a>,
    /// Where the job is described, on rank 0.
    job_status: Option<StatusFile>,
    /// The manager, on rank 0.
    manager: Option<Manager>,
    /// Messages of this rank to itself.
    own: VecDeque<Message>,
    /// Newest counts of each rank, on rank 0.
    counts: Vec<Counts>,
    /// Number of other ranks that have ended.
    ended: usize,
    /// What the other ranks have done together, on rank 0; on the others, what this one has done.
    conclusion: Conclusion,
    /// Whether lines are on their way to rank 0.
    is_printing: bool,
    has_ended: bool,
    is_stopping: bool,
    /// Why the job ended, on rank 0, if that was no signal to it.
    ended_by: Option<&'static str>,
    /// Counts of the last report, and when it was.
    told: (Counts, Instant),
    /// The last report, without its number, and the number.
    status: (u64, u64, u64),
    /// When the last report about what this rank can use was made.
    changed: Instant,
    sequence: u64,
    received: u64,
    /// The newest question: its number, and the total up to which this rank may send units.
    asked: u64,
    limit: u64,
    offered: u64,
}

impl<'a> RankProcess<'a> {
    fn new<R>(
        link: &'a mut Link,
        relay: &'a Relay,
        part: &Part<'a, R>,
        manager: Option<Manager>,
    ) -> RankProcess<'a> {
        RankProcess {
            counts: vec![Counts::default(); link.count()],
            relay,
            print: part.print,
            control: part.control,
            job_status: None,
            manager,
            own: VecDeque::new(),
            ended: 0,
            conclusion: if link.own() == 0 {
                Conclusion { is_complete: true, has_joined: true, ..NOTHING }
            } else {
                NOTHING
            },
            is_printing: false,
            has_ended: false,
            is_stopping: false,
            ended_by: None,
            link,
            told: (Counts::default(), Instant::now()),
            status: (0, 0, 0),
            changed: Instant::now(),
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
    fn receive(&mut self, exchange: &mut dyn Exchange, wait: Duration) -> bool {
        let mut wait = if self.own.is_empty() { wait } else { Duration::ZERO };
        let mut any = false;
        while !self.has_ended {
            let (from, message) = match self.own.pop_front() {
                Some(message) => (self.link.own(), message),
                None => match self.link.receive(wait) {
                    Some((from, bytes)) => match Message::decode(&bytes) {
                        Some(message) => (from, message),
                        // Another version of the program: the ranks cannot work together.
                        None => (from, Message::Event(Event::Stopped)),
                    },
                    None => return any,
                },
            };
            wait = Duration::ZERO;
            any = true;
            self.handle(from, message, Some(exchange));
        }
        any
    }

    fn handle(&mut self, from: Rank, message: Message, exchange: Option<&mut dyn Exchange>) {
        match (message, exchange) {
            (Message::Event(event), _) => self.manage(event),
            (Message::Counts(counts), _) => self.count(from, &counts),
            (Message::Last { conclusion, counts }, _) => {
                self.count(from, &counts);
                self.ended += 1;
                self.conclusion.is_complete &= conclusion.is_complete;
                self.conclusion.found += conclusion.found;
                self.conclusion.records += conclusion.records;
                self.conclusion.has_joined &= conclusion.has_joined;
            }
            (Message::Text(text), _) => {
                if !print_all(&text, &self.print) {
                    self.control.note_failure();
                }
                self.send(from, Message::Printed);
            }
            (Message::Printed, _) => self.is_printing = false,
            (Message::Host(name), _) => {
                self.job_status.iter_mut().for_each(|status| status.status.host(from, &name));
            }
            (Message::Command(command), Some(exchange)) => self.obey(command, exchange),
            (Message::End { is_complete }, Some(exchange)) => {
                self.has_ended = true;
                if !is_complete {
                    if !exchange.is_stopped() && self.ended_by.is_none() {
                        self.ended_by = Some("another rank was stopped");
                    }
                    exchange.stop();
                }
            }
            // The exchange is over.
            (Message::Command(_) | Message::End { .. }, None) => {}
            // Read by `begin`, before anything else arrives.
            (Message::Begin(_), _) => {}
        }
    }

    /// Takes what another rank has counted. Counts of another version of the program are a failure.
    fn count(&mut self, from: Rank, numbers: &[u64]) {
        let now = Instant::now();
        match (self.counts.get_mut(from), counts_of(numbers)) {
            (Some(counts), Some(new)) => {
                *counts = new;
                self.job_status.iter_mut().for_each(|it| it.status.counted(from, new, now));
            }
            (Some(counts), None) => counts.failures += 1,
            (None, _) => {}
        }
        let mut sum = Counts::default();
        self.counts.iter().for_each(|counts| sum.add(counts));
        self.control.set_others(sum);
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
        if let Some(StatusFile { status, .. }) = &mut self.job_status {
            match event {
                Event::Status { rank, idle, .. } => status.idle(rank, idle, Instant::now()),
                Event::Done { lease, .. } => status.done(lease),
                _ => {}
            }
        }
        let commands = manager.handle(event);
        let progress = manager.progress();
        for command in commands {
            if let (Command::Give { to, lease, bytes }, Some(status)) =
                (&command, &mut self.job_status)
            {
                status.status.gave((*to, *lease), bytes, Instant::now());
            }
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

    fn obey(&mut self, command: Command, exchange: &mut dyn Exchange) {
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
            Command::Release { ticket, answer, .. } => exchange.release(ticket, &answer),
        }
    }

    /// Reports what the workers have done and sends what others can have. Returns whether there was
    /// anything.
    fn report(&mut self, exchange: &mut dyn Exchange) -> bool {
        let rank = self.link.own();
        let mut any = false;
        if self.manager.is_some() && self.ended_by.is_none() && self.link.is_late() {
            self.ended_by = Some("the time of --stop-after is over");
            exchange.stop();
        }
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
        let completed = exchange.completed();
        any |= !completed.is_empty();
        // A unit that a stop ended is not done.
        if !exchange.is_stopped() {
            for (lease, answer) in completed {
                self.tell(Event::Done { rank, lease, answer });
            }
        }
        self.relay_lines();
        self.tell_counts();
        self.describe();
        let (idle, usable) = (exchange.idle_workers() as u64, exchange.usable_units() as u64);
        let status = (idle, usable, self.received);
        if status != self.status {
            self.status = status;
            self.sequence += 1;
            let (sequence, received) = (self.sequence, self.received);
            self.tell(Event::Status { rank, sequence, idle, usable, received });
            self.changed = Instant::now();
        } else if self.changed.elapsed() >= COMMIT_AFTER {
            exchange.commit_if_idle();
        }
        any
    }

    fn offer(&mut self, sent: Sent) {
        let Sent { ticket, within, to, occupies, bytes } = sent;
        let rank = self.link.own();
        self.tell(Event::Offer { rank, ticket, within, to, occupies, bytes });
    }

    /// Sends lines of this rank's workers, if rank 0 has printed the last ones.
    fn relay_lines(&mut self) {
        if self.is_printing || self.link.own() == 0 {
            return;
        }
        let text = self.relay.take();
        if !text.is_empty() {
            self.is_printing = true;
            self.send(0, Message::Text(text));
        }
    }

    /// Reports what this rank has counted, for the progress of the whole.
    fn tell_counts(&mut self) {
        let (told, when) = self.told;
        if self.link.own() == 0 || when.elapsed() < COUNTS_EVERY {
            return;
        }
        let counts = self.control.counts();
        if counts != told {
            self.send(0, Message::Counts(numbers_of(&counts)));
        }
        self.told = (counts, Instant::now());
    }

    /// Describes the job, if rank 0 is to do so now.
    fn describe(&mut self) {
        let Some(status) = &mut self.job_status else { return };
        status.status.counted(0, self.control.own_counts(), Instant::now());
        status.tick(self.manager.as_ref().map_or(0, Manager::waiting));
    }

    /// Describes the job as it has ended.
    fn describe_end(&mut self) {
        let Some(mut status) = self.job_status.take() else { return };
        status.status.counted(0, self.control.own_counts(), Instant::now());
        let is_over = self.manager.as_ref().is_some_and(|it| it.progress() == Progress::Over);
        if let Some(why) = status.end(if is_over { "complete" } else { "stopped" }) {
            self.warn(&why);
        }
    }

    fn warn(&self, text: &str) {
        (self.print)(Stream::Error, format!("haul-mpi: warning: {text}\n").as_bytes());
    }

    /// Waits until all other ranks have ended, on rank 0.
    fn wait_for_others(&mut self) {
        while self.ended + 1 < self.link.count() {
            if let Some((from, bytes)) = self.link.receive(END_WAIT)
                && let Some(message) = Message::decode(&bytes)
            {
                self.handle(from, message, None);
            }
        }
    }

    /// Waits until all other ranks have ended, on rank 0, and returns the counts of all.
    fn sum_up(&mut self) -> Counts {
        self.wait_for_others();
        self.describe_end();
        if let Some(reason) = self.ended_by {
            let text = format!("haul-mpi: {reason}; run the same command again to continue\n");
            (self.print)(Stream::Error, text.as_bytes());
            self.control.note_failure();
        }
        self.control.counts()
    }
}

impl Peers for RankProcess<'_> {
    fn begin(&mut self, told: Option<Vec<u8>>) -> Option<Vec<u8>> {
        if let Some(told) = told {
            for to in 1..self.link.count() {
                self.send(to, Message::Begin(told.clone()));
            }
            return Some(told);
        }
        while !self.has_ended {
            if !self.is_stopping && self.control.stop.load(Ordering::Relaxed) {
                self.is_stopping = true;
                self.tell(Event::Stopped);
            }
            let Some((from, bytes)) = self.link.receive(END_WAIT) else { continue };
            match Message::decode(&bytes) {
                Some(Message::Begin(told)) => return Some(told),
                Some(Message::End { .. }) => self.has_ended = true,
                Some(message) => self.handle(from, message, None),
                // Another version of the program: the ranks cannot work together.
                None => self.tell(Event::Stopped),
            }
        }
        None
    }

    fn conclude(&mut self, own: Conclusion) -> Conclusion {
        if self.link.own() > 0 {
            self.conclusion = own;
            return own;
        }
        self.wait_for_others();
        let is_told = self.control.counts().failures > 0
            || self.control.stop.load(Ordering::Relaxed)
            || self.ended_by.is_some();
        if !self.conclusion.is_complete && !is_told {
            self.ended_by = Some("another rank was stopped");
        }
        self.conclusion
    }

    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        let host = haul::host_name();
        self.send(0, Message::Host(host));
        let (shortest, longest) = WAITS;
        let mut wait = shortest;
        while !self.has_ended {
            let is_busy = self.receive(exchange, wait) | self.report(exchange);
            wait = if is_busy { shortest } else { (wait * 2).min(longest) };
        }
        exchange.ask(0);
        // Nothing takes lines any more while workers complete what they have begun.
        self.relay.end();
    }
}
