//! All extended attributes of one entry, in every namespace that this process may read.
//!
//! ACLs and file capabilities are extended attributes of the `system` and `security` namespaces
//! (xattr(7)) and are kept as the raw bytes of the kernel: a comparison that parsed them could make
//! the same mistake as a copier.

use std::ffi::CStr;

use rustix::fs::{getxattr, listxattr};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::failure::{Action, During, Step};
use crate::node::{Node, retry};
use crate::text::RawText;

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
    /// without extended attributes has none. Needs /proc; blocks only as stat(2) does.
    pub(crate) fn read(&mut self, node: &Node) -> Step<Vec<Xattr>> {
        let path = node.proc_path();
        let length = match retry(|| listxattr(path.as_str(), &mut self.list[..])) {
            Err(Errno::OPNOTSUPP) => 0,
            result => result.during(Action::ReadXattrs)?,
        };
        let mut found = Vec::new();
        let names = &self.list[..length];
        for name in names.split_inclusive(|byte| *byte == 0) {
            let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
            match retry(|| getxattr(path.as_str(), name, &mut self.value[..])) {
                Ok(length) => found.push(Xattr {
                    name: name.to_bytes().into(),
                    value: self.value[..length].into(),
                }),
                // It was removed between the two calls.
                Err(Errno::NODATA) => {}
                Err(errno) => return Err((Action::ReadXattrs, errno)),
            }
        }
        found.sort();
        Ok(found)
    }
}
