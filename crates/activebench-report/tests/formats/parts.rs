//! Building blocks of the samples: a host, a coverage, claims, phases and findings that imitate iozone 3.489 on ext4
//! over a loop device.

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::claim::{Claim, Metric, Note, Parsed, Printed, SourceLine, Subject};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Backend, Coverage, Overhead, PayloadSampling, ProbeStatus, RecordAccount, Sampling};
use activebench_model::event::{RecordClass, ThreadTimes};
use activebench_model::fact::{Completeness, Fact, FactName, Facts, Scope};
use activebench_model::finding::{Effect, Finding, Outcome, Severity, Threshold};
use activebench_model::hook::Hook;
use activebench_model::host::{Host, Layer, Target, Tier};
use activebench_model::library::CountedFunction;
use activebench_model::phase::{Direction, Part, PartEnd, Pattern, Phase, Window};
use activebench_model::report::{Answer, DetectorPage, JudgedRun};
use activebench_model::run::{ChildEnd, Choices, Clocks, FailOn, Manifest};
use activebench_model::thread_stacks::{CpuProfile, HotFunction, KERNEL_MODULE, ServingCpu, ThreadCpu, TimeShares};
use activebench_model::timeline::{SyncMark, Timeline, TimelineFigure, TimelineSeries};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{Confirmation, Corrected, JudgedClaim, RunVerdict, Tolerance};
use std::collections::BTreeMap;

pub(crate) fn base(argv: &[&str]) -> JudgedRun {
    let whole = |records| RecordAccount { made: records, received: records, ..RecordAccount::default() };
    JudgedRun {
        manifest: Manifest {
            format: 1,
            activebench: "0.1.0".into(),
            command: CommandLine { argv: argv.iter().map(|a| (*a).to_owned()).collect(), cwd: "/root".into() },
            added_arguments: Vec::new(),
            tool_command: None,
            executed_tools: None,
            measurements: Vec::new(),
            choices: Choices { profile: "default".into(), fail_on: FailOn::Fail, ..Choices::default() },
            child: ChildEnd { pid: Some(4711), exit_code: Some(0), ..ChildEnd::default() },
            clocks: Clocks { started_unix_s: 1_795_238_730, started_ns: 1_000_000_000, ended_ns: 6_402_000_000 },
            host: host(),
            ceilings: None,
            coverage: Coverage {
                backend: Backend::Bpf,
                traced: None,
                probes: vec![ProbeStatus { hook: Hook::SysEnter, attached: true, why_not: None, missed: 0 }],
                blind_paths: Vec::new(),
                undecoded: Vec::new(),
                records: BTreeMap::from([
                    (RecordClass::BlockCompleted, whole(2_051)),
                    (RecordClass::Calls, whole(32_790)),
                ]),
                overhead: Overhead { observer_cpu_ns: Some(21_400_000), bpf_run_ns: None, run_ns: 5_402_000_000 },
                other_tracers: Some(Vec::new()),
                sampling: Some(Sampling { frequency_hz: 997, ..Sampling::default() }),
                payload: Some(PayloadSampling { period_ns: 3_906_250, one_in: 1, ..PayloadSampling::default() }),
                steal_unread: None,
                linked_programs: BTreeMap::new(),
                records_stops: true,
                program_times: None,
                kernel_object_sha256: None,
                log: None,
            },
            incomplete: Vec::new(),
            preparation: None,
            watch: None,
            redacted: None,
            sha256: BTreeMap::from([("stdout.txt".into(), "9f86d081884c7d65".repeat(4))]),
        },
        directory: "activebench-runs/20261121T052530Z-iozone".into(),
        parsed: Parsed { tool: "iozone".into(), version: Some("3.489".into()), complete: true, ..Parsed::default() },
        phases: Vec::new(),
        run_facts: Facts::default(),
        profiles: Default::default(),
        findings: Vec::new(),
        judged: Vec::new(),
        verdict: RunVerdict::Verified,
        exit_code: 0,
        changed_thresholds: Vec::new(),
        limiters: Vec::new(),
        shares: Default::default(),
        timelines: Vec::new(),
        target: None,
        advised: Err("Nothing is to be corrected.".into()),
        measurements: Vec::new(),
        together: Vec::new(),
        questions: questions(),
        detectors: vec![
            detector("AB201", "page-cache-served-reads", &[]),
            detector("AB302", "sync-outside-clock", &[]),
            detector("AB501", "cpu-bound", &["AB201", "AB302"]),
            detector("AB701", "phase-too-short", &["AB201", "AB302"]),
        ],
    }
}

