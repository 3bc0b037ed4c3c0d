//! File systems whose bytes live elsewhere: a server, a program, another file system.
//!
//! Their `copy_file_range` lets the other side copy (NFS 4.2 COPY, SMB FSCTL_SRV_COPYCHUNK, FUSE
//! COPY_FILE_RANGE), so that the bytes do not travel here and back.

use super::{
    CachedWrites, ChangeTime, Chattr, CopyRange, Evidence, LOCAL, Latency, ListedInodes, Pages,
    Quirk, Removal, Rename, ReportedSize, UNKNOWN,
};

pub(super) static NFS: Quirk = Quirk { name: "nfs", magic: &[0x6969], ..OFFLOADING };

pub(super) static SMB: Quirk = Quirk {
    name: "smb",
    magic: &[0xff53_4d42, 0xfe53_4d42, 0x517b],
    listed_inodes: ListedInodes::Doubted,
    ..OFFLOADING
};

/// Lustre and BeeGFS store whole seconds. Nothing else is known of them.
pub(super) static PARALLEL: Quirk = Quirk {
    name: "parallel",
    magic: &[0x0bd0_0bd0, 0x1983_0326],
    change_time: ChangeTime::Seconds,
    ..UNKNOWN
};

/// FUSE servers may tell sizes and holes as they like.
pub(super) static FUSE: Quirk = Quirk {
    name: "fuse",
    magic: &[0x6573_5546],
    reflinks: false,
    reported_size: ReportedSize::Claimed,
    // Stores of whole objects copy a file that is renamed, which takes minutes and costs money.
    rename: Rename::CopiesFile,
    listed_inodes: ListedInodes::Doubted,
    ..OFFLOADING
};

/// overlayfs hands `copy_file_range` and FICLONE to the file system that holds the upper layer, and
/// its files' pages are those of the file below (`ovl_mmap`, `ovl_fadvise`), as are their extents
/// (`ovl_fiemap`), which have to be examined where ext4 is below. A file of a lower layer is copied to the
/// upper one before it is renamed (`ovl_rename`).
pub(super) static OVERLAY: Quirk = Quirk {
    name: "overlay",
    magic: &[0x794c_7630],
    copy_range: CopyRange::Splices,
    pages: Pages::Below,
    evidence: Evidence::Extents,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    removal: LOCAL.removal,
    rename: Rename::CopiesFile,
    listed_inodes: ListedInodes::Doubted,
    chattr: Chattr::Flags,
    ..OFFLOADING
};

/// All of a removal happens on the server, and takes as long as the directory is locked there.
const OFFLOADING: Quirk = Quirk {
    reflinks: true,
    copy_range: CopyRange::Offloads,
    latency: Latency::Remote,
    chattr: Chattr::Nothing,
    cached_writes: CachedWrites::Together,
    removal: Removal { large_workers: 1, ..LOCAL.removal },
    ..LOCAL
};
