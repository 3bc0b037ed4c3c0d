//! `getrandom` — bytes that nobody can guess: <https://man7.org/linux/man-pages/man2/getrandom.2.html>

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::Named;
use crate::{Call, Result};

/// Returns bytes that nobody can guess. Never blocks once the machine is up.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    // Up to 256 bytes come whole.
    getrandom(&mut bytes[..], GetRandomFlags::empty()).named(Call::Getrandom)?;
    Ok(bytes)
}
