//! Dispatch of FUSE requests: decodes each, lets [`Server`] perform it, and replies.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::Path;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, FallocateFlags};

use super::properties::{Change, XattrReply};
use super::{Answer, Caller, Frontend, Server, failure};
use crate::config::{Mode, Offload};
use crate::operation::Operation;

/// The largest data request: the kernel's maximum, unless an administrator has raised its page
/// limit.
const REQUEST_BYTES: u32 = 1 << 20;

/// Files have one generation, because no number is reused while a node holds it.
const GENERATION: Generation = Generation(0);

/// Kind of `lseek(2)`.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

thread_local! {
    /// Buffer for reads, one for each answering thread, so that it stays in the processor cache.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Replies with an entry.
fn entry(reply: ReplyEntry) -> impl FnOnce(&Server, Answer<FileAttr>) + Send {
    move |server, answer| match answer {
        Ok(attributes) => reply.entry(&server.remembered, &attributes, GENERATION),
        Err(errno) => reply.error(errno),
    }
}

/// Replies with success or an error.
fn empty(reply: ReplyEmpty) -> impl FnOnce(&Server, Answer<()>) + Send {
    move |_, answer| match answer {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

fn xattr_reply(reply: ReplyXattr) -> impl FnOnce(&Server, Answer<XattrReply>) + Send {
    move |_, answer| match answer {
        Ok(XattrReply::Length(length)) => reply.size(length),
        Ok(XattrReply::Value(value)) => reply.data(&value),
        Err(errno) => reply.error(errno),
    }
}

fn attributes(reply: ReplyAttr) -> impl FnOnce(&Server, Answer<FileAttr>) + Send {
    move |server, answer| match answer {
        Ok(attributes) => reply.attr(&server.remembered, &attributes),
        Err(errno) => reply.error(errno),
    }
}

fn written(reply: ReplyWrite) -> impl FnOnce(&Server, Answer<u32>) + Send {
    move |_, answer| match answer {
        Ok(bytes) => reply.written(bytes),
        Err(errno) => reply.error(errno),
    }
}

/// Replies with the number and the open flags of a handle.
fn opened(
    reply: ReplyOpen,
    flags: impl FnOnce(&Server) -> FopenFlags + Send,
) -> impl FnOnce(&Server, Answer<u64>) + Send {
    move |server, answer| match answer {
        Ok(number) => reply.opened(FileHandle(number), flags(server)),
        Err(errno) => reply.error(errno),
    }
}

fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid() }
}

impl Server {
    fn open_flags(&self) -> FopenFlags {
        match self.mode {
            Mode::Cached => FopenFlags::empty(),
            Mode::Direct => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
        }
    }
}

impl Filesystem for Frontend {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // The server works without features that the kernel lacks, as other file systems do.
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
        self.of_name(
            Operation::Lookup,
            name,
            move |server, name, decision| server.find(parent, name, decision),
            entry(reply),
        );
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.server.nodes.forget(ino, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.of_node(
            Operation::Getattr,
            ino,
            move |server, decision| server.attributes(ino, decision),
            attributes(reply),
        );
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
        self.of_node(
            Operation::Setattr,
            ino,
            move |server, _| server.change(ino, fh, change),
            attributes(reply),
        );
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        self.of_node(
            Operation::Readlink,
            ino,
            move |server, _| server.readlink(ino),
            move |_, answer| match answer {
                Ok(text) => reply.data(&text),
                Err(errno) => reply.error(errno),
            },
        );
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
        let caller = caller(request);
        self.of_name(
            Operation::Mknod,
            name,
            move |server, name, _| server.mknod(caller, parent, name, (mode, rdev)),
            entry(reply),
        );
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
        let caller = caller(request);
        self.of_name(
            Operation::Mkdir,
            name,
            move |server, name, _| server.mkdir(caller, parent, name, mode),
            entry(reply),
        );
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.of_name(
            Operation::Unlink,
            name,
            move |server, name, _| server.remove(parent, name, AtFlags::empty()),
            empty(reply),
        );
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.of_name(
            Operation::Rmdir,
            name,
            move |server, name, _| server.remove(parent, name, AtFlags::REMOVEDIR),
            empty(reply),
        );
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        text: &Path,
        reply: ReplyEntry,
    ) {
        let caller = caller(request);
        let text = text.to_owned();
        self.of_name(
            Operation::Symlink,
            name,
            move |server, name, _| server.symlink(caller, parent, name, &text),
            entry(reply),
        );
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
        let new_name = new_name.to_owned();
        self.of_name(
            Operation::Rename,
            name,
            move |server, name, _| {
                server.rename((parent, name), (new_parent, &new_name), flags.bits())
            },
            empty(reply),
        );
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.of_name(
            Operation::Link,
            name,
            move |server, name, _| server.link(ino, parent, name),
            entry(reply),
        );
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        self.of_node(
            Operation::Open,
            ino,
            move |server, _| server.open(ino, flags),
            opened(reply, Server::open_flags),
        );
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
        self.of_range(
            Operation::Read,
            fh,
            (offset, size.into()),
            |_, decision| Ok(decision),
            move |server, admitted| {
                ROOM.with_borrow_mut(|room| match admitted {
                    Ok(decision) => match server.read(fh, (offset, size), decision, room) {
                        Ok(bytes) => reply.data(bytes),
                        Err(errno) => reply.error(errno),
                    },
                    Err(errno) => reply.error(errno),
                });
            },
        );
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
        self.of_write(fh, offset, data, written(reply));
    }

    fn flush(&self, _: &Request, _: INodeNo, fh: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.of_handle(Operation::Flush, fh, |_, _| Ok(()), empty(reply));
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
        self.server.nodes.release(fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, fh: FileHandle, data_alone: bool, reply: ReplyEmpty) {
        self.of_handle(
            Operation::Fsync,
            fh,
            move |server, decision| server.fsync(fh, data_alone, decision),
            empty(reply),
        );
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.of_node(
            Operation::Opendir,
            ino,
            move |server, _| server.open_directory(ino),
            opened(reply, |_| FopenFlags::empty()),
        );
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        self.of_handle(
            Operation::Readdir,
            fh,
            |_, _| Ok(()),
            move |server, admitted| {
                let add = |id, next, kind, name: &OsStr| reply.add(INodeNo(id), next, kind, name);
                match admitted.and_then(|()| server.names(fh, offset, add)) {
                    Ok(()) => reply.ok(),
                    Err(errno) => reply.error(errno),
                }
            },
        );
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.server.nodes.release(fh.0);
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
        self.of_handle(
            Operation::Fsync,
            fh,
            move |server, decision| server.fsync(fh, data_alone, decision),
            empty(reply),
        );
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.of_name(
            Operation::Statfs,
            OsStr::new(""),
            |server, _, _| server.describe(),
            move |_, answer| match answer {
                Ok(stats) => reply.statfs(
                    stats.f_blocks,
                    stats.f_bfree,
                    stats.f_bavail,
                    stats.f_files,
                    stats.f_ffree,
                    u32::try_from(stats.f_bsize).unwrap_or(4096),
                    u32::try_from(stats.f_namemax).unwrap_or(255),
                    u32::try_from(stats.f_frsize).unwrap_or(4096),
                ),
                Err(errno) => reply.error(errno),
            },
        );
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
        let (name, value) = (name.to_owned(), value.to_owned());
        self.of_node(
            Operation::Setxattr,
            ino,
            move |server, _| server.set_xattr(ino, &name, &value, flags),
            empty(reply),
        );
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.to_owned();
        self.of_node(
            Operation::Xattr,
            ino,
            move |server, decision| server.get_xattr(ino, &name, size, decision),
            xattr_reply(reply),
        );
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.of_node(
            Operation::Xattr,
            ino,
            move |server, decision| server.list_xattr(ino, size, decision),
            xattr_reply(reply),
        );
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        self.of_node(
            Operation::Setxattr,
            ino,
            move |server, _| server.remove_xattr(ino, &name),
            empty(reply),
        );
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
        let caller = caller(request);
        self.of_name(
            Operation::Create,
            name,
            move |server, name, _| server.create(caller, parent, name, (mode, flags)),
            move |server, answer| match answer {
                Ok((found, number)) => {
                    let (handle, flags) = (FileHandle(number), server.open_flags());
                    reply.created(&server.remembered, &found, GENERATION, handle, flags);
                }
                Err(errno) => reply.error(errno),
            },
        );
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
        self.of_handle(
            Operation::Fallocate,
            fh,
            move |server, decision| server.allocate(fh, (offset, length), mode, decision),
            empty(reply),
        );
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
        let wants_data = match whence {
            SEEK_DATA => true,
            SEEK_HOLE => false,
            _ => return reply.error(failure(rustix::io::Errno::INVAL)),
        };
        self.of_handle(
            Operation::Lseek,
            fh,
            move |server, decision| server.look(fh, offset, wants_data, decision),
            move |_, answer| match answer {
                Ok(offset) => reply.offset(offset),
                Err(errno) => reply.error(errno),
            },
        );
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
        let (from, to) = ((fh_in, offset_in), (fh_out, offset_out));
        self.of_range(
            Operation::CopyRange,
            fh_in,
            (offset_in, len),
            move |server, decision| server.copy_range(from, to, len, decision),
            written(reply),
        );
    }
}
