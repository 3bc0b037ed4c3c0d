//! Transport by MPI: the main thread carries messages; the rank's work runs on another thread.
//!
//! All calls of MPI come from the main thread, which every MPI library supports
//! (`MPI_THREAD_FUNNELED`). A rank that ends without `MPI_Finalize` ends the job, as MPI does.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mpi::Threading;
use mpi::point_to_point::{Destination as _, MatchedReceiveVec as _, Source as _};
use mpi::topology::{Communicator as _, SimpleCommunicator};

use crate::link::{Addressed, Link};

/// Longest time between two looks for messages, while none arrive.
const LOOK: Duration = Duration::from_micros(200);

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
    let (carrier, outgoing) = channel();
    let (arrived, inbox) = channel();
    let link = Link::by_carrier(own, count, carrier, inbox);
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || work(link));
        carry(&world, &outgoing, &arrived, || worker.is_finished());
        match worker.join() {
            Ok(code) => Some(code),
            // The other ranks would wait for this one.
            Err(_) => world.abort(ABORTED),
        }
    })
}

/// Exit status of a job in which a rank panicked.
const ABORTED: i32 = 70;

/// Carries messages in both directions until the work is finished and its last messages are sent.
fn carry(
    world: &SimpleCommunicator,
    outgoing: &Receiver<Addressed>,
    arrived: &Sender<Addressed>,
    is_finished: impl Fn() -> bool,
) {
    loop {
        let is_last = is_finished();
        receive(world, arrived);
        // A message that the work sends ends the wait.
        let mut next = outgoing.recv_timeout(if is_last { Duration::ZERO } else { LOOK });
        while let Ok((to, bytes)) = next {
            send(world, to, &bytes, arrived);
            next = outgoing.recv_timeout(Duration::ZERO);
        }
        if is_last {
            return;
        }
        if outgoing_is_closed(&next) {
            std::thread::sleep(LOOK);
        }
    }
}

/// Returns whether the work has dropped its link, so that waiting for its messages does not block.
fn outgoing_is_closed(next: &Result<Addressed, std::sync::mpsc::RecvTimeoutError>) -> bool {
    matches!(next, Err(std::sync::mpsc::RecvTimeoutError::Disconnected))
}

/// Receives all messages that are here.
fn receive(world: &SimpleCommunicator, arrived: &Sender<Addressed>) {
    while let Some(probed) = world.any_process().immediate_matched_probe() {
        let (bytes, status) = probed.matched_receive_vec::<u8>();
        if let Ok(from) = usize::try_from(status.source_rank()) {
            // The work has ended and needs no more messages.
            let _sent = arrived.send((from, bytes));
        }
    }
}

/// Sends a message, and receives meanwhile: two ranks that send large messages to each other do not
/// wait for each other.
fn send(world: &SimpleCommunicator, to: usize, bytes: &[u8], arrived: &Sender<Addressed>) {
    let Ok(to) = i32::try_from(to) else { return };
    mpi::request::scope(|scope| {
        let mut request = world.process_at_rank(to).immediate_send(scope, bytes);
        while let Err(unfinished) = request.test() {
            request = unfinished;
            receive(world, arrived);
        }
    });
}
