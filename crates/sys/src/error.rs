//! Error of a failed kernel call: the call and its errno.
//!
//! The engine adds the action and the path, and only when it reports a failure; so an error is two
//! small numbers, cheap to create and to compare.

use std::fmt;

pub use rustix::io::Errno;

macro_rules! calls {
    ($($variant:ident $name:literal,)*) => {
        /// A kernel call that haul makes, by its name in section 2 of the manual.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Call {
            /// Every call, in alphabetical order.
            pub const ALL: &[Call] = &[$(Call::$variant,)*];

            /// Returns the name as the manual spells it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Call::$variant => $name,)* }
            }
        }
    };
}

calls! {
    Cachestat "cachestat",
    Clone "clone",
    Close "close",
    CopyFileRange "copy_file_range",
    DirectRead "pread64(O_DIRECT)",
    DirectWrite "pwrite64(O_DIRECT)",
    Dup "dup",
    Execve "execve",
    Faccessat2 "faccessat2",
    Fadvise "fadvise64",
    Fallocate "fallocate",
    Fcntl "fcntl",
    Fchmod "fchmod",
    Fchmodat "fchmodat",
    Fchown "fchown",
    Fchownat "fchownat",
    Ficlone "ioctl(FICLONE)",
    FicloneRange "ioctl(FICLONERANGE)",
    Fiemap "ioctl(FS_IOC_FIEMAP)",
    Fdatasync "fdatasync",
    Fgetxattr "fgetxattr",
    Flistxattr "flistxattr",
    Flock "flock",
    Fork "fork",
    Fremovexattr "fremovexattr",
    Fsetxattr "fsetxattr",
    Fstat "fstat",
    Fstatfs "fstatfs",
    FsUuid "ioctl(FS_IOC_GETFSUUID)",
    Fsync "fsync",
    Ftruncate "ftruncate",
    Getdents "getdents64",
    Getxattr "getxattr",
    GetFlags "ioctl(FS_IOC_GETFLAGS)",
    GetProject "ioctl(FS_IOC_FSGETXATTR)",
    Getrandom "getrandom",
    Kill "kill",
    LandlockAddRule "landlock_add_rule",
    LandlockCreateRuleset "landlock_create_ruleset",
    LandlockRestrictSelf "landlock_restrict_self",
    Lgetxattr "lgetxattr",
    IoUringEnter "io_uring_enter",
    IoUringRegister "io_uring_register",
    IoUringSetup "io_uring_setup",
    Linkat "linkat",
    Listxattr "listxattr",
    Llistxattr "llistxattr",
    Lseek "lseek",
    Lsetxattr "lsetxattr",
    Mincore "mincore",
    Mkdirat "mkdirat",
    Mknodat "mknodat",
    NameToHandleAt "name_to_handle_at",
    Mmap "mmap",
    Mount "mount",
    Openat "openat",
    Openat2 "openat2",
    PidfdOpen "pidfd_open",
    Pipe "pipe2",
    Poll "poll",
    Pread "pread64",
    Preadv2 "preadv2",
    Prctl "prctl",
    Prlimit "prlimit64",
    ProcessVmReadv "process_vm_readv",
    Ptrace "ptrace",
    Pwrite "pwrite64",
    Pwritev2 "pwritev2",
    Read "read",
    Readlinkat "readlinkat",
    Renameat2 "renameat2",
    RingRead "io_uring(READ)",
    RingWrite "io_uring(WRITE)",
    Sendfile "sendfile",
    SetFlags "ioctl(FS_IOC_SETFLAGS)",
    SetProject "ioctl(FS_IOC_FSSETXATTR)",
    Splice "splice",
    Statx "statx",
    Symlinkat "symlinkat",
    SyncFileRange "sync_file_range",
    Syncfs "syncfs",
    Umount2 "umount2",
    Unlinkat "unlinkat",
    Unshare "unshare",
    Utimensat "utimensat",
    Waitpid "waitpid",
    Write "write",
    XfsGeometry "ioctl(XFS_IOC_FSGEOMETRY)",
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A kernel call that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CallError {
    /// The call that was made.
    pub call: Call,
    /// The errno that the kernel returned.
    pub errno: Errno,
}

/// The result of a kernel call.
pub type Result<T> = std::result::Result<T, CallError>;

impl CallError {
    /// Names the call of a bare errno.
    #[must_use]
    pub const fn new(call: Call, errno: Errno) -> CallError {
        CallError { call, errno }
    }
}

/// Adds the call's name to an errno; `rustix` returns the errno alone.
pub(crate) trait Named<T> {
    fn named(self, call: Call) -> Result<T>;
}

impl<T> Named<T> for rustix::io::Result<T> {
    #[inline]
    fn named(self, call: Call) -> Result<T> {
        self.map_err(|errno| CallError { call, errno })
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.text())
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallError({}, {:?})", self.call, self.errno)
    }
}

impl std::error::Error for CallError {}

impl CallError {
    /// Returns the C library's text for the errno, such as `No such file or directory`.
    #[must_use]
    pub fn text(&self) -> String {
        errno_text(self.errno)
    }
}

/// Returns the C library's text for an errno, such as `No such file or directory`.
///
/// The standard library appends ` (os error 2)`, which no other file tool prints.
#[must_use]
pub fn errno_text(errno: Errno) -> String {
    let code = errno.raw_os_error();
    let text = std::io::Error::from_raw_os_error(code).to_string();
    let suffix = format!(" (os error {code})");
    match text.strip_suffix(&suffix) {
        Some(bare) => bare.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_c_librarys_alone() {
        let error = CallError::new(Call::Openat, Errno::NOENT);
        assert_eq!(error.text(), "No such file or directory");
        assert_eq!(error.to_string(), "openat: No such file or directory");
    }

    #[test]
    fn calls_are_listed_once_each() {
        for (index, call) in Call::ALL.iter().enumerate() {
            assert!(!Call::ALL[..index].iter().any(|other| other.name() == call.name()), "{call}");
        }
    }
}
