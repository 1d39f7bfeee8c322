use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::figures::RunFigures;
use activebench_model::verdict::RunVerdict;
use serde_json::{Value, json};
use stored::{FIGURES_OF_A_RUN, run_of, stored};

use super::*;
use crate::{encode_figures, sha256};

#[path = "../../tests/stored/mod.rs"]
mod stored;

fn read(directories: &[PathBuf]) -> FiguresRead {
    read_figures(directories, &FigureFilter::default()).unwrap()
}

fn why(read: &FiguresRead) -> &str {
    &read.left_out[0].1
}

#[test]
fn what_was_stored_of_many_runs_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 50);
    assert_eq!(find_runs(root.path()).runs, directories);
    let read = read(&directories);
    assert_eq!((read.runs.len(), read.from_table, read.left_out.len()), (50, 50, 0));
    for (place, run) in &read.runs {
        assert_eq!(run, &run_of(*place as u64));
    }
}

#[test]
fn a_panic_costs_its_own_run() {
    let directories: Vec<PathBuf> = (0..9).map(|number| PathBuf::from(number.to_string())).collect();
    let read = each(&directories, |directory| match directory == Path::new("4") {
        true => panic!("as polars does where a file lies"),
        false => Ok(directory.to_owned()),
    });
    for (directory, read) in directories.iter().zip(&read) {
        match directory == Path::new("4") {
            true => assert!(read.as_ref().is_err_and(|why| why.contains("a panic"))),
            false => assert_eq!(read.as_ref(), Ok(directory)),
        }
    }
    assert_eq!(read.len(), 9);
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
    let sum = sha256(&fs::read(directories[0].join(MANIFEST)).unwrap());
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

/// The intact copy is read, whichever of them comes first.
#[test]
fn a_run_of_which_one_copy_is_garbled_is_read_from_the_other() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 1);
    let garbled = root.path().join("copy");
    fs::create_dir(&garbled).unwrap();
    fs::copy(directories[0].join(MANIFEST), garbled.join(MANIFEST)).unwrap();
    // Whole as a file; one of its figures was changed.
    let mut table = fs::read(directories[0].join(FIGURES)).unwrap();
    let place = table.windows(8).position(|bytes| bytes == run_of(0).figures[1].claimed.value.to_le_bytes()).unwrap();
    table[place] ^= 1;
    fs::write(garbled.join(FIGURES), table).unwrap();
    for (order, at) in [([garbled.clone(), directories[0].clone()], 0), ([directories[0].clone(), garbled], 1)] {
        let read = read(&order);
        assert_eq!((read.runs.len(), read.runs[0].0, read.copies), (1, 1 - at, 0));
        assert!(read.left_out[0].0 == at && why(&read).contains("not what was written"), "{}", why(&read));
    }
}

/// Every file with a fault affects only its own run, with a reason.
#[test]
fn what_is_garbled_is_named_and_the_rest_is_read() {
    let root = tempfile::tempdir().unwrap();
    let directories = stored(root.path(), 3);
    let victim = &directories[1];
    let (manifest, table) = (fs::read(victim.join(MANIFEST)).unwrap(), fs::read(victim.join(FIGURES)).unwrap());
    let other = fs::read(directories[0].join(FIGURES)).unwrap();
    // Among the pages: the end of the file describes the columns.
    let middle = table.len() / 4;
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
        (MANIFEST, b"{".to_vec(), "not a manifest"),
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
    assert!(why(&read(&directories)).contains("is a directory, and a run directory holds regular files"));
}

/// Returns a report in the form of `report.json`, with the figures of a stored run.
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
    let mut frame = frame_of_bytes(fs::read(&path).unwrap(), None, 100).unwrap();
    frame.with_column(Series::new(VERSION_COLUMN.into(), vec![VERSION + 1; frame.height()]).into()).unwrap();
    let mut bytes = Vec::new();
    polars::prelude::ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
    fs::write(&path, bytes).unwrap();
    assert!(why(&read(&directories)).contains("neither"), "there is no report");
    let manifest = fs::read(directories[0].join(MANIFEST)).unwrap();
    fs::write(directories[0].join(REPORT), serde_json::to_vec(&report(&manifest)).unwrap()).unwrap();
    assert_eq!(read(&directories).from_report, 1);
    // A large one is stored compressed.
    let packed = zstd::encode_all(&fs::read(directories[0].join(REPORT)).unwrap()[..], 3).unwrap();
    fs::remove_file(directories[0].join(REPORT)).unwrap();
    fs::write(directories[0].join(format!("{REPORT}.zst")), packed).unwrap();
    assert_eq!(read(&directories).from_report, 1);
}
