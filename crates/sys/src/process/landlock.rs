//! `landlock_create_ruleset` — which version of Landlock the kernel has:
//! <https://man7.org/linux/man-pages/man2/landlock_create_ruleset.2.html>

use rustix::io::Errno;

use crate::{Call, CallError, Result};

/// `LANDLOCK_CREATE_RULESET_VERSION` of `include/uapi/linux/landlock.h`.
const VERSION: libc::c_uint = 1;

/// Returns the version of Landlock's interface. `ENOSYS` if the kernel was built without it,
/// `EOPNOTSUPP` if it is switched off. Restricts nothing.
pub fn landlock_version() -> Result<u32> {
    // SAFETY: with this flag the kernel reads no attributes: pointer and size are to be zero.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(answer).map_err(|_| {
        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        CallError::new(Call::LandlockCreateRuleset, Errno::from_raw_os_error(code))
    })
}
