//! Counting what a copy has before it, beside the copy itself, so that a bar can tell the time left.
//!
//! Only counts: nothing depends on it, so a directory that cannot be read counts as empty, and a
//! tree that is too deep for the descriptors that are left ends the count without a total.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::fs::{
    CWD, DirectoryBuffer, Follow, Kind, for_each_entry, open_directory, statat, statat_follow,
};

use crate::request::{Dereference, Recursion, Request};

/// What was counted so far.
#[derive(Debug, Default)]
pub struct Census {
    bytes: AtomicU64,
    entries: AtomicU64,
    complete: AtomicBool,
}

impl Census {
    /// Returns bytes, entries, and whether that is all.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64, bool) {
        (
            self.bytes.load(Ordering::Relaxed),
            self.entries.load(Ordering::Relaxed),
            self.complete.load(Ordering::Relaxed),
        )
    }

    fn add(&self, kind: Kind, bytes: u64) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        if kind == Kind::Regular {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

struct Waiting {
    parent: Arc<OwnedFd>,
    name: CString,
}

/// Counts the sources of a request; returns early when told to stop. Blocks while it reads.
pub fn count(request: &Request, census: &Census, stop: &AtomicBool) {
    let follow =
        if request.policy.dereference == Dereference::Always { Follow::Yes } else { Follow::No };
    let mut stack = Vec::new();
    for source in &request.sources {
        let stat = if request.policy.dereference == Dereference::Never {
            statat(CWD, source)
        } else {
            statat_follow(CWD, source)
        };
        let Ok(stat) = stat else { continue };
        census.add(stat.kind(), stat.size);
        if stat.kind() == Kind::Directory
            && request.policy.recursion == Recursion::Yes
            && let Ok(here) = open_directory(CWD, c".", Follow::Yes)
        {
            stack.push(Waiting { parent: Arc::new(here), name: source.clone() });
        }
    }
    let mut buffer = DirectoryBuffer::new(64 << 10);
    while let Some(Waiting { parent, name }) = stack.pop() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(directory) = open_directory(parent.as_ref(), &name, Follow::Yes) else { continue };
        let directory = Arc::new(directory);
        loop {
            let answer = for_each_entry(directory.as_ref(), &mut buffer, |entry| {
                look(&directory, entry.name, follow, census, &mut stack);
                if stop.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if !answer.unwrap_or(false) {
                break;
            }
        }
    }
    census.complete.store(true, Ordering::Relaxed);
}

fn look(
    directory: &Arc<OwnedFd>,
    name: &std::ffi::CStr,
    follow: Follow,
    census: &Census,
    stack: &mut Vec<Waiting>,
) {
    let stat = match follow {
        Follow::Yes => statat_follow(directory.as_ref(), name),
        Follow::No => statat(directory.as_ref(), name),
    };
    let Ok(stat) = stat else { return };
    census.add(stat.kind(), stat.size);
    if stat.kind() == Kind::Directory {
        stack.push(Waiting { parent: Arc::clone(directory), name: name.to_owned() });
    }
}
