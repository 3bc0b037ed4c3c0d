//! Calls that move, make or drop the bytes of open files.

mod copy_file_range;
mod direct;
mod fadvise;
mod fallocate;
mod ficlone;
mod fiemap;
mod ftruncate;
mod lseek;
mod read;
mod sendfile;
mod splice;
mod sync_file_range;
mod uncached;
mod write;

pub use copy_file_range::{copy_file_range, copy_file_range_on};
pub use direct::{Way, set_way};
pub use fadvise::{Advice, fadvise};
pub use fallocate::{Allocate, fallocate};
pub use ficlone::{ficlone, ficlone_range};
pub use fiemap::{Dirty, Extent, ExtentState, Extents, extents};
pub use ftruncate::ftruncate;
pub use lseek::{seek_data, seek_end, seek_hole, seek_set, seek_tell};
pub use read::{pread, read};
pub use sendfile::sendfile;
pub use splice::{pipe_with_room, splice, splice_in, splice_in_now, splice_out, widen_pipe};
pub use sync_file_range::{Writeback, write_back};
pub use uncached::{pread_uncached, pwrite_uncached};
pub use write::{pwrite, write};
