//! Results of a step, compared with the expectation. The product itself reads the stages of the run on this machine, so
//! a run that was recorded elsewhere is read here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::kernels::steps::{Amount, Expected, FIO_FILE, SYNC_EVERY, Step, UNIT};

/// Results of a step.
#[derive(Debug)]
pub(crate) struct Left {
    /// Exit code of `activebench verify`.
    pub(crate) exit: i32,
    /// Exit code of `activebench recheck` of the run, on this machine.
    pub(crate) recheck_exit: Option<i32>,
    /// The report.
    pub(crate) report: Value,
    /// The stage of opened files.
    pub(crate) names: Vec<Value>,
    /// The stage of calls.
    pub(crate) calls: Vec<Value>,
    /// The stage of block requests.
    pub(crate) block: Vec<Value>,
}

impl Left {
    /// Reads the folder of a step.
    ///
    /// # Errors
    /// When the step left no report or no readable run; the message includes the last line of the product.
    pub(crate) fn read(folder: &Path, activebench: &Path) -> Result<Left> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let exit = text("exit")?.trim().parse().context("the exit code is not a number")?;
        let report: Value = match serde_json::from_str(&text("report.json")?) {
            Ok(report) => report,
            Err(_) => bail!("no report, exit code {exit}: {}", last_line(&text("stderr")?)),
        };
        let run = folder.join("run");
        let recheck = Command::new(activebench)
            .args(["recheck", "--quiet", "--format", "json"])
            .arg(&run)
            .output()
            .context("cannot start activebench recheck")?;
        Ok(Left {
            exit,
            recheck_exit: recheck.status.code(),
            report,
            names: rows(&run, "names", activebench)?,
            calls: rows(&run, "calls", activebench)?,
            block: rows(&run, "block", activebench)?,
        })
    }

    /// Returns the file of the last successful open with this name.
    fn file(&self, name: &str) -> Option<&Value> {
        self.names
            .iter()
            .rfind(|row| row["op"] == "open" && row["name"] == name && row["file"].is_object())
            .map(|row| &row["file"])
    }

    fn calls_on<'a>(&'a self, file: &'a Value, op: &'a str) -> impl Iterator<Item = &'a Value> {
        self.calls.iter().filter(move |row| row["op"] == op && row["file"] == *file)
    }

    /// Returns the numbers of lost records and of all records.
    pub(crate) fn lost_of_made(&self) -> (u64, u64) {
        let sum = |name: &str| accounts(&self.report).map(|(_, account)| account[name].as_u64().unwrap_or(0)).sum();
        (sum("lost"), sum("made"))
    }

    /// Returns the completions that were inferred because no hook saw them, though one should have.
    pub(crate) fn inferred(&self, step: &Step, amount: Amount) -> u64 {
        let all: u64 = accounts(&self.report).map(|(_, account)| account["inferred"].as_u64().unwrap_or(0)).sum();
        // The workload collects some completions without a call; these are always inferred.
        all - if step.expected == Expected::Calls { all.min(amount.calls as u64) } else { 0 }
    }
}

/// The account of records by class.
fn accounts(report: &Value) -> impl Iterator<Item = (&String, &Value)> {
    report["coverage"]["lost"].as_object().into_iter().flatten()
}

/// Returns a stage of a run, one value per row.
fn rows(run: &Path, stage: &str, activebench: &Path) -> Result<Vec<Value>> {
    let output = Command::new(activebench)
        .args(["show", "--format", "json", "--stage", stage])
        .arg(run)
        .output()
        .context("cannot start activebench show")?;
    if !output.status.success() {
        bail!("activebench show --stage {stage}: {}", last_line(&String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("stage {stage}: a row is not JSON")))
        .collect()
}

/// Returns the last line that is not blank.
pub(crate) fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said").trim().to_owned()
}

