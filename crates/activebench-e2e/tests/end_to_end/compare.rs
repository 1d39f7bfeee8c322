//! Stored runs of the real iozone side by side, and exports of one of them for other programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use activebench_e2e::{Volume, assert_follows, binary, needs, verify};
use serde_json::Value;

const DIRECT: [&str; 7] = ["iozone", "-i0", "-i1", "-s16m", "-r1m", "-e", "-I"];
const CACHED: [&str; 5] = ["iozone", "-i0", "-i1", "-s16m", "-r1m"];

fn activebench(arguments: &[&str], runs: &[&Path]) -> Output {
    Command::new(binary()).args(arguments).args(runs).output().expect("the binary runs")
}

/// Returns the JSON of a comparison, which follows its schema.
fn compared(runs: &[&Path]) -> Value {
    let output = activebench(&["compare", "--format", "json"], runs);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert_follows(include_str!("../../../../docs/compare.schema.json"), &report);
    report
}

/// Returns a figure's cell in a column.
fn cell<'report>(report: &'report Value, phase: &str, column: usize) -> &'report Value {
    let figures = report["figures"].as_array().expect("figures");
    let row = figures.iter().find(|figure| figure["phase"] == phase).unwrap_or_else(|| panic!("no {phase}: {report}"));
    &row["cells"][column]
}

#[test]
fn a_rate_of_the_page_cache_is_held_against_nothing() {
    needs!(beside: "iozone");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let direct = verify(&volume, &[], &DIRECT);
    let cached = verify(&volume, &[], &CACHED);
    let report = compared(&[&direct.run, &cached.run]);
    for phase in ["read", "reread"] {
        let (first, second) = (cell(&report, phase, 0), cell(&report, phase, 1));
        assert_eq!(first["verdict"], "confirmed", "{first}");
        assert_eq!(first["honest"], first["claimed"]);
        assert_eq!(second["verdict"], "misleading", "{second}");
        assert!(second["honest"].is_null() && second["no_honest"].is_string(), "{second}");
        assert_eq!(second["against_first"]["state"], "not-compared", "{second}");
    }
    let differences = report["differences"].as_array().expect("differences");
    let aspects: Vec<&str> = differences.iter().filter_map(|difference| difference["aspect"].as_str()).collect();
    assert_eq!(aspects, ["command"]);
    let text = activebench(&["compare"], &[&direct.run, &cached.run]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("no honest figure"));
}

#[test]
fn passes_of_two_tools_meet_where_they_did_the_same_io() {
    needs!(beside: "iozone", "fio");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let iozone = verify(&volume, &[], &DIRECT);
    let job = |name: &str, options: &str| format!("--name={name} --filename=data --size=16m --stonewall {options}");
    let jobs = [
        job("same", "--rw=write --bs=1m --direct=1 --end_fsync=1"),
        job("back", "--rw=read --bs=1m --direct=1"),
        job("small", "--rw=read --bs=64k --direct=1"),
        job("deep", "--rw=read --bs=1m --direct=1 --ioengine=libaio --iodepth=8"),
        job("unsynced", "--rw=write --bs=1m --direct=1"),
    ]
    .join(" ");
    let command: Vec<&str> = ["fio"].into_iter().chain(jobs.split(' ')).collect();
    let fio = verify(&volume, &[], &command);
    let report = compared(&[&iozone.run, &fio.run]);
    let passes = report["other_passes"].as_array().expect("passes");
    let of = |phase: &str| passes.iter().find(|pass| pass["phase"] == phase).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(of("same-write")["compared_as"], "write", "{report}");
    assert_eq!(of("back-read")["compared_as"], "read", "{report}");
    assert_eq!(cell(&report, "write", 1)["against_first"]["state"], "compared", "{report}");
    for (phase, aspect) in
        [("small-read", "size of a call"), ("deep-read", "operations in flight"), ("unsynced-write", "durability")]
    {
        let why = of(phase)["why"].as_str().unwrap_or_else(|| panic!("{phase}: {report}"));
        assert!(why.contains(aspect), "{phase}: {why}");
        let figures = report["figures"].as_array().expect("figures").iter();
        let own: Vec<&Value> = figures.filter(|figure| figure["phase"] == phase).collect();
        assert!(!own.is_empty() && own.iter().all(|figure| figure["cells"][0].is_null()), "{phase}: {report}");
    }
    let text = activebench(&["compare"], &[&iozone.run, &fio.run]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("same-write of run 2 did the same I/O as write of run 1"), "{text}");
}

