//! Requests for attributes, extended ones too, and for what the file system is.

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
use crate::judge::Verdict;
use crate::nodes::Node;

/// What a program sets at once.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) mode: Option<u32>,
    pub(super) owner: (Option<u32>, Option<u32>),
    pub(super) size: Option<u64>,
    pub(super) times: (Option<TimeOrNow>, Option<TimeOrNow>),
}

/// What a program asks of an attribute: how long it is, or what it says.
pub(super) enum Told {
    Length(u32),
    Value(Vec<u8>),
}

impl Server {
    pub(super) fn attributes(&self, ino: INodeNo, verdict: Verdict) -> Answer<FileAttr> {
        let node = self.node(ino)?;
        let stat = fstat(&node.fd).map_err(failure)?;
        Ok(sized(described(&stat, ino.0, self.clock), verdict))
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
        verdict: Verdict,
    ) -> Answer<Told> {
        let node = self.node(ino)?;
        let mut value = vec![0; 65_536];
        let length = getxattr(node.path(), name, &mut value).map_err(failure)?;
        value.truncate(length);
        value.resize(length + verdict.grown, b'+');
        told(value, room)
    }

    pub(super) fn list_xattr(&self, ino: INodeNo, room: u32, verdict: Verdict) -> Answer<Told> {
        let node = self.node(ino)?;
        let mut names = vec![0; 65_536];
        let length = listxattr(node.path(), &mut names).map_err(failure)?;
        names.truncate(length);
        if verdict.grown > 0 {
            // Names that are not there any more when they are asked for.
            names.extend_from_slice(b"user.");
            names.resize(length + verdict.grown.max(b"user.+".len()), b'+');
            names.push(0);
        }
        told(names, room)
    }

    pub(super) fn set_xattr(
        &self,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
    ) -> Answer<()> {
        let node = self.node(ino)?;
        #[expect(clippy::cast_sign_loss, reason = "flags are bits")]
        let flags = XattrFlags::from_bits_retain(flags as u32);
        setxattr(node.path(), name.as_bytes(), value, flags).map_err(failure)
    }

    pub(super) fn remove_xattr(&self, ino: INodeNo, name: &OsStr) -> Answer<()> {
        let node = self.node(ino)?;
        removexattr(node.path(), name.as_bytes()).map_err(failure)
    }

    pub(super) fn describe(&self) -> Answer<StatVfs> {
        let root = self.node(INodeNo::ROOT)?;
        fstatvfs(&root.fd).map_err(failure)
    }
}

/// Gives a file the size and the blocks that rules say.
pub(super) fn sized(attributes: FileAttr, verdict: Verdict) -> FileAttr {
    let is_file = attributes.kind == fuser::FileType::RegularFile;
    let size = verdict.size.filter(|_| is_file).unwrap_or(attributes.size);
    let blocks = verdict.blocks.filter(|_| is_file).unwrap_or(attributes.blocks);
    FileAttr { size, blocks, ..attributes }
}

fn told(value: Vec<u8>, room: u32) -> Answer<Told> {
    let told = u32::try_from(value.len()).unwrap_or(u32::MAX);
    if room == 0 {
        return Ok(Told::Length(told));
    }
    if told > room {
        return Err(failure(Errno::RANGE));
    }
    Ok(Told::Value(value))
}
