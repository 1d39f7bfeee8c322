//! bonnie++ 2.00a on real file systems: honest figures are confirmed, cached reads are found.
//!
//! bonnie++ prints no rate for a test of less than half a second. The files are therefore as large as they must be. The
//! assertions are on counts, bytes and verdicts, and on rates only when they are printed.

use std::fs;

use activebench_e2e::small_memory::{self, SmallMemory};
use activebench_e2e::{Verified, Volume, needs, skip, verify};

const MIB: f64 = 1024.0 * 1024.0;
/// The tests that move data by blocks.
const BLOCK_TESTS: [&str; 4] = ["put-block", "rewrite", "get-block", "seeks"];

fn ext4(mib: u64) -> Volume {
    Volume::on_loop("ext4", mib, "noatime")
}

/// bonnie++ in the volume, as root, with its check of the memory switched off.
fn bonnie(volume: &Volume, options: &[&str], arguments: &[&str]) -> Verified {
    let mut command = vec!["bonnie++", "-u", "root", "-d", ".", "-r", "0", "-m", "testhost"];
    command.extend(arguments);
    verify(volume, options, &command)
}

fn claims(run: &Verified) -> &[serde_json::Value] {
    run.report["claims"].as_array().map_or(&[], Vec::as_slice)
}

/// Asserts that each printed rate is rebuilt within 1 %, and returns their number. Where the pass waited for a CPU, it may
/// have waited between the tool's clock and its first or last call: then only the product's tolerance holds.
fn assert_rebuilt(run: &Verified) -> usize {
    run.assert_nothing_lost();
    let rates = claims(run).iter().filter(|claim| {
        let metric = claim["metric"].as_str().unwrap_or("");
        metric == "throughput" || metric == "operation-rate"
    });
    rates
        .map(|claim| {
            let (claimed, observed) = (claim["value"].as_f64(), claim["observed"]["value"].as_f64());
            let (claimed, observed) = (claimed.expect("a number"), observed.expect("an observed rate"));
            let phase = claim["phase"].as_str().expect("a phase");
            let waited = run.fact_if_known(phase, "preempted_ns").zip(run.fact_if_known(phase, "window_ns"));
            let waited = waited.is_some_and(|(waited, window)| waited > 0.05 * window);
            let bound = if waited { 0.06 } else { 0.01 };
            assert!((claimed / observed - 1.0).abs() < bound, "{claim}: {}", run.story());
        })
        .count()
}

/// Asserts that a claim was printed and has this verdict.
fn assert_verdict(run: &Verified, phase: &str, metric: &str, verdict: &str) {
    let claim = claims(run).iter().find(|claim| claim["phase"] == phase && claim["metric"] == metric);
    let claim = claim.unwrap_or_else(|| panic!("no {metric} of {phase}: {}", run.story()));
    match verdict {
        "confirmed" => assert_holds(run, claim),
        verdict => assert_eq!(claim["verdict"], verdict, "{phase} {metric}: {}", run.story()),
    }
}

/// Asserts that a claim is confirmed. A latency and a share of CPU time depend on other activity and may be not
/// checked. A claim without an observation must not be confirmed.
fn assert_holds(run: &Verified, claim: &serde_json::Value) {
    let beside_the_rates = claim["metric"] == "latency-max" || claim["metric"] == "cpu-total";
    let not_checked = beside_the_rates && claim["verdict"] == "not-checked";
    assert!(claim["verdict"] == "confirmed" || not_checked, "{claim}: {}", run.story());
    assert_eq!(claim["tolerance"].is_object(), claim["verdict"] == "confirmed", "{claim}");
    assert!(not_checked || claim["observed"].is_object(), "{claim}");
}

#[test]
fn durable_writes_are_confirmed_and_reads_come_from_the_page_cache() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(2048);
    let run = bonnie(&volume, &[], &["-s", "1500", "-n", "0", "-f"]);
    for phase in ["put-block", "rewrite"] {
        // The chunk of a rewrite is read and written, but counted once.
        assert_eq!(run.fact(phase, "write_bytes"), 1500.0 * MIB, "{}", run.story());
        assert_eq!(run.fact(phase, "syncs_inside"), 1.0);
        assert_eq!(run.fact(phase, "unsynced_bytes"), 0.0);
        assert_verdict(&run, phase, "latency-max", "confirmed");
    }
    assert_verdict(&run, "put-block", "throughput", "confirmed");
    assert_eq!(run.fact("rewrite", "read_bytes"), 1500.0 * MIB);
    assert_eq!(run.fact("get-block", "read_bytes"), 1500.0 * MIB);
    // Each seek reads one chunk; about every tenth writes it back.
    assert_eq!(run.fact("seeks", "read_bytes"), 8192.0 * 8192.0);
    assert_eq!(run.fact("seeks", "active_tasks"), 5.0);
    let updates = run.fact("seeks", "write_calls");
    assert!((500.0..1200.0).contains(&updates), "{updates} updates");
    for phase in ["get-block", "seeks"] {
        // Another process on this machine may have emptied the page cache: the finding depends on the pages.
        if run.fact(phase, "cache_inserted_bytes") < 0.5 * run.fact(phase, "read_bytes") {
            assert!(run.codes(phase).contains(&"AB201"), "{phase}: {}", run.story());
            assert_verdict(&run, phase, "latency-max", "misleading");
        }
    }
    assert!(assert_rebuilt(&run) >= 1, "{}", run.story());
}

