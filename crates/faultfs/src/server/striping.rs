//! Striping of files, as programs see it on Lustre.
//!
//! Lustre allocates the objects of a file when open(2) creates it, with the default of the directory,
//! unless the flags ask for a delay; then at the first write. Setting the attribute has no effect from then
//! on, without an error (`ll_xattr_set_common` in Lustre's `llite/xattr.c`).

use std::ffi::OsStr;
use std::os::fd::AsFd;

use fuser::INodeNo;
use rustix::fs::{FileType, XattrFlags, fsetxattr, fstat, getxattr};
use rustix::io::Errno;

use super::{Answer, Server, failure};
use crate::config::Striping;
use crate::nodes::Node;

/// Name of the attribute for programs.
const NAME: &str = "lustre.lov";

/// Name of the attribute in the underlying directory.
const STORED: &str = "user.lustre.lov";

/// Flag of open(2) that delays the allocation; the kernel does not pass `O_NOCTTY` to a server.
const DELAY: i32 = 0o20_000;

/// Bytes of the longest value.
const VALUE_BYTES: usize = 4096;

impl Server {
    /// Returns the name under which an attribute is stored.
    pub(super) fn stored_name<'n>(&self, name: &'n OsStr) -> &'n OsStr {
        match self.striping {
            Striping::Lustre if name == NAME => OsStr::new(STORED),
            _ => name,
        }
    }

    /// Replaces the stored name by the name for programs in a list of names, each of which ends with NUL.
    pub(super) fn listed_names(&self, names: Vec<u8>) -> Vec<u8> {
        if self.striping == Striping::No {
            return names;
        }
        let named =
            |name: &[u8]| if name == STORED.as_bytes() { NAME.as_bytes() } else { name }.to_vec();
        names.split_inclusive(|byte| *byte == 0).fold(Vec::new(), |mut list, name| {
            list.extend(named(name.strip_suffix(b"\0").unwrap_or(name)));
            list.push(0);
            list
        })
    }

    /// Allocates the objects of a file that was just created, with the default of its directory.
    pub(super) fn allocate_objects(
        &self,
        flags: i32,
        directory: &Node,
        file: impl AsFd,
    ) -> Answer<()> {
        if self.striping == Striping::No || flags & DELAY != 0 {
            return Ok(());
        }
        let mut value = vec![0; VALUE_BYTES];
        match getxattr(directory.path(), STORED, &mut value) {
            Ok(length) => {
                value.truncate(length);
                fsetxattr(file, STORED, &value, XattrFlags::empty()).map_err(failure)
            }
            Err(Errno::NODATA) => {
                fsetxattr(file, STORED, b"default", XattrFlags::empty()).map_err(failure)
            }
            Err(errno) => Err(failure(errno)),
        }
    }

    /// Returns whether setting the attribute has an effect: not on a file whose objects are allocated.
    pub(super) fn takes(&self, ino: INodeNo, name: &OsStr) -> Answer<bool> {
        if self.striping == Striping::No || name != NAME {
            return Ok(true);
        }
        let node = self.node(ino)?;
        let stat = fstat(&node.fd).map_err(failure)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Ok(true);
        }
        let is_allocated = getxattr(node.path(), STORED, &mut [0; VALUE_BYTES]).is_ok();
        Ok(!is_allocated && stat.st_size == 0)
    }
}