/// Returns the deviations of a step from the expectation; empty when there are none.
pub(crate) fn deviations(step: &Step, amount: Amount, left: &Left) -> Vec<String> {
    let mut found = records(left);
    if left.recheck_exit != Some(left.exit) {
        let there = left.recheck_exit.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        found.push(format!("recheck on the host ends with {there}, the run ended with {}", left.exit));
    }
    match step.expected {
        Expected::Misleading => {
            found.extend(exit_code(left, &[1]));
            let write = claims(left).find(|claim| claim["phase"] == "write");
            match write.map(|claim| &claim["verdict"]) {
                Some(verdict) if verdict == "misleading" => {}
                Some(verdict) => found.push(format!("the write claim is {verdict}, expected misleading")),
                None => found.push("there is no claim on writing".to_owned()),
            }
        }
        Expected::Confirmed => {
            found.extend(exit_code(left, &[0]));
            if claims(left).next().is_none() {
                found.push("there are no claims".to_owned());
            }
            for claim in claims(left).filter(|claim| claim["verdict"] != "confirmed") {
                found.push(format!("the claim on {} is {}, expected confirmed", claim["phase"], claim["verdict"]));
            }
        }
        Expected::CachedReads { writes } => {
            found.extend(exit_code(left, &[1]));
            for (phases, expected) in [(["write", "rewrite"], writes), (["read", "reread"], &["misleading"])] {
                for phase in phases {
                    let verdicts = claims(left).filter(|claim| claim["phase"] == phase).map(|claim| &claim["verdict"]);
                    let verdicts: Vec<&Value> = verdicts.collect();
                    if verdicts.is_empty() {
                        found.push(format!("there is no claim on {phase}"));
                    }
                    let others = verdicts.into_iter().filter(|verdict| !expected.iter().any(|one| *verdict == one));
                    let expected = expected.join(" or ");
                    found.extend(others.map(|other| format!("the claim on {phase} is {other}, expected {expected}")));
                }
            }
        }
        Expected::Honest { op } => {
            found.extend(exit_code(left, &[0, 3]));
            found.extend(op.into_iter().flat_map(|op| every_block(left, op, amount.blocks)));
            for claim in
                claims(left).filter(|claim| ["refuted", "misleading"].iter().any(|one| claim["verdict"] == *one))
            {
                found.push(format!("the claim on {} of {} is {}", claim["metric"], claim["phase"], claim["verdict"]));
            }
        }
        // This check does not depend on the verdicts on the tools' figures.
        Expected::Calls => {
            found.extend(exit_code(left, &[0, 1, 3]));
            found.extend(every_call(left, amount.calls));
        }
        Expected::Syncs(ops) => {
            found.extend(exit_code(left, &[0, 1, 3]));
            found.extend(every_sync(left, ops, amount.blocks));
        }
        Expected::Blocks { op, direct_reads } => {
            found.extend(exit_code(left, &[0, 1, 3]));
            found.extend(every_block(left, op, amount.blocks));
            if direct_reads {
                found.extend(device_bytes(left, amount.blocks * UNIT));
            }
        }
    }
    found
}

fn exit_code(left: &Left, expected: &[i32]) -> Option<String> {
    (!expected.contains(&left.exit)).then(|| format!("exit code {}, expected {expected:?}", left.exit))
}

fn claims(left: &Left) -> impl Iterator<Item = &Value> {
    left.report["claims"].as_array().into_iter().flatten()
}

/// Checks that every record that was made was received.
fn records(left: &Left) -> Vec<String> {
    let mut found = Vec::new();
    if accounts(&left.report).count() < 6 {
        found.push("the report has no account of all classes of records".to_owned());
    }
    for (class, account) in accounts(&left.report) {
        if account["made"] != account["received"] || account["lost"] != 0 {
            found.push(format!(
                "{class}: {} records made, {} received, {} lost",
                account["made"], account["received"], account["lost"]
            ));
        }
    }
    found
}

/// Checks that every block of fio's file was moved once, whole, with its offset and two times.
fn every_block(left: &Left, op: &str, blocks: usize) -> Vec<String> {
    let Some(file) = left.file(FIO_FILE) else { return vec![format!("{FIO_FILE} was not seen to be opened")] };
    let moved: Vec<&Value> = left.calls_on(file, op).collect();
    let mut found = Vec::new();
    if moved.len() != blocks {
        found.push(format!("{} of {blocks} calls of {op} seen", moved.len()));
    }
    let offsets: BTreeSet<u64> = moved.iter().filter_map(|row| row["offset"].as_u64()).collect();
    if !offsets.iter().copied().eq((0..blocks).map(|block| (block * UNIT) as u64)) {
        found.push(format!("{op}: {} different offsets, expected each of {blocks} blocks", offsets.len()));
    }
    let whole = |row: &&&Value| row["requested"] == UNIT && row["returned"] == UNIT;
    let timed = |row: &&&Value| {
        let (start, end) = (row["start_ns"].as_u64(), row["end_ns"].as_u64());
        start > Some(0) && start < end
    };
    for (what, count) in [("bytes", moved.iter().filter(whole).count()), ("times", moved.iter().filter(timed).count())]
    {
        if count != moved.len() {
            found.push(format!("{op}: {} of {} calls have wrong {what}", moved.len() - count, moved.len()));
        }
    }
    match left.report["coverage"]["blind_paths"].as_array() {
        Some(blind) if blind.is_empty() => {}
        Some(blind) => found.push(format!("not decoded: {}", Value::Array(blind.clone()))),
        None => found.push("the report does not say which paths are not decoded".to_owned()),
    }
    found
}