#[test]
fn reads_are_confirmed_where_memory_cannot_hold_the_file() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let Some(memory) = SmallMemory::new(100 << 20) else {
        return skip("needs a control group that limits memory");
    };
    let volume = ext4(1536);
    let join = format!("echo $$ > {}", memory.joined_by().display());
    let script = format!("{join}; exec bonnie++ -u root -d . -m testhost -r 0 -s 1000:64k:1000 -n 0 -f");
    let run = verify(&volume, &[], &["sh", "-c", &script]);
    if memory.has_killed() {
        return skip(small_memory::KILLED);
    }
    for phase in ["put-block", "rewrite", "get-block"] {
        assert_verdict(&run, phase, "latency-max", "confirmed");
    }
    assert!(!run.codes("get-block").contains(&"AB201"), "{}", run.story());
    // At most a tenth of the file was in memory.
    assert!(run.fact("get-block", "device_read_bytes") > 850.0 * MIB, "{}", run.story());
    assert!(run.fact("seeks", "device_read_bytes") > 0.8 * 1000.0 * 65536.0, "{}", run.story());
    assert_rebuilt(&run);
}

#[test]
fn a_byte_a_call_is_an_honest_figure_of_the_processor_only() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(128);
    let run = bonnie(&volume, &[], &["-s", "16", "-n", "0", "-f1"]);
    for phase in ["putc", "getc"] {
        // bonnie++ prints a rate when the machine is not too fast for it.
        for claim in claims(&run).iter().filter(|claim| claim["phase"] == phase) {
            assert_holds(&run, claim);
        }
        assert_verdict(&run, phase, "latency-max", "confirmed");
    }
    assert_eq!(run.fact("putc", "write_calls"), MIB);
    assert_eq!(run.fact("getc", "read_calls"), MIB);
    assert_rebuilt(&run);
    let taken_for_the_device = bonnie(&volume, &["--subject", "device"], &["-s", "16", "-n", "0", "-f1"]);
    let codes = taken_for_the_device.codes("getc");
    assert!(codes.contains(&"AB501") || codes.contains(&"AB201"), "{}", taken_for_the_device.story());
    assert_verdict(&taken_for_the_device, "getc", "latency-max", "misleading");
}

#[test]
fn direct_io_that_bonnie_drops_after_its_first_test_is_found() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let run = bonnie(&volume, &[], &["-s", "256:64k", "-n", "0", "-f", "-D"]);
    assert_eq!(run.fact("put-block", "direct_ratio"), 1.0, "{}", run.story());
    assert!(!run.codes("put-block").contains(&"AB112"), "{}", run.story());
    for phase in &BLOCK_TESTS[1..] {
        assert_eq!(run.fact(phase, "direct_ratio"), 0.0);
        assert!(run.codes(phase).contains(&"AB112"), "{phase}: {}", run.story());
    }
    assert_rebuilt(&run);
}

#[test]
fn files_are_created_looked_up_and_deleted_as_often_as_claimed() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(1536);
    let run = bonnie(&volume, &[], &["-s", "0", "-n", "64"]);
    for phase in ["seq-create", "seq-del", "ran-create", "ran-stat", "ran-del"] {
        assert_eq!(run.fact(phase, "name_calls"), 65536.0, "{phase}: {}", run.story());
    }
    // opendir queries the folder itself in the same way.
    assert!((65536.0..65540.0).contains(&run.fact("seq-stat", "name_calls")), "{}", run.story());
    for claim in claims(&run).iter().filter(|claim| claim["metric"] != "cpu-total") {
        assert_holds(&run, claim);
    }
    assert!(assert_rebuilt(&run) >= 1, "{}", run.story());
}

/// There are more seeks than the file has chunks: they cannot all be distinct, and nothing claimed that they are.
#[test]
fn seeks_of_a_small_file_do_not_repeat_themselves_unduly() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let run = bonnie(&volume, &[], &["-r", "64", "-s", "128:64k", "-n", "0", "-f"]);
    let of_seeks = |name: &str| run.fact("seeks", name);
    assert_eq!((of_seeks("block_grid_bytes"), of_seeks("read_bytes")), (65536.0, 512.0 * MIB), "{}", run.story());
    assert!(!run.codes("seeks").contains(&"AB401"), "{}", run.story());
}

#[test]
fn links_are_counted_as_the_files_that_they_stand_for() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    for (kind, quiet) in [("16:-1", &[][..]), ("16:-2", &["-q"])] {
        let run = bonnie(&volume, &[], &[&["-s", "0", "-n", kind], quiet].concat());
        run.assert_nothing_lost();
        for phase in ["seq-create", "seq-del", "ran-create", "ran-del"] {
            assert_eq!(run.fact(phase, "name_calls"), 16384.0, "{kind} {phase}: {}", run.story());
        }
        for claim in claims(&run).iter().filter(|claim| claim["metric"] != "cpu-total") {
            assert_holds(&run, claim);
        }
    }
}

