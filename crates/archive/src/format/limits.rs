//! What a member may have at most: the reader refuses more, so that no header takes memory without bound, and the
//! writer makes nothing that the reader refuses.

/// Bytes of the largest extended header or long name, and of all global headers together: sixty times the
/// largest value that the kernel allows for an extended attribute.
pub const EXTENDED_MAX_BYTES: u64 = 4 << 20;

/// The largest number of regions of a sparse file; GNU tar's own test has a thousand.
pub const REGIONS_MAX: usize = 1 << 20;

/// The largest number of regions that an extended header describes: each takes 85 bytes of it at most, and names
/// and attributes have the rest.
pub const EXTENDED_REGIONS_MAX: usize = 1 << 15;

/// Extended attributes of one member. Linux lists 64 KiB of names, and the shortest has seven bytes: a prefix,
/// a letter and a NUL.
pub(super) const XATTRS_MAX: usize = (64 << 10) / 7;

/// Bytes of the longest name of a user or a group; on Linux it has at most 256.
pub(super) const OWNER_MAX_BYTES: usize = 1024;
