//! The flags of one entry that chattr(1) sets, as lsattr(1) shows them, and its project.

use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::ioctl_getflags;
use rustix::io::Errno;

use crate::failure::{Action, During, Step};
use crate::node::{Node, Place, retry};
use crate::values::Kind;

/// The flags that a user sets, by their numbers in `include/uapi/linux/fs.h`, with their letters. The others
/// say how a file system has stored a file: extents, an index, encryption, verity.
const LETTERS: [(u32, char); 16] = [
    (0x1, 's'),
    (0x2, 'u'),
    (0x8, 'S'),
    (0x1_0000, 'D'),
    (0x10, 'i'),
    (0x20, 'a'),
    (0x40, 'd'),
    (0x80, 'A'),
    (0x4, 'c'),
    (0x4000, 'j'),
    (0x8000, 't'),
    (0x2_0000, 'T'),
    (0x80_0000, 'C'),
    (0x200_0000, 'x'),
    (0x2000_0000, 'P'),
    (0x400, 'm'),
];

/// What chattr(1) sets of an entry.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// Letters of the flags, in the order of lsattr(1).
    pub(crate) letters: String,
    /// Number of the project, 0 if there is none.
    pub(crate) project: u32,
}

/// Returns the flags of an entry, and its project as `project` tells it. An entry that has no flags, or whose
/// file system has none, has no letters; nor has one that this user may not open.
pub(crate) fn read(
    node: &Node,
    place: Place<'_>,
    project: impl FnOnce(BorrowedFd<'_>) -> u32,
) -> Step<Flags> {
    if !matches!(node.attributes.kind, Kind::Regular | Kind::Directory) {
        return Ok(Flags::default());
    }
    let file = match node.open(place) {
        Err((_, Errno::ACCESS | Errno::PERM)) => return Ok(Flags::default()),
        opened => opened?,
    };
    let flags = match retry(|| ioctl_getflags(&file)) {
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::PERM) => 0,
        told => told.during(Action::ReadFlags)?.bits(),
    };
    let is_set = |(bit, letter): (u32, char)| (flags & bit != 0).then_some(letter);
    let letters = LETTERS.into_iter().filter_map(is_set).collect();
    Ok(Flags { letters, project: project(file.as_fd()) })
}
