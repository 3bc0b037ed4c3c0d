//! The one table of what an errno means for the bytes of a file: (call, errno) to verdict.
//!
//! An errno that is not in the table is a failure, never a fallback: a copier that falls back on
//! any error turns a failing disk into a second try, and the second answer into a file. A lack of space
//! is one row for all calls that take space ([`TAKE_SPACE`]).

use haul_sys::{Call, CallError, Errno};

/// What to do about a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Make the same call again; at most [`RETRIES`] times in a row.
    Retry,
    /// Go on with the next method, from where this one got to.
    NextMethod(Memory),
    /// Flush the target's file system, and go on from where the method got to: [`crate::system::space`]. A stream,
    /// which has one thread, fails.
    Flush,
    /// The range cannot be moved.
    Fail,
}

/// How far a refusal reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Every file between these two file systems will be refused: do not ask again.
    Pair,
    /// It may be about this file alone.
    File,
}

/// Tells whether an errno says that a file system or a quota has no space left.
pub(crate) const fn is_lack_of_space(errno: Errno) -> bool {
    matches!(errno, Errno::NOSPC | Errno::DQUOT)
}

/// How often a call is made again in a row. A signal storm of 1 kHz interrupts a slow call a few
/// times; a thousand interruptions without a byte is a fault.
pub(crate) const RETRIES: u32 = 1000;

struct Row {
    call: Call,
    errno: Errno,
    verdict: Verdict,
    #[cfg_attr(not(test), expect(dead_code, reason = "each row carries its source"))]
    source: &'static str,
}

const fn row(call: Call, errno: Errno, verdict: Verdict, source: &'static str) -> Row {
    Row { call, errno, verdict, source }
}

const PAIR: Verdict = Verdict::NextMethod(Memory::Pair);
const FILE: Verdict = Verdict::NextMethod(Memory::File);

