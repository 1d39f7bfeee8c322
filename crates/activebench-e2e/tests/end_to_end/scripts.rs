//! Scripts that start several benchmarks: each one is judged on its own, wherever its output goes.

use std::fs;

use activebench_e2e::{Verified, Volume, needs, stage, verify};

const HONEST: &str = "fio --name=job --rw=write --bs=1m --size=64m --direct=1 --end_fsync=1";
const LIE: &str = "fio --name=job --rw=write --bs=64k --size=64m";

/// Runs a script of the shell on a file system.
fn script(volume: &Volume, text: &str) -> Verified {
    let path = volume.beside("script.sh");
    fs::write(&path, format!("cd {}\n{text}\n", volume.path().display())).expect("the script");
    verify(volume, &[], &["sh", path.to_str().expect("UTF-8")])
}

/// The verdicts on the write rates, by measurement.
fn verdicts(run: &Verified, measurements: usize) -> Vec<String> {
    let claims = run.report["claims"].as_array().expect("claims");
    let of = |number: usize| {
        let prefix = format!("{number}-");
        let own = claims.iter().filter(|claim| claim["phase"].as_str().is_some_and(|phase| phase.starts_with(&prefix)));
        let rate = own.filter(|claim| claim["metric"] == "throughput").find_map(|claim| claim["verdict"].as_str());
        rate.unwrap_or("no claim").to_owned()
    };
    (1..=measurements).map(of).collect()
}

#[test]
fn what_a_script_catches_sends_away_or_filters_is_judged() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let text = format!(
        "A=$({HONEST} --filename=a)\n{LIE} --filename=b >/dev/null\n{HONEST} --filename=c > c.log; rm c.log\n\
         {HONEST} --filename=d --output=d.log\n{LIE} --filename=e | tail -1 | tee e.log\n\
         {HONEST} --filename=f --output-format=json | grep bw_mean\necho all done"
    );
    let run = script(&volume, &text);
    run.assert_nothing_lost();
    let expected = ["confirmed", "misleading", "confirmed", "confirmed", "misleading", "confirmed"];
    assert_eq!(verdicts(&run, 6), expected, "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    let measurements = run.report["measurements"].as_array().expect("measurements");
    let contradicted = |measurement: &serde_json::Value| measurement["claims_by_verdict"]["misleading"] != 0;
    let found: Vec<bool> = measurements.iter().map(contradicted).collect();
    assert_eq!(found, [false, true, false, false, true, false]);
}

