//! Calls that move, make or drop the bytes of open files.

mod copy_file_range;
mod fadvise;
mod fallocate;
mod ficlone;
mod ftruncate;
mod lseek;
mod read;
mod sendfile;
mod write;

pub use copy_file_range::copy_file_range;
pub use fadvise::{Advice, fadvise};
pub use fallocate::{Allocate, fallocate};
pub use ficlone::{ficlone, ficlone_range};
pub use ftruncate::ftruncate;
pub use lseek::{seek_data, seek_hole, seek_set};
pub use read::{pread, read};
pub use sendfile::sendfile;
pub use write::{pwrite, write};
