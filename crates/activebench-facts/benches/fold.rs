//! The cost of a million calls: building the activity, and computing the facts of their phase.

use std::borrow::Cow;
use std::hint::black_box;

use activebench_facts::{Index, fold_activity, resolve_phases};
use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::phase::{Direction, Part, PartEnd, Pattern, Phase};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::source::Events;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const CALLS: u64 = 1_000_000;
const FILE: FileId = FileId { s_dev: 7 << 20, ino: 12 };
const THREADS: u64 = 4;

/// Random reads of 4 KiB by four threads through four descriptors, in batches of 32.
fn events() -> Events {
    let call = |number: u64| {
        let (batch, thread) = (number / 32 / THREADS, number / 32 % THREADS);
        let in_thread = batch * 32 + number % 32;
        let start_ns = 1000 + in_thread * 1000 + thread * 10;
        // A full-period generator: each of the 2^20 blocks once.
        let block = (number.wrapping_mul(1_664_525) + 1_013_904_223) % (1 << 20);
        Call {
            start_ns,
            end_ns: start_ns + 800,
            tid: 100 + thread as u32,
            tgid: 100,
            op: Op::Pread,
            fd: 3 + thread as i32,
            file: Some(FILE),
            kind: FileKind::Regular,
            open_flags: 0,
            offset: (block * 4096) as i64,
            requested: 4096,
            returned: 4096,
            storage_read_bytes: 4096,
            cached_bytes: 4096,
            cpu_ns: 500,
            user_before_ns: 150,
            stands_for: 1,
        }
    };
    Events { calls: (0..CALLS).map(call).collect(), ..Events::default() }
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
        coverage: Default::default(),
        incomplete: Vec::new(),
        ceilings: None,
        preparation: None,
        watch: None,
        redacted: None,
        sha256: Default::default(),
    }
}

fn phase() -> Phase {
    let end_ns = 1000 + CALLS / THREADS * 1000 + 1000;
    let part = |thread: u64| Part {
        tgid: 100,
        tids: vec![100 + thread as u32],
        fd: 3 + thread as i32,
        file: FILE,
        start_ns: 1000,
        end: PartEnd::At(end_ns),
        last_data_ns: end_ns,
        sync_inside: None,
        sync_after: None,
        close_ns: None,
    };
    Phase {
        pattern: Pattern::RandomPermutation,
        requested_tasks: 4,
        parts: (0..THREADS).map(part).collect(),
        ..Phase::planned("random-read", "random read", Direction::Read)
    }
}

fn a_million_calls(criterion: &mut Criterion) {
    let events = events();
    let manifest = manifest();
    let folded = fold_activity(&events).expect("events in memory");
    let mut group = criterion.benchmark_group("a_million_calls");
    group.throughput(Throughput::Elements(CALLS)).sample_size(10);
    group.bench_function("fold_activity", |bencher| bencher.iter(|| fold_activity(black_box(&events))));
    group.bench_function("resolve_phases", |bencher| {
        bencher.iter(|| {
            let phases = vec![phase()];
            let index = Index::new(&folded, &folded.activity.passes, &phases);
            let passes = Cow::Borrowed(&folded.activity.passes[..]);
            resolve_phases(black_box(&events), &manifest, &index, passes, phases)
        });
    });
    group.finish();
}

criterion_group!(benches, a_million_calls);
criterion_main!(benches);
