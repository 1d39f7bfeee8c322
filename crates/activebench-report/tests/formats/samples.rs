//! Made-up judged runs, one for each kind of report.
//!
//! The figures imitate iozone 3.489 on ext4; the messages imitate the detectors' words.

use activebench_report::document::Document;
use activebench_report::{Style, format_by_name};
use std::collections::BTreeMap;

use activebench_model::bound::{Bound, Share, ShareOf, Shares};
use activebench_model::call::DeviceNumber;
use activebench_model::claim::{Metric, Parsed, Printed, SourceLine, Subject};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{BlindPath, OtherTracer, PayloadSampling, ProbeStatus, RecordAccount, Sampling};
use activebench_model::event::RecordClass;
use activebench_model::fact::{Completeness, Fact, FactName, Scope};
use activebench_model::finding::{Effect, Finding, Outcome, Severity, Threshold};
use activebench_model::hook::Hook;
use activebench_model::limiter::{Figure, Limiter, LimiterKind};
use activebench_model::measurement::Measurement;
use activebench_model::preparation::{Preconditioning, Preparation, Purge};
use activebench_model::remedy::{Advised, Applied};
use activebench_model::report::{Answer, ChangedThreshold, JudgedMeasurement, JudgedRun, Together};
use activebench_model::run::{ChildEnd, FailOn, StopReason, ThresholdFile};
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::{JudgedClaim, RunVerdict};

use crate::parts::{
    base, cache_served, cached_write, claim, compressible, confirmed, confirmed_by, cpu_bound, facts, fires, kib_rate,
    missing_fsync, note, outcome, profile, sync_outside, timeline, too_short, unverifiable, write_phase,
};
use crate::timelines;

/// Every sample with its name.
pub(crate) fn all() -> Vec<(&'static str, JudgedRun)> {
    vec![
        ("misleading", misleading()),
        ("cached", cached()),
        ("suppressed", suppressed()),
        ("verified", verified()),
        ("not_checked", not_checked()),
        ("evidence_only", evidence_only()),
        ("failed_child", failed_child()),
        ("interrupted", interrupted()),
        ("hostile", hostile("\x1b[31m<script>|`x`\n@root #1 \u{202e}")),
        ("many_claims", many_claims()),
        ("undecided", undecided()),
        ("throughput", throughput()),
        ("qualified", qualified()),
        ("inconclusive", inconclusive()),
        ("no_claims", no_claims()),
        ("script", script()),
    ]
}

