//! `/proc/PID/task/TID/syscall` — what a thread of this process waits for:
//! <https://man7.org/linux/man-pages/man5/proc_pid_syscall.5.html>
//!
//! The kernel tells the number and the arguments of the call in which a thread sleeps. A thread that runs, or
//! waits for a processor, is told apart, so a slow call that only copies memory is no wait. A process may always
//! ask this about its own threads.

use crate::fs::pseudo::text;

/// More than the line of nine words has.
const LINE_BYTES: usize = 512;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or waits for a processor.
    Running,
    /// It waits for a call that reads this file, or its attributes, or the directory.
    Reads(i32),
    /// It waits for a call that changes this file, its attributes, or the directory.
    Changes(i32),
    /// It waits for a call that moves bytes from one file to the other.
    Moves {
        /// The file that is read.
        from: i32,
        /// The file that is written to.
        to: i32,
    },
    /// It waits for requests of a ring, which may be of any file.
    Requests,
    /// It waits for a page of a mapped file.
    Page,
    /// It waits for another thread, a moment, or anything else.
    Idle,
}

/// Returns what a thread of this process is doing; `None` if it has ended, or the kernel does not tell.
#[must_use]
pub fn activity(tid: u32) -> Option<Activity> {
    parse(&text(&format!("/proc/self/task/{tid}/syscall"), LINE_BYTES)?)
}

/// Returns the access mode and flags with which a thread has opened a file (see open(2)), and the number of its
/// mount; `None` if the thread has no such descriptor any more. Asks no file system.
#[must_use]
pub fn descriptor_of(tid: u32, fd: i32) -> Option<(i32, u64)> {
    let told = text(&format!("/proc/self/task/{tid}/fdinfo/{fd}"), LINE_BYTES)?;
    let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
    Some((flags, field("mnt_id:")?.parse().ok()?))
}

fn parse(line: &str) -> Option<Activity> {
    let mut words = line.split_ascii_whitespace();
    let number = match words.next()? {
        "running" => return Some(Activity::Running),
        // Outside of a call a thread sleeps in a page fault.
        "-1" => return Some(Activity::Page),
        number => number.parse().ok()?,
    };
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some(of_call(number, &arguments))
}

/// Returns what a thread does that sleeps in a call. Calls that haul never makes are not told apart.
fn of_call(number: i64, arguments: &[u64; 6]) -> Activity {
    let fd = |index: usize| arguments[index] as u32 as i32;
    match number {
        libc::SYS_read
        | libc::SYS_pread64
        | libc::SYS_readv
        | libc::SYS_preadv
        | libc::SYS_preadv2
        | libc::SYS_getdents64
        | libc::SYS_lseek
        | libc::SYS_fstat
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_readlinkat
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_fgetxattr
        | libc::SYS_flistxattr
        | libc::SYS_fadvise64
        | libc::SYS_readahead
        | libc::SYS_openat2
        | libc::SYS_name_to_handle_at => Activity::Reads(fd(0)),
        libc::SYS_openat => {
            let changes = libc::O_CREAT | libc::O_WRONLY | libc::O_RDWR | libc::O_TMPFILE;
            let changes = changes & !libc::O_DIRECTORY;
            match fd(2) & changes {
                0 => Activity::Reads(fd(0)),
                _ => Activity::Changes(fd(0)),
            }
        }
        libc::SYS_write
        | libc::SYS_pwrite64
        | libc::SYS_writev
        | libc::SYS_pwritev
        | libc::SYS_pwritev2
        | libc::SYS_close
        | libc::SYS_fallocate
        | libc::SYS_ftruncate
        | libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_syncfs
        | libc::SYS_sync_file_range
        | libc::SYS_ioctl
        | libc::SYS_fchmod
        | libc::SYS_fchmodat
        | libc::SYS_fchown
        | libc::SYS_fchownat
        | libc::SYS_fsetxattr
        | libc::SYS_fremovexattr
        | libc::SYS_utimensat
        | libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_unlinkat => Activity::Changes(fd(0)),
        libc::SYS_symlinkat => Activity::Changes(fd(1)),
        libc::SYS_linkat | libc::SYS_renameat | libc::SYS_renameat2 => Activity::Changes(fd(2)),
        libc::SYS_sendfile => Activity::Moves { from: fd(1), to: fd(0) },
        libc::SYS_splice | libc::SYS_copy_file_range => Activity::Moves { from: fd(0), to: fd(2) },
        libc::SYS_io_uring_enter => Activity::Requests,
        _ => Activity::Idle,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_call_is_known_by_its_number_and_its_arguments() {
        let line = |number: i64, words: [u64; 3]| {
            let [first, second, third] = words;
            format!("{number} {first:#x} {second:#x} {third:#x} 0x0 0x0 0x0 0x7ffd 0x7efc\n")
        };
        let far = |fd: i32| u64::from(fd.cast_unsigned());
        for (told, expected) in [
            ("running\n".to_owned(), Some(Activity::Running)),
            ("-1 0x7ffd 0x7efc\n".to_owned(), Some(Activity::Page)),
            (line(libc::SYS_pread64, [3, 0, 9]), Some(Activity::Reads(3))),
            (line(libc::SYS_fsync, [4, 0, 0]), Some(Activity::Changes(4))),
            (line(libc::SYS_openat, [far(-100), 0, 0o2_000_000]), Some(Activity::Reads(-100))),
            (line(libc::SYS_openat, [5, 0, 0o101]), Some(Activity::Changes(5))),
            (line(libc::SYS_sendfile, [7, 6, 0]), Some(Activity::Moves { from: 6, to: 7 })),
            (line(libc::SYS_futex, [7, 6, 0]), Some(Activity::Idle)),
            (String::new(), None),
            ("0 0x1\n".to_owned(), None),
        ] {
            assert_eq!(parse(&told), expected, "{told}");
        }
    }

    #[test]
    fn a_thread_that_reads_from_an_empty_pipe_waits_for_it() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let fd = reader.as_raw_fd();
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            rustix::io::read(&reader, &mut [0; 1])
        });
        let tid = u32::try_from(receiver.recv().unwrap()).unwrap();
        // Until it sleeps it runs, and its channel may make it wait before.
        loop {
            match activity(tid) {
                None => {
                    eprintln!("ignored: the kernel does not tell what a thread waits for");
                    break;
                }
                Some(Activity::Reads(other)) if other == fd => {
                    let (flags, _mount) = descriptor_of(tid, fd).unwrap();
                    assert_eq!(flags & libc::O_ACCMODE, libc::O_RDONLY);
                    break;
                }
                Some(_) => std::thread::yield_now(),
            }
        }
        drop(writer);
        assert_eq!(thread.join().unwrap(), Ok(0));
        assert_eq!(activity(u32::MAX), None);
    }
}
