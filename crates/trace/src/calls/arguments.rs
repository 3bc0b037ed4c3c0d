//! What the arguments of a call mean, for the list of calls.
//!
//! The kernel gives six registers for each call, and only this table knows how many of them the call reads. A call
//! that is not in it is listed without its arguments, rather than with what registers happen to hold.

/// The meaning of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A file descriptor, or the directory that a path starts at.
    Fd,
    /// The path that the shape of the call names.
    Path,
    /// The second path, or the text of a link.
    SecondPath,
    /// A number with a sign: a length, an offset, a count.
    Number,
    /// Flags that no table names, or a pointer.
    Bits,
    /// The flags of `open`.
    OpenFlags,
    /// The permission bits of a file.
    Mode,
}

use Argument::{Bits, Fd, Mode, Number, OpenFlags, Path, SecondPath};

/// Calls, and the meaning of their arguments.
const TABLE: &[(&[&str], &[Argument])] = &[
    (
        &[
            "getpid",
            "getppid",
            "gettid",
            "getuid",
            "geteuid",
            "getgid",
            "getegid",
            "sync",
            "fork",
            "vfork",
            "sched_yield",
            "rt_sigreturn",
            "pause",
        ],
        &[],
    ),
    (&["read", "write", "getdents64", "getdents"], &[Fd, Bits, Number]),
    (&["pread64", "pwrite64"], &[Fd, Bits, Number, Number]),
    (&["readv", "writev"], &[Fd, Bits, Number]),
    (&["preadv", "pwritev"], &[Fd, Bits, Number, Number]),
    (&["preadv2", "pwritev2"], &[Fd, Bits, Number, Number, Number, Bits]),
    (&["vmsplice"], &[Fd, Bits, Number, Bits]),
    (&["sendfile"], &[Fd, Fd, Bits, Number]),
    (&["splice", "copy_file_range"], &[Fd, Bits, Fd, Bits, Number, Bits]),
    (&["tee"], &[Fd, Fd, Number, Bits]),
    (&["open"], &[Path, OpenFlags, Mode]),
    (&["creat"], &[Path, Mode]),
    (&["openat"], &[Fd, Path, OpenFlags, Mode]),
    (&["openat2"], &[Fd, Path, Bits, Number]),
    (&["close", "fsync", "fdatasync", "syncfs", "fchdir", "dup"], &[Fd]),
    (&["close_range"], &[Number, Number, Bits]),
    (&["dup2"], &[Fd, Fd]),
    (&["dup3"], &[Fd, Fd, Bits]),
    (&["fcntl"], &[Fd, Number, Bits]),
    (&["ioctl"], &[Fd, Bits, Bits]),
    (&["lseek"], &[Fd, Number, Number]),
    (&["fallocate"], &[Fd, Bits, Number, Number]),
    (&["ftruncate"], &[Fd, Number]),
    (&["truncate"], &[Path, Number]),
    (&["fadvise64"], &[Fd, Number, Number, Number]),
    (&["readahead"], &[Fd, Number, Number]),
    (&["sync_file_range"], &[Fd, Number, Number, Bits]),
    (&["cachestat"], &[Fd, Bits, Bits, Bits]),
    (&["flock"], &[Fd, Bits]),
    (&["fstat", "fstatfs"], &[Fd, Bits]),
    (&["stat", "lstat", "statfs"], &[Path, Bits]),
    (&["newfstatat"], &[Fd, Path, Bits, Bits]),
    (&["statx"], &[Fd, Path, Bits, Bits, Bits]),
    (&["access"], &[Path, Mode]),
    (&["faccessat"], &[Fd, Path, Mode]),
    (&["faccessat2"], &[Fd, Path, Mode, Bits]),
    (&["readlink"], &[Path, Bits, Number]),
    (&["readlinkat"], &[Fd, Path, Bits, Number]),
    (&["mkdir", "chmod"], &[Path, Mode]),
    (&["mkdirat", "fchmodat"], &[Fd, Path, Mode]),
    (&["fchmodat2"], &[Fd, Path, Mode, Bits]),
    (&["mknodat"], &[Fd, Path, Mode, Bits]),
    (&["fchmod"], &[Fd, Mode]),
    (&["rmdir", "unlink", "chdir"], &[Path]),
    (&["unlinkat"], &[Fd, Path, Bits]),
    (&["rename", "link"], &[Path, SecondPath]),
    (&["symlink"], &[SecondPath, Path]),
    (&["symlinkat"], &[SecondPath, Fd, Path]),
    (&["renameat"], &[Fd, Path, Fd, SecondPath]),
    (&["renameat2", "linkat"], &[Fd, Path, Fd, SecondPath, Bits]),
    (&["fchown"], &[Fd, Number, Number]),
    (&["chown", "lchown"], &[Path, Number, Number]),
    (&["fchownat"], &[Fd, Path, Number, Number, Bits]),
    (&["utimensat"], &[Fd, Path, Bits, Bits]),
    (&["fgetxattr", "fsetxattr"], &[Fd, Bits, Bits, Number]),
    (&["flistxattr"], &[Fd, Bits, Number]),
    (&["fremovexattr"], &[Fd, Bits]),
    (&["getxattr", "lgetxattr"], &[Path, Bits, Bits, Number]),
    (&["listxattr", "llistxattr"], &[Path, Bits, Number]),
    (&["mmap"], &[Bits, Number, Bits, Bits, Fd, Number]),
    (&["munmap"], &[Bits, Number]),
    (&["mprotect", "madvise", "msync"], &[Bits, Number, Bits]),
    (&["mremap"], &[Bits, Number, Number, Bits, Bits]),
    (&["brk"], &[Bits]),
    (&["execve"], &[SecondPath, Bits, Bits]),
    (&["exit", "exit_group", "umask"], &[Number]),
    (&["pipe2"], &[Bits, Bits]),
    (&["wait4"], &[Number, Bits, Bits, Bits]),
    (&["kill"], &[Number, Number]),
    (&["poll"], &[Bits, Number, Number]),
    (&["ppoll"], &[Bits, Number, Bits, Bits]),
    (&["nanosleep"], &[Bits, Bits]),
    (&["clock_nanosleep"], &[Number, Bits, Bits, Bits]),
    (&["futex"], &[Bits, Bits, Number, Bits, Bits, Number]),
    (&["rt_sigaction"], &[Number, Bits, Bits, Number]),
    (&["rt_sigprocmask"], &[Number, Bits, Bits, Number]),
    (&["getrandom"], &[Bits, Number, Bits]),
    (&["prlimit64"], &[Number, Number, Bits, Bits]),
    (&["io_uring_setup"], &[Number, Bits]),
    (&["io_uring_enter"], &[Fd, Number, Number, Bits, Bits, Number]),
    (&["io_uring_register"], &[Fd, Number, Bits, Number]),
];

