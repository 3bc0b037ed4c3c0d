//! Symbolic links to directories that stay in place of directories (`--keep-directory-symlink`).
//!
//! The user wants what such a link leads to, so a link that members may not go through is an error: else the
//! option would remove what it should keep.

use haul_sys::fs::{Kind, statat, statat_follow};
use haul_sys::{CallError, Errno};

use super::place::{Place, Places};
use super::policy::Policy;

/// What becomes of a name that should be a directory.
pub(super) enum KeptLink {
    /// It is no link to a directory, or the option is not given.
    No,
    /// The link stays, and members go through it.
    Followed,
    /// The link stays, but leads out of the target directory.
    NotFollowed(CallError),
}

impl KeptLink {
    /// Finds out whether a link that exists at a place stays. Blocks.
    pub(super) fn of(policy: &Policy, places: &mut Places, name: &[u8], at: &Place) -> KeptLink {
        let is_link = || statat(&*at.parent, &at.leaf).map(|stat| stat.kind());
        if !policy.keeps_links_to_directories || is_link() != Ok(Kind::Symlink) {
            return KeptLink::No;
        }
        let Err(why) = places.existing(&[name, b"/."].concat()) else {
            return KeptLink::Followed;
        };
        match statat_follow(&*at.parent, &at.leaf) {
            Ok(stat) if stat.kind() == Kind::Directory => KeptLink::NotFollowed(why),
            Err(error) if !matches!(error.errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                KeptLink::NotFollowed(error)
            }
            _ => KeptLink::No,
        }
    }
}
