//! The cost of a judgement by the shape of its run: time and peak memory, with one dimension doubled and doubled again.
//!
//! A judgement takes time in proportion to its events, whatever their shape: many opens of one file, many files, many
//! syncs, threads, processes, mappings, rows of a table, jobs. Each shape is a run that exists only as a generator: its
//! calls are made while they are read, so that the memory is that of the judgement. A judgement is all that `recheck`
//! does behind the reading of files: activity, claims, phases, facts, findings, verdicts, and the reports that every run gets.
//!
//! By default criterion measures each shape at three sizes. `ACTIVEBENCH_BENCH_CALLS=1000000` judges each shape at
//! this size, twice and four times it, and prints a table of the fastest of three judgements instead; a word on the command line selects shapes. A shape
//! whose units are passes ends with the most passes that are judged.

mod heap;
mod shapes;

use std::path::Path;
use std::time::{Duration, Instant};

use activebench_engine::judge::{Outputs, Timelines, judge_events};
use activebench_report::{FORMATS, Style};
use criterion::{BenchmarkId, Criterion, Throughput};

use heap::Counting;
use shapes::{Made, SHAPES, Shape};

#[global_allocator]
static HEAP: Counting = Counting;

/// Calls of a shape at its smallest size where criterion measures it.
const SMALLEST: u64 = 1_000;
/// Judgements of a row of the table: others on the machine make one slower, never faster.
const REPETITIONS: usize = 3;
/// Each shape is judged at its size times these.
const FACTORS: [u64; 3] = [1, 2, 4];

/// The cost of one judgement.
struct Cost {
    phases: usize,
    claims: usize,
    judged: Duration,
    reported: Duration,
}

impl Shape {
    /// Returns the number of calls of the smallest of three runs, where it should be `calls`.
    fn smallest(&self, calls: u64) -> u64 {
        let most = (self.most_units / FACTORS[FACTORS.len() - 1]).saturating_mul(self.calls_per_unit);
        calls.min(most)
    }

    /// Makes a run of about this many calls.
    fn of_calls(&self, calls: u64) -> Made {
        (self.make)((calls / self.calls_per_unit).max(1))
    }
}

/// Judges a run and writes the reports that every run gets.
fn judge(made: &Made) -> Cost {
    let manifest = made.manifest();
    let start = Instant::now();
    let run = judge_events(
        Path::new("run"),
        &made.events,
        Outputs { of_command: &made.output, of_measurements: &[] },
        manifest,
        Timelines::Computed,
    )
    .expect("a generated run can be judged");
    let judged = start.elapsed();
    let start = Instant::now();
    for format in FORMATS.iter().filter(|format| format.is_unasked) {
        format.write(&run, Style::default(), &mut std::io::sink()).expect("nothing is written");
    }
    let (phases, claims) = (run.phases.len(), run.parsed.claims.len());
    Cost { phases, claims, judged, reported: start.elapsed() }
}

/// Judges each selected shape at three sizes and prints the costs of the fastest judgement of each.
fn print_table(calls: u64) {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("| shape | calls | phases | claims | judged, s | reports, s | ns per call | peak, MiB |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let selected = |name: &str| words.is_empty() || words.iter().any(|word| name == word.as_str());
    for shape in SHAPES.iter().filter(|shape| selected(shape.name)) {
        for factor in FACTORS {
            let made = shape.of_calls(shape.smallest(calls) * factor);
            let costs = (0..REPETITIONS).map(|_| judge(&made));
            let Some(cost) = costs.min_by_key(|cost| cost.judged + cost.reported) else { continue };
            let (_, peak_bytes) = heap::peak_of(|| judge(&made));
            let all = made.events.len();
            println!(
                "| {} | {all} | {} | {} | {:.2} | {:.2} | {:.0} | {} |",
                shape.name,
                cost.phases,
                cost.claims,
                cost.judged.as_secs_f64(),
                cost.reported.as_secs_f64(),
                (cost.judged + cost.reported).as_nanos() as f64 / all as f64,
                peak_bytes >> 20,
            );
        }
    }
}

fn measure(criterion: &mut Criterion) {
    for shape in SHAPES {
        let mut group = criterion.benchmark_group(shape.name);
        group.sample_size(10).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
        for factor in FACTORS {
            let made = shape.of_calls(SMALLEST * factor);
            let (_, peak_bytes) = heap::peak_of(|| judge(&made));
            println!("{}/{}: peak {} KiB", shape.name, SMALLEST * factor, peak_bytes >> 10);
            group.throughput(Throughput::Elements(made.events.len()));
            group.bench_with_input(BenchmarkId::from_parameter(SMALLEST * factor), &made, |bencher, made| {
                bencher.iter(|| judge(made));
            });
        }
        group.finish();
    }
}

fn main() {
    match std::env::var("ACTIVEBENCH_BENCH_CALLS") {
        Ok(calls) => print_table(calls.parse().expect("ACTIVEBENCH_BENCH_CALLS is a number")),
        Err(_) => {
            let mut criterion = Criterion::default().configure_from_args();
            measure(&mut criterion);
            criterion.final_summary();
        }
    }
}
