//! The server: answers the kernel's requests from the underlying directory, each after its delay.

mod data;
mod delay_queue;
mod dispatch;
mod names;
mod properties;
mod striping;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use fuser::{FileHandle, INodeNo};

use self::delay_queue::DelayQueue;
pub(crate) use self::delay_queue::processors;
use crate::config::{Case, Clock, Config, Mode, Offload, Renames, Striping};
use crate::injector::{Decision, Injector, RequestInfo};
use crate::nodes::{Handle, Node, Nodes};
use crate::operation::Operation;

/// Error of a request.
type Failure = fuser::Errno;

/// Result of a request.
type Answer<T> = Result<T, Failure>;

fn failure(errno: rustix::io::Errno) -> Failure {
    Failure::from_i32(errno.raw_os_error())
}

fn admitted(decision: &Decision) -> Answer<()> {
    decision.errno.map_or(Ok(()), |errno| Err(Failure::from_i32(errno)))
}

/// The user and group that make a request.
#[derive(Clone, Copy, Debug)]
struct Caller {
    uid: u32,
    gid: u32,
}

/// A mounted directory and its state.
#[derive(Debug)]
struct Server {
    nodes: Nodes,
    mode: Mode,
    clock: Clock,
    remembered: Duration,
    striping: Striping,
    case: Case,
    renames: Renames,
}

impl Server {
    fn node(&self, ino: INodeNo) -> Answer<Arc<Node>> {
        self.nodes.get(ino).map_err(failure)
    }

    fn handle(&self, fh: FileHandle) -> Answer<Arc<Handle>> {
        self.nodes.handle(fh.0).map_err(failure)
    }
}

/// Receives requests, and lets the server answer them after their delay.
#[derive(Debug)]
pub(crate) struct Frontend {
    server: Arc<Server>,
    injector: Arc<Injector>,
    offload: Offload,
    in_flight: usize,
    delay_queue: DelayQueue,
}

impl Frontend {
    /// Creates the front end. Fails if no threads can be started.
    pub(crate) fn new(
        nodes: Nodes,
        injector: Arc<Injector>,
        config: &Config,
    ) -> std::io::Result<Frontend> {
        let Config { mode, clock, remembered, striping, case, renames, .. } = *config;
        let server = Server { nodes, mode, clock, remembered, striping, case, renames };
        Ok(Frontend {
            server: Arc::new(server),
            injector,
            offload: config.offload,
            in_flight: config.in_flight,
            delay_queue: DelayQueue::new(config.in_flight)?,
        })
    }

    /// Receives a request. After its delay `act` performs it, unless a rule makes it fail; `reply`
    /// gets the result.
    fn receive<T>(
        &self,
        request: &RequestInfo<'_>,
        act: impl FnOnce(&Server, Decision) -> Answer<T> + Send + 'static,
        reply: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        let (in_flight, decision) = self.injector.receive(request);
        self.answer(decision.wait, move |server| {
            let answer = admitted(&decision).and_then(|()| act(server, decision));
            // The program that gets the reply may query the number in flight.
            drop(in_flight);
            reply(server, answer);
        });
    }

    fn answer(&self, wait: Duration, work: impl FnOnce(&Server) + Send + 'static) {
        if wait > Duration::ZERO {
            let server = Arc::clone(&self.server);
            self.delay_queue.put(wait, Box::new(move || work(&server)));
        } else {
            work(&self.server);
        }
    }

    /// Receives a write. The server stores the bytes at once, because the next request reuses their
    /// buffer; only the reply is delayed.
    fn of_write(
        &self,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        reply: impl FnOnce(&Server, Answer<u32>) + Send + 'static,
    ) {
        // An unknown number fails when it is used.
        let handle = self.server.nodes.handle(fh.0).ok();
        let name = handle.as_ref().map_or(&[][..], |handle| &handle.name);
        let request =
            RequestInfo { operation: Operation::Write, name, offset, bytes: data.len() as u64 };
        let (in_flight, decision) = self.injector.receive(&request);
        let written = |()| self.server.write(fh, offset, data, decision);
        let answer = admitted(&decision).and_then(written);
        self.answer(decision.wait, move |server| {
            drop(in_flight);
            reply(server, answer);
        });
    }

    /// Receives a request on a name.
    fn of_name<T>(
        &self,
        operation: Operation,
        name: &OsStr,
        act: impl FnOnce(&Server, &OsStr, Decision) -> Answer<T> + Send + 'static,
        reply: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        let request = RequestInfo { operation, name: name.as_bytes(), offset: 0, bytes: 0 };
        let name = name.to_owned();
        self.receive(&request, move |server, decision| act(server, &name, decision), reply);
    }

    /// Receives a request on a node.
    fn of_node<T>(
        &self,
        operation: Operation,
        ino: INodeNo,
        act: impl FnOnce(&Server, Decision) -> Answer<T> + Send + 'static,
        reply: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        // An unknown number fails when it is used.
        let node = self.server.nodes.get(ino).ok();
        let name = node.as_ref().map_or(&[][..], |node| &node.name);
        let request = RequestInfo { operation, name, offset: 0, bytes: 0 };
        self.receive(&request, act, reply);
    }

    /// Receives a request on a range of an open file.
    fn of_range<T>(
        &self,
        operation: Operation,
        fh: FileHandle,
        (offset, bytes): (u64, u64),
        act: impl FnOnce(&Server, Decision) -> Answer<T> + Send + 'static,
        reply: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        // An unknown number fails when it is used.
        let handle = self.server.nodes.handle(fh.0).ok();
        let name = handle.as_ref().map_or(&[][..], |handle| &handle.name);
        self.receive(&RequestInfo { operation, name, offset, bytes }, act, reply);
    }

    /// Receives a request on an open file.
    fn of_handle<T>(
        &self,
        operation: Operation,
        fh: FileHandle,
        act: impl FnOnce(&Server, Decision) -> Answer<T> + Send + 'static,
        reply: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        self.of_range(operation, fh, (0, 0), act, reply);
    }
}
