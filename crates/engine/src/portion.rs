//! Portion of a tree that a run copies: everything, the entries of a shard, or, once all shards are
//! complete, whatever is not copied yet.
//!
//! Every shard walks all directories. It makes those that it meets first, because any of its entries may
//! be below, and leaves their attributes to the last shard. That one goes through the whole tree as
//! `--resume` does: which shard an entry belongs to may have changed after one of the two has ended,
//! because a file got another name or lost one, or a directory was renamed.
//!
//! The path of a directory selects the shard that copies its entries; only a file with several names
//! belongs to the shard that its inode number selects, so that one shard makes all names.

use haul_io::quirk::ListedInodes;
use haul_sys::fs::{Follow, Kind, Stat};
use haul_tree::Slot;

use crate::decide::{follows, is_tracked};
use crate::entry::Entry;
use crate::journal::Position;
use crate::peers::Ranks;
use crate::request::{Links, Policy, Shard};

/// Entries that a run copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Portion {
    #[default]
    Whole,
    /// The entries of a shard, and the directories without their attributes.
    Shard(Shard),
    /// Every entry that no shard has copied, or that has changed since, and the attributes of directories.
    Rest,
}

impl Portion {
    /// Returns whether the run may copy an entry, as far as its directory tells. Only such an entry has
    /// to be described.
    pub(crate) fn may_have(self, entry: &Entry<'_>, slot: &Slot, policy: &Policy) -> bool {
        let may_be_directory = match slot.kind {
            None | Some(Kind::Unknown | Kind::Directory) => true,
            Some(Kind::Symlink) => follows(entry.role(), policy) == Follow::Yes,
            Some(_) => false,
        };
        match self {
            Portion::Whole | Portion::Rest => true,
            Portion::Shard(shard) => {
                may_be_directory
                    || owns_entries(shard, entry.node.position)
                    || policy.preserve.links == Links::Keep
                        && (!lists_inodes(entry) || owns_file(shard, slot.ino))
            }
        }
    }

    /// Returns whether all entries of a directory that have one name belong to this run.
    pub(crate) fn has_entries(self, directory: Position) -> bool {
        match self {
            Portion::Whole | Portion::Rest => true,
            Portion::Shard(shard) => owns_entries(shard, directory),
        }
    }

    /// Returns whether the run copies an entry: `stat` describes what is copied, `link` the name itself.
    pub(crate) fn has(
        self,
        entry: &Entry<'_>,
        slot: &Slot,
        (stat, link): (&Stat, &Stat),
        policy: &Policy,
    ) -> bool {
        let Portion::Shard(shard) = self else { return true };
        if stat.kind() == Kind::Directory {
            return true;
        }
        let is_followed = link.kind() == Kind::Symlink && stat.kind() != Kind::Symlink;
        // Where the directory listed another number, such as that of a file which a mount hides, other
        // shards may have skipped the entry, so the shard of the directory copies it.
        let is_listed = slot.kind.is_none() || is_followed || slot.ino == link.ino;
        if is_tracked(entry.role(), stat, policy) && (is_listed || !lists_inodes(entry)) {
            owns_file(shard, stat.ino)
        } else {
            owns_entries(shard, entry.node.position)
        }
    }
}

/// Returns whether the shard copies the entries of a directory at this position.
fn owns_entries(shard: Shard, directory: Position) -> bool {
    directory % Position::from(shard.count.max(1)) + 1 == Position::from(shard.number)
}

/// Returns whether the shard makes the names of a file with several names.
fn owns_file(shard: Shard, ino: u64) -> bool {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let ranks = Ranks { own: number(shard.number.saturating_sub(1)), count: number(shard.count) };
    ranks.other_owner(ino).is_none()
}

fn lists_inodes(entry: &Entry<'_>) -> bool {
    entry.node.pair.source.listed_inodes == ListedInodes::True
}
