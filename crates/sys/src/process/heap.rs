//! `mallopt` — how the C library divides its heap: <https://man7.org/linux/man-pages/man3/mallopt.3.html>

/// Lets all threads allocate from one heap.
///
/// glibc otherwise reserves 64 MiB of address space for each thread, and where a limit on address
/// space (`ulimit -v`) forbids that, gives every small allocation a page of its own. Workers
/// allocate a few times for each directory and mostly from their own cache, so they do not meet.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: setting a parameter of the allocator touches no memory of ours; a refusal changes
    // nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
