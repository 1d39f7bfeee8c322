//! The cost of finding repeated offsets: the counter of hits alone, and all facts of a
//! phase of random reads.
//!
//! 2 million reads by default. `ACTIVEBENCH_BENCH_READS=100000000` is the full size of
//! `docs/design/offsets.md`. Then each variant runs once and is timed, with the peak memory, because
//! statistics of ten runs would take minutes. The calls are generated while they are read, so that
//! the memory is that of the analysis.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

use activebench_facts::{BlockHits, Index, fold_activity, resolve_phases};
use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::coverage::Backend;
use activebench_model::event::RecordClass;
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Part, PartEnd, Pattern, Phase};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::source::{Batches, EventSource};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const DEFAULT_READS: u64 = 2_000_000;
const BLOCK: u64 = 8192;
/// Number of blocks of a file of 96 GiB, and of the small part of it that Orion 11.2 reads.
const SETS: [(&str, u64); 2] = [("96_gib", 12_582_912), ("768_mib", 98_305)];
const FILE: FileId = FileId { s_dev: 7 << 20, ino: 12 };
const BATCH: u64 = 1 << 16;

/// Block numbers of random reads (xorshift64, by G. Marsaglia).
fn blocks(reads: u64, set: u64) -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..reads).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((u128::from(state) * u128::from(set)) >> 64) as u64
    })
}

/// Random reads by one task.
struct Reads {
    reads: u64,
    set: u64,
}

impl EventSource for Reads {
    fn calls(&self) -> Batches<'_, Call> {
        let mut blocks = blocks(self.reads, self.set).enumerate();
        let call = |(number, block): (usize, u64)| Call {
            start_ns: 1000 + number as u64 * 1000,
            end_ns: 1800 + number as u64 * 1000 + block % 64,
            tid: 100,
            tgid: 100,
            op: Op::Pread,
            fd: 3,
            file: Some(FILE),
            kind: FileKind::Regular,
            open_flags: 0,
            offset: (block * BLOCK) as i64,
            requested: BLOCK,
            returned: BLOCK as i64,
            storage_read_bytes: BLOCK,
            cached_bytes: BLOCK,
            cpu_ns: 500,
            user_before_ns: 150,
            stands_for: 1,
        };
        Box::new(
            (0..self.reads.div_ceil(BATCH)).map(move |_| Ok(blocks.by_ref().take(BATCH as usize).map(call).collect())),
        )
    }
}

fn manifest() -> Manifest {
    Manifest {
        format: FORMAT,
        activebench: String::new(),
        command: Default::default(),
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
        measurements: Vec::new(),
        choices: Default::default(),
        child: Default::default(),
        clocks: Default::default(),
        host: Default::default(),
        coverage: activebench_model::coverage::Coverage {
            // No account of a probe is needed where the calls come from the ptrace backend.
            backend: Backend::Ptrace,
            records: [(RecordClass::Calls, Default::default())].into(),
            ..Default::default()
        },
        incomplete: Vec::new(),
        ceilings: None,
        preparation: None,
        watch: None,
        redacted: None,
        sha256: Default::default(),
    }
}

fn phase(reads: u64) -> Phase {
    let end_ns = 2000 + reads * 1000;
    let part = Part {
        tgid: 100,
        tids: vec![100],
        fd: 3,
        file: FILE,
        start_ns: 1000,
        end: PartEnd::At(end_ns),
        last_data_ns: end_ns,
        sync_inside: None,
        sync_after: None,
        close_ns: None,
    };
    Phase {
        pattern: Pattern::RandomIndependent,
        parts: vec![part],
        ..Phase::planned("random-read", "random read", Direction::Read)
    }
}

/// Returns distinct blocks and most hits, from the counter alone.
fn count_hits(reads: u64, set: u64) -> (u64, u64) {
    let mut hits = BlockHits::default();
    blocks(reads, set).for_each(|block| hits.hit(block));
    let distribution = hits.distribution();
    (distribution.unique(), distribution.least_and_most().map_or(0, |(_, most)| most))
}

/// Returns the same from the facts of the phase.
fn resolve(reads: u64, set: u64) -> (u64, u64) {
    let source = Reads { reads, set };
    let folded = fold_activity(&source).expect("made in memory");
    let phases = vec![phase(reads)];
    let index = Index::new(&folded, &folded.activity.passes, &phases);
    let passes = Cow::Borrowed(&folded.activity.passes[..]);
    let (phases, _) = resolve_phases(&source, &manifest(), &index, passes, phases).expect("made in memory");
    let fact = |name| phases[0].facts.complete(name).map(|value| value as u64);
    (fact(FactName::UniqueBlocks).expect("complete"), fact(FactName::MaxBlockHits).expect("complete"))
}

/// Returns the peak resident memory of this process so far, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel keeps a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number of KiB") / 1024
}

/// Function from the number of reads and of blocks in the set to distinct blocks and most hits.
type Way = fn(u64, u64) -> (u64, u64);

fn repeated_offsets(criterion: &mut Criterion) {
    let asked = std::env::var("ACTIVEBENCH_BENCH_READS").ok().map(|reads| reads.parse::<u64>());
    let reads = asked.clone().unwrap_or(Ok(DEFAULT_READS)).expect("ACTIVEBENCH_BENCH_READS is a number");
    let ways: [(&str, Way); 2] = [("count_hits", count_hits), ("fold_and_resolve", resolve)];
    if asked.is_some() {
        for (way, run) in ways {
            for (name, set) in SETS {
                let started = Instant::now();
                let (unique, most) = run(reads, set);
                let seconds = started.elapsed().as_secs_f64();
                println!(
                    "{way}/{name}: {reads} reads, {unique} blocks, at most {most} times: {seconds:.2} s, peak {} MiB",
                    peak_mib()
                );
            }
        }
        return;
    }
    let mut group = criterion.benchmark_group("repeated_offsets");
    group.throughput(Throughput::Elements(reads)).sample_size(10);
    for (way, run) in ways {
        for (name, set) in SETS {
            group.bench_with_input(BenchmarkId::new(way, name), &set, |bencher, set| {
                bencher.iter(|| run(black_box(reads), *set));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, repeated_offsets);
criterion_main!(benches);
