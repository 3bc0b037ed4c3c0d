//! The server: answers the kernel's requests, one thread each, from the directory below.

mod buffers;
mod data;
mod dispatch;
mod names;
mod properties;

use std::sync::Arc;
use std::time::Duration;

use self::buffers::Buffers;
use crate::config::{Config, Mode, Offload};
use crate::judge::{About, Judge, UnderWay, Verdict};
use crate::nodes::Nodes;
use crate::operation::Operation;

/// How a request fails.
type Failure = fuser::Errno;

/// What a request comes to.
type Answer<T> = Result<T, Failure>;

fn failure(errno: rustix::io::Errno) -> Failure {
    Failure::from_i32(errno.raw_os_error())
}

/// A mounted directory.
#[derive(Debug)]
pub(crate) struct Server {
    nodes: Nodes,
    judge: Arc<Judge>,
    mode: Mode,
    offload: Offload,
    in_flight: usize,
    remembered: Duration,
    buffers: Buffers,
}

impl Server {
    pub(crate) fn new(nodes: Nodes, judge: Arc<Judge>, config: &Config) -> Server {
        Server {
            nodes,
            judge,
            mode: config.mode,
            offload: config.offload,
            in_flight: config.in_flight,
            remembered: config.remembered,
            buffers: Buffers::new(),
        }
    }

    /// Lets a request that moves no bytes take its time, and fail if it is to.
    fn admit(&self, operation: Operation, name: &[u8]) -> Answer<(UnderWay<'_>, Verdict)> {
        self.admit_range(&About { operation, name, offset: 0, bytes: 0 })
    }

    fn admit_range(&self, about: &About<'_>) -> Answer<(UnderWay<'_>, Verdict)> {
        let (under_way, verdict) = self.judge.receive(about);
        match verdict.errno {
            Some(errno) => Err(Failure::from_i32(errno)),
            None => Ok((under_way, verdict)),
        }
    }
}
