//! Link of a rank to all others: messages out and in.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use haul::WholeFile;

use crate::manager::Rank;

/// A message with the rank that it goes to or comes from.
pub(crate) type Addressed = (Rank, Vec<u8>);

/// Connection of one rank with all ranks. Messages of one pair of ranks arrive in order.
pub struct Link {
    own: Rank,
    count: usize,
    out: Out,
    inbox: Receiver<Addressed>,
    is_used: bool,
    end: Option<Instant>,
    status: Option<WholeFile>,
}

enum Out {
    /// The inboxes of all ranks, which are threads of this process.
    Threads(Vec<Sender<Addressed>>),
    /// One carrier for all messages.
    #[cfg(feature = "mpi")]
    Carrier(Sender<Addressed>),
}

impl Link {
    /// Connects a rank by a carrier that takes messages with their destination and puts what arrives
    /// into the inbox with its origin.
    #[cfg(feature = "mpi")]
    pub(crate) const fn by_carrier(
        own: Rank,
        count: usize,
        carrier: Sender<Addressed>,
        inbox: Receiver<Addressed>,
    ) -> Link {
        Link {
            own,
            count,
            out: Out::Carrier(carrier),
            inbox,
            is_used: false,
            end: None,
            status: None,
        }
    }

    /// Returns the number of this rank.
    #[must_use]
    pub const fn own(&self) -> Rank {
        self.own
    }

    /// Returns the number of ranks.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Sets the time from now on after which the job ends, also before it is complete. Only rank 0 uses
    /// it. A time that the clock does not reach sets nothing.
    pub fn stop_after(&mut self, time: Duration) {
        self.end = Instant::now().checked_add(time);
    }

    /// Sets the file in which rank 0 describes the job.
    pub fn describe_in(&mut self, file: WholeFile) {
        self.status = Some(file);
    }

    /// Takes the file in which the job is to be described.
    pub(crate) const fn take_status(&mut self) -> Option<WholeFile> {
        self.status.take()
    }

    /// Returns whether the time of the job is over.
    pub(crate) fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Records that the rank takes part in a job.
    pub(crate) const fn set_used(&mut self) {
        self.is_used = true;
    }

    /// Returns whether the rank has taken part in a job.
    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Sends a message. Does not block. A rank whose work has ended ignores it.
    pub fn send(&self, to: Rank, bytes: Vec<u8>) {
        // The receiver is gone only if that rank has ended.
        let _sent = match &self.out {
            Out::Threads(inboxes) => match inboxes.get(to) {
                Some(inbox) => inbox.send((self.own, bytes)),
                None => Ok(()),
            },
            #[cfg(feature = "mpi")]
            Out::Carrier(carrier) => carrier.send((to, bytes)),
        };
    }

    /// Returns the next message, and waits this long for one. `None` also if no message can arrive.
    pub(crate) fn receive(&self, wait: Duration) -> Option<Addressed> {
        self.inbox.recv_timeout(wait).ok()
    }
}

/// Connects this many ranks that are threads of one process.
#[must_use]
pub fn links(count: usize) -> Vec<Link> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..count).map(|_| channel()).unzip();
    let link = |(own, inbox)| Link {
        own,
        count,
        out: Out::Threads(senders.clone()),
        inbox,
        is_used: false,
        end: None,
        status: None,
    };
    inboxes.into_iter().enumerate().map(link).collect()
}
