//! `mallopt` — how the C library divides its heap: <https://man7.org/linux/man-pages/man3/mallopt.3.html>

/// Makes all threads allocate from one heap.
///
/// glibc otherwise reserves 64 MiB of address space for each thread, and if a limit on address
/// space (`ulimit -v`) forbids that, it uses one page for every small allocation. Workers allocate
/// a few times for each directory, mostly from their own cache, so they do not contend.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: setting a parameter of the allocator touches no memory of ours; a refusal changes
    // nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
