//! `landlock_create_ruleset`, `landlock_add_rule`, `landlock_restrict_self` — the kernel refuses writes
//! outside some directories: <https://man7.org/linux/man-pages/man7/landlock.7.html>
//!
//! The C library has no functions for these calls.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::io::Errno;

use crate::error::Named;
use crate::{Call, CallError, Result};

/// Asks for the version instead of a ruleset.
const VERSION_FLAG: libc::c_ulong = 1;

/// The kind of rule that allows accesses below a directory.
const PATH_BENEATH: libc::c_int = 1;

/// From the second version (Linux 5.19) on, files can be linked and renamed into another directory;
/// the first one refuses that everywhere.
const VERSION_MIN: i64 = 2;

/// Writing to files; removing directories and files; making devices, directories, files, sockets,
/// pipes and symbolic links (bits 6 to 12); linking and renaming from one directory into another (13).
const WRITES: u64 = 1 << 1 | 1 << 4 | 1 << 5 | 0x7f << 6 | 1 << 13;

/// Cutting files, from the third version (Linux 6.2) on.
const TRUNCATES: u64 = 1 << 14;

/// `struct landlock_ruleset_attr`, as far as the first version has it.
#[repr(C)]
struct RulesetAttributes {
    handled_access_fs: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

/// Lets the calling thread, and all threads and processes that it starts afterwards, write to, make and
/// remove files below these directories only, for ever. Reading, changes of attributes, and files that
/// are open already are not restricted. The thread also loses the right to gain privileges by programs
/// that run as their owner (`no_new_privs`), even if a later step fails.
///
/// Fails with `ENOSYS` before Linux 5.19, `EOPNOTSUPP` where the kernel has it switched off, `E2BIG`
/// behind 16 earlier restrictions, and `EPERM` or `ENOSYS` where a filter of system calls does not know
/// it. Then nothing is restricted.
pub fn restrict_writes(directories: &[impl AsFd]) -> Result<()> {
    let version = version()?;
    if version < VERSION_MIN {
        return Err(CallError::new(Call::LandlockCreateRuleset, Errno::NOSYS));
    }
    let handled = if version > VERSION_MIN { WRITES | TRUNCATES } else { WRITES };
    let ruleset = create(handled)?;
    for directory in directories {
        add(&ruleset, directory.as_fd(), handled)?;
    }
    rustix::thread::set_no_new_privs(true).named(Call::Prctl)?;
    // SAFETY: the arguments are integers; the kernel touches no memory of this process.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    checked(done, Call::LandlockRestrictSelf).map(|_| ())
}

fn checked(answer: libc::c_long, call: Call) -> Result<i64> {
    if answer >= 0 {
        return Ok(answer);
    }
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    Err(CallError::new(call, Errno::from_raw_os_error(errno)))
}

/// Returns the version of Landlock's interface. `ENOSYS` if the kernel was built without it,
/// `EOPNOTSUPP` if it is switched off. Restricts nothing.
pub fn landlock_version() -> Result<u32> {
    u32::try_from(version()?).map_err(|_| failed(Errno::INVAL))
}

fn version() -> Result<i64> {
    let none: *const RulesetAttributes = std::ptr::null();
    // SAFETY: with this flag the kernel takes a null pointer and a size of 0, and reads no memory.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0 as libc::size_t, VERSION_FLAG)
    };
    checked(version, Call::LandlockCreateRuleset)
}

fn create(handled_access_fs: u64) -> Result<OwnedFd> {
    let attributes = RulesetAttributes { handled_access_fs };
    let size = size_of::<RulesetAttributes>();
    // SAFETY: the kernel reads `size` bytes of the structure, which lives until the call is over.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const attributes,
            size,
            0 as libc::c_ulong,
        )
    };
    let fd = checked(fd, Call::LandlockCreateRuleset)?;
    let fd = i32::try_from(fd).map_err(|_| failed(Errno::BADF))?;
    // SAFETY: the kernel has just made this descriptor, closed on exec, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn add(ruleset: &OwnedFd, directory: BorrowedFd<'_>, allowed_access: u64) -> Result<()> {
    let rule = PathBeneath { allowed_access, parent_fd: directory.as_raw_fd() };
    // SAFETY: the kernel reads the structure, which lives until the call is over.
    let done = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0 as libc::c_ulong,
        )
    };
    checked(done, Call::LandlockAddRule).map(|_| ())
}

fn failed(errno: Errno) -> CallError {
    CallError::new(Call::LandlockCreateRuleset, errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind::PermissionDenied;

    #[test]
    fn nothing_is_written_outside_by_a_restricted_thread_and_its_children() {
        let folder = std::env::temp_dir().join(format!("haul-landlock-{}", std::process::id()));
        for name in ["in/a", "in/b", "out"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("out/f"), "whole").unwrap();
        let target = fs::File::open(folder.join("in")).unwrap();
        let at = |name: &str| folder.join(name);
        let restricted = || {
            if let Err(error) = restrict_writes(&[&target]) {
                println!("ignored: landlock needs a kernel that has it: {}", error.text());
                return;
            }
            fs::write(at("in/a/f"), "text").unwrap();
            fs::hard_link(at("in/a/f"), at("in/b/g")).unwrap();
            fs::rename(at("in/a/f"), at("in/b/f")).unwrap();
            fs::File::options().write(true).open(at("in/b/f")).unwrap().set_len(1).unwrap();
            fs::remove_file(at("in/b/f")).unwrap();
            assert_eq!(fs::read(at("out/f")).unwrap(), b"whole");
            let refused = [
                fs::write(at("out/new"), "x"),
                fs::write(at("out/f"), "x"),
                fs::File::options().write(true).open(at("out/f")).map(|_| ()),
                fs::remove_file(at("out/f")),
                fs::create_dir(at("out/d")),
                fs::rename(at("in/b/g"), at("out/g")),
                fs::hard_link(at("in/b/g"), at("out/g")),
                std::os::unix::fs::symlink("f", at("out/l")),
            ];
            for done in refused {
                let kind = done.unwrap_err().kind();
                assert!(
                    matches!(kind, PermissionDenied | std::io::ErrorKind::CrossesDevices),
                    "{kind:?}"
                );
            }
            let child =
                std::thread::scope(|scope| scope.spawn(|| fs::write(at("out/c"), "")).join());
            assert!(child.unwrap().is_err());
        };
        std::thread::scope(|scope| scope.spawn(restricted).join()).unwrap();
        // The thread that started it is free.
        fs::write(at("out/free"), "x").unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
