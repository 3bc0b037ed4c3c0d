//! Turns: only one worker at a time writes to a file that another entry of the run may lead to, too.
//!
//! Several names of a target can lead to one file: hard links, symbolic links, a directory that is reached by
//! two paths (`--keep-directory-symlink`, bind mounts), and names that differ only in case. An entry has the
//! turn of its file from before its old bytes are removed until the file is complete, so that the file has
//! the bytes and attributes of one source.
//!
//! An entry that finds the turn taken keeps no worker waiting, and no descriptor that can be opened again:
//! the worker that ends the turn goes on with the entry that has waited longest.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::data::ftruncate;
use haul_sys::fs::{Follow, Kind, OpenHow, fstat, openat, statat, statat_follow, unlinkat};
use haul_sys::{Call, CallError, Errno};

use super::find;
use super::item::Target;
use super::next::{Filling, Next};
use super::turn::{Turn, Waiting};
use super::unfinished::{Fate, Unfinished};
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::node::Node;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::request::{Force, Make};
use crate::metadata::creation_mode;
use crate::names::by_identity::{Identity, identity};

/// Takes the turn of a file that an entry is about to fill, and removes its old bytes. Otherwise returns
/// what comes next: nothing if the entry waits for its turn.
pub(super) fn take<'a>(
    run: &Run<'_>,
    mut filling: Filling<'a>,
) -> ControlFlow<Next<'a>, Filling<'a>> {
    let Filling { entry, target, .. } = &filling;
    if target.temporary.is_some() {
        // The file has no name yet.
        return ControlFlow::Continue(filling);
    }
    if run.stopped() {
        // What existed keeps its bytes.
        return ControlFlow::Break(Unfinished::of(entry, target).take_away(run));
    }
    if target.turn.is_none() {
        let id = match (&target.before, target.id) {
            (Some(before), _) => identity(before),
            (None, _) if !run.turns.may_meet() => return ControlFlow::Continue(filling),
            (None, Some(id)) => id,
            (None, None) => match fstat(&target.fd) {
                Ok(now) => identity(&now),
                Err(error) => return ControlFlow::Break(failed(run, &filling, error)),
            },
        };
        let wait = |filling: Filling<'_>| {
            filling.entry.node.owe();
            Waiting::of(filling, id)
        };
        let Some((turn, taken)) = run.turns.take(id, filling, wait) else {
            return ControlFlow::Break(Next::Done);
        };
        filling = taken;
        filling.target.turn = Some(turn);
    }
    match clear(run, &filling) {
        Ok(()) => ControlFlow::Continue(filling),
        Err(error) => ControlFlow::Break(failed(run, &filling, error)),
    }
}

fn failed<'a>(run: &Run<'_>, filling: &Filling<'_>, error: CallError) -> Next<'a> {
    let Filling { entry, target, .. } = filling;
    entry.fail(run, What::CreateFile, Some(error.errno));
    Unfinished::of(entry, target).take_away(run)
}

/// Removes the bytes that a file has: older ones, or those of an entry that had its turn before. No bytes are
/// written of an empty source; the call is then what updates the time of an existing file, as `O_TRUNC` does.
fn clear(run: &Run<'_>, Filling { target, stat, .. }: &Filling<'_>) -> haul_sys::Result<()> {
    let is_regular = target.before.is_none_or(|before| before.kind() == Kind::Regular);
    if !is_regular || run.policy.make != Make::Copy {
        return Ok(());
    }
    let gets_nothing = target.before.is_some() && stat.size == 0;
    if gets_nothing || fstat(&target.fd)?.size > 0 {
        ftruncate(&target.fd, 0)?;
    }
    Ok(())
}

impl Waiting {
    fn of(filling: Filling<'_>, id: Identity) -> Waiting {
        let Filling { entry, source, stat, target } = filling;
        let Target { described_after, before, through_link, leads_links, backup, .. } = target;
        let is_old_file = before.is_some_and(|before| before.kind() == Kind::Regular);
        Waiting {
            node: Arc::clone(entry.node),
            source: entry.source.to_owned(),
            target: entry.target.to_owned(),
            stat: *stat,
            described_after,
            id,
            through_link,
            leads_links,
            backup,
            fd: (!is_old_file).then_some(target.fd),
            source_fd: (stat.kind() != Kind::Regular).then_some(source),
        }
    }

