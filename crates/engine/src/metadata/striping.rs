//! Striping of new files on Lustre: over how many of its servers the bytes of a file are distributed.
//!
//! Lustre fixes the striping of a file when its first server object is allocated. An ordinary open(2)
//! that creates a file allocates it, with the default of the directory. So a file that is to have another
//! striping is created with [`haul_sys::fs::DELAYED_LAYOUT`], gets the attribute `lustre.lov`, and only
//! then its bytes. The form of the attribute is `struct lov_user_md_v1` in Lustre's
//! `include/uapi/linux/lustre/lustre_user.h`.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::fs::{Create, DELAYED_LAYOUT, OpenHow, fgetxattr, fsetxattr, openat};
use haul_sys::{CallError, Errno};

use crate::data::request::Striping;

/// Name of the attribute. Lustre alone has this namespace.
pub(crate) const ATTRIBUTE: &CStr = c"lustre.lov";

/// Bytes of a file for each stripe with [`Striping::BySize`]. Smaller files keep the default of their
/// directory, which may store them on the metadata server.
const STRIPE_BYTES: u64 = 1 << 30;

/// Maximum number of stripes of a file: the number that fits into an inode of every Lustre server.
const STRIPES: u16 = 160;

/// Returns whether files in a directory have a striping: whether its file system knows the attribute.
pub(crate) fn is_supported(directory: impl AsFd) -> haul_sys::Result<bool> {
    // A descriptor of `O_PATH` has no attributes.
    let opened = openat(directory, c".", OpenHow::READ)?;
    match fgetxattr(opened, ATTRIBUTE) {
        Ok(_) => Ok(true),
        Err(error) if error.errno == Errno::NODATA => Ok(true),
        Err(error) if error.errno == Errno::OPNOTSUPP => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the striping that a copy of a file is to get, as the value of the attribute. `None` if it gets
/// the default of its directory. Makes one call with [`Striping::Keep`].
pub(crate) fn of_copy(
    striping: Striping,
    source: Option<BorrowedFd<'_>>,
    bytes: u64,
) -> haul_sys::Result<Option<Vec<u8>>> {
    match striping {
        Striping::Inherit => Ok(None),
        Striping::Keep => source.map_or(Ok(None), read),
        Striping::BySize => Ok(stripes(bytes).map(spell)),
    }
}

/// Returns the default striping that a copy of a directory is to get, likewise.
pub(crate) fn of_directory(
    striping: Striping,
    directory: BorrowedFd<'_>,
) -> haul_sys::Result<Option<Vec<u8>>> {
    if striping == Striping::Keep { read(directory) } else { Ok(None) }
}

/// Reads the attribute of an open file or directory. `None` if it has none, as on other file systems.
fn read(file: BorrowedFd<'_>) -> haul_sys::Result<Option<Vec<u8>>> {
    match fgetxattr(file, ATTRIBUTE) {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns how a new file is opened that is to have a striping of its own.
pub(crate) fn creating(how: OpenHow, layout: Option<&[u8]>) -> OpenHow {
    match (how.create, layout) {
        (Create::New(_), Some(_)) => OpenHow { extra: how.extra | DELAYED_LAYOUT, ..how },
        _ => how,
    }
}

/// Sets the striping of a new file, which was opened as [`creating`] says.
pub(crate) fn set(file: BorrowedFd<'_>, layout: &[u8]) -> Result<(), CallError> {
    fsetxattr(file, ATTRIBUTE, layout)
}

/// Gives a new file, which was opened as [`creating`] says, the default of its file system.
pub(crate) fn set_default(file: BorrowedFd<'_>) -> Result<(), CallError> {
    const DEFAULT_COUNT: u16 = 0;
    set(file, &spell(DEFAULT_COUNT))
}

/// Returns the number of stripes of a file with so many bytes, or `None` for the default.
fn stripes(bytes: u64) -> Option<u16> {
    if bytes < STRIPE_BYTES {
        return None;
    }
    Some(u16::try_from(bytes.div_ceil(STRIPE_BYTES)).map_or(STRIPES, |count| count.min(STRIPES)))
}

/// Returns the value of the attribute for a number of stripes: of the default size, on any servers.
fn spell(stripes: u16) -> Vec<u8> {
    const MAGIC_V1: u32 = 0x0bd1_0bd0;
    const RAID0: u32 = 1;
    const ANY_SERVER: u16 = u16::MAX;
    const OBJECT_ID_BYTES: usize = 16;
    const DEFAULT_SIZE: u32 = 0;
    let mut value = MAGIC_V1.to_ne_bytes().to_vec();
    value.extend(RAID0.to_ne_bytes());
    value.extend([0; OBJECT_ID_BYTES]);
    value.extend(DEFAULT_SIZE.to_ne_bytes());
    value.extend(stripes.to_ne_bytes());
    value.extend(ANY_SERVER.to_ne_bytes());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_for_each_gibibyte_up_to_what_every_server_stores() {
        const GIB: u64 = 1 << 30;
        for (bytes, expected) in [
            (0, None),
            (GIB - 1, None),
            (GIB, Some(1)),
            (GIB + 1, Some(2)),
            (10 * GIB, Some(10)),
            (160 * GIB, Some(160)),
            (160 * GIB + 1, Some(160)),
            (65_536 * GIB, Some(160)),
            (u64::MAX, Some(160)),
        ] {
            assert_eq!(stripes(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn the_attribute_has_the_form_of_lov_user_md_v1() {
        let value = spell(7);
        assert_eq!(value.len(), 32);
        assert_eq!(value.get(24..28), Some(&0_u32.to_ne_bytes()[..]));
        assert_eq!(value.get(28..30), Some(&7_u16.to_ne_bytes()[..]));
        assert_eq!(value.get(30..), Some(&[0xff, 0xff][..]));
    }

    #[test]
    fn only_new_files_with_a_striping_are_created_without_objects() {
        let new = OpenHow::new_file(0o600);
        assert!(creating(new, Some(b"")).extra.contains(DELAYED_LAYOUT));
        assert!(!creating(new, None).extra.contains(DELAYED_LAYOUT));
        assert!(!creating(OpenHow::WRITE, Some(b"")).extra.contains(DELAYED_LAYOUT));
    }

    #[test]
    fn local_file_systems_have_no_striping() {
        let here = openat(haul_sys::fs::CWD, c".", OpenHow::HANDLE);
        assert_eq!(is_supported(here.expect("the current directory")), Ok(false));
    }
}
