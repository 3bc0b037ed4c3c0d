//! `mmap` of a file, a window at a time at one address:
//! <https://man7.org/linux/man-pages/man2/mmap.2.html>
//!
//! A missing page (the file shrank, or its storage failed) is an error and not a signal: `pwrite`
//! of such bytes fails with `EFAULT`, and `look` returns `None`.

use std::os::fd::{AsFd, AsRawFd};

use rustix::mm::{MapFlags, ProtFlags};

use super::watch::watching;
use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// A range of addresses that shows one part of a file after another.
pub struct Window {
    start: *mut core::ffi::c_void,
    bytes: usize,
    shown: usize,
}

// SAFETY: the mapping is private to this value, and nothing in it depends on the thread.
unsafe impl Send for Window {}

impl Window {
    /// Reserves the addresses; `ENOMEM` if there are none.
    pub fn new(bytes: usize) -> Result<Window> {
        let bytes = bytes.max(1);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .named(Call::Mmap)?;
        Ok(Window { start, bytes, shown: 0 })
    }

    /// Returns how many bytes can be shown at once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns whether the window is empty; it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Shows a part of a file in place of the one before, and reads it in (`MAP_POPULATE`).
    ///
    /// `offset` is a multiple of the page. Blocks while the kernel reads it; [`Window::pwrite`]
    /// reports pages that cannot be read.
    pub fn show(&mut self, fd: impl AsFd, offset: u64, bytes: usize) -> Result<()> {
        let bytes = bytes.min(self.bytes);
        self.shown = 0;
        // SAFETY: this value owns the addresses, and nothing points into them: `look` lends the
        // contents only for as long as the window is borrowed.
        unsafe {
            rustix::mm::mmap(
                self.start,
                bytes,
                ProtFlags::READ,
                MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE,
                fd,
                offset,
            )
        }
        .named(Call::Mmap)?;
        self.shown = bytes;
        Ok(())
    }

    /// Calls a function on the shown bytes, on this thread. Returns `None` if some of them were
    /// missing; the function saw zeros in their place. Also returns `None`, and does not call the function,
    /// unless the program has called [`allow_looking`](super::allow_looking).
    ///
    /// Beyond the end of the file the last page is filled with zeros. Concurrent writes to the file
    /// may be visible, as with `read`.
    pub fn look<T>(&self, at: impl FnOnce(&[u8]) -> T) -> Option<T> {
        // SAFETY: the mapping is readable and stays while `self` is borrowed; any byte is a valid
        // `u8`. Other processes can change the file: that is their race with every reader of it,
        // and this code makes no decision that depends on the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.shown) };
        watching(self.start as usize, self.shown, || at(bytes))
    }

    /// Writes shown bytes, from the `skip`-th on, to an offset of another file.
    ///
    /// May write less. Fails with `EFAULT` if the first of them is missing.
    pub fn pwrite(&self, target: impl AsFd, skip: usize, offset: u64) -> Result<usize> {
        let left = self.shown.saturating_sub(skip);
        let offset =
            libc::off_t::try_from(offset).map_err(|_| CallError::new(Call::Pwrite, Errno::FBIG))?;
        // SAFETY: the range lies within the mapping; the kernel reads it, and checks each page.
        let answer = unsafe {
            libc::pwrite(
                target.as_fd().as_raw_fd(),
                self.start.byte_add(skip.min(self.shown)),
                left,
                offset,
            )
        };
        if answer == 0 && left > 0 {
            // As for every write, see `haul_sys::data::write`.
            return Err(CallError::new(Call::Pwrite, Errno::NOSPC));
        }
        usize::try_from(answer).map_err(|_| {
            let errno = Errno::from_io_error(&std::io::Error::last_os_error());
            CallError::new(Call::Pwrite, errno.unwrap_or(Errno::IO))
        })
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: this value owns the addresses and nothing points into them. Unmapping cannot
        // fail.
        let _unmapped = unsafe { rustix::mm::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn file(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("haul-sys-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn a_part_of_a_file_is_written_to_another() {
        let (mut source, mut target) = (file("window-source"), file("window-target"));
        source.write_all(&[7; 10_000]).unwrap();
        let mut window = Window::new(1 << 20).unwrap();
        window.show(&source, 4096, 5904).unwrap();
        assert_eq!(window.pwrite(&target, 4, 0).unwrap(), 5900);
        let mut bytes = Vec::new();
        target.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, vec![7; 5900]);
    }

    #[test]
    fn a_file_that_shrank_is_an_answer_and_not_a_signal() {
        let (mut source, target) = (file("shrinking-source"), file("shrinking-target"));
        source.write_all(&[7; 64 << 10]).unwrap();
        let mut window = Window::new(64 << 10).unwrap();
        window.show(&source, 0, 64 << 10).unwrap();
        source.set_len(4096).unwrap();
        let written = window.pwrite(&target, 0, 0);
        assert!(written.is_err() || written.unwrap() <= 4096);
        assert_eq!(window.pwrite(&target, 8192, 8192).unwrap_err().errno, Errno::FAULT);
    }

    #[test]
    fn missing_pages_are_reported() {
        let mut source = file("vanishing-source");
        source.write_all(&[7; 64 << 10]).unwrap();
        crate::memory::allow_looking();
        let mut window = Window::new(64 << 10).unwrap();
        window.show(&source, 0, 64 << 10).unwrap();
        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        assert_eq!(window.look(sum), Some(7 * (64 << 10)));
        source.set_len(4096).unwrap();
        assert_eq!(window.look(sum), None);
        // The window can be used again, for the part that exists.
        window.show(&source, 0, 4096).unwrap();
        assert_eq!(window.look(sum), Some(7 * 4096));
    }
}
