//! File whose bytes the run has moved, and the job that moves them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_io::{FileJob, OpenFiles, Pair};
use haul_sys::fs::{Kind, Stat, fstat};

use super::item::Target;
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::copy::run::Run;

/// File on which the transfer has ended, successfully or not.
pub(super) struct Finished<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) source: OwnedFd,
    pub(super) stat: &'a Stat,
    pub(super) target: Target,
    pub(super) inherits: bool,
    pub(super) new_owner: Option<(u32, u32)>,
}

pub(super) fn job<'a>(
    source: &'a OwnedFd,
    target: &'a Target,
    stat: &'a Stat,
    pair: &'a Pair,
    run: &'a Run<'_>,
) -> FileJob<'a> {
    FileJob {
        source: source.as_fd(),
        target: target.fd.as_fd(),
        stat,
        target_kind: target.before.map_or(Kind::Regular, |before| before.kind()),
        pair,
        policy: &run.policy.data,
        extent: None,
        digests: target.digests.as_deref(),
        open_files: OpenFiles::Own,
    }
}

/// Returns the pair of a file: nearly every file is on its directory's file system, and the
/// function looks up the others.
pub(super) fn pair_of(
    run: &Run<'_>,
    node: &Node,
    stat: &Stat,
    source: &OwnedFd,
    target: &Target,
) -> Arc<Pair> {
    let pair = &node.pair;
    // If the target is a name and not a directory, the operands' node has the file system of the
    // current directory, and the name may lead to another one. So may a link whose referent is replaced.
    let is_elsewhere = (node.lists_operands
        && node.target_name.as_ref().is_some_and(|name| name.is_empty()))
        || target.temporary.as_ref().is_some_and(|file| file.elsewhere().is_some());
    let target_dev = match target.before {
        Some(before) => before.dev,
        None if is_elsewhere => fstat(&target.fd).map_or(0, |now| now.dev),
        None => pair.target_dev,
    };
    if stat.dev == pair.source_dev && target_dev == pair.target_dev {
        return Arc::clone(pair);
    }
    run.pairs.of(stat.dev, source.as_fd(), target_dev, target.fd.as_fd())
}
