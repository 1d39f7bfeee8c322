//! The limiter of a pass, on real runs with a limiter that is known beforehand.
//!
//! Where the CPU is the limit, other tasks on the machine can be the cause. Then the answer must say so, from the same
//! facts. A limit by a control group is tested in `fio.rs`, beside AB505.

use std::process::Command;

use activebench_e2e::{Verified, Volume, binary, needs, skip, verify};

/// Makes a volume with a durable file `f` of 64 MiB.
fn with_file() -> Volume {
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("f", 64);
    volume
}

#[track_caller]
fn assert_limiter(run: &Verified, phase: &str, kinds: &[&str], said: &str) {
    run.assert_nothing_lost();
    let limiter = run.limiter(phase);
    assert!(limiter["kind"].as_str().is_some_and(|kind| kinds.contains(&kind)), "{limiter}\n{}", run.story());
    let sentence = limiter["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains(said), "{sentence}");
    let question = &run.report["questions"]["why_not_double"];
    assert!(question["answer"].as_str().is_some_and(|answer| answer.ends_with(sentence)), "{question}");
    assert!(question["evidence"].as_array().is_some_and(|evidence| !evidence.is_empty()), "{question}");
}

/// Asserts that the CPU is the limit in one of these ways. Another answer is allowed only when the threads were
/// runnable but not running for more than a quarter of their time, because other tasks took the CPU.
#[track_caller]
fn assert_processor(run: &Verified, phase: &str, kinds: &[&str]) {
    run.assert_nothing_lost();
    let limiter = run.limiter(phase);
    let kind = limiter["kind"].as_str();
    if kind.is_some_and(|kind| kinds.contains(&kind)) {
        return;
    }
    let times = ["user_cpu_ns", "kernel_cpu_ns", "blocked_ns", "preempted_ns"].map(|name| run.fact(phase, name));
    let preempted = times[3] / times.iter().sum::<f64>();
    assert!(preempted > 0.25, "{limiter}\n{}", run.story());
    assert!(kind.is_some_and(|kind| ["processor-wait", "mixed"].contains(&kind)), "{limiter}\n{}", run.story());
}

#[test]
fn a_queue_of_direct_reads_is_limited_by_the_device() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = with_file();
    let fio = "fio --name=d --rw=randread --bs=256k --direct=1 --ioengine=libaio --iodepth=32 --size=64m --filename=f \
               --runtime=1 --time_based";
    let run = verify(&volume, &[], &fio.split_whitespace().collect::<Vec<_>>());
    assert_limiter(&run, "d-read", &["device"], "requests in flight on average");
}

#[test]
fn reading_from_memory_is_limited_by_the_copy() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = with_file();
    let fio = "fio --name=c --rw=read --bs=1m --size=64m --filename=f --invalidate=0 --loops=20";
    let run = verify(&volume, &[], &fio.split_whitespace().collect::<Vec<_>>());
    assert_processor(&run, "c-read", &["page-cache-copy"]);
}

#[test]
fn writing_byte_after_byte_is_limited_by_the_processor() {
    needs!("bonnie++", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let bonnie = "bonnie++ -q -u root -d . -n 0 -r 2 -s 4";
    let run = verify(&volume, &[], &bonnie.split_whitespace().collect::<Vec<_>>());
    for phase in ["putc", "getc"] {
        assert_processor(&run, phase, &["cpu-user", "cpu-kernel"]);
    }
}

#[test]
fn a_rate_that_fio_was_told_to_keep_is_its_own_limit() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = with_file();
    for engine in [&[][..], &["--ioengine=libaio", "--iodepth=4", "--direct=1"]] {
        let mut fio = vec!["fio", "--name=r", "--rw=randread", "--bs=4k", "--size=64m", "--filename=f"];
        fio.extend(["--rate_iops=100", "--runtime=1", "--time_based", "--invalidate=0"]);
        fio.extend(engine);
        let run = verify(&volume, &[], &fio);
        // Then waiting for a CPU takes the place of fio's own pauses.
        if run
            .fact_if_known("r-read", "preempted_ns")
            .is_some_and(|waited| waited > 0.05 * run.fact("r-read", "window_ns"))
        {
            return skip("others kept the CPUs busy");
        }
        assert_limiter(&run, "r-read", &["tool-limit"], "(`--rate_iops=100`)");
    }
}

