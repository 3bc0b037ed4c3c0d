//! `IORING_REGISTER_PROBE` — which operations the kernel's rings have (Linux 5.6):
//! <https://man7.org/linux/man-pages/man2/io_uring_register.2.html>

use io_uring::{Probe, opcode};

use super::{call_error, make};
use crate::{Call, Result};

/// Operations of this kernel's rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingOperations {
    /// Number of operations.
    pub count: usize,
    /// Those that haul uses, by name, and whether the kernel has them.
    pub used: [(&'static str, bool); 4],
}

/// Returns which operations rings have here. Makes a small ring; fails as making it does.
pub fn ring_operations() -> Result<RingOperations> {
    let ring = make(1)?;
    let mut probe = Probe::new();
    let asked = ring.submitter().register_probe(&mut probe);
    asked.map_err(|error| call_error(Call::IoUringRegister, &error))?;
    let has = |code: u8| probe.is_supported(code);
    Ok(RingOperations {
        count: (0..=u8::MAX).filter(|code| has(*code)).count(),
        used: [
            ("read", has(opcode::Read::CODE)),
            ("write", has(opcode::Write::CODE)),
            ("read_fixed", has(opcode::ReadFixed::CODE)),
            ("write_fixed", has(opcode::WriteFixed::CODE)),
        ],
    })
}
