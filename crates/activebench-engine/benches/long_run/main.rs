//! The bounds of long runs: a generated day with ever more calls after the cut of its log.
//!
//! Prints the memory and the bytes on disk; the cost of a record after the cut; and stops where a sum is not exact.
//! `ACTIVEBENCH_BENCH_CALLS` is the number of calls after the cut (10 million by default; past 2^32 with 4300000000), and
//! `ACTIVEBENCH_BENCH_LOG` the bytes of the log (64 MiB by default; those of a run: 2147483648). The test `long_run` does
//! the same with a small log.

mod day;
#[path = "../judging/heap.rs"]
mod heap;

use std::time::Instant;

use activebench_model::fact::FactName;
use heap::Counting;

#[global_allocator]
static HEAP: Counting = Counting;

/// The day has its calls after the cut, twice and four times as many.
const FACTORS: [u64; 3] = [1, 2, 4];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn main() {
    // `cargo test --benches` passes no such argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let limit_bytes = number("ACTIVEBENCH_BENCH_LOG", 64 << 20);
    let calls = number("ACTIVEBENCH_BENCH_CALLS", 10_000_000);
    println!(
        "| calls after the cut | calls in the log | cut after, s | log, MiB | directory, MiB | recorded, s | peak, MiB | \
         judged, s | peak, MiB |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for factor in FACTORS {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("run");
        let start = Instant::now();
        let (day, recorded_bytes) = heap::peak_of(|| day::record(&directory, limit_bytes, calls * factor));
        let recorded = start.elapsed();
        let start = Instant::now();
        let (run, judged_bytes) = heap::peak_of(|| day::judge(&directory));
        let judged = start.elapsed();
        assert_eq!(run.run_facts.complete(FactName::ReadCalls), Ok(day.calls as f64), "the sum is exact");
        println!(
            "| {} | {} | {:.1} | {} | {} | {:.1} | {} | {:.1} | {} |",
            calls * factor,
            day.before_cut,
            day.cut_after_ns as f64 / 1e9,
            day.packed_bytes >> 20,
            day.directory_bytes >> 20,
            recorded.as_secs_f64(),
            recorded_bytes >> 20,
            judged.as_secs_f64(),
            judged_bytes >> 20,
        );
    }
}
