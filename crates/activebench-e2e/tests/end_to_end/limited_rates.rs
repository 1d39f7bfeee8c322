//! Tools that limit their own pace, and passes that become slower: each beside its honest twin.

use activebench_e2e::{Throttled, Verified, Volume, needs, verify};

const MIB: u64 = 1 << 20;

/// Makes a volume with a file of 64 MiB.
fn volume() -> Volume {
    let volume = Volume::on_loop("ext4", 512, "noatime");
    volume.lay_out("x", 64);
    volume
}

fn fio(volume: &Volume, more: &[&str]) -> Verified {
    let command = ["fio", "--name=a", "--rw=randread", "--bs=16k", "--size=64m", "--filename=x", "--direct=1"];
    let run = verify(volume, &[], &[&command[..], more].concat());
    run.assert_nothing_lost();
    run
}

fn fires(run: &Verified, code: &str) -> bool {
    run.codes("a-read").contains(&code)
}

#[test]
fn a_tool_that_holds_itself_back_is_found() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = volume();
    // 4 MiB/s in 256 operations per second, synchronous and with a depth.
    for more in [
        &["--rate=4m", "--runtime=2", "--time_based"][..],
        &["--rate_iops=200", "--ioengine=libaio", "--iodepth=8", "--runtime=2", "--time_based"],
        &["--thinktime=5ms", "--runtime=2", "--time_based"],
    ] {
        let run = fio(&volume, more);
        assert!(fires(&run, "AB506"), "{more:?}: {}", run.story());
        let (windows, busy) = (run.fact("a-read", "task_windows_ns"), run.fact("a-read", "calls_in_flight_ns"));
        assert!(busy < 0.9 * windows, "{more:?}: {busy} of {windows}");
    }
}

#[test]
fn a_tool_that_waits_for_its_requests_does_not_idle() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = volume();
    for more in [
        &[][..],
        &["--ioengine=libaio", "--iodepth=8"],
        &["--ioengine=io_uring", "--iodepth=8"],
        &["--ioengine=posixaio", "--iodepth=4"],
        // A limit far above the device's rate.
        &["--rate=100g"],
    ] {
        let run = fio(&volume, more);
        assert!(!fires(&run, "AB506"), "{more:?}: {}", run.story());
    }
}

#[test]
fn a_rate_that_falls_during_the_run_is_found_and_a_steady_one_is_not() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(group) = Throttled::reads(&volume, 64 * MIB) else {
        activebench_e2e::skip("there is no blkio controller of version 1 here");
        return;
    };
    // Only the limit sets the rate: requests wait for it at all times, also while fio waits for a processor.
    let command = "fio --name=a --rw=read --bs=256k --size=64m --filename=x --direct=1 --ioengine=libaio --iodepth=16 \
                   --runtime=8 --time_based";
    let run = |script: &str| {
        let run = verify(&volume, &["--suppress", "AB505=the limit is the experiment"], &["sh", "-c", script]);
        run.assert_nothing_lost();
        run
    };
    let steady = run(&group.join(command));
    assert!(!fires(&steady, "AB703"), "{}", steady.story());
    // The same, with a limit that is lowered once the device has read 192 MiB, whatever the time that takes.
    let lower = group.allow(8 * MIB);
    let later = format!("({}; {lower}) & {}", volume.wait_for_reads(192 * MIB), group.join(command));
    let cliff = run(&later);
    if cliff.fact("a-read", "throughput_fifth_1_bytes_per_sec") < (32 * MIB) as f64 {
        return activebench_e2e::skip("the machine did not read 32 MiB a second before the limit was lowered");
    }
    assert!(fires(&cliff, "AB703"), "{}", cliff.story());
    let last = cliff.fact("a-read", "throughput_fifth_5_bytes_per_sec");
    assert!((last / (8 * MIB) as f64 - 1.0).abs() < 0.2, "{last}");
}