fn detector(code: &str, name: &str, explained_by: &[&str]) -> DetectorPage {
    DetectorPage {
        title: format!("Title of {name}"),
        explained_by: explained_by.iter().map(|code| (*code).to_owned()).collect(),
        code: code.into(),
        name: name.into(),
        finds: "A sync that made the data durable, but only after the tool's clock had stopped.".into(),
        matters: "\"No fsync was seen\" and \"no fsync was timed\" are different findings.".into(),
        to_do: "Bring the sync inside the clock (`iozone -e -c`), or quote the durable rate.".into(),
    }
}

pub(crate) fn questions() -> BTreeMap<String, Answer> {
    [
        ("did_it_break_limits", "No limit of the device is known.", &[][..]),
        ("did_it_error", "No call failed.", &["failed_calls = 0"]),
        ("did_it_even_happen", "1 GiB reached the device.", &["device_write_bytes_until_durable = 1 GiB", "AB106"]),
        ("does_it_matter", "Not known: the subject was not stated.", &[]),
        ("does_it_reproduce", "Not known: one run.", &[]),
        ("was_it_tuned", "No tuning option was given.", &[]),
        ("why_not_double", "The device was busy for 2.30 s of 2.41 s.", &["device_busy_ns = 2.30 s"]),
    ]
    .map(|(key, answer, evidence)| {
        let evidence = evidence.iter().map(|item| (*item).to_owned()).collect();
        (key.to_owned(), Answer { answer: answer.into(), evidence })
    })
    .into()
}

pub(crate) fn host() -> Host {
    let layer = |name: &str, kind: &str, device, write_cache: &str| Layer {
        name: name.into(),
        device,
        kind: kind.into(),
        write_cache: Some(write_cache.into()),
        rotational: Some(false),
        logical_block_bytes: Some(512),
        size_bytes: Some(8 << 30),
        ..Layer::default()
    };
    Host {
        kernel: "6.18.5".into(),
        architecture: "x86_64".into(),
        cpus: 2,
        memory_bytes: Some(24 << 30),
        cpu_cache_bytes: None,
        memory_limit_bytes: None,
        io_limits: Vec::new(),
        io_limits_unread: None,
        readings: None,
        hardware: None,
        hostname: None,
        targets: vec![Target {
            s_dev: DeviceNumber::new(7, 0),
            mount_point: "/mnt/bench".into(),
            fs_type: "ext4".into(),
            options: "rw,relatime".into(),
            layers: vec![
                Layer {
                    loop_direct_io: Some(true),
                    backing_file: Some("/var/tmp/bench.img".into()),
                    ..layer("loop0", "loop", DeviceNumber::new(7, 0), "write back")
                },
                layer("vda1", "partition", DeviceNumber::new(252, 1), "write back"),
                layer("vda", "virtio", DeviceNumber::new(252, 0), "write back"),
            ],
            tier: Tier::Block,
        }],
        daemons: Vec::new(),
        unread: Vec::new(),
    }
}

pub(crate) fn claim(id: &str, phase: &str, kib_per_sec: u64) -> Claim {
    Claim {
        id: id.into(),
        phase: phase.into(),
        metric: Metric::Throughput,
        value: Quantity::bytes_per_sec(kib_per_sec as f64 * 1024.0),
        printed: Printed { text: kib_per_sec.to_string(), unit: "kBytes/sec".into() },
        resolution: 512.0,
        subject: Subject::Device,
        subject_reason: "no option says otherwise".into(),
        claimed_bytes: Some(1 << 30),
        source: SourceLine {
            stream: "stdout".into(),
            line: 31,
            text: format!("         1048576      64  {kib_per_sec}"),
        },
    }
}

