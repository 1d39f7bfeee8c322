//! Cost of a history of a thousand runs before anything is computed: finding them and reading their figures.

use activebench_record::{FigureFilter, encode_figures, find_runs, read_figures, sha256};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../tests/stored/mod.rs"]
mod stored;

const RUNS: u64 = 1_000;

fn history(criterion: &mut Criterion) {
    let root = tempfile::tempdir().expect("a folder");
    stored::stored(root.path(), RUNS);
    // Every run passes this filter: it shows the cost of the filter itself.
    let filter = FigureFilter { devices: vec!["ACME 9000".to_owned()], ..FigureFilter::default() };
    let mut group = criterion.benchmark_group("history");
    group.throughput(Throughput::Elements(RUNS)).sample_size(10);
    for (name, filter) in [("find and read", FigureFilter::default()), ("find, read and filter", filter)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let read = read_figures(&find_runs(root.path()).runs, &filter).expect("figures");
                assert_eq!((read.runs.len(), read.from_table), (RUNS as usize, RUNS as usize));
                read
            });
        });
    }
    group.finish();
}

criterion_group!(benches, history);
criterion_main!(benches);
