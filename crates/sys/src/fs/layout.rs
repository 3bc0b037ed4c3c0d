//! Creation of files on Lustre without objects on its servers.

use rustix::fs::OFlags;

/// Flag with which openat(2) creates a file on Lustre that has no objects until its striping is set. Until
/// then write(2) fails (`EBADF`). `O_LOV_DELAY_CREATE_MASK` in Lustre's `lustre_user.h`, of which
/// [`openat`](super::openat) always sets the other half, `O_NOCTTY`. Elsewhere `O_ASYNC` has no meaning
/// for a regular file.
pub const DELAYED_LAYOUT: OFlags = OFlags::from_bits_retain(O_ASYNC);

/// The value of all architectures that Linux has, except for Alpha, MIPS, PA-RISC and SPARC
/// (`include/uapi/asm-generic/fcntl.h`, `FASYNC`).
const O_ASYNC: u32 = 0o20_000;
