//! `FS_IOC_FIEMAP` — where the blocks of a file are:
//! <https://docs.kernel.org/filesystems/fiemap.html>

use std::os::fd::{AsFd, AsRawFd};

use crate::{Call, CallError, Errno, Result};

/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u64 = 0xc020_660b;

/// Number of extents that one call returns: a small file has one, and more of a fragmented one cost a
/// call for each 2 KiB of answers.
const EXTENTS: usize = 36;

/// Whether the kernel first writes back the dirty pages of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirty {
    /// It does not: pages whose blocks are not allocated yet are reported as such.
    Stay,
    /// It does, and fails if that fails.
    WrittenBack,
}

/// The state of an extent's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentState {
    /// The extent has blocks, or a place in the inode, and the bytes in them are the file's.
    Written,
    /// It is compressed or encrypted, so that its blocks say nothing of its bytes.
    Encoded,
    /// Its blocks are not allocated yet, or allocated and not written: it would read as zeros.
    Unwritten,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub start: u64,
    /// Number of bytes, in whole blocks.
    pub bytes: u64,
    /// The state of its bytes.
    pub state: ExtentState,
    /// Whether the file has no extent behind it.
    pub is_last: bool,
}

/// The kernel's `struct fiemap_extent`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct RawExtent {
    start: u64,
    _physical: u64,
    bytes: u64,
    _reserved: [u64; 2],
    flags: u32,
    _more_reserved: [u32; 3],
}

/// The kernel's `struct fiemap`, with room for extents.
#[repr(C)]
struct Request {
    start: u64,
    bytes: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    _reserved: u32,
    extents: [RawExtent; EXTENTS],
}

const FIEMAP_FLAG_SYNC: u32 = 0x1;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_UNKNOWN: u32 = 0x2;
const FIEMAP_EXTENT_DELALLOC: u32 = 0x4;
const FIEMAP_EXTENT_ENCODED: u32 = 0x8;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// Extents of a file, in rising order.
pub struct Extents {
    request: Request,
}

impl Extents {
    /// Returns the extents. None are left behind the last one if there are none at all.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Extent> + '_ {
        let count = (self.request.mapped as usize).min(EXTENTS);
        self.request.extents[..count].iter().map(|raw| Extent {
            start: raw.start,
            bytes: raw.bytes,
            state: state(raw.flags),
            is_last: raw.flags & FIEMAP_EXTENT_LAST != 0,
        })
    }
}

const fn state(flags: u32) -> ExtentState {
    const NOT_YET: u32 = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNWRITTEN;
    if flags & NOT_YET != 0 {
        ExtentState::Unwritten
    } else if flags & FIEMAP_EXTENT_ENCODED != 0 {
        ExtentState::Encoded
    } else {
        ExtentState::Written
    }
}

/// Returns the extents of an open file from an offset on, as many as fit. Blocks while the kernel reads
/// the file's map, or writes its pages.
///
/// Fails with `EOPNOTSUPP` or `ENOTTY` on file systems without such a map.
pub fn extents(fd: impl AsFd, start: u64, dirty: Dirty) -> Result<Extents> {
    let mut request = Request {
        start,
        bytes: u64::MAX - start,
        flags: if dirty == Dirty::WrittenBack { FIEMAP_FLAG_SYNC } else { 0 },
        mapped: 0,
        room: EXTENTS as u32,
        _reserved: 0,
        extents: [RawExtent::default(); EXTENTS],
    };
    // SAFETY: the request reads the first 32 bytes of `Request`, and writes those and at most `room`
    // extents behind them, all of which live until the call returns; the descriptor is borrowed for as long.
    let answer =
        unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut request) };
    if answer == 0 {
        return Ok(Extents { request });
    }
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    Err(CallError::new(Call::Fiemap, errno))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_structures_have_the_sizes_that_the_kernel_names() {
        let head = std::mem::offset_of!(Request, extents) as u64;
        assert_eq!(head, FS_IOC_FIEMAP >> 16 & 0x3fff);
        assert_eq!(std::mem::size_of::<RawExtent>(), 56);
    }

    #[test]
    fn an_extent_counts_as_written_only_if_its_bytes_would_be_read() {
        assert_eq!(state(FIEMAP_EXTENT_LAST), ExtentState::Written);
        assert_eq!(state(FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC), ExtentState::Unwritten);
        assert_eq!(state(FIEMAP_EXTENT_UNWRITTEN), ExtentState::Unwritten);
        assert_eq!(state(FIEMAP_EXTENT_ENCODED), ExtentState::Encoded);
    }

    #[test]
    fn a_file_that_was_written_back_has_extents_for_its_bytes() {
        let path = std::env::temp_dir().join(format!("haul-sys-fiemap-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        match extents(&file, 0, Dirty::WrittenBack) {
            Ok(extents) => {
                let bytes: u64 = extents.iter().map(|extent| extent.bytes).sum();
                assert!(bytes >= 10_000, "{bytes}");
                assert!(extents.iter().next_back().is_some_and(|extent| extent.is_last));
            }
            Err(error) => {
                println!("ignored: a file system with a map of its files ({error:?})");
            }
        }
    }
}
