//! An allocator that ends the program when one input takes too much memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Maximum bytes that one input may hold at a time.
const MOST_BYTES: usize = 256 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static TOLD: AtomicBool = AtomicBool::new(false);

/// The system's allocator with a limit.
pub(crate) struct Bounded;

fn count(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
    if held > LIMIT.load(Ordering::Relaxed) && !TOLD.swap(true, Ordering::Relaxed) {
        eprintln!("an input takes more than {} MiB: {bytes} bytes at once", MOST_BYTES >> 20);
        std::process::abort();
    }
}

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

/// Calls `work`, and ends the program if it holds more than [`MOST_BYTES`] beside what was held before.
pub(crate) fn watched(work: impl FnOnce()) {
    LIMIT.store(HELD.load(Ordering::Relaxed) + MOST_BYTES, Ordering::Relaxed);
    work();
    LIMIT.store(usize::MAX, Ordering::Relaxed);
}