pub(crate) fn note(line: u64, text: &str, message: &str) -> Note {
    Note { source: SourceLine { stream: "stdout".into(), line, text: text.into() }, message: message.into() }
}

pub(crate) fn write_phase(id: &str, name: &str, offset_ns: u64) -> Phase {
    let window = Window { start_ns: 2_000_000_000 + offset_ns, end_ns: 2_320_300_000 + offset_ns };
    let mut facts = facts(&[(FactName::Window, 320_300_000.0), (FactName::WriteBytes, 1_073_741_824.0)]);
    facts.insert(
        FactName::DeviceWriteBytes,
        Fact::complete(Quantity::bytes(12_582_912), Scope::Device, "block probe").partial("51 block records were lost"),
    );
    facts.insert(FactName::ParentWindow, Fact::missing("the pass has no worker tasks", Scope::Tree, "tasks"));
    Phase {
        pattern: Pattern::Sequential,
        block_bytes: Some(65_536),
        requested_bytes: Some(1 << 30),
        requested_tasks: 1,
        clock: "first write to last write".into(),
        parts: vec![Part {
            tgid: 4711,
            tids: Vec::new(),
            fd: 3,
            file: FileId { s_dev: DeviceNumber::new(7, 0).0, ino: 12 },
            start_ns: window.start_ns,
            end: PartEnd::At(window.end_ns),
            last_data_ns: window.end_ns,
            sync_inside: None,
            sync_after: None,
            close_ns: None,
        }],
        window: Some(window),
        facts,
        ..Phase::planned(id, name, Direction::Write)
    }
}

pub(crate) fn facts(values: &[(FactName, f64)]) -> Facts {
    let mut facts = Facts::default();
    for (name, value) in values {
        let unit: Unit = name.unit();
        facts.insert(*name, Fact::complete(Quantity { value: *value, unit }, Scope::Tree, "calls"));
    }
    facts
}

pub(crate) fn kib_rate(kib_per_sec: f64) -> Quantity {
    Quantity::bytes_per_sec(kib_per_sec * 1024.0)
}

/// A claim that the observed figure confirms, within 5 %.
pub(crate) fn confirmed_by(claim: &str, observed: Quantity) -> JudgedClaim {
    let value = observed.value;
    let tolerance = Tolerance { low: 0.95 * value, high: 1.05 * value, reason: "5 %".into() };
    let confirmation = Confirmation::of(observed, 0.0, observed, tolerance).expect("it is what was observed");
    JudgedClaim::confirmed(claim, confirmation)
}

pub(crate) fn confirmed(claim: &str, observed: f64) -> JudgedClaim {
    confirmed_by(claim, kib_rate(observed))
}

pub(crate) fn unverifiable(claim: &str) -> JudgedClaim {
    JudgedClaim::unverifiable(claim, None, "block records were lost")
}

pub(crate) fn cached_write(claim: &str, observed: f64, durable: f64, meaning: &str) -> JudgedClaim {
    let honest = Corrected { value: kib_rate(durable), meaning: format!("durable write rate: {meaning}") };
    let instead = Some("copying into the page cache".into());
    JudgedClaim::misleading(claim, Some(kib_rate(observed)), instead, Ok(honest)).with_findings(vec!["AB302".into()])
}

pub(crate) fn fires(
    code: &str,
    name: &str,
    severity: Severity,
    phase: Option<&str>,
    claims: &[&str],
    [message, meaning, advice]: [&str; 3],
) -> Finding {
    Finding {
        code: code.into(),
        name: name.into(),
        outcome: Outcome::Fires,
        severity: Some(severity),
        phase: phase.map(str::to_owned),
        claims: claims.iter().map(|claim| (*claim).to_owned()).collect(),
        observed: None,
        threshold: None,
        message: message.into(),
        meaning: meaning.into(),
        advice: advice.into(),
        facts: Vec::new(),
        effect: None,
    }
}