/// Each row with where it comes from.
const TABLE: &[Row] = &[
    row(Call::Read, Errno::INTR, Verdict::Retry, "read(2): interrupted before any byte"),
    row(Call::Pread, Errno::INTR, Verdict::Retry, "read(2)"),
    row(Call::Write, Errno::INTR, Verdict::Retry, "write(2): interrupted before any byte"),
    row(Call::Pwrite, Errno::INTR, Verdict::Retry, "write(2)"),
    row(Call::Fallocate, Errno::INTR, Verdict::Retry, "fallocate(2)"),
    // Reserving only saves time; what is refused here is allocated by writing.
    row(Call::Fallocate, Errno::OPNOTSUPP, PAIR, "fallocate(2): not on this file system"),
    row(Call::Fallocate, Errno::NOSYS, PAIR, "fallocate(2): not in this kernel; sandboxes"),
    row(Call::Fallocate, Errno::INVAL, FILE, "fallocate(2): a mode or range that is not taken"),
    row(Call::Fallocate, Errno::NODEV, FILE, "fallocate(2): not a regular file"),
    row(Call::Fallocate, Errno::PERM, FILE, "fallocate(2): append-only or sealed; seccomp filters"),
    row(Call::Fallocate, Errno::TXTBSY, FILE, "fallocate(2): a swap file; a program that runs"),
    row(Call::Fallocate, Errno::ACCESS, FILE, "seccomp filters; security modules"),
    row(Call::Ftruncate, Errno::INTR, Verdict::Retry, "truncate(2)"),
    row(Call::Fsync, Errno::INTR, Verdict::Retry, "fsync(2)"),
    row(Call::Fdatasync, Errno::INTR, Verdict::Retry, "fsync(2)"),
    // FICLONE is all or nothing, so every refusal leaves the target untouched.
    row(Call::Ficlone, Errno::XDEV, PAIR, "ioctl_ficlone(2): different file systems"),
    row(Call::Ficlone, Errno::OPNOTSUPP, PAIR, "ioctl_ficlone(2): no reflink here"),
    row(Call::Ficlone, Errno::NOTTY, PAIR, "file systems and kernels without the ioctl"),
    row(Call::Ficlone, Errno::NOSYS, PAIR, "FUSE and gVisor without the ioctl"),
    row(Call::Ficlone, Errno::PERM, PAIR, "seccomp filters; ioctl_ficlone(2): immutable target"),
    row(Call::Ficlone, Errno::INVAL, FILE, "ioctl_ficlone(2): not a regular file, or misaligned"),
    row(Call::Ficlone, Errno::TXTBSY, FILE, "ioctl_ficlone(2): a swap file"),
    row(Call::Ficlone, Errno::BADF, FILE, "ioctl_ficlone(2): append-only target (cp >> )"),
    row(Call::Ficlone, Errno::ACCESS, FILE, "CIFS and security modules, before any byte"),
    row(Call::Ficlone, Errno::INTR, Verdict::Retry, "btrfs waits for writeback first"),
    row(Call::FicloneRange, Errno::XDEV, PAIR, "ioctl_ficlonerange(2): other systems"),
    row(Call::FicloneRange, Errno::OPNOTSUPP, PAIR, "ioctl_ficlonerange(2): no reflink here"),
    row(Call::FicloneRange, Errno::NOTTY, PAIR, "file systems and kernels without the ioctl"),
    row(Call::FicloneRange, Errno::NOSYS, PAIR, "FUSE and gVisor without the ioctl"),
    row(Call::FicloneRange, Errno::PERM, PAIR, "seccomp filters; an immutable target"),
    row(Call::FicloneRange, Errno::INVAL, FILE, "ioctl_ficlonerange(2): misaligned"),
    row(Call::FicloneRange, Errno::TXTBSY, FILE, "ioctl_ficlonerange(2): a swap file"),
    row(Call::FicloneRange, Errno::BADF, FILE, "ioctl_ficlonerange(2): append-only"),
    row(Call::FicloneRange, Errno::ACCESS, FILE, "CIFS and security modules, before any byte"),
    row(Call::FicloneRange, Errno::INTR, Verdict::Retry, "btrfs waits for writeback first"),
    // copy_file_range says how far it came, so the next method starts exactly there.
    row(Call::CopyFileRange, Errno::INTR, Verdict::Retry, "interrupted before any byte"),
    row(Call::CopyFileRange, Errno::XDEV, PAIR, "copy_file_range(2): across file systems"),
    row(Call::CopyFileRange, Errno::NOSYS, PAIR, "kernels before 4.5, sandboxes"),
    row(Call::CopyFileRange, Errno::OPNOTSUPP, PAIR, "copy_file_range(2); NFS before 4.2"),
    row(Call::CopyFileRange, Errno::PERM, FILE, "seccomp in old container engines"),
    row(Call::CopyFileRange, Errno::ACCESS, FILE, "seccomp filters; security modules; read tells"),
    row(Call::CopyFileRange, Errno::INVAL, FILE, "copy_file_range(2): not regular, special fs"),
    row(Call::CopyFileRange, Errno::TXTBSY, FILE, "copy_file_range(2): a swap file"),
    row(Call::CopyFileRange, Errno::NOENT, FILE, "CIFS servers, coreutils bug 48833"),
    row(Call::CopyFileRange, Errno::FBIG, FILE, "ranges past a server's limit; write tells"),
    row(Call::CopyFileRange, Errno::BADF, FILE, "append-only target; Lustre"),
    row(Call::CopyFileRange, Errno::ISDIR, FILE, "CIFS"),
    row(Call::Sendfile, Errno::INTR, Verdict::Retry, "interrupted before any byte"),
    row(Call::Sendfile, Errno::INVAL, FILE, "sendfile(2): no splice on this file"),
    row(Call::Sendfile, Errno::NOSYS, PAIR, "sendfile(2)"),
    row(Call::Sendfile, Errno::OPNOTSUPP, FILE, "FUSE without splice"),
    row(Call::Sendfile, Errno::PERM, FILE, "seccomp filters"),
    row(Call::Sendfile, Errno::ACCESS, FILE, "seccomp filters; security modules; read tells"),
    row(Call::Splice, Errno::INTR, Verdict::Retry, "interrupted before any byte"),
    row(Call::Splice, Errno::INVAL, FILE, "splice(2): no splice on this file"),
    row(Call::Splice, Errno::NOSYS, PAIR, "sandboxes"),
    row(Call::Splice, Errno::OPNOTSUPP, FILE, "FUSE without splice"),
    row(Call::Splice, Errno::PERM, FILE, "seccomp filters"),
    row(Call::Splice, Errno::ACCESS, FILE, "seccomp filters; security modules; read tells"),
    row(Call::Pipe, Errno::MFILE, FILE, "pipe(2): no descriptors left for a pipe"),
    row(Call::Pipe, Errno::NFILE, FILE, "pipe(2): no descriptors left for a pipe"),
    row(Call::Mmap, Errno::INTR, Verdict::Retry, "FUSE while it reads in"),
    row(Call::Mmap, Errno::NODEV, FILE, "mmap(2): no mappings on this file system"),
    row(Call::Mmap, Errno::ACCESS, FILE, "mmap(2): the file does not allow it"),
    // Direct I/O is refused before any byte, by the alignment or by the file system.
    row(Call::DirectRead, Errno::INTR, Verdict::Retry, "read(2)"),
    row(Call::DirectRead, Errno::INVAL, FILE, "open(2), O_DIRECT: misaligned, or not here"),
    row(Call::DirectRead, Errno::OPNOTSUPP, FILE, "layered file systems"),
    row(Call::DirectWrite, Errno::INTR, Verdict::Retry, "write(2)"),
    row(Call::DirectWrite, Errno::INVAL, FILE, "open(2), O_DIRECT: misaligned, or not here"),
    row(Call::DirectWrite, Errno::OPNOTSUPP, FILE, "layered file systems"),
    row(Call::Statx, Errno::INVAL, FILE, "an alignment that no buffer of ours has"),
    row(Call::Statx, Errno::OPNOTSUPP, FILE, "statx(2), STATX_DIOALIGN: no direct I/O"),
    row(Call::Statx, Errno::NOSYS, PAIR, "kernels before 4.11, seccomp filters"),
    row(Call::Statx, Errno::PERM, PAIR, "seccomp filters"),
    row(Call::Statx, Errno::ACCESS, PAIR, "seccomp filters"),
    row(Call::Fcntl, Errno::INVAL, FILE, "fcntl(2): no O_DIRECT on this file system"),
    row(Call::Fcntl, Errno::OPNOTSUPP, FILE, "our own: files that are the page cache"),
    row(Call::Preadv2, Errno::INTR, Verdict::Retry, "readv(2)"),
    row(Call::Preadv2, Errno::OPNOTSUPP, PAIR, "readv(2): flag unknown here, before 6.14"),
    row(Call::Preadv2, Errno::NOSYS, PAIR, "sandboxes"),
    row(Call::Preadv2, Errno::PERM, PAIR, "seccomp filters; pread tells, if it was the file"),
    row(Call::Preadv2, Errno::ACCESS, PAIR, "seccomp filters; pread tells, if it was the file"),
    row(Call::Preadv2, Errno::INVAL, PAIR, "seccomp filters; pread tells, if it was the file"),
    row(Call::Pwritev2, Errno::INTR, Verdict::Retry, "readv(2)"),
    row(Call::Pwritev2, Errno::OPNOTSUPP, PAIR, "readv(2): flag unknown here, before 6.14"),
    row(Call::Pwritev2, Errno::NOSYS, PAIR, "sandboxes"),
    row(Call::Pwritev2, Errno::PERM, PAIR, "seccomp filters; pwrite tells, if it was the file"),
    row(Call::Pwritev2, Errno::ACCESS, PAIR, "seccomp filters; pwrite tells, if it was the file"),
    row(Call::Pwritev2, Errno::INVAL, PAIR, "seccomp filters; pwrite tells, if it was the file"),
    row(Call::SyncFileRange, Errno::INTR, Verdict::Retry, "waiting was interrupted"),
    // Containers and administrators forbid rings; nothing was submitted yet.
    row(Call::IoUringSetup, Errno::PERM, PAIR, "io_uring_disabled, seccomp filters"),
    row(Call::IoUringSetup, Errno::NOSYS, PAIR, "kernels without rings, seccomp filters"),
    row(Call::IoUringSetup, Errno::ACCESS, PAIR, "security modules"),
    row(Call::IoUringSetup, Errno::INVAL, PAIR, "kernels that do not know a flag"),
    row(Call::IoUringSetup, Errno::NOMEM, FILE, "io_uring_setup(2): RLIMIT_MEMLOCK"),
    row(Call::IoUringSetup, Errno::MFILE, FILE, "io_uring_setup(2): no descriptors left"),
    row(Call::IoUringSetup, Errno::NFILE, FILE, "io_uring_setup(2): no descriptors left"),
    row(Call::IoUringRegister, Errno::NOMEM, FILE, "io_uring_register(2): RLIMIT_MEMLOCK"),
    row(Call::IoUringRegister, Errno::PERM, PAIR, "restrictions, seccomp filters"),
    row(Call::IoUringRegister, Errno::ACCESS, PAIR, "seccomp filters, security modules"),
    row(Call::IoUringRegister, Errno::INVAL, PAIR, "kernels that do not know the operation"),
    row(Call::IoUringRegister, Errno::NOSYS, PAIR, "kernels before 5.1"),
    row(Call::IoUringRegister, Errno::OPNOTSUPP, FILE, "buffers that cannot be pinned"),
    row(Call::RingRead, Errno::INTR, Verdict::Retry, "a worker of the kernel's was interrupted"),
    row(Call::RingRead, Errno::INVAL, FILE, "as for O_DIRECT; kernels without the operation"),
    row(Call::RingRead, Errno::OPNOTSUPP, FILE, "file systems without asynchronous reads"),
    row(Call::RingRead, Errno::AGAIN, FILE, "a file that cannot be waited for"),
    row(Call::RingRead, Errno::CANCELED, FILE, "RLIMIT_NPROC: no worker of the kernel's"),
    row(Call::RingWrite, Errno::INTR, Verdict::Retry, "a worker of the kernel's was interrupted"),
    row(Call::RingWrite, Errno::INVAL, FILE, "as for O_DIRECT; kernels without the operation"),
    row(Call::RingWrite, Errno::OPNOTSUPP, FILE, "file systems without asynchronous writes"),
    row(Call::RingWrite, Errno::AGAIN, FILE, "a file that cannot be waited for"),
    row(Call::RingWrite, Errno::CANCELED, FILE, "RLIMIT_NPROC: no worker of the kernel's"),
];

