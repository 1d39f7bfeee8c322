//! Made-up time series, shown by the charts of the samples.

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::fact::Completeness;
use activebench_model::timeline::{
    LatencyBucket, LatencyHistogram, LatencyOf, OffsetMap, SyncMark, Timeline, TimelineFigure, TimelineSeries,
};

/// Steps of a made-up time series: fewer than in a real one, to keep snapshots short.
const STEPS: usize = 24;

/// A buffered sequential write with a sync after the clock. It starts a little before `start_ns`, and nothing reaches
/// the device before the sync. The device takes bios, and a part of the threads' time is not known.
pub(crate) fn cached_write(phase: &str, start_ns: u64) -> Timeline {
    let step_ns = 100_000_000;
    let values = |value: &dyn Fn(usize) -> f64| (0..STEPS).map(|step| Some(value(step))).collect();
    // The clock covers steps 1 to 3.
    let in_clock = |step: usize, value: f64| if (1..4).contains(&step) { value } else { 0.0 };
    let threads = |value: f64| (0..STEPS).map(|step| (1..4).contains(&step).then_some(value)).collect();
    let one = |name: TimelineFigure| {
        let (completeness, values): (_, Vec<Option<f64>>) = match name {
            TimelineFigure::CallWriteRate => (Completeness::Complete, values(&|step| in_clock(step, 3.35e9))),
            TimelineFigure::CallRate => (Completeness::Complete, values(&|step| in_clock(step, 51_150.0))),
            TimelineFigure::DeviceWriteRate => {
                (Completeness::Complete, values(&|step| if step >= 4 { 5.1e8 + 1e7 * step as f64 } else { 0.0 }))
            }
            TimelineFigure::DeviceQueueDepth => {
                (Completeness::Missing("the device takes bios, no requests".into()), Vec::new())
            }
            TimelineFigure::CacheInsertedRate => {
                (Completeness::Partial("51 page-cache records were lost".into()), values(&|step| in_clock(step, 3.3e9)))
            }
            TimelineFigure::HostDirtyBytes => (
                Completeness::Complete,
                values(&|step| 1e9 * if step < 4 { step as f64 / 4.0 } else { (24 - step) as f64 / 20.0 }),
            ),
            TimelineFigure::UserRatio => (Completeness::Complete, threads(0.125)),
            TimelineFigure::KernelRatio => (Completeness::Complete, threads(0.75)),
            TimelineFigure::IoWaitRatio | TimelineFigure::PreemptedRatio => (Completeness::Complete, threads(0.0)),
            TimelineFigure::BlockedRatio => (Completeness::Complete, threads(0.125)),
            _ => (Completeness::Complete, values(&|_| 0.0)),
        };
        TimelineSeries { name, completeness, values }
    };
    Timeline {
        phase: phase.into(),
        start_ns: start_ns - step_ns,
        step_ns,
        steps: STEPS,
        series: TimelineFigure::ALL.iter().map(|name| one(*name)).collect(),
        syncs: vec![SyncMark {
            call: "fsync".into(),
            start_ns: start_ns + 320_300_000,
            end_ns: start_ns + 2_300_000_000,
        }],
        syncs_left_out: 1,
        latencies: vec![
            LatencyHistogram {
                of: LatencyOf::Calls,
                completeness: Completeness::Complete,
                buckets: [(12_589, 15_849, 15_900), (15_849, 19_953, 480), (19_953, 25_119, 0), (25_119, 31_623, 4)]
                    .map(|(from_ns, to_ns, count)| LatencyBucket { from_ns, to_ns, count })
                    .to_vec(),
            },
            LatencyHistogram {
                of: LatencyOf::Device,
                completeness: Completeness::Missing("the device takes bios, no requests".into()),
                buckets: Vec::new(),
            },
        ],
        maps: vec![OffsetMap {
            file: FileId { s_dev: DeviceNumber::new(7, 0).0, ino: 12 },
            name: Some("/mnt/bench/iozone.tmp".into()),
            row_bytes: 256 << 20,
            column_steps: 2,
            hits: (0..4).map(|row| (0..STEPS / 2).map(|column| sequential(row, column)).collect()).collect(),
        }],
        files_left_out: 1,
    }
}

/// Calls of 64 KiB, 5,115 per step of 0.1 s.
fn sequential(row: u64, column: usize) -> u64 {
    match (row, column) {
        (0, 0) | (1, 0) => 2_500,
        (1, 1) => 1_600,
        (2, 1) | (3, 1) => 4_096,
        _ => 0,
    }
}

/// Random access with reads and writes everywhere: the largest possible charts.
pub(crate) fn random(phase: &str, start_ns: u64) -> Timeline {
    let steps = 120;
    // A fixed generator keeps the snapshots the same.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 1000
    };
    let mut timeline = cached_write(phase, start_ns);
    timeline.steps = steps;
    timeline.step_ns = 20_000_000;
    for series in &mut timeline.series {
        series.completeness = Completeness::Complete;
        series.values = (0..steps).map(|_| Some(next() as f64 / 5_000.0)).collect();
    }
    for map in &mut timeline.maps {
        map.row_bytes = 32 << 20;
        map.hits = (0..32).map(|_| (0..60).map(|_| next()).collect()).collect();
    }
    timeline.maps = vec![timeline.maps[0].clone(); 4];
    timeline
}
