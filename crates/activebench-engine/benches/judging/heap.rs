//! Counts the bytes that are allocated: the peak resident memory of a process never falls, so it cannot be compared
//! between judgements. It counts while it is asked to: a judgement whose time is measured does not pay for it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
/// Below 0 if blocks that were allocated before the count are freed.
static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The system's allocator, with a count.
pub(crate) struct Counting;

fn grow(bytes: usize) {
    if COUNTS.load(Ordering::Relaxed) {
        let bytes = bytes.cast_signed();
        let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(held, Ordering::Relaxed);
    }
}

fn shrink(bytes: usize) {
    if COUNTS.load(Ordering::Relaxed) {
        HELD.fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: every method passes its arguments to the system's allocator and returns what that returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        shrink(layout.size());
        grow(size);
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Returns the result of a function, and the most bytes that it held at once.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    HELD.store(0, Ordering::Relaxed);
    PEAK.store(0, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    let result = work();
    COUNTS.store(false, Ordering::Relaxed);
    (result, PEAK.load(Ordering::Relaxed).unsigned_abs())
}