/// The calls that take space for the target's bytes. One that fails has moved no byte, so that it can be
/// made again (write(2); ioctl_ficlone(2) and fallocate(2) start from the beginning).
const TAKE_SPACE: &[Call] = &[
    Call::Write,
    Call::Pwrite,
    Call::DirectWrite,
    Call::Pwritev2,
    Call::RingWrite,
    Call::Splice,
    Call::Sendfile,
    Call::CopyFileRange,
    Call::Ficlone,
    Call::FicloneRange,
    Call::Fallocate,
];

/// Tells whether a failed call leads to the next method: this one is not possible here.
pub(crate) fn is_impossible(error: CallError) -> bool {
    matches!(verdict(error.call, error.errno), Verdict::NextMethod(_))
}

/// Tells what to do about this errno of this call.
#[must_use]
pub(crate) fn verdict(call: Call, errno: Errno) -> Verdict {
    if TAKE_SPACE.contains(&call) && is_lack_of_space(errno) {
        return Verdict::Flush;
    }
    TABLE
        .iter()
        .find(|row| row.call == call && row.errno == errno)
        .map_or(Verdict::Fail, |row| row.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_fails() {
        for call in [Call::Read, Call::Pwrite, Call::CopyFileRange, Call::Ficlone, Call::Sendfile] {
            for errno in [Errno::IO, Errno::NOMEM, Errno::STALE] {
                assert_eq!(verdict(call, errno), Verdict::Fail, "{call} {errno:?}");
            }
        }
    }

    #[test]
    fn lack_of_space_leads_to_a_flush_only_for_calls_that_take_it() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            for call in TAKE_SPACE {
                assert_eq!(verdict(*call, errno), Verdict::Flush, "{call} {errno:?}");
            }
            // It follows a padded block whose bytes have all arrived: made again, nothing is left to move,
            // and the padding would stay.
            for call in [Call::Ftruncate, Call::Read, Call::Fsync] {
                assert_eq!(verdict(call, errno), Verdict::Fail, "{call} {errno:?}");
            }
        }
    }

    #[test]
    fn every_row_is_the_only_one_and_has_a_source() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(!row.source.is_empty());
            let twin = |other: &Row| other.call == row.call && other.errno == row.errno;
            assert!(!TABLE[..index].iter().any(twin), "{} {:?}", row.call, row.errno);
        }
    }

    #[test]
    fn only_interruptions_are_retried() {
        for row in TABLE {
            assert_eq!(row.verdict == Verdict::Retry, row.errno == Errno::INTR, "{}", row.call);
        }
    }
}
