//! `getrandom` — unpredictable bytes: <https://man7.org/linux/man-pages/man2/getrandom.2.html>

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::Named;
use crate::{Call, Result};

/// Returns unpredictable bytes. Never blocks after the system has booted.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    // The kernel returns up to 256 bytes in full.
    getrandom(&mut bytes[..], GetRandomFlags::empty()).named(Call::Getrandom)?;
    Ok(bytes)
}
