//! Requests for data and for the positions of data and holes.

use fuser::{FileHandle, INodeNo, OpenFlags};
use rustix::fs::{
    FallocateFlags, OFlags, SeekFrom, copy_file_range, fallocate, fdatasync, fstat, fsync, seek,
};
use rustix::io::{Errno, pread, pwrite};

use super::{Answer, Server, failure};
use crate::injector::Decision;

impl Server {
    pub(super) fn open(&self, ino: INodeNo, flags: OpenFlags) -> Answer<u64> {
        let node = self.node(ino)?;
        let fd = self.nodes.reopen(&node, kept_flags(flags.0)).map_err(failure)?;
        Ok(self.nodes.keep(fd, &node.name))
    }

    /// Reads up to the requested number of bytes.
    pub(super) fn read<'r>(
        &self,
        fh: FileHandle,
        (offset, size): (u64, u32),
        decision: Decision,
        room: &'r mut Vec<u8>,
    ) -> Answer<&'r [u8]> {
        let handle = self.handle(fh)?;
        let most = decision.short.unwrap_or(usize::MAX).min(size as usize);
        if room.len() < most {
            room.resize(most, 0);
        }
        let mut filled = 0;
        while let Some(rest) = room.get_mut(filled..most).filter(|rest| !rest.is_empty()) {
            match pread(&handle.fd, rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failure(errno)),
            }
        }
        let read = &mut room[..filled];
        if decision.flips
            && let Some(first) = read.first_mut()
        {
            *first ^= 1;
        }
        Ok(read)
    }

    /// Writes bytes and returns the number written.
    pub(super) fn write(
        &self,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        decision: Decision,
    ) -> Answer<u32> {
        let handle = self.handle(fh)?;
        let most = decision.short.unwrap_or(usize::MAX).min(data.len());
        let reported = u32::try_from(most).unwrap_or(u32::MAX);
        if decision.is_lost {
            return Ok(reported);
        }
        let mut flipped = Vec::new();
        let mut data = &data[..most];
        if decision.flips && !data.is_empty() {
            flipped.extend_from_slice(data);
            flipped.iter_mut().take(1).for_each(|first| *first ^= 1);
            data = &flipped;
        }
        let mut written = 0;
        while let Some(rest) = data.get(written..).filter(|rest| !rest.is_empty()) {
            match pwrite(&handle.fd, rest, offset + written as u64) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failure(errno)),
            }
        }
        Ok(reported)
    }

    pub(super) fn fsync(&self, fh: FileHandle, data_alone: bool, decision: Decision) -> Answer<()> {
        let handle = self.handle(fh)?;
        if decision.is_lost {
            return Ok(());
        }
        let synced = if data_alone { fdatasync(&handle.fd) } else { fsync(&handle.fd) };
        synced.map_err(failure)
    }

    pub(super) fn allocate(
        &self,
        fh: FileHandle,
        range: (u64, u64),
        mode: FallocateFlags,
        decision: Decision,
    ) -> Answer<()> {
        let handle = self.handle(fh)?;
        if decision.is_lost {
            return Ok(());
        }
        fallocate(&handle.fd, mode, range.0, range.1).map_err(failure)
    }

    /// Finds data or a hole, or returns a false position if a rule says so.
    pub(super) fn look(
        &self,
        fh: FileHandle,
        offset: i64,
        wants_data: bool,
        decision: Decision,
    ) -> Answer<i64> {
        let handle = self.handle(fh)?;
        let from = u64::try_from(offset).map_err(|_| failure(Errno::INVAL))?;
        let size = fstat(&handle.fd).map_err(failure)?.st_size;
        if decision.all_hole || decision.all_data {
            return match (wants_data, decision.all_hole) {
                _ if offset >= size => Err(failure(Errno::NXIO)),
                (true, true) => Err(failure(Errno::NXIO)),
                (false, true) | (true, false) => Ok(offset),
                (false, false) => Ok(size),
            };
        }
        let at = if wants_data { SeekFrom::Data(from) } else { SeekFrom::Hole(from) };
        let found = seek(&handle.fd, at).map_err(failure)?;
        i64::try_from(found).map_err(|_| failure(Errno::OVERFLOW))
    }

    pub(super) fn copy_range(
        &self,
        from: (FileHandle, u64),
        to: (FileHandle, u64),
        bytes: u64,
        decision: Decision,
    ) -> Answer<u32> {
        let source = self.handle(from.0)?;
        let target = self.handle(to.0)?;
        // The reply has 32 bits.
        let most = usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30);
        let most = decision.short.unwrap_or(usize::MAX).min(most);
        let (mut at, mut to) = (from.1, to.1);
        let copied = copy_file_range(&source.fd, Some(&mut at), &target.fd, Some(&mut to), most);
        copied.map(|count| u32::try_from(count).unwrap_or(u32::MAX)).map_err(failure)
    }
}

/// Returns the flags to open the underlying file: its access mode. Each request has its own offset,
/// and the mount decides whether the page cache is used.
pub(super) fn kept_flags(flags: i32) -> OFlags {
    #[expect(clippy::cast_sign_loss, reason = "flags are bits")]
    let asked = OFlags::from_bits_retain(flags as u32);
    asked & (OFlags::ACCMODE | OFlags::DIRECTORY | OFlags::SYNC | OFlags::DSYNC)
}
