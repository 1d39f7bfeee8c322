//! Figures over many real runs: they equal the figures in the runs' reports, with the runs' tables and without them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use activebench_e2e::{Volume, assert_follows, binary, needs, recheck, verify_in};
use serde_json::Value;

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

const READS: [&str; 8] =
    ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--io_size=8m", "--filename=x", "--direct=1"];

fn history(folder: &Path, options: &[&str]) -> Output {
    Command::new(binary()).arg("history").arg(folder).args(options).output().expect("the binary runs")
}

fn report_of(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no report ({error}): {stderr}"));
    assert_follows(include_str!("../../../../docs/history.schema.json"), &report);
    report
}

fn json(folder: &Path, options: &[&str]) -> Value {
    report_of(&history(folder, &[&["--format", "json"], options].concat()))
}

/// The only figure of a phase and metric.
fn figure<'a>(report: &'a Value, phase: &str, metric: &str) -> &'a Value {
    let figures = report["figures"].as_array().expect("figures");
    let mut of = figures.iter().filter(|figure| figure["phase"] == phase && figure["metric"] == metric);
    let found = of.next().unwrap_or_else(|| panic!("no {phase} {metric} in {figures:#?}"));
    assert!(of.next().is_none(), "{phase} {metric} stands there twice");
    found
}

/// Returns every file below a folder with its length and modification time.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let about = fs::metadata(&path).expect("its metadata");
        files.insert(path.clone(), (about.len(), about.modified().expect("its time")));
        if about.is_dir() {
            files.extend(self::files(&path));
        }
    }
    files
}