#[test]
fn a_sync_after_each_write_is_limited_by_the_sync() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let fio = ["fio", "--name=s", "--rw=write", "--bs=4k", "--size=1m", "--filename=g"];
    for (option, said) in [("--fsync=1", "syncs, one per 4.0"), ("--sync=1", "each write of 4 KiB waited")] {
        let run = verify(&volume, &[], &[&fio[..], &[option]].concat());
        assert_limiter(&run, "s-write", &["sync-latency"], said);
    }
}

#[test]
fn purpose_and_target_are_answered_with_the_honest_figures() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let fio = ["fio", "--name=w", "--rw=write", "--bs=1m", "--size=64m", "--filename=f", "--end_fsync=1"];
    let check = |options: &[&str], parts: &[&str]| {
        let run = verify(&volume, options, &fio);
        let answer = run.report["questions"]["does_it_matter"]["answer"].as_str().unwrap_or_default().to_owned();
        for part in parts {
            assert!(answer.contains(part), "no {part:?} in {answer}\n{}", run.story());
        }
        run
    };
    check(&[], &["the figure that you need with `--target`", "sequential writes"]);
    let options = ["--purpose", "nightly backup", "--target", ">= 1 kB/s"];
    let run = check(&options, &["The purpose is \"nightly backup\". The target >= 1 kB/s is met: w: write"]);
    assert_eq!((&run.report["purpose"], &run.report["target"]), (&"nightly backup".into(), &">= 1 kB/s".into()));
    // A missed target changes no verdict: the figures stay the same.
    let missed = check(&["--target", ">= 900 TiB/s"], &["The target >= 900 TiB/s is missed"]);
    assert_ne!(missed.verdict(), "discrepancy", "{}", missed.story());
    assert_eq!((missed.exit_code(), &missed.report["target_result"]["met"]), (Some(1), &false.into()));
    // Every format answers all seven.
    let text = |format: &str| {
        let output =
            Command::new(binary()).args(["report", "--format", format]).arg(&run.run).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let questions = ["Why not double?", "Was it tuned?", "Did it break limits?", "Did it error?"].into_iter().chain([
        "Does it reproduce?",
        "Does it matter?",
        "Did it even happen?",
    ]);
    let (terminal, markdown) = (text("text"), text("markdown"));
    for question in questions {
        assert!(terminal.contains(question), "{terminal}");
        assert!(markdown.contains(&question.replace('?', "")), "{markdown}");
    }
    assert!(markdown.matches("Evidence: ").count() >= 7, "{markdown}");

    let refused = verify(&volume, &["--target", "200 MB/s"], &fio);
    assert_eq!(refused.exit_code(), Some(2));
    assert!(refused.stderr().contains("hint: write `>= 200 MB/s`"), "{}", refused.stderr());
    assert!(!refused.run.exists());
}

#[test]
fn a_target_that_the_options_leave_out_is_refused_before_the_run() {
    needs!(beside: "iozone", "fio");
    let volume = Volume::tmpfs(64);
    for (target, command, hint) in [
        (">= 20 kIOPS", "iozone -i0 -s16m -r4k", "it prints rates in bytes"),
        (">= 20 MB/s", "iozone -i0 -s16m -r4k -O", "it prints rates in operations"),
        (
            "p99 <= 1 ms",
            "fio --name=w --rw=write --size=16m --gtod_reduce=1",
            "it prints rates in bytes, rates in operations",
        ),
    ] {
        let refused = verify(&volume, &["--target", target], &command.split(' ').collect::<Vec<_>>());
        assert_eq!(refused.exit_code(), Some(2), "{command}: {}", refused.stderr());
        assert!(refused.stderr().contains(hint), "{command}: {}", refused.stderr());
        assert!(!refused.run.exists());
    }
}
