//! `XFS_IOC_FSGEOMETRY` — the allocation groups and the UUID of an XFS file system:
//! <https://man7.org/linux/man-pages/man2/ioctl_xfs_fsgeometry.2.html>

use std::os::fd::{AsFd, AsRawFd};

use crate::{Call, CallError, Errno, Result};

/// `_IOR('X', 100, struct xfs_fsop_geom_v1)`, the version that every kernel answers.
const XFS_IOC_FSGEOMETRY_V1: u64 = 0x8070_5864;

/// The first fields of `struct xfs_fsop_geom_v1`; the others are not used here.
#[repr(C)]
struct Geometry {
    block_bytes: u32,
    _real_time_extent: u32,
    group_blocks: u32,
    _group_count: u32,
    _log_blocks: u32,
    _sector_bytes: u32,
    inode_bytes: u32,
    _inode_percent: u32,
    _blocks: [u64; 4],
    uuid: [u8; 16],
    _rest: [u64; 4],
}

/// Returns how many low bits of an inode number are the position in its allocation group; the bits
/// above are the number of the group.
///
/// Fails with `ENOTTY` where the descriptor is on another file system than XFS, and with `EINVAL` if
/// the answer makes no sense.
pub fn inode_bits_in_group(fd: impl AsFd) -> Result<u32> {
    let Geometry { block_bytes, group_blocks, inode_bytes, .. } = geometry(fd)?;
    in_group(block_bytes, group_blocks, inode_bytes)
        .ok_or(CallError::new(Call::XfsGeometry, Errno::INVAL))
}

/// Returns the UUID of the XFS file system that holds an open file, on any kernel.
///
/// Fails with `ENOTTY` where the descriptor is on another file system than XFS.
pub fn xfs_uuid(fd: impl AsFd) -> Result<[u8; 16]> {
    Ok(geometry(fd)?.uuid)
}

fn geometry(fd: impl AsFd) -> Result<Geometry> {
    let mut geometry = Geometry {
        block_bytes: 0,
        _real_time_extent: 0,
        group_blocks: 0,
        _group_count: 0,
        _log_blocks: 0,
        _sector_bytes: 0,
        inode_bytes: 0,
        _inode_percent: 0,
        _blocks: [0; 4],
        uuid: [0; 16],
        _rest: [0; 4],
    };
    // SAFETY: the request writes 112 bytes, the size of `Geometry`, which lives until the call
    // returns; the descriptor is borrowed for as long.
    let answer = unsafe {
        libc::ioctl(fd.as_fd().as_raw_fd(), XFS_IOC_FSGEOMETRY_V1 as _, &raw mut geometry)
    };
    if answer != 0 {
        let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
        return Err(CallError::new(Call::XfsGeometry, errno));
    }
    Ok(geometry)
}

/// The position counts a group's blocks, rounded up to a power of two, and the inodes of a block.
fn in_group(block_bytes: u32, group_blocks: u32, inode_bytes: u32) -> Option<u32> {
    let inodes_in_block = block_bytes.checked_div(inode_bytes)?;
    let blocks = group_blocks.checked_next_power_of_two()?;
    let bits = blocks.ilog2() + inodes_in_block.checked_ilog2()?;
    (bits < u64::BITS).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, Follow, open_directory};

    #[test]
    fn the_geometry_has_the_size_that_the_request_names() {
        assert_eq!(std::mem::size_of::<Geometry>() as u64, XFS_IOC_FSGEOMETRY_V1 >> 16 & 0x3fff);
    }

    #[test]
    fn a_position_counts_blocks_and_inodes() {
        // 4 groups of 1 GiB with blocks of 4 KiB and inodes of 512 bytes.
        assert_eq!(in_group(4096, 65_536 / 4, 512), Some(14 + 3));
        // A group whose number of blocks is no power of two.
        assert_eq!(in_group(4096, 16_385, 512), Some(15 + 3));
        assert_eq!(in_group(4096, 0, 512), Some(3));
        assert_eq!(in_group(4096, 16_384, 0), None);
        assert_eq!(in_group(512, u32::MAX, 4096), None);
    }

    #[test]
    fn another_file_system_has_no_such_groups() {
        let proc = open_directory(CWD, c"/proc", Follow::Yes).unwrap();
        assert_eq!(inode_bits_in_group(&proc).unwrap_err().errno, Errno::NOTTY);
        assert_eq!(xfs_uuid(&proc).unwrap_err().errno, Errno::NOTTY);
    }
}
