use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::claim::{Metric, Subject};
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use serde_json::{Value, json};

use super::*;
use crate::encode_figures;
use crate::samples;

/// Figures like those of fio's random reads: more than most tools print.
const FIGURES_OF_A_RUN: u64 = 24;

fn run_of(number: u64) -> RunFigures {
    let mut run = RunFigures::of(&samples::manifest());
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

/// A run directory as `verify` leaves it, of which a history reads two files.
fn store(directory: &Path, number: u64) -> RunFigures {
    let mut manifest = samples::manifest();
    let run = run_of(number);
    manifest.clocks.started_unix_s = run.started_unix_s;
    // As many lines as a run of some size has.
    for part in 0..60 {
        manifest.sha256.insert(format!("events/calls-{part:04}.parquet"), hash::of_bytes(&[part]));
    }
    fs::create_dir_all(directory).unwrap();
    let bytes = serde_json::to_vec_pretty(&manifest).unwrap();
    fs::write(directory.join(MANIFEST), &bytes).unwrap();
    fs::write(directory.join(FIGURES), encode_figures(&run, &hash::of_bytes(&bytes)).unwrap()).unwrap();
    run
}

fn stored(root: &Path, count: u64) -> Vec<PathBuf> {
    (0..count)
        .map(|number| {
            let directory = root.join(format!("{number:05}"));
            store(&directory, number);
            directory
        })
        .collect()
}

fn read(directories: &[PathBuf]) -> FiguresRead {
    read_figures(directories, &FigureFilter::default()).unwrap()
}

fn why(read: &FiguresRead) -> &str {
    &read.left_out[0].1
}

#[test]
fn what_was_stored_of_a_thousand_runs_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 1_000);
    assert_eq!(find_runs(root.path()).runs, directories);
    let begun = std::time::Instant::now();
    let read = read(&directories);
    println!("1,000 runs of {FIGURES_OF_A_RUN} figures read in {:?}", begun.elapsed());
    assert_eq!((read.runs.len(), read.from_table, read.left_out.len()), (1_000, 1_000, 0));
    for (place, run) in &read.runs {
        assert_eq!(run, &run_of(*place as u64));
    }
}

/// For measuring the command: `HISTORY_RUNS=DIR cargo test -p activebench-record -- --ignored a_thousand`.
#[test]
#[ignore = "it leaves a thousand run directories in $HISTORY_RUNS"]
fn a_thousand_runs_for_measuring() {
    let root = std::env::var_os("HISTORY_RUNS").expect("HISTORY_RUNS names a folder");
    stored(Path::new(&root), 1_000);
}

#[test]
fn filters_leave_runs_and_figures_out() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 16);
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let of = |tools: &[&str], devices: &[&str], hosts: &[&str], since_unix_s| FigureFilter {
        tools: texts(tools),
        devices: texts(devices),
        hosts: texts(hosts),
        since_unix_s,
    };
    for (filter, expected) in [
        (of(&[], &[], &[], None), 16),
        (of(&["fio"], &[], &[], None), 8),
        (of(&["fio", "iozone"], &[], &[], None), 16),
        (of(&[], &["S1"], &[], None), 2),
        (of(&[], &["nvme7n1"], &[], None), 2),
        (of(&[], &["ACME 9000"], &[], None), 16),
        (of(&[], &[], &["host-0", "host-1"], None), 8),
        (of(&["fio"], &["S1"], &[], None), 0),
        (of(&[], &[], &[], Some(1_767_225_600 + 3_600 * 10)), 6),
        (of(&["'; drop"], &[], &[], None), 0),
    ] {
        let read = read_figures(&directories, &filter).unwrap();
        assert_eq!((read.runs.len(), read.filtered), (expected, 16 - expected), "{filter:?}");
        assert!(read.runs.iter().all(|(_, run)| run.figures.len() == FIGURES_OF_A_RUN as usize));
    }
}

#[test]
fn a_run_that_claims_nothing_and_copies_of_one_are_told() {
    let root = tempfile::tempdir().unwrap();
    let mut directories = stored(root.path(), 2);
    let silent = RunFigures { figures: Vec::new(), ..run_of(0) };
    let sum = hash::of_bytes(&fs::read(directories[0].join(MANIFEST)).unwrap());
    fs::write(directories[0].join(FIGURES), encode_figures(&silent, &sum).unwrap()).unwrap();
    let copy = root.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for file in [MANIFEST, FIGURES] {
        fs::copy(directories[1].join(file), copy.join(file)).unwrap();
    }
    directories.push(copy);
    let read = read(&directories);
    assert_eq!((read.runs.len(), read.copies, read.from_table), (2, 1, 2));
    assert_eq!(read.runs[0].1, silent);
}