/// Checks for a successful sync after every [`SYNC_EVERY`] writes; fio may omit the last one.
fn every_sync(left: &Left, ops: &[&str], blocks: usize) -> Option<String> {
    let is_sync = |row: &&Value| row["op"].as_str().is_some_and(|op| ops.contains(&op)) && row["returned"] == 0;
    let (seen, expected) = (left.calls.iter().filter(is_sync).count(), blocks / SYNC_EVERY);
    let names = ops.join(" or ");
    (seen != expected && seen + 1 != expected)
        .then(|| format!("{seen} calls of {names}, expected {} or {expected}", expected.saturating_sub(1)))
}

/// Checks that the device read every byte of fio's file once, and that each byte is attributed to the file.
fn device_bytes(left: &Left, expected: usize) -> Option<String> {
    let file = left.file(FIO_FILE)?;
    let bytes: u64 = left
        .block
        .iter()
        .filter(|row| row["kind"] != "queued" && row["action"] == "read" && row["file"] == *file)
        .filter_map(|row| row["bytes"].as_u64())
        .sum();
    (bytes != expected as u64).then(|| format!("the device read {bytes} bytes of the file, expected {expected}"))
}

/// File of the product's own workload, kind of call, extra calls beside one per round, and `true` when each call moves
/// a block.
type CallClass = (&'static str, &'static str, usize, bool);

/// The calls of `activebench __workload calls`.
const CALL_CLASSES: &[CallClass] = &[
    ("read", "read", 0, true),
    ("write", "write", 0, true),
    ("pread", "pread", 0, true),
    ("pwrite", "pwrite", 0, true),
    ("readv", "readv", 0, true),
    ("writev", "writev", 0, true),
    ("preadv", "preadv", 0, true),
    ("pwritev", "pwritev", 0, true),
    ("preadv2", "preadv", 0, true),
    ("pwritev2", "pwritev", 0, true),
    ("append", "write", 0, true),
    ("sendfile", "sendfile", 0, true),
    ("target", "sendfile_to", 0, true),
    ("copy_file_range", "copy_file_range", 0, true),
    ("copy_at_position", "copy_file_range", 0, true),
    ("uncollected", "aio_write", 0, true),
    ("lseek", "lseek", 0, false),
    ("fsync", "fsync", 0, false),
    ("fdatasync", "fdatasync", 0, false),
    ("sync_file_range", "sync_file_range", 0, false),
    ("fadvise", "fadvise", 0, false),
    // One for the file's first size.
    ("ftruncate", "ftruncate", 1, false),
    ("fallocate", "fallocate", 0, false),
    ("dup", "dup", 0, false),
    // One for the file itself.
    ("dup", "close", 1, false),
    ("mmap", "mmap", 0, false),
];