    /// Returns the directory of the entry, which owes it.
    pub(super) const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Opens source and target again, and calls a function that takes the next steps.
    pub(super) fn go_on(
        mut self,
        run: &Run<'_>,
        turn: Turn,
        then: impl FnOnce(ControlFlow<Next<'_>, Filling<'_>>),
    ) {
        let (fd, source_fd) = (self.fd.take(), self.source_fd.take());
        let entry =
            Entry { node: &self.node, source: &self.source, target: &self.target, rest: None };
        if run.stopped() {
            return then(ControlFlow::Break(self.unfinished(&entry).take_away(run)));
        }
        let handles = match run.cache.of(&self.node) {
            Ok(handles) => handles,
            Err(error) => {
                entry.fail(run, What::OpenDirectory, Some(error.errno));
                return then(ControlFlow::Break(self.unfinished(&entry).take_away(run)));
            }
        };
        let entry = OpenEntry { entry, handles: &handles };
        let source = source_fd.or_else(|| match run.policy.make {
            Make::Attributes => find::open_attributes(run, &entry, &self.stat),
            _ => find::open_described(run, &entry, &self.stat),
        });
        let mut mode = None;
        let opened = fd.map_or_else(|| self.reopen(run, &entry, &mut mode), Ok);
        let opened = opened.and_then(|fd| Ok((fstat(&fd)?, fd)));
        if let Err(error) = &opened
            && source.is_some()
        {
            entry.fail(run, What::CreateFile, Some(error.errno));
        }
        let (Some(source), Ok((now, fd))) = (source, opened) else {
            return then(ControlFlow::Break(self.unfinished(&entry).take_away(run)));
        };
        let target = Target {
            mode,
            // The entry before may have given it attributes, also if this run made it.
            before: mode.is_none().then_some(now),
            through_link: self.through_link,
            may_change: find::may_change(run, &source),
            leads_links: self.leads_links,
            backup: self.backup,
            turn: Some(turn),
            ..Target::open(fd, self.described_after, run.digests())
        };
        then(take(run, Filling { entry: &entry, source, stat: &self.stat, target }));
    }

    /// Opens the file again, if it still has its name. The entry before may have made it read-only: with `-f`
    /// a new file replaces its name then, whose mode is returned, too.
    fn reopen(
        &self,
        run: &Run<'_>,
        entry: &OpenEntry<'_>,
        mode: &mut Option<u32>,
    ) -> haul_sys::Result<OwnedFd> {
        let directory = entry.handles.target();
        let follow = if self.through_link { Follow::Yes } else { Follow::No };
        let how = OpenHow::WRITE.following(follow);
        let fd = match run.with_descriptors(|| openat(directory, entry.target, how)) {
            Err(error)
                if error.errno == Errno::ACCESS && run.policy.force == Force::IfUnopenable =>
            {
                let now = match follow {
                    Follow::Yes => statat_follow(directory, entry.target)?,
                    Follow::No => statat(directory, entry.target)?,
                };
                if identity(&now) != self.id {
                    return Err(CallError::new(Call::Openat, Errno::STALE));
                }
                unlinkat(directory, entry.target)?;
                let new = creation_mode(&self.stat, run.policy, entry.node.new_owner);
                *mode = Some(new);
                let how = OpenHow::new_file(new);
                return run
                    .creating(directory, entry.target, || openat(directory, entry.target, how));
            }
            opened => opened?,
        };
        let is_same = identity(&fstat(&fd)?) == self.id;
        if is_same { Ok(fd) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
    }

    /// Returns the entry as one that failed. The file stays: it has the bytes of another entry.
    fn unfinished<'a>(&'a self, entry: &'a Entry<'a>) -> Unfinished<'a> {
        Unfinished {
            entry,
            made: false,
            leads_links: self.leads_links,
            backup: self.backup.as_deref(),
            temporary: None,
            fate: Fate::Gone,
            ours: Some(self.id),
            file: None,
        }
    }
}
