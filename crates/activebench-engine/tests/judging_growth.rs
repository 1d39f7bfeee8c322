//! A judgement's work grows with its run: counted in allocations, which are the same on a busy machine.
//!
//! Work that begins anew for each pass, file or thread (a command line that is parsed again, a table that is copied)
//! allocates again each time. Loops that allocate nothing are left to the bench `judging`.

#[path = "../benches/judging/shapes.rs"]
mod shapes;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use activebench_engine::judge::{Outputs, Timelines, judge_events};
use activebench_report::{FORMATS, Style};

use shapes::{Made, SHAPES};

/// The system's allocator, with a count of its allocations.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method passes its arguments to the system's allocator and returns what that returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of the same method.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Calls of a shape at its smallest size.
const CALLS: u64 = 2_000;
/// Units of a shape whose units are passes, at its smallest size: a pass takes a millisecond.
const PASSES: u64 = 128;
/// Most of the growth from the second size to the third, as a multiple of that from the first to the second. It is 2
/// where work is linear and 4 where it is quadratic.
const MOST_GROWTH: f64 = 2.3;
/// Growth that says nothing: tables that double, one more thread.
const NEGLIGIBLE: f64 = 1_000.0;

/// Returns the number of allocations of a judgement and its reports.
fn allocations(made: &Made) -> u64 {
    let manifest = made.manifest();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let outputs = Outputs { of_command: &made.output, of_measurements: &[] };
    let run = judge_events(Path::new("run"), &made.events, outputs, manifest, Timelines::Computed)
        .expect("a generated run can be judged");
    for format in FORMATS.iter().filter(|format| format.is_unasked) {
        format.write(&run, Style::default(), &mut std::io::sink()).expect("nothing is written");
    }
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

// One test: the allocator is the whole process's.
#[test]
fn a_judgement_allocates_in_proportion_to_its_run() {
    let mut beyond = Vec::new();
    for shape in SHAPES {
        let units = match shape.most_units {
            u64::MAX => CALLS / shape.calls_per_unit,
            _ => PASSES,
        };
        let of = |factor: u64| {
            let made = (shape.make)(units * factor);
            assert!(made.events.len() >= units * factor, "{}: {} events", shape.name, made.events.len());
            allocations(&made) as f64
        };
        // The first judgement also makes what later ones find made (regular expressions).
        let [_, one, two, four] = [1, 1, 2, 4].map(of);
        let (first, second) = (two - one, four - two);
        println!("{}: {one}, {two}, {four}", shape.name);
        if second > NEGLIGIBLE && second > MOST_GROWTH * first {
            beyond.push(format!("{}: {one}, {two} and {four} allocations", shape.name));
        }
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}
