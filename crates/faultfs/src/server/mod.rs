//! The server: answers the kernel's requests from the directory below, each when its time has come.

mod data;
mod dispatch;
mod later;
mod names;
mod properties;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

use fuser::{FileHandle, INodeNo};

use self::later::Later;
pub(crate) use self::later::processors;
use crate::config::{Clock, Config, Mode, Offload};
use crate::judge::{About, Judge, Verdict};
use crate::nodes::{Handle, Node, Nodes};
use crate::operation::Operation;

/// How a request fails.
type Failure = fuser::Errno;

/// What a request comes to.
type Answer<T> = Result<T, Failure>;

fn failure(errno: rustix::io::Errno) -> Failure {
    Failure::from_i32(errno.raw_os_error())
}

fn admitted(verdict: &Verdict) -> Answer<()> {
    verdict.errno.map_or(Ok(()), |errno| Err(Failure::from_i32(errno)))
}

/// Who makes a request.
#[derive(Clone, Copy, Debug)]
struct Caller {
    uid: u32,
    gid: u32,
}

/// A mounted directory, and what is known of it.
#[derive(Debug)]
struct Server {
    nodes: Nodes,
    mode: Mode,
    clock: Clock,
    remembered: Duration,
}

impl Server {
    fn node(&self, ino: INodeNo) -> Answer<Arc<Node>> {
        self.nodes.get(ino).map_err(failure)
    }

    fn handle(&self, fh: FileHandle) -> Answer<Arc<Handle>> {
        self.nodes.handle(fh.0).map_err(failure)
    }
}

/// Takes requests in, and lets the server answer them after their time.
#[derive(Debug)]
pub(crate) struct Front {
    server: Arc<Server>,
    judge: Arc<Judge>,
    offload: Offload,
    in_flight: usize,
    later: Later,
}

impl Front {
    /// Fails where no threads are to be had.
    pub(crate) fn new(nodes: Nodes, judge: Arc<Judge>, config: &Config) -> std::io::Result<Front> {
        let Config { mode, clock, remembered, .. } = *config;
        let server = Server { nodes, mode, clock, remembered };
        Ok(Front {
            server: Arc::new(server),
            judge,
            offload: config.offload,
            in_flight: config.in_flight,
            later: Later::new(config.in_flight)?,
        })
    }

    /// Takes a request in: `act` answers it when it has taken its time, unless it is to fail; `tell`
    /// hears what it came to.
    fn receive<T>(
        &self,
        about: &About<'_>,
        act: impl FnOnce(&Server, Verdict) -> Answer<T> + Send + 'static,
        tell: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        let (under_way, verdict) = self.judge.receive(about);
        self.answer(verdict.wait, move |server| {
            let answer = admitted(&verdict).and_then(|()| act(server, verdict));
            // Whoever has its answer may ask how many are under way.
            drop(under_way);
            tell(server, answer);
        });
    }

    fn answer(&self, wait: Duration, work: impl FnOnce(&Server) + Send + 'static) {
        if wait > Duration::ZERO {
            let server = Arc::clone(&self.server);
            self.later.put(wait, Box::new(move || work(&server)));
        } else {
            work(&self.server);
        }
    }

    /// Takes a write in. The bytes are there at once, for they lie where the next request will; it is
    /// the answer that takes its time.
    fn of_write(
        &self,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        tell: impl FnOnce(&Server, Answer<u32>) + Send + 'static,
    ) {
        // One that is not known fails when it is used.
        let handle = self.server.nodes.handle(fh.0).ok();
        let name = handle.as_ref().map_or(&[][..], |handle| &handle.name);
        let about = About { operation: Operation::Write, name, offset, bytes: data.len() as u64 };
        let (under_way, verdict) = self.judge.receive(&about);
        let written = |()| self.server.write(fh, offset, data, verdict);
        let answer = admitted(&verdict).and_then(written);
        self.answer(verdict.wait, move |server| {
            drop(under_way);
            tell(server, answer);
        });
    }

    /// Takes in what is about a name.
    fn of_name<T>(
        &self,
        operation: Operation,
        name: &OsStr,
        act: impl FnOnce(&Server, &OsStr, Verdict) -> Answer<T> + Send + 'static,
        tell: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        let about = About { operation, name: name.as_bytes(), offset: 0, bytes: 0 };
        let name = name.to_owned();
        self.receive(&about, move |server, verdict| act(server, &name, verdict), tell);
    }

    /// Takes in what is about a node.
    fn of_node<T>(
        &self,
        operation: Operation,
        ino: INodeNo,
        act: impl FnOnce(&Server, Verdict) -> Answer<T> + Send + 'static,
        tell: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        // One that is not known fails when it is used.
        let node = self.server.nodes.get(ino).ok();
        let name = node.as_ref().map_or(&[][..], |node| &node.name);
        let about = About { operation, name, offset: 0, bytes: 0 };
        self.receive(&about, act, tell);
    }

    /// Takes in what is about a range of an open file.
    fn of_range<T>(
        &self,
        operation: Operation,
        fh: FileHandle,
        (offset, bytes): (u64, u64),
        act: impl FnOnce(&Server, Verdict) -> Answer<T> + Send + 'static,
        tell: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        // One that is not known fails when it is used.
        let handle = self.server.nodes.handle(fh.0).ok();
        let name = handle.as_ref().map_or(&[][..], |handle| &handle.name);
        self.receive(&About { operation, name, offset, bytes }, act, tell);
    }

    /// Takes in what is about an open file.
    fn of_handle<T>(
        &self,
        operation: Operation,
        fh: FileHandle,
        act: impl FnOnce(&Server, Verdict) -> Answer<T> + Send + 'static,
        tell: impl FnOnce(&Server, Answer<T>) + Send + 'static,
    ) {
        self.of_range(operation, fh, (0, 0), act, tell);
    }
}
