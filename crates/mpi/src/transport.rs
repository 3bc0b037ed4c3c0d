//! Transport by MPI: the main thread carries messages; the rank's work runs on another thread.
//!
//! All calls of MPI come from the main thread, which every MPI library supports
//! (`MPI_THREAD_FUNNELED`). Messages that wait for one rank at the same time travel as one of MPI. A rank
//! that ends without `MPI_Finalize` ends the job, as MPI does.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

use mpi::Threading;
use mpi::collective::{CommunicatorCollectives as _, Root as _};
use mpi::point_to_point::{Destination as _, MatchedReceiveVec as _, Source as _};
use mpi::topology::{Communicator as _, SimpleCommunicator};

use crate::link::{Addressed, Link};
use crate::wire::{put, take};

/// Shortest and longest time between two looks for messages, while none arrive.
const LOOKS: (Duration, Duration) = (Duration::from_micros(5), Duration::from_micros(200));

/// Bytes of messages that are sent to one rank together, because they wait at the same time. Beyond
/// that, fewer calls save nothing.
const TOGETHER_BYTES: usize = 64 << 10;

/// Starts MPI, runs the work of this rank on a thread, and returns its exit status. Blocks until all
/// ranks have ended. Returns `None` if MPI cannot be started in a process with threads.
///
/// # Panics
///
/// Ends the job if the work panics.
pub fn start(work: impl FnOnce(Link) -> ExitCode + Send) -> Option<ExitCode> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)?;
    if threading < Threading::Funneled {
        return None;
    }
    let world = universe.world();
    let own = usize::try_from(world.rank()).ok()?;
    let count = usize::try_from(world.size()).ok()?;
    // New files have the same modes, whichever rank makes them. A rank that was started by ssh may have
    // another umask than the shell of rank 0.
    let mut umask = haul::umask();
    world.process_at_rank(0).broadcast_into(&mut umask);
    haul::set_umask(umask);
    let (carrier, outgoing) = channel();
    let (arrived, inbox) = channel();
    let link = Link::by_carrier(own, count, carrier, inbox);
    let mut carrier =
        Carrier { world: &world, arrived, sent: vec![0; count], received: vec![0; count] };
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || work(link));
        carrier.carry(&outgoing, || worker.is_finished());
        let Ok(code) = worker.join() else {
            // The other ranks would wait for this one.
            world.abort(ABORTED);
        };
        carrier.receive_the_last();
        Some(code)
    })
}

/// Exit status of a job in which a rank panicked.
const ABORTED: i32 = 70;

/// What carries the messages of this rank.
struct Carrier<'a> {
    world: &'a SimpleCommunicator,
    arrived: Sender<Addressed>,
    /// Number of messages of MPI to each rank.
    sent: Vec<u64>,
    /// Number of messages of MPI from each rank.
    received: Vec<u64>,
}

impl Carrier<'_> {
    /// Carries messages in both directions until the work is finished and its last messages are sent.
    fn carry(&mut self, outgoing: &Receiver<Addressed>, is_finished: impl Fn() -> bool) {
        let (shortest, longest) = LOOKS;
        let mut wait = shortest;
        let mut waiting: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        loop {
            let is_last = is_finished();
            // An answer to what has just arrived or left is likely.
            let mut is_busy = self.receive();
            // A message that the work sends ends the wait.
            let mut next = outgoing.recv_timeout(if is_last { Duration::ZERO } else { wait });
            let is_closed = matches!(next, Err(RecvTimeoutError::Disconnected));
            while let Ok((to, bytes)) = next {
                is_busy = true;
                let together = waiting.entry(to).or_default();
                put(together, bytes.len() as u64);
                together.extend_from_slice(&bytes);
                if together.len() >= TOGETHER_BYTES {
                    self.send(to, &std::mem::take(together));
                }
                next = outgoing.recv_timeout(Duration::ZERO);
            }
            while let Some((to, together)) = waiting.pop_first() {
                if !together.is_empty() {
                    self.send(to, &together);
                }
            }
            if is_last {
                return;
            }
            wait = if is_busy { shortest } else { (wait * 2).min(longest) };
            // The work has dropped its link, so that waiting for its messages does not block.
            if is_closed {
                sleep(longest);
            }
        }
    }

    /// Receives all messages that are here. Returns whether there were any.
    fn receive(&mut self) -> bool {
        let mut any = false;
        while let Some(probed) = self.world.any_process().immediate_matched_probe() {
            any = true;
            let (together, status) = probed.matched_receive_vec::<u8>();
            let Ok(from) = usize::try_from(status.source_rank()) else { continue };
            if let Some(count) = self.received.get_mut(from) {
                *count += 1;
            }
            let mut rest = &together[..];
            while !rest.is_empty() {
                let length = take(&mut rest).and_then(|length| usize::try_from(length).ok());
                // A program of another version frames its messages otherwise. Its bytes are no message,
                // which ends the job.
                let (bytes, after) =
                    length.and_then(|length| rest.split_at_checked(length)).unwrap_or_default();
                rest = after;
                // The work may have ended, and needs no more messages then.
                let _sent = self.arrived.send((from, bytes.to_vec()));
            }
        }
        any
    }

    /// Sends messages, and receives meanwhile: two ranks that send large messages to each other do not
    /// wait for each other.
    fn send(&mut self, to: usize, bytes: &[u8]) {
        let (Ok(rank), Some(count)) = (i32::try_from(to), self.sent.get_mut(to)) else { return };
        *count += 1;
        mpi::request::scope(|scope| {
            let mut request = self.world.process_at_rank(rank).immediate_send(scope, bytes);
            while let Err(unfinished) = request.test() {
                request = unfinished;
                self.receive();
            }
        });
    }

    /// Receives the messages that are still on their way when the work of this rank has ended: MPI demands
    /// that every message is received before `MPI_Finalize`, and the sender of a large one waits for that.
    /// Blocks until the work of all ranks has ended.
    fn receive_the_last(&mut self) {
        let sent = self.sent.clone();
        let mut expected = vec![0; sent.len()];
        mpi::request::scope(|scope| {
            let mut request =
                self.world.immediate_all_to_all_into(scope, &sent[..], &mut expected[..]);
            while let Err(unfinished) = request.test() {
                request = unfinished;
                if !self.receive() {
                    sleep(LOOKS.1);
                }
            }
        });
        while self.received != expected {
            if !self.receive() {
                sleep(LOOKS.0);
            }
        }
    }
}
