//! Requests on names.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::PoisonError;

use fuser::{FileAttr, FileHandle, INodeNo};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Uid, chmodat, chownat, fchmod,
    linkat, mkdirat, mknodat, openat, readlinkat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::data::kept_flags;
use super::properties::sized;
use super::{Answer, Caller, Server, failure};
use crate::attributes::{described, kind};
use crate::config::{Case, Renames};
use crate::injector::Decision;
use crate::nodes::Node;

impl Server {
    /// Returns the name that an entry has, if the case of names is ignored: the given one, or one that
    /// exists and differs only in case.
    fn spelled<'n>(&self, parent: &Node, name: &'n OsStr) -> Answer<Cow<'n, OsStr>> {
        let is_there = || statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if self.case == Case::Distinct || is_there() {
            return Ok(Cow::Borrowed(name));
        }
        let directory = self.nodes.reopen(parent, OFlags::DIRECTORY | OFlags::RDONLY);
        for entry in Dir::read_from(directory.map_err(failure)?).map_err(failure)? {
            let entry = entry.map_err(failure)?;
            let found = OsStr::from_bytes(entry.file_name().to_bytes());
            if found.eq_ignore_ascii_case(name) {
                return Ok(Cow::Owned(found.to_owned()));
            }
        }
        Ok(Cow::Borrowed(name))
    }

    fn found(&self, parent: &Node, name: &OsStr) -> Answer<FileAttr> {
        let (id, stat) = self.nodes.find(parent, name).map_err(failure)?;
        Ok(described(&stat, id, self.clock))
    }

    pub(super) fn find(
        &self,
        parent: INodeNo,
        name: &OsStr,
        decision: Decision,
    ) -> Answer<FileAttr> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        Ok(sized(self.found(&parent, name)?, decision))
    }

    /// Sets the owner of a new file to the caller, because the server may run as another user.
    fn hand_over(&self, parent: &Node, name: &OsStr, caller: Caller) -> Answer<()> {
        let (uid, gid) = (Uid::from_raw(caller.uid), Gid::from_raw(caller.gid));
        if uid == rustix::process::geteuid() && gid == rustix::process::getegid() {
            return Ok(());
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        chownat(&parent.fd, name, Some(uid), Some(gid), flags).map_err(failure)
    }

    pub(super) fn create(
        &self,
        caller: Caller,
        parent: INodeNo,
        name: &OsStr,
        (mode, flags): (u32, i32),
    ) -> Answer<(FileAttr, u64)> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        #[expect(clippy::cast_sign_loss, reason = "flags are bits")]
        let exclusive = OFlags::from_bits_retain(flags as u32) & OFlags::EXCL;
        let open_flags =
            kept_flags(flags) | exclusive | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let fd = openat(&parent.fd, name, open_flags, mode).map_err(failure)?;
        self.hand_over(&parent, name, caller)?;
        // The server's own umask must not apply, because the program's was applied already.
        fchmod(&fd, mode).map_err(failure)?;
        self.allocate_objects(flags, &parent, &fd)?;
        let found = self.found(&parent, name)?;
        Ok((found, self.nodes.keep(fd, name.as_bytes())))
    }

    pub(super) fn mkdir(
        &self,
        caller: Caller,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
    ) -> Answer<FileAttr> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        let mode = Mode::from_raw_mode(mode);
        mkdirat(&parent.fd, name, mode).map_err(failure)?;
        self.hand_over(&parent, name, caller)?;
        chmodat(&parent.fd, name, mode, AtFlags::empty()).map_err(failure)?;
        self.found(&parent, name)
    }

    pub(super) fn mknod(
        &self,
        caller: Caller,
        parent: INodeNo,
        name: &OsStr,
        (mode, rdev): (u32, u32),
    ) -> Answer<FileAttr> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        let kind = FileType::from_raw_mode(mode);
        let mode = Mode::from_raw_mode(mode & 0o7777);
        mknodat(&parent.fd, name, kind, mode, rdev.into()).map_err(failure)?;
        self.hand_over(&parent, name, caller)?;
        chmodat(&parent.fd, name, mode, AtFlags::empty()).map_err(failure)?;
        self.found(&parent, name)
    }

    pub(super) fn symlink(
        &self,
        caller: Caller,
        parent: INodeNo,
        name: &OsStr,
        text: &Path,
    ) -> Answer<FileAttr> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        symlinkat(text, &parent.fd, name).map_err(failure)?;
        self.hand_over(&parent, name, caller)?;
        self.found(&parent, name)
    }

    pub(super) fn readlink(&self, ino: INodeNo) -> Answer<Vec<u8>> {
        let node = self.node(ino)?;
        let text = readlinkat(&node.fd, "", Vec::new()).map_err(failure)?;
        Ok(text.into_bytes())
    }

    pub(super) fn link(&self, ino: INodeNo, parent: INodeNo, name: &OsStr) -> Answer<FileAttr> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        let node = self.node(ino)?;
        linkat(CWD, node.path(), &parent.fd, name, AtFlags::SYMLINK_FOLLOW).map_err(failure)?;
        self.found(&parent, name)
    }

    pub(super) fn remove(&self, parent: INodeNo, name: &OsStr, flags: AtFlags) -> Answer<()> {
        let parent = self.node(parent)?;
        let name = &*self.spelled(&parent, name)?;
        unlinkat(&parent.fd, name, flags).map_err(failure)
    }

    pub(super) fn rename(
        &self,
        (parent, name): (INodeNo, &OsStr),
        (new_parent, new_name): (INodeNo, &OsStr),
        flags: u32,
    ) -> Answer<()> {
        let parent = self.node(parent)?;
        let new_parent = self.node(new_parent)?;
        let name = &*self.spelled(&parent, name)?;
        let new_name = &*self.spelled(&new_parent, new_name)?;
        let flags = RenameFlags::from_bits_retain(flags);
        if self.renames == Renames::Plain && !flags.is_empty() {
            return Err(failure(Errno::INVAL));
        }
        renameat_with(&parent.fd, name, &new_parent.fd, new_name, flags).map_err(failure)
    }

    pub(super) fn open_directory(&self, ino: INodeNo) -> Answer<u64> {
        let node = self.node(ino)?;
        let fd = self.nodes.reopen(&node, OFlags::DIRECTORY | OFlags::RDONLY).map_err(failure)?;
        Ok(self.nodes.keep(fd, &node.name))
    }

    /// Calls `add` with names from a position on, until it returns that the buffer is full.
    pub(super) fn names(
        &self,
        fh: FileHandle,
        from: u64,
        mut add: impl FnMut(u64, u64, fuser::FileType, &OsStr) -> bool,
    ) -> Answer<()> {
        let handle = self.handle(fh)?;
        let mut names = handle.names.lock().unwrap_or_else(PoisonError::into_inner);
        if from == 0 {
            names.clear();
            let mut dir = Dir::read_from(&handle.fd).map_err(failure)?;
            dir.rewind();
            for entry in dir {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(Errno::INTR) => continue,
                    Err(errno) => return Err(failure(errno)),
                };
                let id = self.nodes.id_of(entry.ino());
                names.push((id, kind(entry.file_type()), entry.file_name().to_bytes().to_vec()));
            }
        }
        let start = usize::try_from(from).unwrap_or(usize::MAX);
        for (place, (id, kind, name)) in names.iter().enumerate().skip(start) {
            if add(*id, place as u64 + 1, *kind, OsStr::from_bytes(name)) {
                break;
            }
        }
        Ok(())
    }
}
