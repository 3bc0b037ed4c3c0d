//! Memory that this process may still take: what the machine has, what its control groups allow, and its limit on
//! address space. getrlimit(2), proc_pid_statm(5).

use super::{MemoryCgroups, MemoryState, available_bytes, page_bytes};
use crate::fs::pseudo::text;
use crate::process::address_space_limit;

/// Returns the bytes of memory that this process may still take; `u64::MAX` if nothing tells. Reads files of
/// /proc and /sys; does not block.
#[must_use]
pub fn room_bytes() -> u64 {
    let machine = available_bytes().unwrap_or(u64::MAX);
    let groups = MemoryCgroups::of_process();
    let group = groups.states().map(|state| MemoryState::available_bytes(&state)).min();
    machine.min(group.unwrap_or(u64::MAX)).min(address_bytes())
}

/// Returns what is left of the limit on address space.
fn address_bytes() -> u64 {
    let limit = address_space_limit();
    let taken = || text("/proc/self/statm", 256)?.split(' ').next()?.parse::<u64>().ok();
    match limit {
        u64::MAX => limit,
        _ => limit.saturating_sub(taken().unwrap_or(0).saturating_mul(page_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_some_room_and_no_more_than_the_machine_has() {
        let machine = available_bytes().unwrap_or(u64::MAX);
        let room = room_bytes();
        // Other processes take and give back memory between the two questions.
        assert!(room > 0 && (machine == u64::MAX || room / 2 <= machine), "{room} of {machine}");
    }
}