#[test]
fn a_series_is_its_own_equal() {
    needs!(beside: "iozone");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let series = volume.beside("series");
    let made = Command::new(binary())
        .args(["verify", "--quiet", "--repeat", "2", "--out"])
        .arg(&series)
        .arg("--")
        .args(DIRECT)
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    assert!(matches!(made.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&made.stderr));
    let report = compared(&[&series, &series, &series.join("1")]);
    let columns: Vec<(u64, bool)> = report["columns"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| (column["runs"].as_u64().expect("a count"), column["series"] == true))
        .collect();
    assert_eq!(columns, [(2, true), (2, true), (1, false)]);
    for phase in ["write", "rewrite", "read", "reread"] {
        let same = cell(&report, phase, 1);
        assert_eq!(same["against_first"]["ratio"], 1.0, "{same}");
        // Two runs do not give an interval.
        assert!(same["against_first"]["interval"].is_null() && same["interval"].is_null(), "{same}");
        assert_eq!(same["runs"], 2, "{same}");
    }
    assert_eq!(report["differences"], Value::Array(Vec::new()));
}

#[test]
fn one_run_is_no_comparison_and_a_folder_is_no_run() {
    needs!(beside:);
    let folder = std::env::temp_dir();
    assert_eq!(activebench(&["compare"], &[&folder]).status.code(), Some(2));
    assert_eq!(activebench(&["compare"], &[&folder, &folder]).status.code(), Some(2));
    assert_eq!(activebench(&["compare", "--format", "junit"], &[&folder, &folder]).status.code(), Some(2));
}

#[test]
fn a_run_leaves_three_reports_and_the_others_are_made_where_they_are_asked_for() {
    needs!(beside: "iozone");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &CACHED);
    assert_eq!(run.exit_code(), Some(1), "{}", run.story());
    let names = fs::read_dir(&run.run).expect("the run").map(|entry| entry.expect("an entry").file_name());
    let of_a_run =
        ["run.json", "run.json.sha256", "output-lines.json", "stacks.json", "stdout.txt", "stderr.txt", "events"];
    let mut derived: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    derived.retain(|name| !of_a_run.contains(&name.as_str()));
    derived.sort_unstable();
    assert_eq!(derived, ["figures.parquet", "report.json", "report.md", "report.txt"]);
    let report = |format: &str| {
        let rendered = activebench(&["report", "--format", format], &[&run.run]);
        String::from_utf8(rendered.stdout).expect("UTF-8")
    };
    let junit = report("junit");
    assert!(junit.contains("<failure message=\"discrepancy: ") && junit.contains("AB201"), "{junit}");
    let sarif: Value = serde_json::from_str(&report("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "stdout.txt", "{result}");
    // The named line is the quoted one.
    let line = usize::try_from(place["region"]["startLine"].as_u64().expect("a line")).expect("a small one");
    let output = fs::read_to_string(run.run.join("stdout.txt")).expect("the output");
    let snippet = place["region"]["snippet"]["text"].as_str().expect("a text");
    assert_eq!(output.lines().nth(line - 1).map(str::trim), Some(snippet.trim()));
    let rows = |name: &str| csv::Reader::from_reader(report(name).as_bytes()).records().count();
    assert_eq!(rows("claims-csv"), 4);
    assert_eq!(rows("timeline-csv"), 4 * 120);
    let facts = rows("facts-csv");
    assert!(facts > 100, "{facts}");

    let parquet = activebench(&["report", "--format", "facts-parquet"], &[&run.run]);
    assert!(parquet.stdout.starts_with(b"PAR1") && parquet.stdout.ends_with(b"PAR1"));
}
