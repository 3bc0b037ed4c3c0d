//! The meaning of a call's figures: whether its result is a size, and which argument is a file.
//!
//! One table for both backends. The eBPF program gets it as numbers, so it contains no call names
//! and is the same on every architecture.

/// Source of the size of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// It has no size.
    None,
    /// The returned number of bytes.
    Returned,
    /// The requested length, in this argument.
    Argument(u8),
}

/// The meaning of a call's figures. Arguments count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) size: Size,
    pub(crate) fd: Option<u8>,
    pub(crate) second_fd: Option<u8>,
    pub(crate) path: Option<u8>,
    pub(crate) directory: Option<u8>,
    /// A path, or the text of a link, that only the list of calls shows.
    pub(crate) second_path: Option<u8>,
    pub(crate) result: Outcome,
}

/// Further meaning of the return value of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No value, or an errno.
    Plain,
    /// A new file descriptor, or an errno.
    Fd,
    /// No meaning: it may look like an errno but is not.
    Infallible,
}

const PLAIN: Shape = Shape {
    size: Size::None,
    fd: None,
    second_fd: None,
    path: None,
    directory: None,
    second_path: None,
    result: Outcome::Plain,
};

/// Moves bytes through the fd in its first argument, and returns how many.
const TRANSFER: Shape = Shape { size: Size::Returned, fd: Some(0), ..PLAIN };
/// Operates on the fd in its first argument.
const ON_FD: Shape = Shape { fd: Some(0), ..PLAIN };
/// Names a path in its first argument.
const PATH: Shape = Shape { path: Some(0), ..PLAIN };
/// Names a path in its second argument, below the directory fd in its first.
const PATH_AT: Shape = Shape { directory: Some(0), path: Some(1), ..PLAIN };

/// A span of bytes in an argument, of the file in the first.
const fn span(argument: u8) -> Shape {
    Shape { size: Size::Argument(argument), ..ON_FD }
}

/// Moves bytes from one fd to another.
const fn between(first: u8, second: u8) -> Shape {
    Shape { size: Size::Returned, fd: Some(first), second_fd: Some(second), ..PLAIN }
}

/// Returns the shape of the call with that name.
pub(crate) fn shape_of(name: &str) -> Shape {
    match name {
        "read" | "write" | "pread64" | "pwrite64" | "readv" | "writev" | "preadv" | "pwritev"
        | "preadv2" | "pwritev2" | "getdents" | "getdents64" | "recvfrom" | "recvmsg"
        | "sendto" | "sendmsg" | "vmsplice" | "fgetxattr" | "flistxattr" => TRANSFER,
        "getrandom" | "process_vm_readv" | "process_vm_writev" | "mq_timedreceive" => {
            Shape { size: Size::Returned, ..PLAIN }
        }
        "sendfile" | "tee" => between(0, 1),
        "splice" | "copy_file_range" => between(0, 2),
        "mmap" => Shape { size: Size::Argument(1), fd: Some(4), ..PLAIN },
        "munmap" | "madvise" | "msync" | "mprotect" => Shape { size: Size::Argument(1), ..PLAIN },
        "mremap" => Shape { size: Size::Argument(2), ..PLAIN },
        "ftruncate" => span(1),
        "fadvise64" | "readahead" | "sync_file_range" => span(2),
        "fallocate" => span(3),
        "truncate" => Shape { size: Size::Argument(1), ..PATH },
        "open" | "creat" => Shape { result: Outcome::Fd, ..PATH },
        "openat" | "openat2" | "open_by_handle_at" => Shape { result: Outcome::Fd, ..PATH_AT },
        "close" | "fstat" | "lseek" | "fsync" | "fdatasync" | "syncfs" | "fchmod" | "fchown"
        | "fsetxattr" | "fremovexattr" | "fstatfs" | "fcntl" | "ioctl" | "dup" | "dup2"
        | "dup3" | "flock" | "fchdir" | "cachestat" => ON_FD,
        "stat" | "lstat" | "access" | "statfs" | "chdir" | "mkdir" | "rmdir" | "unlink"
        | "chmod" | "chown" | "lchown" | "utime" | "utimes" | "mknod" | "setxattr"
        | "lsetxattr" | "removexattr" | "lremovexattr" => PATH,
        "rename" | "link" => Shape { second_path: Some(1), ..PATH },
        "readlink" | "getxattr" | "lgetxattr" | "listxattr" | "llistxattr" => {
            Shape { size: Size::Returned, ..PATH }
        }
        "readlinkat" => Shape { size: Size::Returned, ..PATH_AT },
        "newfstatat" | "statx" | "faccessat" | "faccessat2" | "mkdirat" | "mknodat"
        | "unlinkat" | "fchmodat" | "fchmodat2" | "fchownat" | "utimensat"
        | "name_to_handle_at" => PATH_AT,
        "renameat" | "renameat2" | "linkat" => Shape { second_path: Some(3), ..PATH_AT },
        "symlink" => Shape { path: Some(1), second_path: Some(0), ..PLAIN },
        "symlinkat" => Shape { directory: Some(1), path: Some(2), second_path: Some(0), ..PLAIN },
        // Its first path is gone when it returns, as the memory that it was in.
        "execve" => Shape { second_path: Some(0), ..PLAIN },
        "rt_sigreturn" | "brk" => Shape { result: Outcome::Infallible, ..PLAIN },
        _ => PLAIN,
    }
}

/// Returns the shape of the io_uring operation with that name.
pub(crate) fn operation_shape(name: &str) -> Shape {
    let size = match name {
        "read" | "readv" | "read_fixed" | "readv_fixed" | "read_multishot" | "write" | "writev"
        | "write_fixed" | "writev_fixed" | "send" | "sendmsg" | "send_zc" | "sendmsg_zc"
        | "recv" | "recvmsg" | "recv_zc" | "splice" | "tee" | "getxattr" | "fgetxattr" => {
            Size::Returned
        }
        _ => Size::None,
    };
    Shape { size, ..PLAIN }
}

impl Shape {
    /// Packs the shape for the eBPF program; `bpf/trace.bpf.c` has the same layout.
    pub(crate) fn packed(self) -> u32 {
        let one_based = |argument: Option<u8>| argument.map_or(0, |index| u32::from(index) + 1);
        let (kind, argument) = match self.size {
            Size::None => (0, 0),
            Size::Returned => (1, 0),
            Size::Argument(index) => (2, u32::from(index)),
        };
        kind << 1
            | argument << 3
            | one_based(self.fd) << 6
            | one_based(self.second_fd) << 9
            | one_based(self.path) << 12
            | one_based(self.directory) << 15
            | u32::from(self.result == Outcome::Fd) << 18
            | u32::from(self.result == Outcome::Infallible) << 19
            | one_based(self.second_path) << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packing_keeps_its_fields_apart() {
        assert_eq!(PLAIN.packed(), 0);
        assert_eq!(shape_of("read").packed(), 1 << 1 | 1 << 6);
        assert_eq!(shape_of("mmap").packed(), 2 << 1 | 1 << 3 | 5 << 6);
        assert_eq!(shape_of("openat").packed(), 2 << 12 | 1 << 15 | 1 << 18);
        assert_eq!(shape_of("splice").packed(), 1 << 1 | 1 << 6 | 3 << 9);
        assert_eq!(shape_of("rt_sigreturn").packed(), 1 << 19);
        assert_eq!(shape_of("rename").packed(), 1 << 12 | 2 << 20);
    }
}