fn every_call(left: &Left, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (name, op, more, moves) in CALL_CLASSES {
        let Some(file) = left.file(&format!("./{name}")) else {
            found.push(format!("{name} was not seen to be opened"));
            continue;
        };
        let rows: Vec<&Value> = left.calls_on(file, op).collect();
        if rows.len() != count + more {
            found.push(format!("{name}: {} calls of {op}, expected {}", rows.len(), count + more));
        }
        if *moves {
            let offsets: BTreeSet<u64> = rows.iter().filter_map(|row| row["offset"].as_u64()).collect();
            if !offsets.iter().copied().eq((0..count).map(|index| (index * UNIT) as u64)) {
                found.push(format!("{name}: {op}: not every offset once"));
            }
            if rows.iter().any(|row| row["returned"] != UNIT) {
                found.push(format!("{name}: {op}: a call has not moved {UNIT} bytes"));
            }
        }
    }
    // No call collects these events: the next submission proves all but the last, and the end of the run proves that
    // one.
    let inferred = &left.report["coverage"]["lost"]["calls"]["inferred"];
    if *inferred != count {
        found.push(format!("{inferred} completions inferred, expected {count}"));
    }
    for op in ["msync", "msync_async"] {
        let seen = left.calls.iter().filter(|row| row["op"] == op).count();
        if seen != count {
            found.push(format!("{seen} calls of {op}, expected {count}"));
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kernels::steps::ALL;
    use serde_json::json;

    const AMOUNT: Amount = Amount { iozone_mib: 8, calls: 2, blocks: 2, seconds: 300 };

    fn report(claims: &Value) -> Value {
        let whole = json!({ "made": 5, "received": 5, "lost": 0, "inferred": 1 });
        let classes = ["block", "block_queued", "calls", "names", "page_cache", "tasks"];
        let lost: serde_json::Map<String, Value> =
            classes.iter().map(|class| ((*class).to_owned(), whole.clone())).collect();
        json!({ "claims": claims, "coverage": { "lost": lost, "blind_paths": [] } })
    }

    fn left(exit: i32, claims: &Value) -> Left {
        let (names, calls, block) = (Vec::new(), Vec::new(), Vec::new());
        Left { exit, recheck_exit: Some(exit), report: report(claims), names, calls, block }
    }

    #[track_caller]
    fn check(name: &str, left: &Left, expected: &[&str]) {
        let step = ALL.iter().find(|step| step.name == name).expect("a step");
        assert_eq!(deviations(step, AMOUNT, left), expected, "{name}");
    }

    #[test]
    fn a_misleading_figure_must_be_found() {
        let claims = |verdict: &str| json!([{ "phase": "write", "verdict": verdict }]);
        check("iozone-default", &left(1, &claims("misleading")), &[]);
        check(
            "iozone-default",
            &left(0, &claims("confirmed")),
            &["exit code 0, expected [1]", "the write claim is \"confirmed\", expected misleading"],
        );
        check("iozone-default", &left(1, &json!([])), &["there is no claim on writing"]);
        check("iozone-durable", &left(0, &claims("confirmed")), &[]);
        check("iozone-durable", &left(0, &json!([])), &["there are no claims"]);
        check(
            "iozone-durable",
            &left(3, &claims("unverifiable")),
            &["exit code 3, expected [0]", "the claim on \"write\" is \"unverifiable\", expected confirmed"],
        );
    }

    #[test]
    fn an_honest_run_is_not_accused_and_reads_from_memory_are_found() {
        let expecting = |expected| Step { expected, ..ALL[0].clone() };
        let claims = |write: &str, read: &str| {
            json!([{ "phase": "write", "verdict": write }, { "phase": "rewrite", "verdict": write },
                   { "phase": "read", "verdict": read }, { "phase": "reread", "verdict": read }])
        };
        let step = expecting(Expected::CachedReads { writes: &["confirmed"] });
        assert!(deviations(&step, AMOUNT, &left(1, &claims("confirmed", "misleading"))).is_empty());
        assert_eq!(
            deviations(&step, AMOUNT, &left(1, &claims("confirmed", "confirmed"))),
            ["read", "reread"].map(|phase| format!("the claim on {phase} is \"confirmed\", expected misleading"))
        );
        assert_eq!(deviations(&step, AMOUNT, &left(1, &json!([]))).len(), 4);
        let step = expecting(Expected::Honest { op: Some("pread") });
        let mut honest = fio("pread", &[UNIT, 0]);
        assert!(deviations(&step, AMOUNT, &honest).is_empty());
        honest.report["claims"] = json!([{ "phase": "read", "metric": "throughput", "verdict": "refuted" }]);
        assert_eq!(deviations(&step, AMOUNT, &honest), ["the claim on \"throughput\" of \"read\" is \"refuted\""]);
    }

    #[test]
    fn a_lost_record_and_another_verdict_on_the_host_are_told() {
        let mut short = left(1, &json!([{ "phase": "write", "verdict": "misleading" }]));
        short.report["coverage"]["lost"]["calls"] = json!({ "made": 5, "received": 4, "lost": 1, "inferred": 0 });
        short.recheck_exit = Some(3);
        check(
            "iozone-default",
            &short,
            &["calls: 5 records made, 4 received, 1 lost", "recheck on the host ends with 3, the run ended with 1"],
        );
        let inferred = |name: &str| {
            let step = ALL.iter().find(|step| step.name == name).expect("a step");
            short.inferred(step, AMOUNT)
        };
        assert_eq!((inferred("iozone-default"), inferred("calls")), (5, 3));
        short.report["coverage"] = Value::Null;
        short.recheck_exit = Some(1);
        check("iozone-default", &short, &["the report has no account of all classes of records"]);
    }

    fn fio(op: &str, offsets: &[usize]) -> Left {
        let file = json!({ "s_dev": 1, "ino": 2 });
        let mut left = left(3, &json!([]));
        left.names = vec![
            json!({ "op": "open", "name": FIO_FILE, "file": null }),
            json!({ "op": "open", "name": FIO_FILE, "file": file }),
        ];
        left.calls = offsets
            .iter()
            .map(|offset| {
                json!({ "op": op, "file": file, "offset": offset, "requested": UNIT, "returned": UNIT,
                        "start_ns": 1, "end_ns": 2 })
            })
            .collect();
        left.block = vec![
            json!({ "kind": "queued", "action": "read", "file": file, "bytes": 2 * UNIT }),
            json!({ "kind": "completed", "action": "read", "file": file, "bytes": 2 * UNIT }),
            json!({ "kind": "completed", "action": "read", "file": null, "bytes": UNIT }),
        ];
        left
    }

    #[test]
    fn every_block_moves_once() {
        check("libaio-write", &fio("aio_write", &[UNIT, 0]), &[]);
        check("libaio-direct-read", &fio("aio_read", &[UNIT, 0]), &[]);
        check("libaio-write", &fio("aio_write", &[0, 0, UNIT]), &["3 of 2 calls of aio_write seen"]);
        check(
            "libaio-write",
            &fio("aio_write", &[0, 0]),
            &["aio_write: 1 different offsets, expected each of 2 blocks"],
        );
        let mut short = fio("aio_read", &[0, UNIT]);
        short.calls[0]["returned"] = json!(1);
        short.calls[1]["end_ns"] = json!(1);
        short.block.pop();
        short.block.pop();
        short.report["coverage"]["blind_paths"] = json!([{ "path": "io_uring", "calls": 3 }]);
        check(
            "libaio-direct-read",
            &short,
            &[
                "aio_read: 1 of 2 calls have wrong bytes",
                "aio_read: 1 of 2 calls have wrong times",
                "not decoded: [{\"calls\":3,\"path\":\"io_uring\"}]",
                "the device read 0 bytes of the file, expected 8192",
            ],
        );
        check("libaio-write", &left(3, &json!([])), &["paths.dat was not seen to be opened"]);
        check(
            "libaio-write",
            &left(5, &json!([])),
            &["exit code 5, expected [0, 1, 3]", "paths.dat was not seen to be opened"],
        );
    }

    #[test]
    fn syncs_are_counted_and_failed_ones_are_not() {
        let amount = Amount { blocks: 4 * SYNC_EVERY, ..AMOUNT };
        let step = ALL.iter().find(|step| step.name == "uring-fsync").expect("a step");
        let mut left = left(3, &json!([]));
        left.calls = vec![json!({ "op": "uring_fsync", "returned": 0 }); 3];
        assert!(deviations(step, amount, &left).is_empty());
        left.calls.push(json!({ "op": "fsync", "returned": 0 }));
        assert!(deviations(step, amount, &left).is_empty());
        left.calls[0]["returned"] = json!(-5);
        left.calls[1]["op"] = json!("fdatasync");
        assert_eq!(deviations(step, amount, &left), ["2 calls of fsync or uring_fsync, expected 3 or 4"]);
    }

    #[test]
    fn every_class_of_call_is_counted() {
        let mut left = left(3, &json!([]));
        for (ino, (name, op, more, _)) in CALL_CLASSES.iter().enumerate() {
            let file = json!({ "s_dev": 1, "ino": if *name == "dup" { 1000 } else { ino } });
            left.names.push(json!({ "op": "open", "name": format!("./{name}"), "file": file }));
            for index in 0..2 + more {
                left.calls.push(json!({ "op": op, "file": file, "offset": index * UNIT, "returned": UNIT }));
            }
        }
        for op in ["msync", "msync_async", "msync", "msync_async"] {
            left.calls.push(json!({ "op": op, "file": null }));
        }
        left.report["coverage"]["lost"]["calls"]["inferred"] = json!(2);
        check("calls", &left, &[]);
        left.report["coverage"]["lost"]["calls"]["inferred"] = json!(1);
        left.calls.pop();
        left.calls[0]["offset"] = json!(UNIT);
        left.calls[2]["returned"] = json!(0);
        left.calls.retain(|row| row["op"] != "fsync");
        check(
            "calls",
            &left,
            &[
                "read: read: not every offset once",
                "write: write: a call has not moved 4096 bytes",
                "fsync: 0 calls of fsync, expected 2",
                "1 completions inferred, expected 2",
                "1 calls of msync_async, expected 2",
            ],
        );
    }

    #[test]
    fn the_last_words_are_the_last_line_that_says_something() {
        assert_eq!(last_line("a\nb: c\n\n"), "b: c");
        assert_eq!(last_line(""), "nothing was said");
    }
}
