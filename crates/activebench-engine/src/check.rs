//! `activebench check DIR`: the speed of the storage below a folder, by a fixed load of fio that is observed and judged
//! like any other run.
//!
//! The load is honest by construction: direct I/O on a file of its own, a time limit for each pass, and a sync inside
//! the clock of each write. Whether it was is judged all the same.

use std::path::Path;

use activebench_model::claim::Metric;
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;
use activebench_tools::{ENGINE, engine_path};
use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::free_space;

/// Largest size of the file in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Smallest size of the file in bytes: below it, caches of devices hold all of it.
const LEAST_BYTES: u64 = 64 << 20;

/// The passes: name of the job, and its options. A block of 4 MiB keeps a device busy by itself; several of them in flight
/// are more than the queues of many devices hold, and the depth would not be reached.
const PASSES: &[(&str, &[&str])] = &[
    ("sequential-write", &["--rw=write", "--bs=4m", "--iodepth=1", "--end_fsync=1"]),
    ("sequential-read", &["--rw=read", "--bs=4m", "--iodepth=1"]),
    ("random-read", &["--rw=randread", "--bs=4k", "--iodepth=32"]),
    ("random-write", &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--end_fsync=1"]),
    ("read-latency", &["--rw=randread", "--bs=4k", "--iodepth=1"]),
    ("sync-latency", &["--rw=write", "--bs=4k", "--iodepth=1", "--fdatasync=1"]),
];

/// A load that checks a folder.
#[derive(Debug)]
pub struct Check {
    /// The command.
    pub argv: Vec<String>,
    /// The folder of its file, which nobody else can write: a link there would lead fio elsewhere. It is removed on drop.
    private: TempDir,
    /// Bytes of that file.
    pub file_bytes: u64,
}

impl Check {
    /// Plans the load for a folder; each pass lasts `seconds`.
    ///
    /// # Errors
    /// Returns an error if it is not a folder, or has too little room.
    pub fn of(folder: &Path, seconds: u64) -> anyhow::Result<Self> {
        let folder = std::fs::canonicalize(folder).with_context(|| format!("cannot find {}", folder.display()))?;
        if !folder.is_dir() {
            bail!("{} is not a directory (hint: name a directory on the disk)", folder.display());
        }
        let room = free_space::room(&folder).with_context(|| format!("cannot see the room in {}", folder.display()))?;
        // The rest stays for whoever else writes there.
        let file_bytes = (room.free_bytes / 4).min(MOST_BYTES) >> 20 << 20;
        if file_bytes < LEAST_BYTES {
            bail!(
                "{} has too little room: {} of {} free are needed",
                folder.display(),
                Quantity::bytes(4 * LEAST_BYTES),
                Quantity::bytes(room.free_bytes)
            );
        }
        let private = TempDir::with_prefix_in(".activebench-check-", &folder)
            .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
        Ok(Self { argv: argv(&private.path().join("file"), file_bytes, seconds), private, file_bytes })
    }

    /// Removes the file and its folder.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn clear(self) -> std::io::Result<()> {
        self.private.close()
    }
}

fn argv(file: &Path, file_bytes: u64, seconds: u64) -> Vec<String> {
    let mut argv = vec![
        ENGINE.name.to_owned(),
        format!("--filename={}", engine_path(file)),
        format!("--size={file_bytes}"),
        "--direct=1".to_owned(),
        "--ioengine=libaio".to_owned(),
        "--randrepeat=0".to_owned(),
        "--refill_buffers".to_owned(),
        "--time_based".to_owned(),
        format!("--runtime={seconds}s"),
        "--stonewall".to_owned(),
    ];
    for (name, options) in PASSES {
        argv.push(format!("--name={name}"));
        argv.extend(options.iter().map(|option| (*option).to_owned()));
    }
    argv
}

/// What others of its kind do, ascending: bytes per second and name. Rates of links are what they carry by their
/// encoding; what a device behind them reaches is less. The figures and their sources are in docs/check.md.
const RATES: &[(f64, &str)] = &[
    (60e6, "USB 2.0"),
    (125e6, "1 Gbit/s LAN"),
    (131_072_000.0, "AWS gp3"),
    (270e6, "a hard disk"),
    (600e6, "SATA 6 Gbit/s"),
    (1.25e9, "10 Gbit/s LAN"),
    (3.938e9, "PCIe 3.0 x4"),
    (7.877e9, "PCIe 4.0 x4"),
    (15.754e9, "PCIe 5.0 x4"),
];

