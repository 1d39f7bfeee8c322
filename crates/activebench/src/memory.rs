//! What the C library does with memory that is freed. Where it refuses, more is kept or it is
//! slower, and nothing else changes.

/// Single allocations from this size on go back to the system when they are freed.
#[cfg(target_env = "gnu")]
const RETURNED_BYTES: libc::c_int = 256 << 10;
/// The same while a run is judged, and what may lie free beside them.
#[cfg(target_env = "gnu")]
const RETURNED_IN_JUDGEMENT_BYTES: libc::c_int = 16 << 20;

/// While a tool runs: what is kept for later the benchmark's page cache lacks.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// While a run is judged: part after part takes the same memory, and getting it anew from the
/// system each time takes half of the judgement.
pub(crate) fn reuse() {
    #[cfg(target_env = "gnu")]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_IN_JUDGEMENT_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, RETURNED_IN_JUDGEMENT_BYTES);
    }
}
