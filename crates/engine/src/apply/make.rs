//! Making: gives an entry its name in the target. One worker at a time in each directory.

use super::hardlink::Claim;
use super::{Content, Item, directory, hardlink, regular, special, symlink};
use crate::request::{Dereference, Links, Make};
use crate::run::{Entry, Run};
use crate::walk::node::identity;
use crate::worker::{Task, Worker};

/// Makes an entry in the target, and leaves open what waits for its bytes.
pub(super) fn make(worker: &mut Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &mut Item) {
    let run = worker.run;
    if matches!(item.content, Content::Directory) {
        directory::make(worker, task, entry, item);
        return;
    }
    match run.policy.make {
        Make::HardLink => return hardlink::to_source(worker, task, entry, item),
        Make::SymbolicLink => return symlink::to_source(worker, task, entry, item),
        Make::Copy | Make::Attributes => {}
    }
    if !is_tracked(run, entry, item) {
        make_new(worker, task, entry, item);
        return;
    }
    match run.links.claim(identity(&item.stat)) {
        Claim::Made(first) => hardlink::to_first(worker, task, entry, item, &first),
        Claim::First(claim) => {
            if make_new(worker, task, entry, item) == Made::Yes {
                let complete = match &mut item.target {
                    Some(target) => {
                        target.leads_links = true;
                        hardlink::Complete::NotYet
                    }
                    None => hardlink::Complete::Yes,
                };
                claim.publish(entry, item.stat.nlink, complete);
            }
        }
    }
}

/// Whether the entry has its name in the target now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Yes,
    No,
}

fn make_new(worker: &mut Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &mut Item) -> Made {
    match item.content {
        Content::Data(_) => regular::make(worker, task, entry, item),
        Content::Symlink => symlink::make(worker, task, entry, item),
        Content::Special => special::make(worker, task, entry, item),
        Content::Directory => Made::No,
    }
}

/// Tells whether the source may come along again under another name: it has several, or links are
/// followed, which are names, too.
fn is_tracked(run: &Run<'_>, entry: &Entry<'_>, item: &Item) -> bool {
    let by_a_link = match run.policy.dereference {
        Dereference::Never => false,
        Dereference::Operands => entry.is_operand(),
        Dereference::Always => true,
    };
    run.policy.preserve.links == Links::Keep && (item.stat.nlink > 1 || by_a_link)
}