#[test]
fn the_figures_of_a_tool_are_read_whatever_data_it_writes_beside_them() {
    needs!(beside: "dd", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    // More data than is taken of what a process prints: bytes, and a text.
    let run = script(
        &volume,
        "dd if=/dev/zero of=zeros bs=1M count=32 conv=fdatasync\n\
         yes activebench | head -c 32M > text; sync; cat text > /dev/null\n\
         dd if=zeros of=/dev/null bs=1M\n\
         dd if=text bs=64k | cat >/dev/null\n\
         dd if=text of=/dev/null bs=64k 2>read.log; cat read.log",
    );
    run.assert_nothing_lost();
    let expected = ["confirmed", "misleading", "misleading", "misleading"];
    assert_eq!(verdicts(&run, 4), expected, "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
}

#[test]
fn beside_a_benchmark_a_dd_counts_where_the_script_chose_its_figure() {
    needs!(beside: "fio", "dd", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let prepared = "dd if=/dev/zero of=a bs=1M count=32\ndd if=a of=b bs=1M 2>/dev/null\n";
    let run = script(&volume, &format!("{prepared}{HONEST} --filename=a"));
    run.assert_nothing_lost();
    assert_eq!(run.claim_verdict("job-write"), "confirmed", "{}", run.story());
    assert_eq!(run.exit_code(), Some(0), "{}", run.story());
    let run = script(&volume, &format!("{prepared}{HONEST} --filename=a\ndd if=b of=/dev/null bs=1M 2>&1 | tail -n1"));
    run.assert_nothing_lost();
    assert_eq!(verdicts(&run, 2), ["confirmed", "misleading"], "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
}

#[test]
fn measurements_at_the_same_time_accuse_nobody() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let run = script(&volume, &format!("{HONEST} --filename=a >a.log &\n{HONEST} --filename=b >b.log &\nwait"));
    run.assert_nothing_lost();
    assert_eq!(verdicts(&run, 2), ["confirmed", "confirmed"], "{}", run.story());
    assert_eq!(run.report["measurements"][0]["beside"], serde_json::json!([2]));
    for number in 1..=2 {
        let phase = format!("{number}-job-write");
        assert_eq!(run.claim_verdict(&phase), "confirmed", "{}", run.story());
        let codes = run.codes(&phase);
        assert!(!codes.contains(&"AB601"), "a sibling is no stranger: {codes:?} {}", run.story());
    }
}

#[test]
fn whatever_starts_the_measurements_each_is_judged() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh", "python3", "xargs", "make");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let makefile = volume.beside("two.mk");
    fs::write(&makefile, format!("all:\n\t@{HONEST} --filename=a\n\t@{LIE} --filename=b\n")).expect("the makefile");
    let python = format!(
        "import subprocess as s\nfor line in ('{HONEST} --filename=c', '{LIE} --filename=d'):\n \
         s.run(line.split(), stdout=s.PIPE)"
    );
    let lines =
        format!("printf '%s\\n' '{HONEST} --filename=e' '{HONEST} --filename=f' | xargs -P2 -d '\\n' -n1 sh -c '$0'");
    let makefile = makefile.to_str().expect("UTF-8");
    for (argv, expected) in [
        (&["make", "-s", "-f", makefile][..], ["confirmed", "misleading"]),
        (&["python3", "-c", &python], ["confirmed", "misleading"]),
        (&["sh", "-c", &lines], ["confirmed", "confirmed"]),
    ] {
        // What the lie before it left in memory is otherwise written for a stranger meanwhile.
        let synced = std::process::Command::new("sync").arg("-f").arg(volume.path()).status();
        assert!(synced.is_ok_and(|status| status.success()));
        let run = verify(&volume, &[], argv);
        run.assert_nothing_lost();
        assert_eq!(verdicts(&run, 2), expected, "{argv:?}: {}", run.story());
    }
}

#[test]
fn the_only_measurement_of_a_script_is_judged_when_its_output_was_caught() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = script(&volume, &format!("A=$({LIE} --filename=a)\necho done"));
    run.assert_nothing_lost();
    let claims = run.report["claims"].as_array().expect("claims");
    assert!(claims.iter().any(|claim| claim["verdict"] == "misleading"), "{}", run.story());
    assert_eq!(run.exit_code(), Some(1), "{}", run.story());
}

/// A script of eight runs with a summary. `summary` are the programs of awk for the write rate of the first run and for
/// the three repeated ones, `last` is the last run, beside another one.
fn eight(summary: [&str; 2], last: &str) -> String {
    let bw = r#"bw() { awk '/"'$1'" : /{f=1} /"bw_bytes"/&&f{gsub(",","");print $3; exit}'; }"#;
    let json = "--output-format=json";
    let repeated = format!("{HONEST} --filename=rep {json} >rep$i.json");
    let lines = [
        bw.to_owned(),
        format!("A=$({HONEST} --filename=a {json})"),
        format!("fio --name=back --rw=read --bs=256k --size=64m --direct=1 --filename=a {json} | tee r.json >/dev/null"),
        format!("fio --name=job --rw=randread --bs=16k --size=16m --direct=1 --filename=a {json} --output=rr.json"),
        // It may be there of a try before.
        ": >reps".to_owned(),
        format!("for i in 1 2 3; do {repeated}; bw write <rep$i.json >>reps; done"),
        // Long enough to meet the other one mostly.
        format!("{HONEST} --filename=b1 --size=384m {json} >b1.json &"),
        format!("{last} --filename=b2 {json} >b2.json &"),
        "wait".to_owned(),
        "W=$(echo \"$A\" | bw write); R=$(bw read <r.json); RR=$(bw read <rr.json)".to_owned(),
        format!("awk -v w=$W 'BEGIN{{printf \"first sequential write: %.3f MB/s\\n\", {}}}'", summary[0]),
        "awk -v r=$R -v rr=$RR 'BEGIN{printf \"read back: %.1f MB/s\\nrandom read: %.2f MiB/s\\n\", r/1e6, rr/1048576}'"
            .to_owned(),
        format!("awk '{}' reps", summary[1]),
    ];
    lines.join("\n")
}

/// The numbers that a script printed itself: as printed, how each follows from figures, and its fault.
fn numbers(run: &Verified) -> Vec<(String, String, Option<String>)> {
    let figures = run.report["script_figures"].as_array().expect("numbers");
    let number = |figure: &serde_json::Value| {
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let words = figure["text"].as_str().unwrap_or("").split(':').next().unwrap_or("").to_owned();
        (words, text(&figure["origin"]["derivation"]).unwrap_or_default(), text(&figure["fault"]))
    };
    figures.iter().map(number).collect()
}

/// The detectors that accuse something.
fn failing(run: &Verified) -> std::collections::BTreeSet<String> {
    let findings = run.report["findings"].as_array().expect("findings");
    let fails = findings.iter().filter(|finding| finding["severity"] == "fail");
    fails.filter_map(|finding| finding["code"].as_str().map(str::to_owned)).collect()
}

#[test]
fn three_lies_of_a_script_of_eight_runs_are_found_and_nothing_else() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh", "awk");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    // MiB called MB, the best called the mean, and a run without a sync.
    // With as many digits that no other figure agrees by chance, also on a slow machine.
    let best = r#"{if($1>m)m=$1} END{printf "write, mean of 3 runs: %.3f MB/s\n", m/1e6}"#;
    let lies = eight(["w/1048576", best], LIE);
    // Where three runs are as fast by chance, the best is the mean.
    let differ = |run: &Verified| numbers(run).last().is_some_and(|(_, derivation, _)| derivation != "mean");
    let run = (0..4).map(|_| script(&volume, &lies)).find(differ).expect("three runs that differ");
    run.assert_nothing_lost();
    let measurements = run.report["measurements"].as_array().expect("measurements");
    assert_eq!(measurements.len(), 8, "{}", run.story());
    let beside: Vec<bool> = measurements.iter().map(|one| one["verdict"] == "discrepancy").collect();
    assert_eq!(beside.iter().filter(|lies| **lies).count(), 1, "{}", run.story());
    for measurement in measurements {
        let lies = !measurement["command"].as_array().expect("words").iter().any(|word| word == "--direct=1");
        let verdict = measurement["verdict"].as_str().expect("a verdict");
        assert_eq!(lies, verdict == "discrepancy", "{measurement}");
        assert!(lies || ["verified", "qualified"].contains(&verdict), "{measurement}");
        let advised = measurement["advice"]["command"].as_array();
        assert!(
            !lies || advised.is_some_and(|words| words.iter().any(|word| word == "--end_fsync=1")),
            "{measurement}"
        );
    }
    let found = numbers(&run);
    let [first, back, random, mean] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.1.as_str(), first.2.as_deref()), ("equal", Some("other-prefix")), "{found:?}");
    assert_eq!((back.1.as_str(), back.2.as_deref()), ("equal", None), "{found:?}");
    assert_eq!((random.1.as_str(), random.2.as_deref()), ("equal", None), "{found:?}");
    assert_eq!((mean.1.as_str(), mean.2.as_deref()), ("equal", Some("other-summary")), "{found:?}");
    let mut found = failing(&run);
    // The pass that only filled the cache used the CPU alone, if its sibling left the disk idle meanwhile.
    found.remove("AB501");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["AB114", "AB301"], "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
}

