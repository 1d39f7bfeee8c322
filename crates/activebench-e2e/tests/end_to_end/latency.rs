//! Fast calls in quick succession are timed by samples; all else about them is recorded in full.

use std::collections::HashMap;

use activebench_e2e::{Verified, Volume, binary, needs, verify};

const CALLS: usize = 100_000;
const UNIT: u64 = 4096;
const PAGES: usize = 256;

/// Returns the number in a column, by name.
fn number(row: &HashMap<String, String>, name: &str) -> u64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name}: {}", row[name]))
}

/// Runs cached reads of 4 KiB, by one thread, of a file of [`PAGES`] pages.
fn preads(options: &[&str]) -> (Verified, Vec<HashMap<String, String>>) {
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let file = volume.path().join("pages.dat");
    std::fs::write(&file, vec![1; PAGES * UNIT as usize]).expect("the file is written");
    let (program, file) = (binary(), file.to_str().expect("UTF-8").to_owned());
    let count = CALLS.to_string();
    let program = program.to_str().expect("UTF-8");
    let run = verify(&volume, options, &[program, "__workload", "preads", "--count", &count, &file]);
    run.assert_nothing_lost();
    let mut rows = run.rows("calls");
    rows.retain(|row| row["op"] == "pread");
    // The workload reads the file once before.
    let rows = rows.split_off(rows.len() - CALLS);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(number(row, "offset"), (index % PAGES) as u64 * UNIT);
        assert_eq!((number(row, "requested"), number(row, "returned")), (UNIT, UNIT));
        assert!(number(row, "start_ns") <= number(row, "end_ns"), "{row:?}");
    }
    for pair in rows.windows(2) {
        assert!(number(&pair[0], "end_ns") <= number(&pair[1], "start_ns"), "{pair:?}");
    }
    (run, rows)
}

#[test]
fn of_fast_calls_a_sample_stands_for_all_and_every_offset_is_kept() {
    needs!(beside: "mkfs.ext4", "losetup");
    let (run, rows) = preads(&[]);
    let estimated = rows.iter().filter(|row| row["stands_for"] == "0").count();
    // On a machine where a call takes more than 8 us, all calls are timed.
    let stood_for: u64 = rows.iter().map(|row| number(row, "stands_for")).sum();
    let share = stood_for as f64 / CALLS as f64;
    assert!((0.9..=1.1).contains(&share), "{CALLS} calls, {estimated} of them estimated, {stood_for} stood for");
    let account = &run.report["coverage"]["lost"]["calls"];
    assert!(account["estimated"].as_u64().is_some_and(|all| all >= estimated as u64), "{account}");
    // Over a whole pass, the samples agree with all calls.
    let sum = |name: &str| rows.iter().map(|row| number(row, name)).sum::<u64>();
    let span = number(&rows[CALLS - 1], "end_ns") - number(&rows[0], "end_ns");
    assert!(sum("cpu_ns") <= span + number(&rows[0], "cpu_ns"), "{} of {span} ns", sum("cpu_ns"));
}

#[test]
fn on_request_every_call_is_timed() {
    needs!(beside: "mkfs.ext4", "losetup");
    let (run, rows) = preads(&["--latency", "full"]);
    assert!(rows.iter().all(|row| row["stands_for"] == "1"));
    assert_eq!(run.report["coverage"]["lost"]["calls"]["estimated"], 0);
}

#[test]
fn calls_that_wait_are_always_timed() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = verify(&volume, &[], &["dd", "if=/dev/zero", "of=waits.dat", "bs=4k", "count=300", "oflag=dsync"]);
    let rows = run.rows("calls");
    let writes: Vec<_> = rows.iter().filter(|row| row["op"] == "write" && number(row, "requested") == UNIT).collect();
    assert_eq!(writes.len(), 300);
    assert!(writes.iter().all(|row| row["stands_for"] == "1"));
}

/// Requests of which some complete while they are submitted and others later: the sample is one of both.
#[test]
fn a_sample_of_requests_stands_for_those_that_complete_later_too() {
    needs!(beside: "mkfs.ext4", "losetup", "fio");
    let volume = Volume::on_loop("ext4", 128, "noatime");
    let fio = ["fio", "--name=a", "--filename=mix.dat", "--size=32m", "--bs=512", "--rw=randrw", "--ioengine=io_uring"];
    let run = verify(&volume, &["--subject", "cached-filesystem"], &[&fio[..], &["--iodepth=8"]].concat());
    run.assert_nothing_lost();
    for op in ["uring_read", "uring_write"] {
        let rows = run.rows("calls").into_iter().filter(|row| row["op"] == op);
        // A slow one is known by itself, timed or not.
        let stands_for = |row: &HashMap<String, String>| match number(row, "end_ns") - number(row, "start_ns") {
            64_000.. => 1,
            _ => number(row, "stands_for"),
        };
        let (all, stood_for) = rows.fold((0, 0), |(all, sum), row| (all + 1, sum + stands_for(&row)));
        assert!(all > 10_000, "{op}: {all}");
        let share = stood_for as f64 / f64::from(all);
        assert!((0.9..=1.1).contains(&share), "{op}: {all} requests, {stood_for} stood for");
    }
}
