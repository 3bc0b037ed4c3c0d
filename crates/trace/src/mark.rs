//! A random number that marks the child of this run.

/// Returns 64 random bits; falls back to address and time if the kernel provides none, because the
/// mark protects against accidents, not against attacks.
pub(crate) fn fresh() -> u64 {
    let mut bytes = [0_u8; 8];
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) == Ok(8) {
        return u64::from_ne_bytes(bytes);
    }
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::from(std::process::id()) << 32 ^ clock.tv_nsec.unsigned_abs()
}