pub(crate) fn outcome(code: &str, name: &str, outcome: Outcome, phase: &str, message: &str) -> Finding {
    Finding {
        outcome,
        severity: None,
        message: message.into(),
        ..fires(code, name, Severity::Note, Some(phase), &[], [""; 3])
    }
}

pub(crate) fn sync_outside(phase: &str, claim: &str, message: &str) -> Finding {
    Finding {
        observed: Some(Quantity::ratio(6.52)),
        threshold: Some(Threshold { value: Quantity::ratio(0.05), source: "default".into() }),
        facts: vec![FactName::DurableSpan, FactName::Window],
        effect: Some(Effect::Misleading),
        ..fires(
            "AB302",
            "sync-outside-clock",
            Severity::Fail,
            Some(phase),
            &[claim],
            [
                message,
                "The figure is the rate of copying into the page cache; the storage took the data after the clock had stopped.",
                "Put the fsync and the close inside the clock: iozone -i 0 -s 1g -r 64k -f /mnt/bench/iozone.tmp -e -c",
            ],
        )
    }
}

pub(crate) fn compressible(phase: &str) -> Finding {
    Finding {
        threshold: Some(Threshold { value: Quantity::count(2), source: "default".into() }),
        ..fires(
            "AB404",
            "compressible-payload",
            Severity::Note,
            Some(phase),
            &[],
            [
                "1024 sampled blocks compress 240 to 1 with LZ4, more than 2 to 1",
                "No layer below compresses, so the figure stands; on one that does it would not.",
                "Use data that do not compress where a layer below may: iozone -+w 0 -+y 0 -+C 0",
            ],
        )
    }
}

pub(crate) fn missing_fsync() -> Finding {
    Finding {
        threshold: Some(Threshold { value: Quantity::ratio(0.01), source: "default".into() }),
        facts: vec![FactName::UnsyncedBytes, FactName::WriteBytes],
        ..fires(
            "AB301",
            "missing-fsync",
            Severity::Fail,
            Some("file-1"),
            &[],
            [
                "1 GiB of 1 GiB written were never made durable",
                "A figure of this run says how fast memory takes data, not the storage.",
                "Add conv=fsync.",
            ],
        )
    }
}

pub(crate) fn cache_served(phase: &str, claim: &str, kib_per_sec: u64) -> Finding {
    let message = format!(
        "{} was claimed for storage; of 1 GiB read, 0 B entered the page cache: 100 % was there before",
        kib_rate(kib_per_sec as f64)
    );
    Finding {
        observed: Some(Quantity::ratio(1.0)),
        threshold: Some(Threshold { value: Quantity::ratio(0.2), source: "default".into() }),
        facts: vec![FactName::ReadBytes],
        effect: Some(Effect::Misleading),
        ..fires(
            "AB201",
            "page-cache-served-reads",
            Severity::Fail,
            Some(phase),
            &[claim],
            [
                &message,
                "the figure is mostly the rate of copying from memory",
                "use `-I` (O_DIRECT), or `-s 48g` or more (twice the memory)",
            ],
        )
    }
}

pub(crate) fn cpu_bound(phase: &str, claim: &str, share: f64, what: &str) -> Finding {
    let share = Quantity::ratio(share);
    Finding {
        observed: Some(share),
        threshold: Some(Threshold {
            value: Quantity::ratio(0.9),
            source: "default; Gregg's bonnie++ example shows 99 %".into(),
        }),
        facts: vec![FactName::Window],
        effect: Some(Effect::Misleading),
        ..fires(
            "AB501",
            "cpu-bound",
            Severity::Fail,
            Some(phase),
            &[claim],
            [
                &format!(
                    "the threads were on a CPU for {share} of the time that they could have used (user 8.30 ms, kernel 2.31 s in a window of 2.33 s), the device was busy for 0 %"
                ),
                "the figure is what the CPU could do, not what the storage could",
                &format!("let the device take part ({what}), with larger blocks or more tasks"),
            ],
        )
    }
}

