//! Files without a name, to try things on: the kernel frees them with their descriptors.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use haul_sys::fs::{Access, open_unnamed};

/// The mode of the files, which no other process can reach in any case.
const MODE: u32 = 0o600;

/// Makes an empty file in the file system of a directory.
pub(super) fn in_directory(directory: &OwnedFd) -> haul_sys::Result<OwnedFd> {
    open_unnamed(directory, MODE, Access::ReadWrite)
}

/// Makes a file of this many bytes, none of them zero.
pub(super) fn filled(directory: &OwnedFd, bytes: usize) -> Result<OwnedFd, String> {
    let file = in_directory(directory).map_err(|error| error.to_string())?;
    let mut file = File::from(file);
    file.write_all(&vec![0x5a; bytes]).map_err(|error| crate::file_error::describe(&error))?;
    Ok(file.into())
}

/// Makes a file wherever that is possible.
pub(super) fn anonymous() -> Result<OwnedFd, String> {
    let mut why = String::new();
    for place in [std::env::temp_dir().as_path(), Path::new("."), Path::new("/dev/shm")] {
        let made = File::open(place)
            .map_err(|error| crate::file_error::describe(&error))
            .and_then(|directory| filled(&directory.into(), 1));
        match made {
            Ok(file) => return Ok(file),
            Err(error) => why = error,
        }
    }
    Err(why)
}