/// The same for operations per second of 4 KiB.
const OPERATIONS: &[(f64, &str)] = &[
    (122.0, "a hard disk"),
    (3_000.0, "AWS gp3"),
    (146_000.0, "SATA 6 Gbit/s"),
    (961_000.0, "PCIe 3.0 x4"),
    (1_923_000.0, "PCIe 4.0 x4"),
];

/// One figure of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What it is: `random reads, depth 32`.
    pub name: &'static str,
    /// The honest figure; `None` where the run does not show it.
    pub figure: Option<Quantity>,
    /// Where it lies among usual disks, links and clouds; `None` where nothing is compared.
    pub place: Option<String>,
}

/// Returns the answer that a judged run of the load gives. Only honest figures are in it.
pub fn answer(run: &JudgedRun) -> Vec<Checked> {
    let honest = |job: &str, metrics: &[Metric]| {
        let claims = || run.parsed.claims.iter().zip(&run.judged).filter(|(claim, _)| claim.phase.starts_with(job));
        let (claim, judged) = metrics.iter().find_map(|metric| claims().find(|(claim, _)| claim.metric == *metric))?;
        judged.honest(claim)
    };
    let rate = [Metric::Throughput];
    let operations = [Metric::OperationRate];
    let mean = [Metric::LatencyMean, Metric::CompletionLatencyMean];
    let p99 = [Metric::LatencyP99, Metric::CompletionLatencyP99];
    let checked = |name, figure: Option<Quantity>, table| Checked {
        name,
        figure,
        place: figure.and_then(|figure| placed(figure, table)),
    };
    vec![
        checked("sequential read", honest("sequential-read", &rate), RATES),
        checked("durable sequential write", honest("sequential-write", &rate), RATES),
        checked("random reads, depth 32", honest("random-read", &operations), OPERATIONS),
        checked("random writes, depth 32", honest("random-write", &operations), OPERATIONS),
        checked("latency of a read, mean", honest("read-latency", &mean), &[]),
        checked("latency of a read, p99", honest("read-latency", &p99), &[]),
        checked("durable 4 KiB writes", honest("sync-latency", &operations), OPERATIONS),
    ]
}

/// Returns where a figure lies in a table: `between 10 Gbit/s LAN and PCIe 3.0 x4`.
fn placed(figure: Quantity, table: &[(f64, &str)]) -> Option<String> {
    let below = table.iter().rev().find(|(value, _)| *value <= figure.value).map(|(_, name)| name);
    let above = table.iter().find(|(value, _)| *value > figure.value).map(|(_, name)| name);
    match (below, above) {
        (Some(below), Some(above)) => Some(format!("between {below} and {above}")),
        (Some(below), None) => Some(format!("above {below}")),
        (None, Some(above)) => Some(format!("below {above}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_ascend() {
        for table in [RATES, OPERATIONS] {
            assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0), "{table:?}");
        }
    }

    #[test]
    fn a_figure_has_a_neighbour_on_each_side_that_exists() {
        for (bytes_per_sec, expected) in [
            (1.0, "below USB 2.0"),
            (2e9, "between 10 Gbit/s LAN and PCIe 3.0 x4"),
            (600e6, "between SATA 6 Gbit/s and 10 Gbit/s LAN"),
            (1e11, "above PCIe 5.0 x4"),
        ] {
            assert_eq!(placed(Quantity::bytes_per_sec(bytes_per_sec), RATES).as_deref(), Some(expected));
        }
        assert_eq!(placed(Quantity::ns(1), &[]), None);
    }

    #[test]
    fn the_load_writes_no_more_than_a_quarter_of_the_room_and_names_its_file_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let check = Check::of(folder.path(), 10).expect("there is room");
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&check.file_bytes), "{check:?}");
        assert_eq!(check.argv.iter().filter(|word| word.starts_with("--filename=")).count(), 1);
        assert_eq!(check.argv.iter().filter(|word| word.starts_with("--name=")).count(), PASSES.len());
        let missing = Check::of(&folder.path().join("none"), 10).expect_err("it is not there");
        assert!(missing.to_string().contains("cannot find"), "{missing}");
    }
}
