//! `--partial-dir`: the directory in which the part of a file waits that could not be completed.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use haul_sys::fs::rmdirat;
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, RenameMode, linkat, mkdirat, openat, renameat, statat, unlinkat,
};
use haul_sys::{Errno, Result};

use crate::names::at::At;
use crate::plan::swap::swap_in;
use crate::sync::given::open_below;

/// Gives the part of a file a name in such a directory, which is made if it is missing. It replaces an earlier part. A
/// file without a name gets one, and one with a hidden name is renamed.
pub(crate) fn keep(
    file: BorrowedFd<'_>,
    of: At<'_>,
    path: &CStr,
    hidden: Option<&CStr>,
) -> Result<()> {
    let At { directory, name } = of;
    let own = openat(directory, c".", OpenHow::DIRECTORY_HANDLE)?;
    let place = match open_below(&own, path.to_bytes()) {
        Err(error) if error.errno == Errno::NOENT => {
            mkdirat(&own, path, 0o700)?;
            open_below(&own, path.to_bytes())?
        }
        answer => answer?,
    };
    match hidden {
        Some(hidden) => renameat(directory, hidden, &place, name, RenameMode::Replace),
        None => swap_in_unnamed(file, &place, name),
    }
}

fn swap_in_unnamed(file: BorrowedFd<'_>, place: &OwnedFd, name: &CStr) -> Result<()> {
    use std::os::fd::AsFd as _;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = std::ffi::CString::new(path).unwrap_or_default();
    swap_in(place.as_fd(), name, |beside| linkat(CWD, &path, place, beside, Follow::Yes))
}

/// Removes the part of a file that is complete now, and its directory if nothing else is in it.
pub(crate) fn remove(of: At<'_>, path: &CStr) {
    let At { directory, name } = of;
    let place = openat(directory, c".", OpenHow::DIRECTORY_HANDLE)
        .and_then(|own| open_below(&own, path.to_bytes()));
    let Ok(place) = place else { return };
    if statat(&place, name).is_ok_and(|stat| stat.kind() == Kind::Regular) {
        // A part that stays is replaced by the next one, or removed by the next run.
        let _removed = unlinkat(&place, name);
    }
    let _removed = rmdirat(directory, path);
}
