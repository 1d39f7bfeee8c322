//! Run directories of earlier formats are read to the same rows. The tables of format 1 are stored (`format-1`).

use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::call::{Call, Op};
use activebench_model::run::Manifest;
use activebench_record::{RecordError, RunReader, RunWriter, SEAL, sha256};
use serde::Serialize;

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_directories/format-1")
}

/// Makes a run directory of format 1 around the stored tables.
fn run_of_format_1(root: &Path) -> RunReader {
    let run = root.join("run");
    RunWriter::create(&run).unwrap().finish(Manifest::default()).unwrap();
    let path = run.join("run.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["format"] = 1.into();
    for entry in fs::read_dir(stored()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".parquet") {
            let bytes = fs::read(entry.path()).unwrap();
            manifest["sha256"][format!("events/{name}")] = sha256(&bytes).into();
            fs::write(run.join("events").join(name), bytes).unwrap();
        }
    }
    let bytes = serde_json::to_vec(&manifest).unwrap();
    fs::write(run.join(SEAL), format!("{}  run.json\n", sha256(&bytes))).unwrap();
    fs::write(path, bytes).unwrap();
    RunReader::open(&run).unwrap()
}

/// Returns the number of rows and the SHA-256 of what `show --format json` prints of them.
fn printed<T: Serialize>(parts: impl Iterator<Item = Result<Vec<T>, RecordError>>) -> (usize, String) {
    let lines: Vec<String> =
        parts.flat_map(Result::unwrap).map(|row| format!("{}\n", serde_json::to_value(row).unwrap())).collect();
    (lines.len(), sha256(lines.concat().as_bytes()))
}

#[test]
fn a_run_of_format_1_has_the_rows_that_were_recorded() {
    let root = tempfile::tempdir().unwrap();
    let run = run_of_format_1(root.path());
    assert_eq!((run.manifest().format, run.verify_hashes()), (1, vec![]));
    let read = [
        printed(run.calls()),
        printed(run.names()),
        printed(run.tasks()),
        printed(run.block()),
        printed(run.cache()),
        printed(run.cpu()),
        printed(run.samples()),
        printed(run.steal()),
        printed(run.payload()),
    ];
    let expected = [
        (564, "f7706300c164388ae15fa787dd16f095e04bfaccee62693608169982d1299378"),
        (155, "7ebb61c212fda92adf86fc8f09b912ef51e23cd26f904a07166b88037f06cb4b"),
        (15, "4d4ba670e3fc961ba67c4a7400a7972c1d696ef175eda828fc66e3547a319382"),
        (76, "574a97a028aa60a2b55cd6b12a82a9f2285e4bb790ed6b2dd2e8bafc64843036"),
        (9, "44ad444f3d671a1b5e768bf7a16f451c279c1d7e420feefd4614d6d9433399b9"),
        (16, "b305881cfa7e03dc5146f9d3e1bb95fda975d7aa5279404fb58c798ee573eb44"),
        (6, "946032942c23649f0ddfb8534af5765715cf7b5365ad2f269fb57773c20ce12f"),
        (4, "ca79e36221cc7684529303e219627f47b3c2ce331446ed118977c0019d34a421"),
        (3, "2edbe3ed95f25c34d2a00009638ed6a596990b02fc9371144ffc4b3f045780ec"),
    ];
    assert_eq!(read, expected.map(|(rows, sum)| (rows, sum.to_owned())));
}

#[test]
fn parts_of_its_columns_are_those_of_its_rows() {
    let root = tempfile::tempdir().unwrap();
    let run = run_of_format_1(root.path());
    let calls: Vec<Call> = run.calls().flat_map(Result::unwrap).collect();
    let plain: Vec<_> = run.plain_calls().flat_map(Result::unwrap).collect();
    assert!(plain.iter().eq(&calls.iter().map(Into::into).collect::<Vec<_>>()));
    let places: Vec<_> = run.places().flat_map(Result::unwrap).collect();
    assert!(
        places.iter().map(|place| (place.op, place.returned)).eq(calls.iter().map(|call| (call.op, call.returned)))
    );
    assert!(calls.iter().any(|call| call.op == Op::Open && call.returned == -2), "a name did not exist");
}
