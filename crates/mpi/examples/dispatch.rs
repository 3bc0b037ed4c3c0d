//! Measures how many units a second one manager hands out, with units that do nothing.
//!
//!     mpirun -n 4 --mca btl tcp,self target/release/examples/dispatch [UNITS [BYTES]]
//!
//! Every rank but the first finds an equal part of the units, each of some bytes, and all ranks do them.
//! The manager, the messages and the transport are those of `haul-mpi`; a unit takes the way of any other
//! one: its finder offers it, the manager gives it to another rank, which reports it done, and the finder
//! is told so.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::cell::RefCell;
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use haul::Part;
use haul_engine::monitor::{Control, Counts, Report};
use haul_engine::peers::{Answer, Exchange, Occupies, ROOT, Sent, Token};
use haul_mpi::{Relay, transport};

/// Workers of a rank, all of which are idle at all times.
const WORKERS: usize = 32;

/// First byte of a unit whose receiver finds units.
const FIND: u8 = 1;

/// What a rank has found and done.
struct Units {
    /// Ranks that have to be told to find units, on the first rank.
    untold: Vec<usize>,
    /// Number of units that a rank finds, and their bytes.
    each: u64,
    bytes: usize,
    /// Number of units to be found, and the unit in which they are.
    found: RefCell<(u64, Token)>,
    sent: HashSet<u64>,
    tickets: u64,
    asked: RefCell<usize>,
    done: RefCell<Vec<(Token, Answer)>>,
    /// Unit that is done when all that was found in it is.
    open: RefCell<Option<Token>>,
    /// Number of units that this rank has done.
    count: RefCell<u64>,
}

impl Units {
    fn send(&mut self, within: Token, to: Option<usize>, bytes: Vec<u8>) -> Sent {
        self.tickets += 1;
        self.sent.insert(self.tickets);
        Sent { ticket: self.tickets, within, to, occupies: Occupies::Worker, bytes }
    }
}

impl Exchange for Units {
    fn idle_workers(&self) -> usize {
        WORKERS
    }

    fn ask(&self, units: usize) {
        *self.asked.borrow_mut() = units;
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn stop(&self) {}

    fn take_routed(&mut self) -> Option<Sent> {
        let to = self.untold.pop()?;
        Some(self.send(ROOT, Some(to), vec![FIND]))
    }

    fn take(&mut self) -> Option<Sent> {
        let (left, within) = *self.found.borrow();
        if left == 0 {
            return None;
        }
        self.found.borrow_mut().0 -= 1;
        let bytes = vec![0; self.bytes.max(1)];
        Some(self.send(within, None, bytes))
    }

    fn release(&mut self, ticket: u64, _answer: &[u8]) {
        self.sent.remove(&ticket);
    }

    fn receive(&self, token: Token, bytes: Vec<u8>) {
        if bytes.first() == Some(&FIND) {
            *self.found.borrow_mut() = (self.each, token);
            *self.open.borrow_mut() = Some(token);
        } else {
            *self.count.borrow_mut() += 1;
            self.done.borrow_mut().push((token, Answer::new()));
        }
    }

    fn completed(&self) -> Vec<(Token, Answer)> {
        let mut done = self.done.take();
        let is_over = self.sent.is_empty() && self.untold.is_empty() && self.found.borrow().0 == 0;
        if is_over && let Some(token) = self.open.take() {
            done.push((token, Answer::new()));
        }
        done
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).map(|word| word.parse::<u64>());
    let (Ok(units), Ok(bytes)) = (number(0).unwrap_or(Ok(200_000)), number(1).unwrap_or(Ok(300)))
    else {
        eprintln!("Usage: dispatch [UNITS [BYTES]]");
        return ExitCode::FAILURE;
    };
    let code = transport::start(|mut link| {
        let (own, count) = (link.own(), link.count());
        let finders = (count as u64).saturating_sub(1).max(1);
        let each = units.div_ceil(finders);
        let mut job = Units {
            untold: if own == 0 { (1..count).collect() } else { Vec::new() },
            each,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            found: RefCell::new((0, ROOT)),
            sent: HashSet::new(),
            tickets: 0,
            asked: RefCell::default(),
            done: RefCell::default(),
            open: RefCell::new((own == 0).then_some(ROOT)),
            count: RefCell::default(),
        };
        let (stop, print) = (AtomicBool::new(false), |_, _: &[u8]| {});
        let control = &Control::new(&stop);
        let part = Part { request: &(), monitor: &|_: Report<'_>| {}, control, print: &print };
        let start = Instant::now();
        let outcome: Result<Counts, _> =
            haul_mpi::exchange(&mut link, &Relay::default(), &part, &mut job);
        let seconds = start.elapsed().as_secs_f64();
        println!("rank {own}: {} units done", job.count.borrow());
        if own == 0 {
            let total = each * finders;
            println!("{total} units in {seconds:.2} s: {:.0} units/s", total as f64 / seconds);
        }
        if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    });
    code.unwrap_or(ExitCode::FAILURE)
}