/// Every file that can be another than it should be costs its own run, and says why.
#[test]
fn what_is_garbled_is_named_and_the_rest_is_read() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 3);
    let victim = &directories[1];
    let (manifest, table) = (fs::read(victim.join(MANIFEST)).unwrap(), fs::read(victim.join(FIGURES)).unwrap());
    let other = fs::read(directories[0].join(FIGURES)).unwrap();
    let middle = table.len() / 2;
    let mut bent = table.clone();
    bent[middle..middle + 64].fill(0xff);
    let mut footer = table.clone();
    let end = footer.len() - 40;
    footer[end..end + 24].fill(0xff);
    for (name, bytes, expected) in [
        (FIGURES, other, "that of another run"),
        (FIGURES, Vec::new(), "garbled"),
        (FIGURES, b"PAR1PAR1PAR1".to_vec(), "garbled"),
        (FIGURES, table[..middle].to_vec(), "garbled"),
        (FIGURES, bent, "garbled"),
        (FIGURES, footer, "garbled"),
        (MANIFEST, b"{".to_vec(), "no manifest"),
        (MANIFEST, br#"{"format":1,"unfinished":true}"#.to_vec(), "never finished"),
        (MANIFEST, br#"{"format":99}"#.to_vec(), "newer activebench"),
        (MANIFEST, [&manifest[..], b" "].concat(), "that of another run"),
    ] {
        fs::write(victim.join(MANIFEST), &manifest).unwrap();
        fs::write(victim.join(FIGURES), &table).unwrap();
        fs::write(victim.join(name), bytes).unwrap();
        let read = read(&directories);
        assert_eq!(read.runs.len(), 2, "{expected}");
        assert!(read.left_out[0].0 == 1 && why(&read).contains(expected), "{expected}: {}", why(&read));
    }
    fs::remove_file(victim.join(FIGURES)).unwrap();
    fs::create_dir(victim.join(FIGURES)).unwrap();
    assert!(why(&read(&directories)).contains("no file of at most"));
}

/// A report as `report.json` has it, of the figures of a stored run.
fn report(manifest: &[u8]) -> Value {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let claim = |phase: &str, verdict: &str, corrected: Value| {
        json!({"phase": phase, "metric": "throughput", "value": 500, "unit": "bytes_per_sec", "subject": "device",
               "verdict": verdict, "corrected": corrected, "no_correction": "nothing was read"})
    };
    let fact = |value: u64, state: Value| json!({"value": value, "completeness": state});
    json!({
        "schema": "activebench.report/1", "verdict": "discrepancy", "profile": "default",
        "tool": {"name": "iozone", "version": "3.506"},
        "claims": [
            claim("write", "misleading", json!({"value": 100, "unit": "bytes_per_sec", "meaning": "durable"})),
            claim("read", "confirmed", Value::Null),
            claim("reread", "misleading", Value::Null),
            claim("reread", "refuted", json!({"value": 5, "unit": "ops_per_sec", "meaning": "another unit"})),
        ],
        "phases": [{"id": "write", "files": [], "facts": {
            "foreign_bytes": fact(25, json!({"state": "complete"})),
            "device_total_bytes": fact(100, json!({"state": "complete"})),
        }}, {"id": "read", "files": [], "facts": {
            "foreign_bytes": fact(25, json!({"state": "partial", "why": "lost"})),
            "device_total_bytes": fact(100, json!({"state": "complete"})),
        }}],
        "run": {"activebench": "0.0.9", "sha256": manifest["sha256"], "incomplete": []},
    })
}

#[test]
fn a_run_without_a_table_is_read_from_its_report() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 2);
    let manifest = fs::read(directories[1].join(MANIFEST)).unwrap();
    fs::write(directories[1].join(REPORT), serde_json::to_vec(&report(&manifest)).unwrap()).unwrap();
    fs::remove_file(directories[1].join(FIGURES)).unwrap();
    let found = read(&directories);
    assert_eq!((found.from_table, found.from_report), (1, 1));
    let run = &found.runs[1].1;
    let honest: Vec<_> = run.figures.iter().map(|figure| (figure.honest, figure.place)).collect();
    assert_eq!(honest, [(Some(100.0), 0), (Some(500.0), 0), (None, 0), (None, 1)]);
    let foreign: Vec<_> = run.figures.iter().map(|figure| figure.foreign_io_ratio).collect();
    assert_eq!(foreign, [Some(0.25), None, None, None], "what is partial is not known");
    assert_eq!((run.verdict, run.activebench.as_str()), (RunVerdict::Discrepancy, "0.0.9"));

    let mut other = report(&manifest);
    other["run"]["sha256"] = json!({});
    let mut schema = report(&manifest);
    schema["schema"] = json!("activebench.report/2");
    for (bytes, expected) in [
        (serde_json::to_vec(&other).unwrap(), "that of another run"),
        (serde_json::to_vec(&schema).unwrap(), "activebench.report/2"),
        (b"[]".to_vec(), "garbled"),
    ] {
        fs::write(directories[1].join(REPORT), bytes).unwrap();
        assert!(why(&read(&directories)).contains(expected), "{expected}");
    }
    fs::remove_file(directories[1].join(REPORT)).unwrap();
    assert!(why(&read(&directories)).contains("activebench recheck RUN"));
}

#[test]
fn a_table_of_another_version_is_made_anew_from_the_report() {
    use polars::prelude::{NamedFrom, Series};
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 1);
    let path = directories[0].join(FIGURES);
    let mut frame = frame_of_bytes(fs::read(&path).unwrap(), None).unwrap();
    frame.with_column(Series::new(VERSION_COLUMN.into(), vec![VERSION + 1; frame.height()]).into()).unwrap();
    let mut bytes = Vec::new();
    polars::prelude::ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
    fs::write(&path, bytes).unwrap();
    assert!(why(&read(&directories)).contains("neither"), "there is no report");
    let manifest = fs::read(directories[0].join(MANIFEST)).unwrap();
    fs::write(directories[0].join(REPORT), serde_json::to_vec(&report(&manifest)).unwrap()).unwrap();
    assert_eq!(read(&directories).from_report, 1);
}
