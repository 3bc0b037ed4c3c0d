//! The table of FUSE's requests: each is taken apart, answered by [`Server`], and replied to.

use std::ffi::OsStr;
use std::path::Path;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, FallocateFlags};

use super::properties::{Change, Told};
use super::{Answer, Server, failure};
use crate::config::{Mode, Offload};
use crate::operation::Operation;

/// The largest request for data: the most that the kernel puts into one, unless an administrator
/// has raised its limit of pages.
const REQUEST_BYTES: u32 = 1 << 20;

/// Files have one generation, for a number is not given away while a node holds it.
const GENERATION: Generation = Generation(0);

/// What `lseek(2)` wants.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

/// Replies to a request that is answered with an entry.
fn reply_entry(server: &Server, answer: Answer<fuser::FileAttr>, reply: ReplyEntry) {
    match answer {
        Ok(attributes) => reply.entry(&server.remembered, &attributes, GENERATION),
        Err(errno) => reply.error(errno),
    }
}

/// Replies to a request that is only done or not.
fn reply_empty(answer: Answer<()>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

fn reply_xattr(answer: Answer<Told>, reply: ReplyXattr) {
    match answer {
        Ok(Told::Length(length)) => reply.size(length),
        Ok(Told::Value(value)) => reply.data(&value),
        Err(errno) => reply.error(errno),
    }
}

fn reply_attr(server: &Server, answer: Answer<fuser::FileAttr>, reply: ReplyAttr) {
    match answer {
        Ok(attributes) => reply.attr(&server.remembered, &attributes),
        Err(errno) => reply.error(errno),
    }
}

impl Server {
    fn open_flags(&self) -> FopenFlags {
        match self.mode {
            Mode::Cached => FopenFlags::empty(),
            Mode::Direct => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
        }
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // What a kernel does not have is done without, as by any other file system.
        let wanted = InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        let _added = config.add_capabilities(wanted & config.capabilities());
        let most = u16::try_from(self.in_flight).unwrap_or(u16::MAX);
        let _background = config.set_max_background(most);
        let _congestion = config.set_congestion_threshold(most);
        let _write = config.set_max_write(REQUEST_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        reply_entry(self, self.find(parent, name), reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.nodes.forget(ino, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply_attr(self, self.attributes(ino), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        fh: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, owner: (uid, gid), size, times: (atime, mtime) };
        reply_attr(self, self.change(ino, fh, change), reply);
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match Server::readlink(self, ino) {
            Ok(text) => reply.data(&text),
            Err(errno) => reply.error(errno),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        reply_entry(self, Server::mknod(self, request, parent, name, (mode, rdev)), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        reply_entry(self, Server::mkdir(self, request, parent, name, mode), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.remove(Operation::Unlink, parent, name, AtFlags::empty()), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.remove(Operation::Rmdir, parent, name, AtFlags::REMOVEDIR), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        text: &Path,
        reply: ReplyEntry,
    ) {
        reply_entry(self, Server::symlink(self, request, parent, name, text), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = Server::rename(self, (parent, name), (new_parent, new_name), flags.bits());
        reply_empty(renamed, reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        reply_entry(self, Server::link(self, ino, parent, name), reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match Server::open(self, ino, flags) {
            Ok(number) => reply.opened(FileHandle(number), self.open_flags()),
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match Server::read(self, fh, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match Server::write(self, fh, offset, data) {
            Ok(written) => reply.written(written),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, fh: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply_empty(Server::flush(self, fh), reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.nodes.release(fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, data_alone: bool, reply: ReplyEmpty) {
        reply_empty(Server::fsync(self, fh, data_alone), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.open_directory(ino) {
            Ok(number) => reply.opened(FileHandle(number), FopenFlags::empty()),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let told =
            self.names(fh, offset, |id, next, kind, name| reply.add(INodeNo(id), next, kind, name));
        match told {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.nodes.release(fh.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        data_alone: bool,
        reply: ReplyEmpty,
    ) {
        reply_empty(Server::fsync(self, fh, data_alone), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.describe() {
            Ok(about) => reply.statfs(
                about.f_blocks,
                about.f_bfree,
                about.f_bavail,
                about.f_files,
                about.f_ffree,
                u32::try_from(about.f_bsize).unwrap_or(4096),
                u32::try_from(about.f_namemax).unwrap_or(255),
                u32::try_from(about.f_frsize).unwrap_or(4096),
            ),
            Err(errno) => reply.error(errno),
        }
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        reply_empty(self.set_xattr(ino, name, value, flags), reply);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        reply_xattr(self.get_xattr(ino, name, size), reply);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        reply_xattr(self.list_xattr(ino, size), reply);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.remove_xattr(ino, name), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        match Server::create(self, request, parent, name, (mode, flags)) {
            Ok((found, number)) => {
                let handle = FileHandle(number);
                reply.created(&self.remembered, &found, GENERATION, handle, self.open_flags());
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        #[expect(clippy::cast_sign_loss, reason = "flags are bits")]
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        reply_empty(self.allocate(fh, (offset, length), mode), reply);
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let found = match whence {
            SEEK_DATA => self.look(fh, offset, true),
            SEEK_HOLE => self.look(fh, offset, false),
            _ => Err(failure(rustix::io::Errno::INVAL)),
        };
        match found {
            Ok(offset) => reply.offset(offset),
            Err(errno) => reply.error(errno),
        }
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        fh_in: FileHandle,
        offset_in: u64,
        _: INodeNo,
        fh_out: FileHandle,
        offset_out: u64,
        len: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        if self.offload == Offload::No {
            return reply.error(fuser::Errno::ENOSYS);
        }
        match self.copy_range((fh_in, offset_in), (fh_out, offset_out), len) {
            Ok(copied) => reply.written(copied),
            Err(errno) => reply.error(errno),
        }
    }
}
