//! Calls on names, directories and the attributes of files.

mod accessat;
mod chmod;
mod chown;
mod close;
mod getdents;
mod lease;
mod linkat;
mod mkdirat;
mod mknodat;
mod mount_id;
mod openat;
mod position;
mod readlinkat;
mod renameat;
mod stat;
mod statfs;
mod symlinkat;
mod sync;
mod unlinkat;
mod utimens;
mod xattr;

pub use accessat::may_write_at;
pub use chmod::{chmodat, fchmod};
pub use chown::{fchown, lchownat};
pub use close::close;
pub use getdents::{DirectoryBuffer, RawEntry, for_each_entry};
pub use lease::write_lease;
pub use linkat::{Follow, linkat};
pub use mkdirat::mkdirat;
pub use mknodat::mknodat;
pub use mount_id::mount_id;
pub use openat::{Access, Create, OpenHow, Wait, open_directory, openat};
pub use position::{directory_position, seek_directory};
pub use readlinkat::readlinkat;
pub use renameat::{RenameMode, renameat};
pub use rustix::fs::CWD;
pub use stat::{Kind, Stat, Time, fstat, statat, statat_follow};
pub use statfs::{FileSystem, fstatfs};
pub use symlinkat::symlinkat;
pub use sync::{fsync, syncfs};
pub use unlinkat::{rmdirat, unlinkat};
pub use utimens::{TimePair, futimens, utimensat_nofollow};
pub use xattr::{
    fgetxattr, flistxattr, fremovexattr, fsetxattr, lgetxattr_at, llistxattr_at, lsetxattr_at,
};
