//! From runs to outcomes: what is judged, what is not, and why.

use activebench_model::acceptance::{AcceptanceMark, AcceptedRun};
use activebench_model::claim::Metric;
use activebench_model::command::CommandLine;
use activebench_model::finding::{Outcome, Severity};
use activebench_model::series::{ClaimOfRun, RunOfSeries, SeriesManifest};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};

use super::depth::Depth;
use super::evidence::{PhaseEvidence, Stated};
use super::*;
use crate::thresholds::Thresholds;

const FILE: &str = r#"format = 1
[parties]
buyer = "B"
vendor = "V"
[target]
path = "/mnt"
[[benchmark]]
name = "reads"
command = ["fio"]
runs = 6
[[limit]]
benchmark = "reads"
phase = "read"
metric = "throughput"
at_least = "100 B/s"
[decision]
rule = "guard-band"
"#;

fn file(from: &str, to: &str) -> AcceptanceFile {
    let text = FILE.replace(from, to);
    AcceptanceFile::parse("offer.toml", &text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn usual() -> AcceptanceFile {
    file("", "")
}

fn finding(code: &str, phase: Option<&str>, outcome: Outcome) -> Finding {
    Finding {
        code: code.to_owned(),
        name: "name".to_owned(),
        outcome,
        severity: (outcome == Outcome::Fires).then_some(Severity::Warn),
        phase: phase.map(str::to_owned),
        claims: Vec::new(),
        observed: None,
        threshold: None,
        message: "what was found".into(),
        meaning: String::new(),
        advice: String::new(),
        facts: Vec::new(),
        effect: None,
    }
}

fn run(number: u32, honest: Option<f64>) -> RunEvidence {
    let directory = format!("out/reads/{number}");
    let per_phase = ["AB505", "AB601", "AB703", "AB901"].map(|code| finding(code, Some("read"), Outcome::Silent));
    let whole = [finding("AB902", None, Outcome::Silent)];
    RunEvidence {
        run: AcceptedRun {
            directory: directory.clone(),
            run_json_sha256: String::new(),
            started_unix_s: 0,
            verdict: RunVerdict::Verified,
            recorded_for_sha256: Some("this".to_owned()),
        },
        of_series: RunOfSeries {
            number,
            directory: directory.clone(),
            started_unix_s: 0,
            verdict: RunVerdict::Verified,
            exit_code: 0,
            claims: Vec::new(),
            beginnings: Vec::new(),
            circumstances: Vec::new(),
            preparation: None,
        },
        argv: vec!["fio".to_owned()],
        cwd: "/mnt".to_owned(),
        is_redacted: false,
        figures: vec![Stated {
            phase: "read".to_owned(),
            metric: Metric::Throughput,
            depth: None,
            figure: FigureOfRun {
                run: directory,
                claimed: Some(Quantity::bytes_per_sec(1e9)),
                honest: honest.map(Quantity::bytes_per_sec),
                no_honest: honest.is_none().then(|| "nothing was read from the device".to_owned()),
                verdict: Some(ClaimVerdict::Misleading),
                resolution: Some(Quantity::bytes_per_sec(0.0)),
            },
        }],
        phases: vec![PhaseEvidence { phase: "read".to_owned(), foreign_ratio: Some(0.0) }],
        findings: per_phase.into_iter().chain(whole).collect(),
        file_systems: Vec::new(),
        devices: Vec::new(),
        host: String::new(),
        memory_bytes: None,
        device_bytes: None,
    }
}

/// Six runs of these honest figures, in steady state and in agreement.
fn recorded(figures: [f64; 6]) -> Recorded {
    let findings = ["AB702", "AB705"].map(|code| finding(code, Some("read"), Outcome::Silent));
    let runs = (1..).zip(figures).map(|(number, figure)| run(number, Some(figure))).collect();
    Recorded { runs, findings: findings.to_vec(), steadiness: Vec::new(), incomplete: Vec::new() }
}

fn judged(file: &AcceptanceFile, recorded: Recorded) -> Acceptance {
    let setting = Setting {
        activebench: "0".to_owned(),
        agreed: AgreedFile { name: "offer.toml".to_owned(), sha256: "this".to_owned() },
        notes: Vec::new(),
        recheck: Vec::new(),
    };
    judge(file, &file.units_in_file()[0], &[recorded], setting)
}

/// Median 150 of 140 to 160: U = 10.
const STEADY: [f64; 6] = [140.0, 150.0, 150.0, 150.0, 150.0, 160.0];

#[test]
fn the_limit_decides_and_the_buyer_says_what_a_conditional_pass_is_worth() {
    use AcceptanceOutcome::{ConditionalFail, ConditionalPass, Fail, Pass};
    for (limit, outcome, code) in [
        ("139 B/s", Pass, 0),
        ("140 B/s", ConditionalPass, 0),
        ("150 B/s", ConditionalPass, 0),
        ("160 B/s", ConditionalFail, 1),
        ("161 B/s", Fail, 1),
    ] {
        let found = judged(&file("100 B/s", limit), recorded(STEADY));
        assert_eq!((found.outcome, found.exit_code), (outcome, code), "{limit}: {}", found.because);
    }
    let strict = file("rule = \"guard-band\"", "rule = \"guard-band\"\nconditional_pass = \"reject\"");
    let strict = AcceptanceFile { limits: file("100 B/s", "145 B/s").limits, ..strict };
    assert_eq!(judged(&strict, recorded(STEADY)).exit_code, 1);
    let simple = file("rule = \"guard-band\"", "rule = \"simple\"");
    let simple = AcceptanceFile { limits: file("100 B/s", "150 B/s").limits, ..simple };
    assert_eq!(judged(&simple, recorded(STEADY)).outcome, Pass);
}

#[test]
fn what_was_claimed_decides_nothing() {
    let found = judged(&file("100 B/s", "200 B/s"), recorded(STEADY));
    assert_eq!(found.limits[0].honest, Some(Quantity::bytes_per_sec(150.0)));
    assert_eq!(found.outcome, AcceptanceOutcome::Fail);
}

/// A change that makes a recorded suite worse.
type Change = fn(&mut Recorded);

#[test]
fn evidence_that_is_not_whole_is_not_judged() {
    let changes: [(Change, &str); 12] = [
        (|suite| suite.runs[2] = run(3, None), "1 of 6 runs have no honest figure: nothing was read"),
        (|suite| suite.runs[2].figures.clear(), "the run states no figure of this phase"),
        (
            |suite| suite.runs[2].figures[0].metric = Metric::OperationRate,
            "the run does not state this figure, but operation-rate",
        ),
        (|suite| suite.runs.truncate(5), "5 runs were recorded, and 6 runs were agreed on"),
        (|suite| suite.runs.clear(), "0 runs were recorded"),
        (|suite| suite.incomplete.push("interrupted".to_owned()), "interrupted"),
        (|suite| suite.findings.clear(), "whether reads was steady is not known"),
        (
            |suite| suite.findings[1].outcome = Outcome::Undecided,
            "whether reads reproduces is not known: what was found",
        ),
        (
            |suite| suite.runs[0].findings.push(finding("AB601", Some("read"), Outcome::Undecided)),
            "how much other programs moved at the device in run 1 of reads is not known: what was found",
        ),
        (
            |suite| suite.runs[0].findings.push(finding("AB601", Some("read"), Outcome::Fires)),
            "other programs used the device in run 1 of reads: what was found",
        ),
        (|suite| suite.runs[5].findings.retain(|found| found.code != "AB505"), "run 6: AB505 has no answer"),
        (
            |suite| suite.runs[1].findings.push(finding("AB902", None, Outcome::Fires)),
            "the observation of run 2 of reads is incomplete: what was found",
        ),
    ];
    for (change, why) in changes {
        let mut suite = recorded(STEADY);
        change(&mut suite);
        let found = judged(&usual(), suite);
        let limit = &found.limits[0];
        assert_eq!((limit.outcome, found.exit_code), (AcceptanceOutcome::NotJudged, 3), "{why}");
        assert!(limit.because.contains(why), "{why}: {}", limit.because);
    }
}

#[test]
fn a_condition_that_does_not_hold_fails_where_the_file_says_so_and_a_lost_record_never_does() {
    let strict = file("[decision]", "[conditions]\nnot_met = \"fail\"\n[decision]");
    for (code, phase, outcome) in
        [("AB703", Some("read"), AcceptanceOutcome::Fail), ("AB902", None, AcceptanceOutcome::NotJudged)]
    {
        let mut suite = recorded(STEADY);
        suite.runs[0].findings.push(finding(code, phase, Outcome::Fires));
        assert_eq!(judged(&strict, suite).outcome, outcome, "{code}");
    }
    // Unknown evidence accuses nobody.
    let mut suite = recorded(STEADY);
    suite.findings.clear();
    assert_eq!(judged(&strict, suite).outcome, AcceptanceOutcome::NotJudged);
}

#[test]
fn a_suppressed_detector_still_breaks_its_condition() {
    let mut suite = recorded(STEADY);
    let found = Finding { severity: Some(Severity::Note), ..finding("AB505", Some("read"), Outcome::Fires) };
    suite.runs[0].findings.push(found);
    let state = |file: &AcceptanceFile| {
        let found = judged(file, suite.clone());
        found.benchmarks[0].conditions.iter().find(|one| one.name == "no_throttling").expect("it is listed").state
    };
    assert_eq!(state(&usual()), ConditionState::NotMet);
    let allowed = file("[decision]", "[conditions]\nno_throttling = false\n[decision]");
    assert_eq!(state(&allowed), ConditionState::NotAsked);
}

#[test]
fn another_phase_breaks_no_condition() {
    let mut suite = recorded(STEADY);
    suite.runs[0].findings.push(finding("AB505", Some("layout"), Outcome::Fires));
    assert_eq!(judged(&usual(), suite).outcome, AcceptanceOutcome::Pass);
}

#[test]
fn the_device_must_be_the_one_that_was_agreed_on() {
    let wanted = file("[[benchmark]]", "[target.identity]\nmodel = \"M\"\nserial = \"S\"\n[[benchmark]]");
    let device =
        |name: &str, model: Option<&str>, serial: Option<&str>| activebench_model::acceptance::DeviceIdentity {
            name: name.to_owned(),
            model: model.map(str::to_owned),
            serial: serial.map(str::to_owned),
            ..Default::default()
        };
    for (devices, expected) in [
        (vec![device("a", Some("M"), Some("S "))], ConditionState::Met),
        // A loop device above it says nothing of itself.
        (vec![device("loop0", None, None), device("a", Some("M"), Some("S"))], ConditionState::Met),
        (vec![device("a", Some("M"), Some("T"))], ConditionState::NotMet),
        (vec![device("loop0", None, None), device("a", Some("N"), Some("S"))], ConditionState::NotMet),
        (vec![device("a", Some("M"), None)], ConditionState::NotKnown),
        (vec![], ConditionState::NotKnown),
    ] {
        let mut suite = recorded(STEADY);
        for run in &mut suite.runs {
            run.devices.clone_from(&devices);
        }
        let found = judged(&wanted, suite);
        let condition = &found.benchmarks[0].conditions[0];
        assert_eq!((condition.name.as_str(), condition.state), ("identity", expected), "{devices:?}");
    }
    // A redacted copy has another serial number in its place.
    let mut suite = recorded(STEADY);
    for run in &mut suite.runs {
        run.is_redacted = true;
        run.devices = vec![device("a", Some("M"), Some("0000000001"))];
    }
    let condition = &judged(&wanted, suite).benchmarks[0].conditions[0];
    assert_eq!(condition.state, ConditionState::NotKnown);
    assert!(condition.evidence[0].contains("the copy is redacted"), "{condition:?}");
}

#[test]
fn runs_of_another_file_are_told() {
    let mut suite = recorded(STEADY);
    suite.runs[0].run.recorded_for_sha256 = Some("other".to_owned());
    suite.runs[1].run.recorded_for_sha256 = None;
    let found = judged(&usual(), suite);
    assert!(found.notes[0].starts_with("1 of 6 runs were recorded for another acceptance file"), "{:?}", found.notes);
    assert!(found.notes[1].starts_with("1 of 6 runs were recorded for no acceptance file"), "{:?}", found.notes);
    assert_eq!(judged(&usual(), recorded(STEADY)).notes, Vec::<String>::new());
    // The mark of a run does not come from the file.
    let mark = AcceptanceMark { sha256: "other".to_owned(), ..AcceptanceMark::default() };
    let choices = usual().choices(&usual().benchmarks[0], Some(mark.clone()));
    assert_eq!(choices.acceptance, Some(mark));
}

#[test]
fn a_single_run_is_enough_for_the_simple_rule_alone() {
    let conditions = "[conditions]\nsteady_state = false\nreproducible = false\n[decision]";
    let text = FILE.replace("runs = 6", "runs = 1").replace("[decision]", conditions);
    let faults = AcceptanceFile::parse("offer.toml", &text).expect_err("its uncertainty is never known").to_string();
    assert!(faults.contains("`guard-band` needs at least 2 runs"), "{faults}");
    let simple = AcceptanceFile::parse("offer.toml", &text.replace("guard-band", "simple")).expect("a file");
    let mut suite = recorded(STEADY);
    suite.runs.truncate(1);
    assert_eq!(judged(&simple, suite).outcome, AcceptanceOutcome::Pass);
}

#[test]
fn which_of_several_figures_is_meant_is_not_guessed() {
    let mut suite = recorded(STEADY);
    for run in &mut suite.runs {
        let mut slower = run.figures[0].clone();
        slower.figure.honest = Some(Quantity::bytes_per_sec(20.0));
        run.figures.push(slower);
    }
    let found = judged(&usual(), suite);
    assert_eq!(found.outcome, AcceptanceOutcome::NotJudged);
    assert!(found.because.contains("states 2 such figures"), "{}", found.because);
}

#[test]
fn a_benchmark_without_limit_has_no_condition_met_unseen() {
    let suite = recorded(STEADY);
    let none = AcceptanceFile { limits: Vec::new(), ..usual() };
    let found = judged(&none, suite);
    for condition in &found.benchmarks[0].conditions {
        let expected = match condition.name.as_str() {
            "identity" => ConditionState::NotAsked,
            _ => ConditionState::NotKnown,
        };
        assert_eq!(condition.state, expected, "{condition:?}");
    }
}

#[test]
fn a_run_is_of_a_command_with_the_sizes_of_its_machine() {
    let command = "[\"fio\", \"--size={2 x ram}\", \"--filename=x\"]";
    let file = file("[\"fio\"]", command);
    let benchmark = &file.benchmarks[0];
    let of = |size: &str, name: &str, memory: Option<u64>, marked, redacted| {
        let argv = ["fio", size, name].map(str::to_owned).to_vec();
        let run = RunEvidence { argv, memory_bytes: memory, is_redacted: redacted, ..run(1, None) };
        run.ran(benchmark, "/mnt", marked)
    };
    let (gib, size) = (Some(1 << 30), "--size=2147483648");
    assert_eq!(of(size, "--filename=x", gib, false, false), Ran::It);
    assert_eq!(of("--size=1", "--filename=x", gib, false, false), Ran::Another);
    // The machine says another memory than it did when the suite was planned.
    assert_eq!(of("--size=1", "--filename=x", gib, true, false), Ran::It);
    assert_eq!(of(size, "--filename=y", gib, true, false), Ran::Another);
    let unknown = Ran::NotKnown("the size of memory is not known".to_owned());
    assert_eq!(of(size, "--filename=x", None, false, false), unknown);
    assert_eq!(of(size, "--filename=y", None, false, false), Ran::Another);
    assert_eq!(of(size, "--filename=p", gib, true, true), Ran::It);
    assert!(matches!(of(size, "--filename=p", gib, false, true), Ran::NotKnown(_)));
}

/// Runs whose rates these are, as a series judges them.
fn series_of(file: &AcceptanceFile, rates: [f64; 6]) -> (Vec<Finding>, Vec<Steadiness>) {
    let claim = |rate| ClaimOfRun {
        phase: "read".to_owned(),
        metric: Metric::Throughput,
        value: Quantity::bytes_per_sec(rate),
        resolution: 0.0,
        of_storage: true,
        verdict: ClaimVerdict::Confirmed,
        corrected: None,
    };
    let runs = (1..).zip(rates).map(|(number, rate)| {
        let mut run = run(number, Some(rate)).of_series;
        run.claims.push(claim(rate));
        run
    });
    let choices = file.choices_of_series(&file.benchmarks[0]);
    let thresholds = Thresholds::profile(&choices.profile).expect("a profile");
    let manifest = SeriesManifest {
        format: 1,
        activebench: "0".to_owned(),
        command: CommandLine::default(),
        planned_runs: 6,
        until: None,
        runs: Vec::new(),
        choices,
        preconditioning: None,
        incomplete: Vec::new(),
    };
    let judged = crate::series::judge(manifest, String::new(), runs.collect(), &thresholds);
    (judged.findings, judged.steadiness)
}

#[test]
fn suppressed_detectors_of_the_series_still_break_their_conditions() {
    let suppressed = "[benchmark.suppress]\nAB702 = \"agreed\"\nnot-reproducible = \"agreed\"\n[[limit]]";
    let file = file("[[limit]]", suppressed);
    for (rates, expected) in
        [([100.0; 6], ConditionState::Met), ([100.0, 140.0, 180.0, 220.0, 260.0, 300.0], ConditionState::NotMet)]
    {
        let (findings, steadiness) = series_of(&file, rates);
        let suite = Recorded { findings, steadiness, ..recorded(rates) };
        let found = judged(&file, suite);
        for name in ["steady_state", "reproducible"] {
            let condition = found.benchmarks[0].conditions.iter().find(|one| one.name == name).expect("it is listed");
            assert_eq!(condition.state, expected, "{condition:?}");
        }
    }
}

#[test]
fn a_certain_fail_decides_whatever_else_is_open() {
    let two = "[[limit]]\nbenchmark = \"reads\"\nphase = \"other\"\nmetric = \"throughput\"\nat_least = \"1 B/s\"\n";
    let bad = FILE.replace("100 B/s", "900 B/s").replace("[decision]", &format!("{two}[decision]"));
    let bad = bad.replace("[decision]", "[conditions]\nsteady_state = false\nreproducible = false\n[decision]");
    let bad = AcceptanceFile::parse("offer.toml", &bad).expect("a file");
    let found = judged(&bad, recorded(STEADY));
    let outcomes: Vec<AcceptanceOutcome> = found.limits.iter().map(|limit| limit.outcome).collect();
    assert_eq!(outcomes, [AcceptanceOutcome::Fail, AcceptanceOutcome::NotJudged]);
    assert_eq!(found.outcome, AcceptanceOutcome::Fail);
    let none = AcceptanceFile { limits: Vec::new(), ..usual() };
    assert_eq!(judged(&none, recorded(STEADY)).exit_code, 3);
}

#[test]
fn a_limit_that_is_not_judged_says_why_in_one_plain_sentence() {
    let file = usual();
    let rates = [100.0, 100.0, 150.0, 200.0, 110.0, 120.0];
    let (findings, steadiness) = series_of(&file, rates);
    let found = judged(&file, Recorded { findings, steadiness, ..recorded(rates) });
    let why = "reads was not steady: the last five runs differ by 73.5 %, 20 % allowed";
    assert_eq!(found.limits[0].because, why);
    assert_eq!(found.because, format!("no limit could be judged: {why}"));
    let conditions = &found.benchmarks[0].conditions;
    let reproducible = conditions.iter().find(|one| one.name == "reproducible").and_then(|one| one.why.as_deref());
    assert_eq!(reproducible, Some("reads did not reproduce: its runs differ by 87.0 % of their median, 5 % allowed"));
    assert!(conditions.iter().all(|one| one.why.is_some() == (one.state == ConditionState::NotMet)), "{conditions:#?}");
    // A message of several sentences is cut after the first.
    let mut suite = recorded(STEADY);
    let said =
        Finding { message: "It was limited. It waited.".into(), ..finding("AB505", Some("read"), Outcome::Fires) };
    suite.runs[0].findings.push(said);
    let found = judged(&file, suite);
    assert_eq!(found.limits[0].because, "a control group limited run 1 of reads: It was limited");
}

#[test]
fn a_depth_that_was_not_reached_is_a_warning_on_a_rate() {
    let mut suite = recorded(STEADY);
    let missed = |is_known| Some(Depth { is_known, message: "The disk had 1.2 on average.".to_owned() });
    suite.runs[0].figures[0].depth = missed(true);
    suite.runs[1].figures[0].depth = missed(false);
    let found = judged(&usual(), suite);
    assert_eq!(found.outcome, AcceptanceOutcome::Pass);
    let [reached, known] = &found.limits[0].warnings[..] else { panic!("{:?}", found.limits[0].warnings) };
    assert!(
        reached.starts_with("the queue depth was not reached in 1 of 6 runs") && reached.contains("1.2"),
        "{reached}"
    );
    assert!(known.starts_with("whether the queue depth was reached in 1 of 6 runs is not known"), "{known}");
}

#[test]
fn one_agreement_is_for_the_units_that_it_names_or_for_any() {
    let target = "[target]\npath = \"/mnt\"\n";
    assert!(matches!(usual().units, Units::One(_)));
    let open = file(target, "");
    assert_eq!(open.units, Units::Open);
    let terms = file("path = \"/mnt\"", "destroy = true\n[target.identity]\nmodel = \"M\"");
    let unit = Target::named("/dev/sdb", true, &terms.terms);
    assert_eq!((unit.destroy, unit.model.as_deref(), unit.is_in_file()), (true, Some("M"), false));
    assert!(!Target::named("/mnt", false, &terms.terms).destroy, "a directory is not destroyed");
    // The command never names a device.
    assert!(terms.objection(&unit).is_some_and(|fault| fault.message.contains("never names the device")));

    let several = "[[unit]]\npath = \"/mnt/a/x\"\nserial = \"1\"\n[[unit]]\npath = \"/mnt/b/x\"\n[[unit]]\npath = \"/mnt/.b y\"\n";
    let listed = file(target, several);
    assert_eq!(listed.units_in_file()[0].serial.as_deref(), Some("1"));
    assert_eq!(folders(listed.units_in_file()), ["x", "x-2", "b_y"]);
    assert_eq!(open.units_of("disks.toml", several).expect("units").len(), 3);

    let fault = |from: &str, to: &str| {
        AcceptanceFile::parse("offer.toml", &FILE.replace(from, to)).expect_err("it is broken").to_string()
    };
    for (to, why) in [
        ("[target.identity]\nserial = \"S\"\n", "a serial number is that of one unit"),
        ("[[unit]]\npath = \"mnt\"\n", "not a path from the root on"),
        ("[[unit]]\nserial = \"S\"\n", "[[unit]] has no `path` or `device`"),
        ("[[unit]]\npath = \"/mnt\"\n[[unit]]\npath = \"/mnt\"\n", "two units are \"/mnt\""),
        ("[[unit]]\npath = \"/mnt\"\n[target]\ndestroy = true\n", "this unit is a directory"),
        ("[[unit]]\npath = \"/mnt\"\n[target]\npath = \"/mnt\"\n", "and so does [[unit]]"),
        ("[[unit]]\ndevice = \"/dev/sdb\"\n", "never names the device"),
        ("[[unit]]\npath = \"/mnt\"\nsize = \"1\"\n", "no field `size`"),
    ] {
        let found = fault(target, to);
        assert!(found.contains(why), "{to}: {found}");
    }
    let without = open.units_of("disks.toml", "format = 1\n").expect_err("it has no unit").to_string();
    assert!(without.contains("disks.toml") && without.contains("no `unit`"), "{without}");
}
