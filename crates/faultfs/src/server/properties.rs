//! Requests for attributes, extended attributes and file system statistics.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use fuser::{FileAttr, FileHandle, INodeNo, TimeOrNow};
use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, StatVfs, Timestamps, Uid, XattrFlags, chmod, chownat, fstat,
    fstatvfs, ftruncate, getxattr, listxattr, removexattr, setxattr, utimensat,
};
use rustix::io::Errno;

use super::{Answer, Server, failure};
use crate::attributes::{described, stored, to_set};
use crate::injector::Decision;
use crate::nodes::Node;

/// Attributes that one request sets.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) mode: Option<u32>,
    pub(super) owner: (Option<u32>, Option<u32>),
    pub(super) size: Option<u64>,
    pub(super) times: (Option<TimeOrNow>, Option<TimeOrNow>),
}

/// Reply to a request for an extended attribute: its length or its value.
pub(super) enum XattrReply {
    Length(u32),
    Value(Vec<u8>),
}

impl Server {
    pub(super) fn attributes(&self, ino: INodeNo, decision: Decision) -> Answer<FileAttr> {
        let node = self.node(ino)?;
        let stat = fstat(&node.fd).map_err(failure)?;
        Ok(sized(described(&stat, ino.0, self.clock), decision))
    }

    pub(super) fn change(
        &self,
        ino: INodeNo,
        fh: Option<FileHandle>,
        change: Change,
    ) -> Answer<FileAttr> {
        let node = self.node(ino)?;
        if let (uid, gid) = change.owner
            && (uid.is_some() || gid.is_some())
        {
            let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
            let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
            chownat(&node.fd, "", uid, gid, flags).map_err(failure)?;
        }
        if let Some(mode) = change.mode {
            chmod(node.path(), Mode::from_raw_mode(mode & 0o7777)).map_err(failure)?;
        }
        if let Some(size) = change.size {
            self.resize(&node, fh, size)?;
        }
        let (atime, mtime) = change.times;
        let (atime, mtime) = (stored(atime, self.clock), stored(mtime, self.clock));
        if atime.is_some() || mtime.is_some() {
            let times = Timestamps { last_access: to_set(atime), last_modification: to_set(mtime) };
            utimensat(CWD, node.path(), &times, AtFlags::empty()).map_err(failure)?;
        }
        let stat = fstat(&node.fd).map_err(failure)?;
        Ok(described(&stat, ino.0, self.clock))
    }

    fn resize(&self, node: &Node, fh: Option<FileHandle>, size: u64) -> Answer<()> {
        match fh {
            Some(fh) => {
                let handle = self.handle(fh)?;
                ftruncate(&handle.fd, size).map_err(failure)
            }
            None => {
                let fd = self.nodes.reopen(node, OFlags::WRONLY).map_err(failure)?;
                ftruncate(&fd, size).map_err(failure)
            }
        }
    }

    pub(super) fn get_xattr(
        &self,
        ino: INodeNo,
        name: &OsStr,
        room: u32,
        decision: Decision,
    ) -> Answer<XattrReply> {
        let node = self.node(ino)?;
        let mut value = vec![0; 65_536];
        let length = getxattr(node.path(), self.stored_name(name), &mut value).map_err(failure)?;
        value.truncate(length);
        value.resize(length + decision.grown, b'+');
        xattr_reply(value, room)
    }

    pub(super) fn list_xattr(
        &self,
        ino: INodeNo,
        room: u32,
        decision: Decision,
    ) -> Answer<XattrReply> {
        let node = self.node(ino)?;
        let mut names = vec![0; 65_536];
        let length = listxattr(node.path(), &mut names).map_err(failure)?;
        names.truncate(length);
        let mut names = self.listed_names(names);
        let length = names.len();
        if decision.grown > 0 {
            // Names that have been removed since.
            names.extend_from_slice(b"user.");
            names.resize(length + decision.grown.max(b"user.+".len()), b'+');
            names.push(0);
        }
        xattr_reply(names, room)
    }

    pub(super) fn set_xattr(
        &self,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
    ) -> Answer<()> {
        if !self.takes(ino, name)? {
            return Ok(());
        }
        let node = self.node(ino)?;
        let name = self.stored_name(name);
        #[expect(clippy::cast_sign_loss, reason = "flags are bits")]
        let flags = XattrFlags::from_bits_retain(flags as u32);
        setxattr(node.path(), name.as_bytes(), value, flags).map_err(failure)
    }

    pub(super) fn remove_xattr(&self, ino: INodeNo, name: &OsStr) -> Answer<()> {
        let node = self.node(ino)?;
        removexattr(node.path(), self.stored_name(name).as_bytes()).map_err(failure)
    }

    pub(super) fn describe(&self) -> Answer<StatVfs> {
        let root = self.node(INodeNo::ROOT)?;
        fstatvfs(&root.fd).map_err(failure)
    }
}

/// Replaces the size and the blocks of a file by those of the rules.
pub(super) fn sized(attributes: FileAttr, decision: Decision) -> FileAttr {
    let is_file = attributes.kind == fuser::FileType::RegularFile;
    let size = decision.size.filter(|_| is_file).unwrap_or(attributes.size);
    let blocks = decision.blocks.filter(|_| is_file).unwrap_or(attributes.blocks);
    FileAttr { size, blocks, ..attributes }
}

fn xattr_reply(value: Vec<u8>, room: u32) -> Answer<XattrReply> {
    let reported = u32::try_from(value.len()).unwrap_or(u32::MAX);
    if room == 0 {
        return Ok(XattrReply::Length(reported));
    }
    if reported > room {
        return Err(failure(Errno::RANGE));
    }
    Ok(XattrReply::Value(value))
}
