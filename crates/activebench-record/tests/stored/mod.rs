//! Run directories as `verify` leaves them, with the two files that a history reads: for tests and measurements. The
//! including module imports [`encode_figures`] and [`sha256`] for it.

use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::claim::{Metric, Subject};
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};

use super::{encode_figures, sha256};

/// Figures like those of fio's random reads: more than most tools print.
pub(crate) const FIGURES_OF_A_RUN: u64 = 24;

pub(crate) fn run_of(number: u64) -> RunFigures {
    let mut run = RunFigures::of(&Manifest::default());
    run.started_unix_s = 1_767_225_600 + 3_600 * number as i64;
    run.tool = if number.is_multiple_of(2) { "fio" } else { "iozone" }.to_owned();
    run.version = Some("3.36".to_owned());
    run.command = "fio --name=a --rw=randread --bs=4k --size=1g --filename=/mnt/bench/file".to_owned();
    run.load = run.command.replace("/mnt/bench", "TARGET");
    run.kernel = "6.12.1".to_owned();
    run.host = Some(format!("host-{}", number % 4));
    run.verdict = RunVerdict::Verified;
    for place in 0..FIGURES_OF_A_RUN {
        let value = 4e8 + (number * 7_919 % 1_000) as f64 * 1e4 + place as f64;
        run.push(RunFigure {
            phase: format!("a-read-{place}"),
            metric: Metric::Throughput,
            place: 0,
            subject: Subject::Device,
            claimed: Quantity::bytes_per_sec(value),
            honest: (place > 0).then_some(value),
            no_honest: (place == 0).then(|| "nothing was read".to_owned()),
            verdict: if place > 0 { ClaimVerdict::Confirmed } else { ClaimVerdict::Unverifiable },
            disk: Disk {
                name: Some(format!("nvme{}n1", number % 8)),
                model: Some("ACME 9000".to_owned()),
                serial: (number % 8 < 6).then(|| format!("S{}", number % 8)),
                file_system: Some("ext4".to_owned()),
            },
            foreign_io_ratio: Some(0.0),
        });
    }
    run
}

fn store(directory: &Path, number: u64) {
    let mut manifest = Manifest { format: FORMAT, ..Manifest::default() };
    let run = run_of(number);
    manifest.clocks.started_unix_s = run.started_unix_s;
    // As many lines as a run of some size has.
    for part in 0..60 {
        manifest.sha256.insert(format!("events/calls-{part:04}.parquet"), sha256(&[part]));
    }
    fs::create_dir_all(directory).unwrap();
    let bytes = serde_json::to_vec_pretty(&manifest).unwrap();
    fs::write(directory.join("run.json"), &bytes).unwrap();
    fs::write(directory.join("figures.parquet"), encode_figures(&run, &sha256(&bytes)).unwrap()).unwrap();
}

/// Stores `count` runs; returns their directories in the order of their names.
pub(crate) fn stored(root: &Path, count: u64) -> Vec<PathBuf> {
    (0..count)
        .map(|number| {
            let directory = root.join(format!("{number:05}"));
            store(&directory, number);
            directory
        })
        .collect()
}