/// `iozone -i 0`: both figures are those of the page cache.
pub(crate) fn misleading() -> JudgedRun {
    let mut run = base(&["iozone", "-i", "0", "-s", "1g", "-r", "64k", "-f", "/mnt/bench/iozone.tmp"]);
    run.phases = vec![write_phase("write", "write", 0), write_phase("rewrite", "rewrite", 4_000_000_000)];
    run.timelines =
        vec![timelines::cached_write("write", 2_000_000_000), timelines::cached_write("rewrite", 6_000_000_000)];
    run.limiters = vec![
        limiter("write"),
        Limiter { kind: None, sentence: "Unknown: off_cpu_ns is missing: no probe.".into(), ..limiter("rewrite") },
    ];
    run.shares = Shares {
        shares: vec![
            share(
                "c1",
                ShareOf::Honest,
                434_921.0,
                "the device gives for sequential 1 MiB writes at depth 32",
                512_000.0,
            ),
            share(
                "c1",
                ShareOf::Claimed,
                3_273_804.0,
                "this machine gives for cached 64 KiB writes by one thread",
                4e6,
            ),
            share(
                "c2",
                ShareOf::Honest,
                461_320.0,
                "the device gives for sequential 1 MiB writes at depth 32",
                512_000.0,
            ),
        ],
        exceeded: Vec::new(),
        notes: vec!["The ceiling of /mnt/bench was measured 3 days before the run.".into()],
    };
    run.manifest.choices.purpose = Some("nightly backup".into());
    run.manifest.choices.target = Some(">= 400 MB/s".into());
    run.parsed.claims = vec![claim("c1", "write", 3_273_804), claim("c2", "rewrite", 2_906_113)];
    run.judged = vec![
        cached_write("c1", 3_273_790.0, 434_921.0, "1 GiB until the end of the fsync, 2.41 s"),
        cached_write("c2", 2_905_998.0, 461_320.0, "1 GiB until the end of the fsync, 2.27 s"),
    ];
    run.findings = vec![
        sync_outside(
            "write",
            "c1",
            "the fsync ended 2.09 s after the clock had stopped, 652 % of the window of 320 ms",
        ),
        sync_outside(
            "rewrite",
            "c2",
            "the fsync ended 1.91 s after the clock had stopped, 530 % of the window of 361 ms",
        ),
        compressible("write"),
        compressible("rewrite"),
        outcome("AB301", "missing-fsync", Outcome::Silent, "write", ""),
        outcome("AB201", "page-cache-served-reads", Outcome::NotApplicable, "write", "the phase reads nothing"),
    ];
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

/// `iozone -i0 -i1`: four figures of the page cache, and one detector in two severities.
/// Words and figures are those of a run on ext4 over a virtio disk.
pub(crate) fn cached() -> JudgedRun {
    let mut run = base(&["iozone", "-i0", "-i1", "-s1g", "-r64k"]);
    // Claim, printed KiB/s, honest KiB/s and its span, share of the sync, CPU, window in ns.
    let writes = [
        ("write", 451_082, 392_045.0, "2.67 s", 0.1506, 0.9983, 2_324_574_734),
        ("rewrite", 7_694_558, 3_394_027.0, "309 ms", 1.267, 0.9999, 136_273_028),
    ];
    let reads = [("read", 10_491_753, 1.0, 99_941_824), ("reread", 10_205_709, 1.0, 102_741_282)];
    let ids = ["c1", "c2", "c3", "c4"];
    let phases = ["write", "rewrite", "read", "reread"];
    run.phases = phases.iter().zip(0..).map(|(name, place)| write_phase(name, name, place * 4_000_000_000)).collect();
    for (id, (phase, printed, durable, span, sync_share, on_cpu, window_ns)) in ids.into_iter().zip(writes) {
        let mut claim = claim(id, phase, printed);
        claim.subject_reason = "a write figure without further words is taken for the storage".into();
        run.parsed.claims.push(claim);
        let mut judged =
            cached_write(id, printed as f64, durable, &format!("1 GiB in the {span} to the end of the sync"));
        judged.findings = ["AB302", "AB501", "AB701"].map(str::to_owned).to_vec();
        run.judged.push(judged);
        let message = format!(
            "{} was claimed; the sync that made 1 GiB durable ended {} after the start: {} until then",
            kib_rate(printed as f64),
            span,
            kib_rate(durable),
        );
        run.findings.push(Finding {
            observed: Some(Quantity::ratio(sync_share)),
            meaning: "The figure excludes the time the disk needed to store the data.".into(),
            advice: "Add `-e -c`: the clock then covers the fsync and the close.".into(),
            ..sync_outside(phase, id, &message)
        });
        run.findings.push(cpu_bound(phase, id, on_cpu, "synced or direct writes"));
        run.findings.push(too_short(phase, id, window_ns));
    }
    for (id, (phase, printed, on_cpu, window_ns)) in ids.into_iter().skip(2).zip(reads) {
        let mut claim = claim(id, phase, printed);
        claim.subject_reason = "a read figure without further words is taken for the storage".into();
        run.parsed.claims.push(claim);
        let instead = Some("copying from the page cache".into());
        let none = Err("nothing was read from the device".into());
        let judged = JudgedClaim::misleading(id, Some(kib_rate(printed as f64)), instead, none);
        run.judged.push(judged.with_findings(["AB201", "AB501", "AB701"].map(str::to_owned).to_vec()));
        run.findings.push(cache_served(phase, id, printed));
        run.findings.push(cpu_bound(phase, id, on_cpu, "uncached or direct reads"));
        run.findings.push(too_short(phase, id, window_ns));
    }
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

/// A detector that the user suppressed: it fires on one phase and is undecided on another.
pub(crate) fn suppressed() -> JudgedRun {
    let mut run = verified();
    run.manifest.choices.suppressed = BTreeMap::from([("phase-too-short".into(), "agreed with the vendor".into())]);
    let mut fired = too_short("write", "c1", 136_273_028);
    fired.severity = Some(Severity::Note);
    let mut open = outcome("AB701", "phase-too-short", Outcome::Undecided, "rewrite", "window_ns is missing");
    for finding in [&mut fired, &mut open] {
        finding.message.suppress("agreed with the vendor");
    }
    run.findings.extend([fired, open]);
    run.judged[0].findings = vec!["AB701".into()];
    run
}

/// The same with `-e -c`: all claims are confirmed.
pub(crate) fn verified() -> JudgedRun {
    let mut run = base(&["iozone", "-i", "0", "-e", "-c", "-s", "1g", "-r", "64k", "-f", "/mnt/bench/iozone.tmp"]);
    run.phases = vec![write_phase("write", "write", 0), write_phase("rewrite", "rewrite", 4_000_000_000)];
    run.parsed.claims = vec![claim("c1", "write", 434_870), claim("c2", "rewrite", 461_288)];
    for claim in &mut run.parsed.claims {
        claim.subject = Subject::DurableWrite;
        claim.subject_reason = "-e puts the fsync inside the clock".into();
    }
    run.judged = vec![confirmed("c1", 434_921.0), confirmed("c2", 461_320.0)];
    run.findings = vec![
        outcome("AB301", "missing-fsync", Outcome::Silent, "write", ""),
        outcome("AB302", "sync-outside-clock", Outcome::Silent, "write", ""),
    ];
    run.profiles.phases = BTreeMap::from([("write".into(), profile("")), ("rewrite".into(), profile(""))]);
    run
}

/// The rates are confirmed. A maximum latency that the calls do not show is not checked.
pub(crate) fn not_checked() -> JudgedRun {
    let mut run = verified();
    let mut latency = claim("c3", "write", 0);
    latency.metric = Metric::LatencyMax;
    latency.value = Quantity::ns(4_049_000);
    latency.printed = Printed { text: "4049".into(), unit: "us".into() };
    latency.claimed_bytes = None;
    run.parsed.claims.push(latency);
    let why = "the tool's clock also covers its own work and its waits around the calls";
    run.judged.push(JudgedClaim::not_checked("c3", Some(Quantity::ns(43_870)), why));
    run
}

/// All claims are confirmed, with a warning and an open question, in a run that should fail on warnings.
pub(crate) fn qualified() -> JudgedRun {
    let mut run = verified();
    run.manifest.choices.fail_on = FailOn::Warn;
    run.manifest.preparation = Some(preparation("/dev/vda", "it takes no discards"));
    run.findings.push(too_short("write", "c1", 320_300_000));
    run.findings.push(outcome("AB601", "foreign-io", Outcome::Undecided, "rewrite", "block records were not seen"));
    run.judged[0].findings = vec!["AB701".into()];
    run.timelines = vec![timeline("write", 2_000_000_000), timeline("rewrite", 6_000_000_000)];
    run.verdict = RunVerdict::Qualified;
    run.exit_code = 1;
    run
}

/// A device that was preconditioned with twice its size and could not be purged.
pub(crate) fn preparation(device: &str, why: &str) -> Preparation {
    Preparation {
        device: device.to_owned(),
        number: DeviceNumber::new(254, 0),
        size_bytes: 1 << 30,
        purge: Purge::Not { why: why.to_owned() },
        preconditioning: Preconditioning {
            command: ["fio", "--name=preconditioning"].map(str::to_owned).to_vec(),
            written_bytes: Some((2_u64 << 30) as f64),
            directory: "preconditioning".to_owned(),
            sha256: "0".repeat(64),
        },
    }
}

/// Other processes used the device: no claim is contradicted and none is confirmed.
pub(crate) fn inconclusive() -> JudgedRun {
    let mut run = verified();
    run.findings.push(Finding {
        effect: Some(Effect::Unverifiable),
        ..fires(
            "AB601",
            "foreign-io",
            Severity::Fail,
            Some("write"),
            &["c1"],
            [
                "other processes wrote 2 GiB to the device while the clock ran, 200 % of the phase's own 1 GiB",
                "The figure is of what the others left.",
                "Repeat it while nothing else uses the device.",
            ],
        )
    });
    run.judged[0] =
        JudgedClaim::unverifiable("c1", None, "other processes used the device").with_findings(vec!["AB601".into()]);
    run.verdict = RunVerdict::Inconclusive;
    run.exit_code = 3;
    run
}

/// An adapter knew the tool and found no figure in its output.
pub(crate) fn no_claims() -> JudgedRun {
    let mut run = base(&["iozone", "-i", "0", "-s", "1g"]);
    run.phases = vec![write_phase("write", "write", 0)];
    run.parsed.notes = vec![note(30, "          1048576  4096", "a row without figures")];
    run.findings = vec![outcome("AB301", "missing-fsync", Outcome::Silent, "write", "")];
    run.verdict = RunVerdict::Inconclusive;
    run.exit_code = 3;
    run
}

/// A program that no adapter knows.
pub(crate) fn evidence_only() -> JudgedRun {
    let mut run = base(&["/usr/bin/dd", "if=/dev/zero", "of=/mnt/bench/my file", "bs=1M", "count=1024"]);
    run.parsed = Parsed { complete: true, ..Parsed::default() };
    run.phases = vec![write_phase("file-1", "my file", 0)];
    run.run_facts = facts(&[(FactName::WriteBytes, 1_073_741_824.0), (FactName::WriteCalls, 1024.0)]);
    run.findings = vec![missing_fsync()];
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

/// The benchmark ended with an error of its own.
pub(crate) fn failed_child() -> JudgedRun {
    let mut run = base(&["iozone", "-i", "0", "-s", "1g", "-f", "/nowhere/iozone.tmp"]);
    run.manifest.child.exit_code = Some(188);
    run.parsed.complete = false;
    run.parsed.errors = vec![
        note(27, "Can not open temp file: /nowhere/iozone.tmp", "the tool could not open its file"),
        note(28, "open: No such file or directory", "the tool could not open its file"),
    ];
    run.manifest.host.targets.clear();
    run.verdict = RunVerdict::Failed;
    run.exit_code = 4;
    run
}

/// A run that the user stopped half-way.
pub(crate) fn interrupted() -> JudgedRun {
    let mut run = misleading();
    run.shares = Shares::default();
    run.manifest.incomplete = vec!["interrupted by SIGINT after 2.70 s".into()];
    run.manifest.child = ChildEnd {
        pid: Some(4711),
        signal: Some(15),
        stopped_by_us: Some(StopReason::Interrupted),
        ..ChildEnd::default()
    };
    run.parsed.complete = false;
    run.parsed.claims.truncate(1);
    let why = "the run was stopped before a sync made the data durable";
    let before = &run.judged[0];
    let judged = JudgedClaim::unverifiable(&before.claim, before.observed(), why);
    run.judged = vec![judged.with_findings(before.findings.clone())];
    run.phases[1].incomplete = Some("cut short at 37 % of the requested bytes".into());
    run.findings = vec![outcome(
        "AB302",
        "sync-outside-clock",
        Outcome::Undecided,
        "write",
        "durable_span_ns is missing: the run was interrupted",
    )];
    run.verdict = RunVerdict::Inconclusive;
    run.exit_code = 130;
    run
}

fn other_tracer(hook: &str, holder: Option<(u32, &str)>) -> OtherTracer {
    OtherTracer {
        hook: hook.into(),
        program: "observe".into(),
        id: 2301,
        pid: holder.map(|(pid, _)| pid),
        comm: holder.map(|(_, comm)| comm.into()),
    }
}

/// A share of a measured bound, both in KiB/s; the link comes after it.
fn share(claim: &str, figure: ShareOf, value: f64, part: &str, bound: f64) -> Share {
    let part = format!("what {part}");
    let link = Bound { part: "what SATA 6.0 Gbps carries".into(), value: kib_rate(585_937.5), measured: false };
    Share {
        claim: claim.into(),
        figure,
        value: kib_rate(value),
        bound: kib_rate(bound),
        ratio: value / bound,
        part: part.clone(),
        measured: true,
        bounds: vec![Bound { part, value: kib_rate(bound), measured: true }, link],
    }
}

/// `text` in every field that somebody else chooses.
pub(crate) fn hostile(text: &str) -> JudgedRun {
    let mut run = misleading();
    let script = script();
    run.manifest.measurements = script.manifest.measurements;
    run.measurements = script.measurements;
    run.together = script.together;
    run.parsed.script_figures = script.parsed.script_figures;
    for measurement in &mut run.manifest.measurements {
        measurement.tool = text.into();
        measurement.command = CommandLine { argv: vec![text.into()], cwd: text.into() };
    }
    for judged in &mut run.measurements {
        judged.because = text.into();
        if let Ok(advised) = &mut judged.advised {
            advised.argv.push(text.into());
        }
    }
    run.together.iter_mut().for_each(|together| together.device = text.into());
    for figure in &mut run.parsed.script_figures {
        figure.printed.text.push_str(text);
        figure.printed.unit.push_str(text);
        figure.source.text.push_str(text);
        figure.source.stream.push_str(text);
    }
    let put = |field: &mut String| field.push_str(text);
    run.directory = text.into();
    run.manifest.activebench = text.into();
    run.manifest.command = CommandLine { argv: vec![text.into(), text.into()], cwd: text.into() };
    run.manifest.child.stopped_by_us = Some(StopReason::Interrupted);
    run.manifest.incomplete = vec![text.into()];
    run.manifest.added_arguments = vec![text.into()];
    run.manifest.choices.profile = text.into();
    run.manifest.choices.thresholds = Some(ThresholdFile { file: text.into(), text: text.into() });
    run.changed_thresholds = vec![changed_threshold(text, text)];
    run.manifest.choices.purpose = Some(text.into());
    run.manifest.choices.target = Some(text.into());
    run.limiters = vec![Limiter { kind: None, sentence: text.into(), ..limiter(text) }];
    for share in &mut run.shares.shares {
        put(&mut share.part);
        share.bounds.iter_mut().for_each(|bound| put(&mut bound.part));
    }
    run.shares.notes = vec![text.into()];
    run.manifest.choices.suppressed = BTreeMap::from([(text.into(), text.into())]);
    run.manifest.sha256 = BTreeMap::from([(text.into(), "9f86d081884c7d65".repeat(4))]);
    run.manifest.preparation = Some(preparation(text, text));
    run.manifest.host.kernel = text.into();
    run.manifest.host.hostname = Some(text.into());
    run.manifest.host.unread = vec![text.into()];
    for target in &mut run.manifest.host.targets {
        put(&mut target.mount_point);
        put(&mut target.fs_type);
        put(&mut target.options);
        for layer in &mut target.layers {
            put(&mut layer.name);
            put(&mut layer.kind);
            layer.write_cache = Some(text.into());
            layer.backing_file = Some(text.into());
            layer.attributes = BTreeMap::from([(text.into(), text.into())]);
        }
    }
    let coverage = &mut run.manifest.coverage;
    coverage.blind_paths = vec![BlindPath { path: text.into(), calls: 3 }];
    coverage
        .records
        .insert(RecordClass::Malformed, RecordAccount { made: 5, received: 3, lost: 2, ..RecordAccount::default() });
    coverage.other_tracers = Some(vec![OtherTracer { program: text.into(), ..other_tracer(text, Some((1, text))) }]);
    coverage.probes.push(ProbeStatus {
        hook: Hook::UringSubmit,
        attached: false,
        why_not: Some(text.into()),
        missed: 1,
    });
    run.parsed.tool = text.into();
    run.parsed.version = Some(text.into());
    run.parsed.errors = vec![note(1, text, text)];
    run.parsed.notes = vec![note(2, text, text)];
    for claim in &mut run.parsed.claims {
        put(&mut claim.printed.text);
        put(&mut claim.printed.unit);
        put(&mut claim.source.stream);
        put(&mut claim.source.text);
        put(&mut claim.subject_reason);
    }
    for phase in &mut run.phases {
        put(&mut phase.name);
        put(&mut phase.clock);
        phase.incomplete = Some(text.into());
        phase.facts.insert(FactName::Flushes, Fact::missing(text, Scope::Device, text));
    }
    for timeline in &mut run.timelines {
        timeline.series[0].completeness = Completeness::Missing(text.into());
        timeline.series[0].values.clear();
        for series in timeline.series.iter_mut().skip(1) {
            series.completeness = Completeness::Partial(text.into());
        }
        for sync in &mut timeline.syncs {
            sync.call = text.into();
        }
        for histogram in &mut timeline.latencies {
            histogram.completeness = Completeness::Partial(text.into());
        }
        for map in &mut timeline.maps {
            map.name = Some(text.into());
        }
    }
    for finding in &mut run.findings {
        put(&mut finding.code);
        put(&mut finding.name);
        let mut sentence = finding.message.sentence().to_owned();
        put(&mut sentence);
        finding.message = sentence.into();
        put(&mut finding.meaning);
        put(&mut finding.advice);
        finding.threshold = Some(Threshold { value: Quantity::ratio(0.05), source: text.into() });
    }
    run.profiles.phases = run.phases.iter().map(|phase| (phase.id.clone(), profile(text))).collect();
    coverage.sampling = Some(Sampling { why_not: Some(text.into()), ..Sampling::default() });
    coverage.payload = Some(PayloadSampling { why_not: Some(text.into()), one_in: 1, ..PayloadSampling::default() });
    coverage.steal_unread = Some(text.into());
    run.findings.push(outcome(text, text, Outcome::Undecided, text, text));
    for judged in &mut run.judged {
        put(judged.measured_instead.get_or_insert_with(String::new));
        judged.no_correction = Some(text.into());
        judged.findings = vec![text.into()];
        if let Some(corrected) = &mut judged.corrected {
            put(&mut corrected.meaning);
        }
    }
    for page in &mut run.detectors {
        put(&mut page.finds);
        put(&mut page.matters);
        put(&mut page.to_do);
        page.name = text.into();
    }
    run.questions = BTreeMap::from([(text.into(), Answer { answer: text.into(), evidence: vec![text.into()] })]);
    run
}

/// `./bench.sh`: three measurements, of which two ran at the same time and one failed, and two numbers of the script.
pub(crate) fn script() -> JudgedRun {
    let mut run = base(&["./bench.sh"]);
    run.parsed.tool = "iozone".into();
    let rate = 400_000;
    let advised = Advised {
        argv: vec!["iozone".into(), "-i0".into(), "-e".into(), "-f".into(), "b".into()],
        answers: "sequential write, fsync included".into(),
        seconds: Some(10.0),
        applied: vec![Applied { codes: vec!["AB302".into()], change: "added `-e`".into() }],
        left: Vec::new(),
    };
    let judged = |number, verdict, because: &str, advised| JudgedMeasurement {
        number,
        verdict,
        because: because.into(),
        advised,
    };
    let nothing = || Err("Nothing is to be corrected.".to_owned());
    run.measurements = vec![
        judged(1, RunVerdict::Verified, "1 of 1 figures are confirmed", nothing()),
        judged(2, RunVerdict::Discrepancy, "1 of 1 figures are misleading", Ok(advised)),
        judged(3, RunVerdict::Failed, "it ended with exit code 1", Err("The benchmark failed.".into())),
    ];
    run.together = vec![Together {
        numbers: vec![1, 2],
        device: "vda".into(),
        rate: Some(Quantity::bytes_per_sec(600.0 * 1024.0 * 1024.0)),
    }];
    for (number, file) in [(1, "a"), (2, "b"), (3, "c")] {
        run.manifest.measurements.push(Measurement {
            number,
            tool: "iozone".into(),
            command: CommandLine {
                argv: ["iozone", "-i0", "-f", file].map(str::to_owned).to_vec(),
                cwd: "/mnt".into(),
            },
            tgid: 100 + number,
            started_ns: 1_000_000_000 * u64::from(number.min(2)),
            ended_ns: Some(2_500_000_000 + 1_000_000_000 * u64::from(number / 3)),
            exit_status: Some(if number == 3 { 256 } else { 0 }),
            tgids: vec![100 + number],
            missing_output_bytes: 0,
        });
        if number < 3 {
            let (id, phase) = (format!("{number}-c1"), format!("{number}-write"));
            run.phases.push(write_phase(&phase, &format!("write ({number})"), 0));
            run.parsed.claims.push(claim(&id, &phase, rate));
            run.judged.push(match number {
                1 => confirmed(&id, rate as f64),
                _ => cached_write(&id, rate as f64, 90_000.0, "until the end of the fsync"),
            });
        }
    }
    run.findings.push(sync_outside("2-write", "2-c1", "the fsync ended 1.20 s after the clock had stopped"));
    let number = |line, text: &str, origin, fault| ScriptFigure {
        printed: Printed { text: text.into(), unit: "MB/s".into() },
        value: Quantity::bytes_per_sec(390.625e6),
        source: SourceLine { stream: "stdout".into(), line, text: format!("first write: {text} MB/s") },
        origin,
        fault,
        meant: Vec::new(),
        is_no_result: false,
    };
    let origin = Origin {
        derivation: Derivation::Equal,
        claims: vec!["1-c1".into()],
        value: Quantity::bytes_per_sec(rate as f64 * 1024.0),
    };
    run.parsed.script_figures =
        vec![number(4, "117.3", None, None), number(5, "390.625", Some(origin), Some(Fault::OtherPrefix))];
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

/// `iozone -a`: 200 claims, of which 5 are contradicted.
pub(crate) fn many_claims() -> JudgedRun {
    let mut run = base(&["iozone", "-a", "-f", "/mnt/bench/iozone.tmp"]);
    for index in 0..200_u32 {
        let (size, record) = (64 << (index / 20), 4 << (index % 10));
        let name = if index % 20 < 10 { "write" } else { "rewrite" };
        let (id, phase) = (format!("c{}", index + 1), format!("{name}-{size}k-{record}k"));
        run.phases.push(write_phase(&phase, name, u64::from(index) * 1_000_000_000));
        run.parsed.claims.push(claim(&id, &phase, 400_000 + u64::from(index) * 13));
        if index % 40 == 7 {
            run.judged.push(cached_write(&id, 400_000.0, 90_000.0, "until the end of the fsync"));
            run.findings.push(sync_outside(&phase, &id, "the fsync ended 1.20 s after the clock had stopped"));
        } else {
            run.judged.push(confirmed(&id, 400_000.0));
        }
    }
    run.verdict = RunVerdict::Discrepancy;
    run.exit_code = 1;
    run
}

/// Records were lost: findings that depend on them are undecided.
pub(crate) fn undecided() -> JudgedRun {
    let mut run = misleading();
    run.shares = Shares::default();
    run.manifest.coverage.records.insert(
        RecordClass::BlockCompleted,
        RecordAccount { made: 2_051, received: 2_000, lost: 51, ..RecordAccount::default() },
    );
    run.manifest.coverage.blind_paths = vec![BlindPath { path: "io_uring".into(), calls: 812 }];
    run.manifest.coverage.probes.push(ProbeStatus {
        hook: Hook::UringSubmit,
        attached: false,
        why_not: Some("the kernel has no such tracepoint".into()),
        missed: 0,
    });
    run.manifest.coverage.overhead.observer_cpu_ns = None;
    run.manifest.coverage.overhead.bpf_run_ns = Some(3_210_000);
    run.manifest.coverage.other_tracers = Some(vec![
        other_tracer("tracepoint/block_rq_complete", Some((1625, "bpftrace"))),
        other_tracer("raw_tracepoint/sys_enter", None),
    ]);
    run.findings = vec![
        outcome("AB301", "missing-fsync", Outcome::Undecided, "write", "51 of 2051 block records were lost"),
        outcome("AB601", "foreign-io", Outcome::Undecided, "write", "51 of 2051 block records were lost"),
        outcome("AB601", "foreign-io", Outcome::Undecided, "rewrite", "51 of 2051 block records were lost"),
        outcome("AB401", "repeated-offsets", Outcome::Undecided, "write", "io_uring was used and is not decoded"),
        Finding {
            effect: Some(Effect::Unverifiable),
            ..fires(
                "AB902",
                "evidence-lost",
                Severity::Warn,
                None,
                &["c1", "c2"],
                [
                    "51 of 2051 block records were lost.",
                    "Figures that need them cannot be verified.",
                    "Give a larger buffer: --buffer 64M.",
                ],
            )
        },
    ];
    run.judged = ["c1", "c2"].map(|id| unverifiable(id).with_findings(vec!["AB902".into()])).to_vec();
    run.verdict = RunVerdict::Inconclusive;
    run.exit_code = 3;
    run
}

fn limiter(phase: &str) -> Limiter {
    Limiter {
        phase: phase.into(),
        kind: Some(LimiterKind::Device),
        sentence: "The device was the limit: the threads waited for 91.7 % of their time, and the device was busy for \
                   93.3 % of the pass. It had 4 requests in flight on average, 5.50 ms each."
            .into(),
        figures: vec![Figure { name: "device_busy_ratio".into(), value: Quantity::ratio(0.9333) }],
        facts: vec![FactName::Window, FactName::DeviceBusy],
    }
}

fn changed_threshold(name: &str, source: &str) -> ChangedThreshold {
    ChangedThreshold {
        name: name.into(),
        threshold: Threshold { value: Quantity::ratio(0.1), source: source.into() },
        default: Quantity::ratio(0.05),
    }
}

/// `iozone -t 2`: several metrics of one phase, warnings only.
pub(crate) fn throughput() -> JudgedRun {
    let mut run = base(&["iozone", "-t", "2", "-i", "0", "-s", "512m", "-e", "-c"]);
    run.phases = vec![write_phase("initial-writers", "initial writers", 0)];
    run.manifest.choices.profile = "bonnie".into();
    run.manifest.choices.thresholds =
        Some(ThresholdFile { file: "limits.toml".into(), text: "ab302_late_sync_fail_ratio = 0.1\n".into() });
    run.changed_thresholds = vec![changed_threshold("ab302_late_sync_fail_ratio", "limits.toml")];
    run.parsed.notes = vec![note(40, "+++++", "below the resolution of the tool: not measured")];
    let metrics = [
        Metric::SumOfTaskThroughput,
        Metric::ParentThroughput,
        Metric::MinTaskThroughput,
        Metric::MaxTaskThroughput,
        Metric::MeanTaskThroughput,
        Metric::TaskThroughput,
    ];
    for (index, metric) in metrics.into_iter().enumerate() {
        let id = format!("c{}", index + 1);
        let mut claim = claim(&id, "initial-writers", 830_168 - 1_000 * index as u64);
        claim.metric = metric;
        claim.printed = Printed { text: format!("{}.00", 830_168 - 1_000 * index), unit: "kB/sec".into() };
        run.parsed.claims.push(claim);
        run.judged.push(confirmed(&id, 830_000.0));
    }
    let mut bytes = claim("c7", "initial-writers", 0);
    bytes.metric = Metric::MinTaskBytes;
    bytes.value = Quantity::bytes(524_288 * 1024);
    bytes.printed = Printed { text: "524288.00".into(), unit: "kB".into() };
    run.parsed.claims.push(bytes);
    run.judged.push(confirmed_by("c7", Quantity::bytes(524_288 * 1024)));
    run.findings = vec![Finding {
        threshold: Some(Threshold {
            value: Quantity::ns(500_000_000),
            source: "bonnie++ prints +++++ below it".into(),
        }),
        ..fires(
            "AB701",
            "phase-too-short",
            Severity::Warn,
            Some("initial-writers"),
            &[],
            [
                "the window of initial writers lasted 320 ms, less than 500 ms",
                "A figure from so short a window scatters from run to run.",
                "Give a larger file: -s 4g.",
            ],
        )
    }];
    run.manifest.choices.suppressed = BTreeMap::from([("AB404".into(), "the payload is agreed".into())]);
    run.verdict = RunVerdict::Qualified;
    run
}

/// Returns the violations of a schema by a report. Asserts that the schema itself is valid.
pub(crate) fn schema_faults(schema: &str, report: &str) -> Vec<String> {
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    assert_eq!(jsonschema::meta::validate(&schema).map_err(|fault| fault.to_string()), Ok(()));
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let report = serde_json::from_str(report).expect("the report is JSON");
    validator.iter_errors(&report).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
}

/// Renders a document in the format with this name.
pub(crate) fn rendered(format: &str, document: &impl Document) -> String {
    let format = format_by_name(format).expect("there is such a format");
    format.render_document(document, Style::default()).expect("it is of every document")
}

/// Renders a run in the format with this name.
pub(crate) fn of_run(format: &str, run: &JudgedRun) -> String {
    styled(format, run, Style::default())
}

/// Renders a run in the format with this name, for a terminal like this.
pub(crate) fn styled(format: &str, run: &JudgedRun, style: Style) -> String {
    format_by_name(format).expect("there is such a format").render(run, style)
}