#[test]
fn the_honest_twin_of_a_script_of_eight_runs_is_not_accused() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh", "awk");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let mean = r#"{s+=$1} END{printf "write, mean of 3 runs: %.1f MB/s\n", s/NR/1e6}"#;
    let run = script(&volume, &eight(["w/1e6", mean], HONEST));
    run.assert_nothing_lost();
    let found = numbers(&run);
    let derivations: Vec<&str> = found.iter().map(|(_, derivation, _)| derivation.as_str()).collect();
    assert_eq!(derivations, ["equal", "equal", "equal", "mean"], "{found:?}");
    assert!(found.iter().all(|(_, _, fault)| fault.is_none()), "{found:?}");
    assert!(failing(&run).is_empty(), "{}", run.story());
    assert_eq!(verdicts(&run, 8), ["confirmed"; 8], "{}", run.story());
    // The last two say that they shared the device, if they met: on a slow machine one may be done before the other.
    let shared = |number: usize| run.report["measurements"][number - 1]["shared"][0]["numbers"].clone();
    let phases = stage(&run.run, "phases");
    let window = |number: usize| {
        let own = phases.iter().find(|phase| phase["id"] == format!("{number}-job-write")).expect("its pass");
        let at_ns = |end: &str| own["window"][end].as_u64().expect("a time");
        (at_ns("start_ns"), at_ns("end_ns"))
    };
    let ((from_7, to_7), (from_8, to_8)) = (window(7), window(8));
    let both = if from_7 < to_8 && from_8 < to_7 { [7, 8].into() } else { serde_json::Value::Null };
    assert_eq!((shared(1), shared(7), shared(8)), (serde_json::Value::Null, both.clone(), both));
}

#[test]
fn a_measurement_whose_figures_are_gone_leaves_the_others_as_they_are() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    // The second one writes over the results of the first one; the folder is not that of the command.
    let json = "--output-format=json --output=o.json";
    let text = format!(
        "mkdir sub; cd sub\n{HONEST} --filename=a {json}\n{HONEST} --filename=b {json}\n{LIE} --filename=c\n\
         fio --name=none --ioengine=none-such --size=1m || true"
    );
    let run = script(&volume, &text);
    let verdict = |number: usize| run.report["measurements"][number - 1]["verdict"].as_str().expect("a verdict");
    assert_eq!(verdict(1), "inconclusive", "{}", run.story());
    assert_eq!(verdicts(&run, 3), ["no claim", "confirmed", "misleading"], "{}", run.story());
    assert_eq!((verdict(3), verdict(4)), ("discrepancy", "failed"), "{}", run.story());
    assert!(!failing(&run).contains("AB902"), "{}", run.story());
    assert_eq!(run.exit_code(), Some(1), "{}", run.story());
}
