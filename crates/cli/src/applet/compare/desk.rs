//! Desk between the thread that compares and the thread that exchanges units with other processes.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haul_engine::peers::{Answer, Exchange, Occupies, ROOT, Sent, Token};
use haul_manifest::Unit;

/// Units that arrive, units that leave, and which of them are done.
#[derive(Default)]
pub(super) struct Desk {
    inner: Mutex<Inner>,
    changed: Condvar,
    /// Number of units that other processes could use, less those that wait here.
    wanted: AtomicUsize,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct Inner {
    arrived: VecDeque<(Token, Option<Unit>)>,
    /// Token of the unit that is being compared.
    current: Token,
    is_idle: bool,
    is_over: bool,
    /// Units for any process, and for certain ones, with the token of the unit that they were found in.
    given: VecDeque<(Token, Unit)>,
    routed: VecDeque<(Token, usize, Unit)>,
    /// Units by token: one for the comparison, and one for each unit found in it, until that is done.
    open: HashMap<Token, usize>,
    /// Units that other processes have, and the units that they were found in.
    sent: HashMap<u64, Token>,
    tickets: u64,
    completed: Vec<Token>,
}

impl Inner {
    fn settle(&mut self, token: Token) {
        if let Some(left) = self.open.get_mut(&token) {
            *left -= 1;
            if *left == 0 {
                self.open.remove(&token);
                self.completed.push(token);
            }
        }
    }

    fn owe(&mut self) -> Token {
        *self.open.entry(self.current).or_default() += 1;
        self.current
    }

    fn send(&mut self, within: Token, to: Option<usize>, unit: &Unit) -> Sent {
        self.tickets += 1;
        self.sent.insert(self.tickets, within);
        // The form has no map with keys that are not text, so that it can always be written.
        let bytes = serde_json::to_vec(unit).unwrap_or_default();
        Sent { ticket: self.tickets, within, to, occupies: Occupies::Worker, bytes }
    }
}

impl Desk {
    /// Creates a desk on which the whole comparison lies.
    pub(super) fn with_roots() -> Desk {
        let desk = Desk::default();
        desk.put(ROOT, Some(Unit::roots()));
        desk
    }

    fn put(&self, token: Token, unit: Option<Unit>) {
        let mut inner = self.inner.lock();
        inner.open.insert(token, 1);
        inner.arrived.push_back((token, unit));
        drop(inner);
        self.changed.notify_all();
    }

    /// Takes the next unit, which [`Desk::done`] ends; a unit that cannot be read is `Some(None)`.
    /// Blocks until there is one, or until the exchange is over.
    pub(super) fn next(&self) -> Option<Option<Unit>> {
        let mut inner = self.inner.lock();
        loop {
            if inner.is_over || self.is_stopped() {
                return None;
            }
            if let Some((token, unit)) = inner.arrived.pop_front() {
                (inner.current, inner.is_idle) = (token, false);
                return Some(unit);
            }
            inner.is_idle = true;
            inner = self.changed.wait(inner);
        }
    }

    /// Ends the comparison of the unit that was taken.
    pub(super) fn done(&self) {
        let mut inner = self.inner.lock();
        let current = inner.current;
        inner.settle(current);
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    pub(super) fn give(&self, unit: Unit) {
        let mut inner = self.inner.lock();
        let within = inner.owe();
        inner.given.push_back((within, unit));
        let less = |wanted: usize| Some(wanted.saturating_sub(1));
        // The function always returns a value.
        let _before = self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub(super) fn route(&self, to: usize, unit: Unit) {
        let mut inner = self.inner.lock();
        let within = inner.owe();
        inner.routed.push_back((within, to, unit));
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Ends the comparison: the exchange is over.
    pub(super) fn close(&self) {
        self.inner.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Ends the comparison before it is complete.
    pub(super) fn stop(&self) {
        let inner = self.inner.lock();
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(inner);
        self.changed.notify_all();
    }
}

/// The side of the desk that exchanges units.
pub(super) struct Counter<'a>(pub(super) &'a Desk);

impl Exchange for Counter<'_> {
    fn idle_workers(&self) -> usize {
        let inner = self.0.inner.lock();
        usize::from(inner.is_idle && inner.arrived.is_empty())
    }

    fn ask(&self, units: usize) {
        let inner = self.0.inner.lock();
        self.0.wanted.store(units.saturating_sub(inner.given.len()), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn take_routed(&mut self) -> Option<Sent> {
        let mut inner = self.0.inner.lock();
        let (within, to, unit) = inner.routed.pop_front()?;
        Some(inner.send(within, Some(to), &unit))
    }

    fn take(&mut self) -> Option<Sent> {
        let mut inner = self.0.inner.lock();
        let (within, unit) = inner.given.pop_front()?;
        Some(inner.send(within, None, &unit))
    }

    fn release(&mut self, ticket: u64, _: &[u8]) {
        let mut inner = self.0.inner.lock();
        if let Some(token) = inner.sent.remove(&ticket) {
            inner.settle(token);
        }
    }

    fn receive(&self, token: Token, bytes: Vec<u8>) {
        self.0.put(token, serde_json::from_slice(&bytes).ok());
    }

    fn completed(&self) -> Vec<(Token, Answer)> {
        let completed = std::mem::take(&mut self.0.inner.lock().completed);
        completed.into_iter().map(|token| (token, Answer::new())).collect()
    }
}

#[cfg(test)]
mod tests {
    use haul_manifest::Work;

    use super::*;

    fn unit(name: &str) -> Unit {
        Unit { path: "d".into(), inodes: (1, 2), work: Work::Directory(name.into()) }
    }

    #[test]
    fn a_unit_is_done_when_all_units_found_in_it_are() {
        let desk = Desk::with_roots();
        let mut counter = Counter(&desk);
        assert_eq!(desk.next(), Some(Some(Unit::roots())));
        assert!(!desk.is_wanted());
        counter.ask(1);
        assert!(desk.is_wanted());
        desk.give(unit("a"));
        assert!(!desk.is_wanted(), "one is on its way");
        desk.route(3, unit("b"));
        desk.done();
        let given = counter.take().unwrap();
        let routed = counter.take_routed().unwrap();
        assert_eq!((given.within, given.to, routed.to), (ROOT, None, Some(3)));
        assert!(counter.take().is_none() && counter.take_routed().is_none());
        counter.release(given.ticket, &[]);
        assert_eq!(counter.completed(), []);
        counter.release(routed.ticket, &[]);
        counter.release(routed.ticket, &[]);
        assert_eq!(counter.completed(), [(ROOT, Answer::new())]);
        counter.receive(9, given.bytes);
        assert_eq!(desk.next(), Some(Some(unit("a"))));
        counter.receive(10, b"no unit".to_vec());
        assert_eq!(desk.next(), Some(None));
        desk.close();
        assert_eq!(desk.next(), None);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let desk = Desk::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| desk.next());
            Counter(&desk).stop();
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}