#[test]
fn a_quiet_run_is_followed_by_its_calls_alone() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(1536);
    let run = bonnie(&volume, &[], &["-q", "-s", "1024", "-n", "16:200:10:2", "-f"]);
    for phase in &BLOCK_TESTS[..3] {
        let moved = if *phase == "get-block" { "read_bytes" } else { "write_bytes" };
        assert_eq!(run.fact(phase, moved), 1024.0 * MIB, "{}", run.story());
    }
    // One that got no CPU in time found no seek left.
    assert!((1.0..=5.0).contains(&run.fact("seeks", "active_tasks")), "{}", run.story());
    assert!(!run.codes("seeks").contains(&"AB110"), "{}", run.story());
    for phase in ["seq-create", "seq-del", "ran-create", "ran-del"] {
        assert_eq!(run.fact(phase, "name_calls"), 16384.0, "{phase}: {}", run.story());
    }
    assert_rebuilt(&run);
}

#[test]
fn each_run_of_several_is_judged() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let run = bonnie(&volume, &[], &["-s", "128", "-n", "1", "-f", "-x", "2"]);
    for phase in BLOCK_TESTS {
        for id in [phase.to_owned(), format!("{phase}-2")] {
            let moved = if matches!(phase, "put-block" | "rewrite") { "write_bytes" } else { "read_bytes" };
            let expected = if phase == "seeks" { 8192.0 * 8192.0 } else { 128.0 * MIB };
            assert_eq!(run.fact(&id, moved), expected, "{id}: {}", run.story());
        }
    }
    for id in ["seq-create", "ran-del", "seq-create-2", "ran-del-2"] {
        assert_eq!(run.fact(id, "name_calls"), 1024.0, "{id}: {}", run.story());
    }
    assert_rebuilt(&run);
}

#[test]
fn what_bonnie_refuses_is_reported_in_its_own_words() {
    needs!(beside: "bonnie++", "mkfs.ext4", "losetup");
    let volume = ext4(64);
    for (command, words) in [
        (&["bonnie++", "-u", "root", "-d", ".", "-s", "8", "-n", "0"][..], "File size should be double RAM"),
        (&["bonnie++", "-d", ".", "-s", "8", "-r", "0", "-n", "0"], "You must use the \"-u\" switch"),
        (&["bonnie++", "-u", "root", "-d", "nowhere", "-s", "8", "-r", "0"], "Can't change to directory"),
        (&["bonnie++", "-u", "root", "-d", ".", "-s", "8", "-r", "0", "-n", "0", "-D"], "Can't write()"),
    ] {
        let run = verify(&volume, &[], command);
        assert_eq!(run.verdict(), "failed", "{command:?}: {}", run.story());
        let errors = run.report["output"]["errors"].to_string();
        let all = run.report.to_string();
        assert!(errors.contains(words) || all.contains(&words.replace('"', "\\\"")), "{command:?}: {errors}");
        assert!(claims(&run).is_empty());
    }
}

#[test]
fn what_1_03_never_synced_is_not_taken_for_written() {
    needs!(beside: "python3", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let folder = tempfile::TempDir::with_prefix("activebench-imitation-").expect("a folder");
    let script = folder.path().join("bonnie");
    fs::write(&script, include_bytes!("../../../../fixtures/truth/AB301-missing-fsync/bonnie")).expect("it is written");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let script = script.to_str().expect("UTF-8");
    let run = verify(&volume, &[], &[script, "-u", "root", "-d", ".", "-s", "256", "-r", "0", "-n", "0", "-f", "-q"]);
    assert!(run.codes("rewrite").contains(&"AB301"), "{}", run.story());
    assert_verdict(&run, "rewrite", "throughput", "misleading");
    let advice =
        run.report["findings"].as_array().expect("findings").iter().find(|finding| {
            finding["code"] == "AB301" && finding["phase"] == "rewrite" && finding["outcome"] == "fires"
        });
    let advice = advice.expect("it fires")["advice"].as_str().unwrap_or("");
    assert!(advice.contains("`-b`"), "{advice}");
    for (phase, moved, bytes) in [
        ("put-block", "write_bytes", 256.0 * MIB),
        ("rewrite", "write_bytes", 256.0 * MIB),
        ("get-block", "read_bytes", 256.0 * MIB),
        ("seeks", "read_bytes", 8192.0 * 8192.0),
    ] {
        assert_eq!(run.fact(phase, moved), bytes, "{phase}: {}", run.story());
    }
    assert_eq!(run.fact("seeks", "active_tasks"), 3.0);
    run.assert_nothing_lost();
    // The figures agree with the calls, within the precision of a window of milliseconds.
    for phase in BLOCK_TESTS {
        let codes = run.codes(phase);
        assert!(!codes.contains(&"AB104") && !codes.contains(&"AB103"), "{phase}: {}", run.story());
    }
}
