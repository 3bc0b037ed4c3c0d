//! All extended attributes of one entry, in every namespace that this process may read.
//!
//! ACLs and file capabilities are extended attributes of the `system` and `security` namespaces
//! (xattr(7)) and are kept as the raw bytes of the kernel: a comparison that parsed them could make
//! the same mistake as a copier.

use std::ffi::CStr;

use rustix::fs::{Mode, OFlags, getxattr, lgetxattr, listxattr, llistxattr, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::failure::{Action, During, Step};
use crate::node::{Attributes, Node, retry};
use crate::text::RawText;
use crate::values::Kind;

/// `XATTR_LIST_MAX` and `XATTR_SIZE_MAX` of `linux/limits.h`: no list and no value is longer.
const XATTR_BYTES_MAX: usize = 64 * 1024;

/// One extended attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Xattr {
    /// The full name with its namespace, such as `user.comment`.
    pub name: RawText,
    /// The raw value.
    pub value: RawText,
}

/// Reads extended attributes into a buffer that is reused for each entry.
pub(crate) struct XattrReader {
    list: Vec<u8>,
    value: Vec<u8>,
}

impl XattrReader {
    pub(crate) fn new() -> Self {
        Self { list: vec![0; XATTR_BYTES_MAX], value: vec![0; XATTR_BYTES_MAX] }
    }

    /// Returns the attributes of the pinned entry, sorted by name. An entry on a file system
    /// without extended attributes has none. Without /proc, the entry is found by its path, if there is one.
    /// Blocks only as stat(2) does.
    pub(crate) fn read(
        &mut self,
        node: &Node,
        path: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Step<Vec<Xattr>> {
        match self.read_by(&Way::Followed(node.proc_path().into())) {
            // The link of a pinned inode always leads to it.
            Err(Errno::NOENT | Errno::NOTDIR) => self.read_by_path(node, path()),
            answer => answer.during(Action::ReadXattrs),
        }
    }

    /// Reads them by a path that leads to the pinned entry, before and afterwards.
    fn read_by_path(&mut self, node: &Node, path: Option<Vec<u8>>) -> Step<Vec<Xattr>> {
        let action = Action::ReadXattrsByPath;
        let path = path.ok_or(Errno::NOENT).during(action)?;
        let way = match node.attributes.kind {
            Kind::Symlink => Way::Itself(path),
            _ => Way::Followed(path),
        };
        let demand_same = || {
            let flags = match way {
                Way::Itself(_) => OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Way::Followed(_) => OFlags::PATH | OFlags::CLOEXEC,
            };
            let fd = retry(|| open(way.path(), flags, Mode::empty())).during(action)?;
            let is_same = Attributes::of(&fd)?.id == node.attributes.id;
            if is_same { Ok(()) } else { Err((action, Errno::STALE)) }
        };
        demand_same()?;
        let found = self.read_by(&way).during(action)?;
        demand_same()?;
        Ok(found)
    }

    fn read_by(&mut self, way: &Way) -> rustix::io::Result<Vec<Xattr>> {
        let length = match retry(|| way.list(&mut self.list)) {
            Err(Errno::OPNOTSUPP) => 0,
            result => result?,
        };
        let mut found = Vec::new();
        let names = &self.list[..length];
        for name in names.split_inclusive(|byte| *byte == 0) {
            let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
            match retry(|| way.get(name, &mut self.value)) {
                Ok(length) => found.push(Xattr {
                    name: name.to_bytes().into(),
                    value: self.value[..length].into(),
                }),
                // It was removed between the two calls.
                Err(Errno::NODATA) => {}
                Err(errno) => return Err(errno),
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The path by which attributes are read.
enum Way {
    /// A link at its end is followed.
    Followed(Vec<u8>),
    /// A link at its end is meant itself.
    Itself(Vec<u8>),
}

impl Way {
    fn path(&self) -> &[u8] {
        let (Way::Followed(path) | Way::Itself(path)) = self;
        path
    }

    fn list(&self, room: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Way::Followed(path) => listxattr(path.as_slice(), room),
            Way::Itself(path) => llistxattr(path.as_slice(), room),
        }
    }

    fn get(&self, name: &CStr, room: &mut [u8]) -> rustix::io::Result<usize> {
        match self {
            Way::Followed(path) => getxattr(path.as_slice(), name, room),
            Way::Itself(path) => lgetxattr(path.as_slice(), name, room),
        }
    }
}
