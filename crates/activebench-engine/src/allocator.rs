//! Settings for how the C library treats freed memory. If it refuses them, it keeps more memory or is slower, and
//! nothing else changes.

/// Allocations of at least this many bytes return to the system when they are freed.
#[cfg(target_env = "gnu")]
const RETURNED_BYTES: libc::c_int = 256 << 10;
/// The same while a run is judged, and the most that may be free beside them.
#[cfg(target_env = "gnu")]
const RETURNED_IN_JUDGEMENT_BYTES: libc::c_int = 16 << 20;

/// Returns freed memory to the system while a tool runs: memory that we keep is missing from the benchmark's page
/// cache.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Keeps freed memory while a run is judged: part after part needs the same memory, and getting it from the system each
/// time takes half of the judgement.
pub(crate) fn reuse() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_IN_JUDGEMENT_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, RETURNED_IN_JUDGEMENT_BYTES);
    }
}
