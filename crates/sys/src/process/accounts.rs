//! `getpwuid_r` and related calls — names of users and groups:
//! <https://man7.org/linux/man-pages/man3/getpwnam.3.html>
//!
//! The C library asks the services of nsswitch.conf(5), which may be a server: a call may block for as
//! long as that server takes.

use std::ffi::{CStr, CString};

/// Bytes of the first buffer; nearly every record fits.
const USUAL_BYTES: usize = 1 << 10;

/// Bytes of the largest buffer: a group with tens of thousands of members.
const LIMIT_BYTES: usize = 1 << 22;

/// Calls `ask` with growing buffers until the record fits. `ask` returns the errno and the answer.
fn with_room<T>(mut ask: impl FnMut(&mut [libc::c_char]) -> (i32, Option<T>)) -> Option<T> {
    let mut bytes = USUAL_BYTES;
    loop {
        match ask(&mut vec![0; bytes]) {
            (libc::ERANGE, _) if bytes < LIMIT_BYTES => bytes *= 4,
            (libc::EINTR, _) => {}
            (_, answer) => return answer,
        }
    }
}

/// Returns the name of a user, or `None` where no account has this number. Blocks, see above.
#[must_use]
pub fn user_name(uid: u32) -> Option<Vec<u8>> {
    with_room(|buffer| {
        // SAFETY: zeros are a valid value of this plain structure; the record points into the buffer,
        // which outlives it, and its name ends in a NUL.
        unsafe {
            let mut record: libc::passwd = std::mem::zeroed();
            let mut found = std::ptr::null_mut();
            let errno = libc::getpwuid_r(
                uid,
                &raw mut record,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            let name = (!found.is_null()).then(|| CStr::from_ptr(record.pw_name).to_bytes().into());
            (errno, name)
        }
    })
}

/// Returns the name of a group, or `None` where no group has this number. Blocks, see above.
#[must_use]
pub fn group_name(gid: u32) -> Option<Vec<u8>> {
    with_room(|buffer| {
        // SAFETY: as in `user_name`.
        unsafe {
            let mut record: libc::group = std::mem::zeroed();
            let mut found = std::ptr::null_mut();
            let errno = libc::getgrgid_r(
                gid,
                &raw mut record,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            let name = (!found.is_null()).then(|| CStr::from_ptr(record.gr_name).to_bytes().into());
            (errno, name)
        }
    })
}

/// Returns the number of the user with this name. Blocks, see above.
#[must_use]
pub fn user_id(name: &[u8]) -> Option<u32> {
    let name = CString::new(name).ok()?;
    with_room(|buffer| {
        // SAFETY: as in `user_name`.
        unsafe {
            let mut record: libc::passwd = std::mem::zeroed();
            let mut found = std::ptr::null_mut();
            let errno = libc::getpwnam_r(
                name.as_ptr(),
                &raw mut record,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            (errno, (!found.is_null()).then_some(record.pw_uid))
        }
    })
}

/// Returns the number of the group with this name. Blocks, see above.
#[must_use]
pub fn group_id(name: &[u8]) -> Option<u32> {
    let name = CString::new(name).ok()?;
    with_room(|buffer| {
        // SAFETY: as in `user_name`.
        unsafe {
            let mut record: libc::group = std::mem::zeroed();
            let mut found = std::ptr::null_mut();
            let errno = libc::getgrnam_r(
                name.as_ptr(),
                &raw mut record,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            (errno, (!found.is_null()).then_some(record.gr_gid))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_number_and_name() {
        assert_eq!(user_name(0).as_deref(), Some(b"root".as_slice()));
        assert_eq!(group_name(0).as_deref(), Some(b"root".as_slice()));
        assert_eq!((user_id(b"root"), group_id(b"root")), (Some(0), Some(0)));
        assert_eq!(user_id(b"no such user, nor will be"), None);
        assert_eq!(group_id(b"with a NUL\0"), None);
        assert_eq!(user_name(3_999_999_999), None);
    }
}