pub(crate) fn too_short(phase: &str, claim: &str, window_ns: u64) -> Finding {
    let window = Quantity::ns(window_ns);
    let (severity, limit_ns, source) = if window_ns < 500_000_000 {
        (Severity::Warn, 500_000_000, "bonnie++ prints +++++ below it")
    } else {
        (Severity::Note, 10_000_000_000, "default")
    };
    let limit = Quantity::ns(limit_ns);
    Finding {
        observed: Some(window),
        threshold: Some(Threshold { value: limit, source: source.into() }),
        facts: vec![FactName::Window],
        ..fires(
            "AB701",
            "phase-too-short",
            severity,
            Some(phase),
            &[claim],
            [
                &format!("the clock ran for {window}, below {limit}"),
                "one disturbance is a visible share of the figure: repeat it before quoting it",
                &format!("use a larger file, about `-s {}g`", 10_000_000_000 / window_ns + 1),
            ],
        )
    }
}

/// Four steps of 100 ms that start shortly before a window. One series is missing, and one value of another.
pub(crate) fn timeline(phase: &str, start_ns: u64) -> Timeline {
    let series = |name: TimelineFigure| {
        let values = match name {
            TimelineFigure::CallWriteRate => vec![Some(0.0), Some(3.2e9), Some(3.1e9), Some(0.0)],
            TimelineFigure::DeviceQueueDepth => vec![Some(0.0), Some(0.25), None, Some(31.5)],
            _ => Vec::new(),
        };
        let completeness = match values.is_empty() {
            true => Completeness::Missing("no probe".into()),
            false => Completeness::Complete,
        };
        TimelineSeries { name, completeness, values }
    };
    Timeline {
        phase: phase.into(),
        start_ns,
        step_ns: 100_000_000,
        steps: 4,
        series: TimelineFigure::ALL.iter().copied().map(series).collect(),
        syncs: vec![SyncMark {
            call: "fsync".into(),
            start_ns: start_ns + 310_000_000,
            end_ns: start_ns + 390_000_000,
        }],
        syncs_left_out: 0,
        latencies: Vec::new(),
        maps: Vec::new(),
        files_left_out: 0,
    }
}

/// Profile of a thread that mostly copies in the kernel for a second; `text` is appended to the names.
pub(crate) fn profile(text: &str) -> CpuProfile {
    let times = ThreadTimes {
        user_ns: 120_000_000,
        kernel_ns: 701_000_000,
        blocked_ns: 170_000_000,
        iowait_ns: 150_000_000,
        preempted_ns: 9_000_000,
    };
    let function = |symbol: Option<&str>, module: Option<&str>, samples: u64| HotFunction {
        symbol: symbol.map(|symbol| format!("{symbol}{text}")),
        module: module.map(|module| format!("{module}{text}")),
        file_offset: symbol.is_none().then_some(0x4_a210),
        in_kernel: module == Some(KERNEL_MODULE),
        samples,
        sample_ratio: samples as f64 / 818.0,
    };
    CpuProfile {
        threads: vec![ThreadCpu {
            tid: 4712,
            tgid: 4712,
            comm: format!("iozone{text}"),
            window_ns: 1_000_000_000,
            times,
            error_ns: 64_000,
        }],
        unlisted_threads: 0,
        library: match text {
            "" => Vec::new(),
            text => vec![CountedFunction { name: format!("putc{text}"), calls: 7, open_calls: 0, asked_bytes: 7 }],
        },
        serving: vec![
            ServingCpu { name: format!("bindfs{text}"), tgid: Some(9821), cpu_ns: 441_000_000 },
            ServingCpu { name: format!("loop0{text}"), tgid: None, cpu_ns: 11_000_000 },
        ],
        shares: Some(TimeShares {
            user_ratio: 0.12,
            kernel_ratio: 0.701,
            blocked_ratio: 0.17,
            iowait_ratio: 0.15,
            preempted_ratio: 0.009,
        }),
        samples: 818,
        user_samples: 119,
        stackless_samples: 0,
        functions: vec![
            function(Some("copy_page_from_iter_atomic"), Some(KERNEL_MODULE), 254),
            function(None, Some("/usr/bin/iozone"), 98),
            function(None, None, 3),
        ],
        short: None,
    }
}