/// Returns the meaning of each argument of a call; `None` if the table does not have the call.
pub(crate) fn arguments_of(name: &str) -> Option<&'static [Argument]> {
    TABLE.iter().find(|(names, _)| names.contains(&name)).map(|(_, arguments)| *arguments)
}

/// Returns the flags of `open` as the manual writes them, as [`libc`] numbers them on this machine.
pub(crate) fn open_flags(flags: u64) -> String {
    /// The flags that are one bit, or contain another one and come first.
    const NAMES: &[(i32, &str)] = &[
        (libc::O_TMPFILE, "O_TMPFILE"),
        (libc::O_SYNC, "O_SYNC"),
        (libc::O_CREAT, "O_CREAT"),
        (libc::O_EXCL, "O_EXCL"),
        (libc::O_NOCTTY, "O_NOCTTY"),
        (libc::O_TRUNC, "O_TRUNC"),
        (libc::O_APPEND, "O_APPEND"),
        (libc::O_NONBLOCK, "O_NONBLOCK"),
        (libc::O_DSYNC, "O_DSYNC"),
        (libc::O_DIRECT, "O_DIRECT"),
        (libc::O_DIRECTORY, "O_DIRECTORY"),
        (libc::O_NOFOLLOW, "O_NOFOLLOW"),
        (libc::O_NOATIME, "O_NOATIME"),
        (libc::O_CLOEXEC, "O_CLOEXEC"),
        (libc::O_PATH, "O_PATH"),
    ];
    let mut left = flags;
    let access = u64::try_from(libc::O_ACCMODE).unwrap_or(3);
    let mut names = vec![match left & access {
        0 => "O_RDONLY",
        1 => "O_WRONLY",
        2 => "O_RDWR",
        _ => "O_ACCMODE",
    }];
    left &= !access;
    for (bits, name) in NAMES {
        let bits = u64::try_from(*bits).unwrap_or(0);
        if bits != 0 && left & bits == bits {
            names.push(name);
            left &= !bits;
        }
    }
    let mut text = names.join("|");
    if left != 0 {
        text.push_str(&format!("|{left:#x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::shape_of;

    #[test]
    fn flags_of_open_have_the_names_of_the_manual() {
        let bits = |flags: i32| u64::try_from(flags).unwrap();
        assert_eq!(open_flags(0), "O_RDONLY");
        let made = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        assert_eq!(open_flags(bits(made)), "O_WRONLY|O_CREAT|O_EXCL");
        assert_eq!(open_flags(bits(libc::O_RDWR | libc::O_TMPFILE)), "O_RDWR|O_TMPFILE");
        assert_eq!(open_flags(bits(libc::O_SYNC)), "O_RDONLY|O_SYNC");
        assert_eq!(open_flags(1 << 40), "O_RDONLY|0x10000000000");
    }

    #[test]
    fn the_files_of_a_shape_are_arguments_of_the_table() {
        let mut known = 0;
        for (_, name) in crate::calls::all_names() {
            let Some(arguments) = arguments_of(name) else { continue };
            let shape = shape_of(name);
            let is = |index: Option<u8>, kind| {
                index.is_none_or(|index| arguments.get(usize::from(index)) == Some(&kind))
            };
            assert!(is(shape.fd, Fd) && is(shape.second_fd, Fd), "{name}");
            assert!(is(shape.path, Path) && is(shape.second_path, SecondPath), "{name}");
            assert!(is(shape.directory, Fd), "{name}");
            known += 1;
        }
        assert!(known > 90, "{known}");
    }
}