#[test]
fn real_runs_are_followed_from_their_tables_and_from_their_reports() {
    needs!(beside: "fio", "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    volume.lay_out("x", 64);
    let runs = volume.beside("runs");
    fs::create_dir(&runs).expect("a folder");
    let single = verify_in(&volume.path(), runs.join("single"), &[], &READS);
    single.assert_nothing_lost();
    let series = runs.join("series");
    let repeated = Command::new(binary())
        .args(["verify", "--quiet", "--repeat", "2", "--out"])
        .arg(&series)
        .arg("--")
        .args(READS)
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    assert!(repeated.status.success(), "{}", String::from_utf8_lossy(&repeated.stderr));
    let lie = verify_in(&volume.path(), runs.join("lie"), &[], &["iozone", "-i0", "-s64m", "-r64k", "-f", "y"]);
    assert_eq!(lie.verdict(), "discrepancy", "{}", lie.story());

    let before = files(&runs);
    let report = json(&runs, &[]);
    assert_eq!((report["reading"]["found"].as_u64(), report["reading"]["from_table"].as_u64()), (Some(4), Some(4)));
    assert_eq!(report["reading"]["left_out"], serde_json::json!([]));
    let reads = figure(&report, "a-read", "throughput");
    assert_eq!(reads["points"].as_array().map(Vec::len), Some(3), "the series counts run by run: {reads:#}");
    assert_eq!(reads["counts"]["counted"], 3);
    let claim = single.claim("a-read");
    assert_eq!(claim["metric"], "throughput", "{claim}");
    let mut values = reads["points"].as_array().expect("points").iter().map(|point| &point["value"]["value"]);
    assert!(values.any(|value| value.as_f64() == claim["value"].as_f64()), "the claim that holds: {reads:#}");
    // The disk is identified by its image: loop devices get new numbers each time.
    assert!(reads["group"].as_str().is_some_and(|group| group.starts_with("loop (")), "{}", reads["group"]);

    // A claim that is not confirmed is replaced by the corrected figure; `--claimed` shows the claim itself.
    let write = figure(&report, "write", "throughput");
    let corrected = &lie.claim("write")["corrected"]["value"];
    assert_eq!(write["points"][0]["value"]["value"].as_f64(), corrected.as_f64(), "{write:#}");
    assert_eq!((&write["counts"]["counted"], &write["counts"]["of_discrepancy"]), (&Value::from(1), &Value::from(1)));
    let claimed = json(&runs, &["--claimed", "--figure", "write:throughput"]);
    assert_eq!(claimed["figures"].as_array().map(Vec::len), Some(1));
    let value = figure(&claimed, "write", "throughput")["points"][0]["value"]["value"].as_f64();
    assert_eq!(value, lie.claim("write")["value"].as_f64());

    // Three runs are too few for the limit, so the command does not succeed.
    let gate = ["--tool", "fio", "--figure", "a-read:throughput", "--fail-on-regression", "5", "--baseline"];
    let gated = history(&runs, &[&gate[..], &[series.to_str().expect("UTF-8")]].concat());
    assert_eq!(gated.status.code(), Some(3), "{}", String::from_utf8_lossy(&gated.stdout));
    let gone = history(&runs, &["--baseline", "runs/gone"]);
    assert_eq!(gone.status.code(), Some(2), "{}", String::from_utf8_lossy(&gone.stderr));
    assert_eq!(files(&runs), before, "it writes nothing");

    // Without its table a run is read from its report, with the same figures.
    fs::remove_file(single.run.join("figures.parquet")).expect("it was there");
    let without = json(&runs, &[]);
    assert_eq!((&without["reading"]["from_table"], &without["reading"]["from_report"]), (&3.into(), &1.into()));
    assert_eq!(without["figures"], report["figures"]);
    recheck(&single.run, &[]);
    assert_eq!(json(&runs, &[]), report, "recheck writes it again");
    // A judgement by other rules is not the run's own.
    let table = fs::read(single.run.join("figures.parquet")).expect("it is there");
    fs::remove_file(single.run.join("figures.parquet")).expect("it was there");
    recheck(&single.run, &["--profile", "io500"]);
    assert!(!single.run.join("figures.parquet").exists());
    fs::write(single.run.join("figures.parquet"), table).expect("it can be written");

    // A named bundle of a run is read, and counts once beside the run.
    let bundle = volume.beside("single.activebench.tar.zst");
    let bundled =
        Command::new(binary()).arg("bundle").arg(&single.run).arg("--out").arg(&bundle).output().expect("it runs");
    assert!(bundled.status.success(), "{}", String::from_utf8_lossy(&bundled.stderr));
    let twice = json(&runs, &[bundle.to_str().expect("UTF-8")]);
    assert_eq!((&twice["reading"]["copies"], &twice["figures"]), (&1.into(), &report["figures"]));
    // As a baseline the bundle is that run, of which the folder holds a copy; the other runs are later.
    let name = bundle.to_str().expect("UTF-8");
    let held = json(&runs, &["--baseline", name])["baseline"].take();
    assert_eq!((&held["runs"], &held["later"]), (&1.into(), &3.into()), "{held:#}");
    let alone = json(&bundle, &[]);
    assert_eq!(alone["reading"]["from_table"], 1, "the bundle holds the table: {:#}", alone["reading"]);

    // A garbled run is named, and the rest is read.
    fs::write(single.run.join("figures.parquet"), "no table").expect("it can be written");
    let garbled = json(&runs, &[]);
    assert_eq!(garbled["reading"]["from_table"], 3);
    let left_out = &garbled["reading"]["left_out"][0];
    assert!(left_out["directory"].as_str().is_some_and(|directory| directory.ends_with("runs/single")), "{left_out}");
    assert!(left_out["why"].as_str().is_some_and(|why| why.contains("activebench recheck RUN")), "{left_out}");
}

#[test]
fn nobody_reads_a_folder_that_cannot_be_written() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    volume.lay_out("x", 64);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = verify_in(&volume.path(), folder.path().join("run"), &[], &READS);
    run.assert_nothing_lost();
    let program = folder.path().join("activebench");
    fs::copy(binary(), &program).expect("a copy");
    // The owner lets others read it.
    for path in [folder.path(), &folder.path().join("run"), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(folder.path()).uid(NOBODY).gid(NOBODY);
        command.output().expect("the binary runs")
    };
    let output = as_nobody(&["history", ".", "--format", "json"]);
    let report = report_of(&output);
    assert_eq!((output.status.code(), &report["reading"]["from_table"]), (Some(0), &Value::from(1)));
    figure(&report, "a-read", "throughput");
    // `recheck` also works when it cannot write the table.
    let rechecked = as_nobody(&["recheck", "run"]);
    assert_eq!(rechecked.status.code(), run.exit_code());
    assert!(!String::from_utf8_lossy(&rechecked.stderr).contains("figures.parquet"));
    let text = as_nobody(&["history", "run"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("a-read"), "{}", String::from_utf8_lossy(&text.stderr));
}
