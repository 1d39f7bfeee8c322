//! The same command with the advice of a report applied, for a second run.
//!
//! Only changes that an option of the tool makes are applied. A larger file, another file system or another
//! tool is the user's to choose, and is listed as left to them with the reason.

use std::collections::HashSet;
use std::ops::Range;

use activebench_model::advice::{Advisor, Change, Circumstances, Improvement, Sizing};
use activebench_model::claim::{Claim, Metric};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::measurement::Measurement;
use activebench_model::output::ToolFile;
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::remedy::{Advised, Applied, Beside, Left, Side, SideBySide};
use activebench_model::report::JudgedRun;
use activebench_model::units::Unit;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};

use super::far_figure;
use crate::registry::DETECTORS;

/// Wanted time of a pass, in seconds: long enough that one disturbance does not decide, short enough to be done.
const SECONDS: f64 = 10.0;
/// Most bytes of the files where the size of the storage is unknown.
const MOST_BYTES: u64 = 32 << 30;

/// What a command line asks for, as its adapter reads it.
#[derive(Debug)]
pub struct Planned {
    /// The passes.
    pub phases: Vec<Phase>,
    /// Codes of the detectors that warn of the command line itself.
    pub warned: Vec<String>,
}

/// Returns the command to run instead, derived once from all findings (warnings and failures). `files` are those from
/// which the tool read its work. `plan` reads a command line of the tool: what is advised asks for the same passes, and
/// nothing is wrong with it.
///
/// # Errors
/// Returns the reason, in one sentence, where there is no such command.
pub fn advised(
    run: &JudgedRun,
    advisor: &dyn Advisor,
    files: &[ToolFile],
    plan: &dyn Fn(&[String]) -> Planned,
) -> Result<Advised, String> {
    if run.verdict == RunVerdict::Failed {
        return Err("The benchmark failed.".to_owned());
    }
    let judged = Judged {
        run,
        tool: &run.parsed.tool,
        phases: &run.phases,
        claims: &run.parsed.claims,
        judged: &run.judged,
        findings: run.findings.iter().collect(),
        own: run.manifest.tool_argv(),
        words: words_to_change(run),
    };
    correct(&judged, advisor, files, plan)
}

/// Returns the command to run instead of that of one of several measurements: its own words alone.
///
/// # Errors
/// As [`advised`].
pub fn advised_for(
    run: &JudgedRun,
    measurement: &Measurement,
    advisor: &dyn Advisor,
    files: &[ToolFile],
    plan: &dyn Fn(&[String]) -> Planned,
) -> Result<Advised, String> {
    if measurement.end() != (Some(0), None) {
        return Err("The benchmark failed, or its end is not known.".to_owned());
    }
    // Those of a measurement are neighbours.
    let phases = neighbours(&run.phases, |phase| measurement.owns(&phase.id));
    let claims = neighbours(&run.parsed.claims, |claim| measurement.owns(&claim.id));
    let is_own = |finding: &&Finding| {
        let of_phase = finding.phase.as_ref().is_some_and(|phase| measurement.owns(phase));
        of_phase || finding.claims.iter().any(|claim| measurement.owns(claim))
    };
    let own = measurement.command.argv.as_slice();
    let judged = Judged {
        run,
        tool: &measurement.tool,
        phases: &run.phases[phases],
        claims: &run.parsed.claims[claims.clone()],
        judged: run.judged.get(claims).unwrap_or(&[]),
        findings: run.findings.iter().filter(is_own).collect(),
        own,
        words: if own.is_empty() { Err("the tool's words are not known".to_owned()) } else { Ok((own, 0..own.len())) },
    };
    correct(&judged, advisor, files, plan)
}

/// Returns the range of those that one measurement owns.
fn neighbours<T>(all: &[T], is_own: impl Fn(&T) -> bool) -> Range<usize> {
    let begin = all.iter().position(&is_own).unwrap_or(all.len());
    begin..begin + all[begin..].iter().take_while(|one| is_own(one)).count()
}

/// What a command is corrected by: a run, or one of its measurements.
struct Judged<'a> {
    run: &'a JudgedRun,
    tool: &'a str,
    phases: &'a [Phase],
    claims: &'a [Claim],
    judged: &'a [JudgedClaim],
    findings: Vec<&'a Finding>,
    /// The tool's own words.
    own: &'a [String],
    /// The words to change, and which of them are the tool's own.
    words: Result<(&'a [String], Range<usize>), String>,
}

fn correct(
    judged: &Judged<'_>,
    advisor: &dyn Advisor,
    files: &[ToolFile],
    plan: &dyn Fn(&[String]) -> Planned,
) -> Result<Advised, String> {
    let (run, own) = (judged.run, judged.own);
    let weighs = |finding: &&&Finding| finding.outcome == Outcome::Fires && finding.severity > Some(Severity::Note);
    let codes: HashSet<&str> = judged.findings.iter().filter(weighs).map(|finding| finding.code.as_str()).collect();
    let fired: Vec<_> = DETECTORS.iter().filter(|detector| codes.contains(detector.code)).collect();
    if fired.is_empty() {
        return Err("Nothing is to be corrected.".to_owned());
    }
    let (argv, place) = judged.words.clone().map_err(|why| format!("No command can be advised: {why}."))?;
    let is_alone = argv.len() == own.len() && argv != run.manifest.command.argv.as_slice();
    let about = Circumstances {
        argv: own,
        files,
        version: run.parsed.version.as_deref(),
        phases: judged.phases,
        phase: None,
        beyond_memory_bytes: None,
        mount_point: None,
        times_longer: 1.0,
    };
    let behind = argv.len() - place.end;
    let mut changed = argv.to_vec();
    let mut changes: Vec<Change> = Vec::new();
    let mut applied: Vec<Applied> = Vec::new();
    let mut left = Vec::new();
    let mut improvements = Vec::new();
    for detector in &fired {
        let code = detector.code.to_owned();
        let as_given = advisor.change(detector.improvement, &about).ok();
        if let Some(made) = changes.iter().position(|made| as_given == Some(*made)) {
            improvements.extend(detector.improvement);
            applied[made].codes.push(code);
            continue;
        }
        // What is still to be changed depends on what was: a direct read may run for a time, a cached one may not.
        let own = &changed[place.start..changed.len() - behind];
        match advisor.change(detector.improvement, &Circumstances { argv: own, ..about }) {
            Ok(change) => {
                improvements.extend(detector.improvement);
                applied.push(Applied { codes: vec![code], change: apply(change, &place, &mut changed) });
                changes.push(change);
            }
            Err(why) => left.push(Left { code, why }),
        }
    }
    let until = changed.len() - behind;
    let wanted: Vec<Improvement> = fired.iter().filter_map(|detector| detector.improvement).collect();
    let sizing = Sizing {
        files,
        phases: judged.phases,
        rate_bytes_per_sec: lowest_honest_rate(judged),
        seconds: SECONDS,
        most_bytes: room(run),
        beyond_memory_bytes: run.manifest.host.memory_bytes.map(|memory| memory.saturating_mul(2)),
        wanted: &wanted,
    };
    let sized = advisor.sized(&changed[place.start..until], &sizing);
    let as_sized = difference(&changed[place.start..until], &sized.argv);
    changed.splice(place.start..until, sized.argv.iter().cloned());
    if let Some(change) = as_sized {
        let is_made = |left: &Left| makes(&sized.makes, &left.code);
        let codes = left.extract_if(.., |left| is_made(left)).map(|left| left.code).collect();
        applied.push(Applied { codes, change });
    }
    if applied.is_empty() {
        let why: Vec<String> = left.iter().map(|left| format!("{}: {}", left.code, left.why)).collect();
        return Err(format!("No option of the command corrects it ({}).", why.join("; ")));
    }
    let corrects = |code: &str| applied.iter().any(|applied| applied.codes.iter().any(|other| other == code));
    let failures = judged.findings.iter().filter(weighs).filter(|finding| finding.severity == Some(Severity::Fail));
    let failing: HashSet<&str> = failures.map(|finding| finding.code.as_str()).collect();
    // A command that fails again is none to run instead.
    for Left { code, why } in &left {
        let Some(detector) = fired.iter().find(|detector| detector.code == code) else { continue };
        if failing.contains(detector.code) && !detector.explained_by.iter().any(|code| corrects(code)) {
            return Err(format!("No option of the command corrects {code} ({}: {why}).", detector.title));
        }
    }
    let (before, after) = (plan(own), plan(&sized.argv));
    if let Some(why) = other_question(&before, &after) {
        return Err(format!("The corrected command is not advised: {why}."));
    }
    let alone = if is_alone {
        format!("; {} alone, in the folder where the script runs it", judged.tool)
    } else {
        String::new()
    };
    Ok(Advised {
        answers: answers(&after.phases, &improvements) + &alone,
        seconds: seconds(&after.phases, &honest_rates(judged)),
        argv: changed,
        applied,
        left,
    })
}

/// Returns `true` where these improvements mend the finding of this detector.
fn makes(improvements: &[Improvement], code: &str) -> bool {
    let of_detector = DETECTORS.iter().find(|detector| detector.code == code).and_then(|detector| detector.improvement);
    of_detector.is_some_and(|improvement| improvements.contains(&improvement))
}

/// The honest rate of a pass, in bytes per second.
struct HonestRate<'a> {
    phase: &'a Phase,
    bytes_per_sec: f64,
}

/// Returns the honest rates of the passes.
fn honest_rates<'a>(judged: &Judged<'a>) -> Vec<HonestRate<'a>> {
    let rates = judged
        .claims
        .iter()
        .zip(judged.judged)
        .filter(|(claim, _)| claim.metric.is_rate(true) && claim.value.unit == Unit::BytesPerSec);
    let honest = rates.filter_map(|(claim, verdict)| {
        let bytes_per_sec = verdict.honest(claim)?.value;
        let phase = judged.phases.iter().find(|phase| phase.id == claim.phase)?;
        (bytes_per_sec.is_finite() && bytes_per_sec > 0.0).then_some(HonestRate { phase, bytes_per_sec })
    });
    honest.collect()
}

/// Returns the lowest honest rate of a pass in bytes per second; `None` where none is known.
fn lowest_honest_rate(judged: &Judged<'_>) -> Option<f64> {
    honest_rates(judged).into_iter().map(|rate| rate.bytes_per_sec).min_by(f64::total_cmp)
}

/// Returns the rate that a pass is expected to have: its own before; else the lowest one of passes whose calls are not
/// far smaller. Proposed: a sixteenth, by which the cost of calls grows at most.
fn expected_rate(phase: &Phase, rates: &[HonestRate<'_>]) -> Option<f64> {
    const ALIKE: u64 = 16;
    let lowest = |is_it: &dyn Fn(&Phase) -> bool| {
        let rates = rates.iter().filter(|rate| is_it(rate.phase)).map(|rate| rate.bytes_per_sec);
        rates.min_by(f64::total_cmp)
    };
    let is_alike = |other: &Phase| match (other.block_bytes, phase.block_bytes) {
        (Some(other), Some(own)) => other >= own / ALIKE,
        _ => true,
    };
    lowest(&|other| other.id == phase.id).or_else(|| lowest(&is_alike))
}

/// Returns the bytes that the files may have: a quarter of the smallest storage, whose other contents are unknown.
fn room(run: &JudgedRun) -> u64 {
    let sizes = run.manifest.host.targets.iter().filter_map(|target| target.layers.first()?.size_bytes);
    sizes.min().map_or(MOST_BYTES, |bytes| bytes / 4)
}

/// Returns the words that are new, for people; `None` where nothing is.
fn difference(before: &[String], after: &[String]) -> Option<String> {
    let new: Vec<&str> = after.iter().filter(|word| !before.contains(word)).map(String::as_str).collect();
    (!new.is_empty()).then(|| format!("with `{}`", new.join(" ")))
}

/// Returns why a command does not ask what another asks; `None` where it does.
fn other_question(before: &Planned, after: &Planned) -> Option<String> {
    if let Some(code) = after.warned.iter().find(|code| !before.warned.contains(code)) {
        return Some(format!("{code} would warn of it"));
    }
    if before.phases.len() != after.phases.len() {
        return Some("it has other passes".to_owned());
    }
    let same = before.phases.iter().zip(&after.phases).all(|(before, after)| {
        (before.direction, before.requested_tasks, &before.name)
            == (after.direction, after.requested_tasks, &after.name)
            && (before.pattern == after.pattern || is_random(before.pattern) && is_random(after.pattern))
    });
    (!same).then(|| "its passes differ in direction, pattern or tasks".to_owned())
}

fn is_random(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::RandomPermutation | Pattern::RandomIndependent)
}

/// Returns what a command measures, in a few words.
fn answers(phases: &[Phase], improvements: &[Improvement]) -> String {
    // Directions by pattern, both in the order of the passes.
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for phase in phases {
        let pattern = match phase.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Backward => "backward",
            Pattern::RandomPermutation | Pattern::RandomIndependent => "random",
            Pattern::SingleBlock => "single-block",
            Pattern::Strided => "strided",
            Pattern::Unknown => "other",
        };
        let directions: &[&str] = match phase.direction {
            Direction::Read => &["read"],
            Direction::Write => &["write"],
            Direction::Mixed => &["read", "write"],
            _ => continue,
        };
        let place = said.iter().position(|(known, _)| *known == pattern).unwrap_or_else(|| {
            said.push((pattern, Vec::new()));
            said.len() - 1
        });
        for direction in directions {
            if !said[place].1.contains(direction) {
                said[place].1.push(direction);
            }
        }
    }
    let said: Vec<String> =
        said.into_iter().map(|(pattern, directions)| format!("{pattern} {}", directions.join(" and "))).collect();
    let mut text = if said.is_empty() { "the same passes".to_owned() } else { said.join(", ") };
    let wants = |wanted: &[Improvement]| improvements.iter().any(|improvement| wanted.contains(improvement));
    if wants(&[Improvement::ReadFromStorage, Improvement::OpenDirect]) {
        text.push_str(" of the device");
    }
    if wants(&[Improvement::SyncInsideClock, Improvement::SurvivePowerLoss]) {
        text.push_str(", fsync included");
    }
    text
}

/// Returns about how long the passes take together; `None` where one of them is not known.
fn seconds(phases: &[Phase], rates: &[HonestRate<'_>]) -> Option<f64> {
    let of = |phase: &Phase| match (phase.time_limit_ns, phase.requested_bytes) {
        (Some(limit_ns), _) => Some(limit_ns as f64 / 1e9),
        (None, Some(bytes)) => Some(bytes as f64 / expected_rate(phase, rates)?),
        (None, None) => None,
    };
    if phases.is_empty() {
        return None;
    }
    phases.iter().map(of).sum()
}

/// Both runs with their figures side by side. Figures that agree in phase, kind and place among equals are one.
pub fn side_by_side(run_as_given: JudgedRun, run_with_advice: JudgedRun, advised: Advised) -> SideBySide {
    let (given, mut again) = (sides(&run_as_given), sides(&run_with_advice));
    let mut beside = |phase: &str, metric: Metric| {
        let same = again.iter().position(|(other, kind, _)| *other == phase && *kind == metric)?;
        // The next one like it is another's.
        Some(again.remove(same).2)
    };
    let figures: Vec<Beside> = given
        .into_iter()
        .map(|(phase, metric, as_given)| {
            let with_advice = beside(&phase, metric);
            let why = with_advice
                .as_ref()
                .and_then(|side| far_figure::why(&phase, [&as_given, side], [&run_as_given, &run_with_advice]));
            Beside { phase, metric, as_given, with_advice, why }
        })
        .collect();
    let holds =
        |figure: &&Beside| figure.with_advice.as_ref().is_some_and(|side| side.verdict == ClaimVerdict::Confirmed);
    let holding = figures.iter().filter(holds).count();
    SideBySide { as_given: run_as_given, with_advice: run_with_advice, advised, figures, holding }
}

/// The figures of a run, in the order of its output.
fn sides(run: &JudgedRun) -> Vec<(String, Metric, Side)> {
    let side = |(claim, judged): (&Claim, &JudgedClaim)| {
        let side = Side { claimed: claim.value, honest: judged.honest(claim), verdict: judged.verdict() };
        (claim.phase.clone(), claim.metric, side)
    };
    run.parsed.claims.iter().zip(&run.judged).map(side).collect()
}

/// Returns the words to change, and which of them are the tool's own: those of the command, or, where a script started
/// the tool, the words with which it was executed.
///
/// # Errors
/// When they are not known, or are those of one measurement of several.
fn words_to_change(run: &JudgedRun) -> Result<(&[String], Range<usize>), String> {
    if run.parsed.tool.is_empty() {
        return Err("the tool's options are not known".to_owned());
    }
    if run.manifest.executed_tools.as_ref().is_some_and(|tools| tools.measuring.len() > 1) {
        return Err("the command runs several measurements, and each has advice of its own".to_owned());
    }
    let (argv, own) = (run.manifest.command.argv.as_slice(), run.manifest.tool_argv());
    let is_there = |start: &usize| argv[*start..].starts_with(own);
    if let Some(start) = (0..argv.len()).find(is_there).filter(|_| !own.is_empty()) {
        return Ok((argv, start..start + own.len()));
    }
    // Words that a shell has yet to expand were read from its script, not from the execution.
    match own.is_empty() || own.iter().any(|word| word.contains(['$', '`'])) {
        true => Err("the tool's words stand in a script or in a shell's line".to_owned()),
        false => Ok((own, 0..own.len())),
    }
}

/// Changes the command and says what was done. `place` is that of the tool's words in it as it was.
fn apply(change: Change, place: &Range<usize>, argv: &mut Vec<String>) -> String {
    match change {
        Change::AddFirst(words) => add(words, place.start + 1, argv),
        Change::AddLast(words) => add(words, argv.len(), argv),
        Change::Drop(names, without_value) => {
            format!("dropped `{}`", dropped(names, without_value, argv).join(" "))
        }
        Change::DropWord(word) => {
            argv.retain(|other| other != word);
            format!("dropped `{word}`")
        }
    }
}

fn add(words: &[&str], at: usize, argv: &mut Vec<String>) -> String {
    argv.splice(at..at, words.iter().map(|word| (*word).to_owned()));
    format!("added `{}`", words.join(" "))
}

/// Takes long options out of a command, with their values, and gives them.
fn dropped(names: &[&str], without_value: &[&str], argv: &mut Vec<String>) -> Vec<String> {
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    let mut words = std::mem::take(argv).into_iter().peekable();
    while let Some(word) = words.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word.as_str(), None),
        };
        let Some(name) = option.strip_prefix("--").filter(|name| names.contains(name)) else {
            kept.push(word);
            continue;
        };
        let value_follows = value.is_none() && !without_value.contains(&name);
        dropped.push(word);
        dropped.extend(words.next_if(|_| value_follows));
    }
    *argv = kept;
    dropped
}

#[cfg(test)]
mod tests {
    use activebench_model::claim::Parsed;
    use activebench_model::command::CommandLine;
    use activebench_model::fact::Facts;
    use activebench_model::finding::Finding;
    use activebench_model::phase::{Direction, Phase, Submission};
    use activebench_model::run::Manifest;
    use activebench_model::thread_stacks::Profiles;
    use activebench_model::verdict::RunVerdict;
    use activebench_tools::advisor_of;

    use super::*;
    use crate::advice::wording::advise;
    use crate::run::{Run, RunIndex};
    use crate::thresholds::Thresholds;

    #[test]
    fn a_pass_is_expected_to_take_as_long_as_it_did() {
        let pass = |id: &str, bytes: u64, block: u64| Phase {
            requested_bytes: Some(bytes),
            block_bytes: Some(block),
            ..Phase::planned(id, id, Direction::Write)
        };
        let (bytes, blocks) = (pass("putc", 3_000_000, 1), pass("block", 10_000_000_000, 65_536));
        let slow = HonestRate { phase: &bytes, bytes_per_sec: 1e6 };
        let passes = [bytes.clone(), blocks.clone()];
        // The rate of single bytes says nothing of blocks.
        assert_eq!(seconds(&passes, &[slow]), None);
        let rates =
            [HonestRate { phase: &bytes, bytes_per_sec: 1e6 }, HonestRate { phase: &blocks, bytes_per_sec: 1e9 }];
        assert_eq!(seconds(&passes, &rates), Some(13.0));
        let reads = [pass("read", 2_000_000_000, 65_536)];
        assert_eq!((seconds(&reads, &rates), seconds(&[], &rates)), (Some(2.0), None));
    }

    fn fires(code: &str) -> Finding {
        Finding {
            code: code.to_owned(),
            name: String::new(),
            outcome: Outcome::Fires,
            severity: Some(Severity::Fail),
            effect: None,
            phase: None,
            claims: Vec::new(),
            observed: None,
            threshold: None,
            message: Default::default(),
            meaning: String::new(),
            advice: String::new(),
            facts: Vec::new(),
        }
    }

    fn judged(manifest: Manifest) -> JudgedRun {
        JudgedRun {
            manifest,
            directory: String::new(),
            parsed: Parsed::default(),
            phases: Vec::new(),
            run_facts: Facts::default(),
            profiles: Default::default(),
            findings: Vec::new(),
            judged: Vec::new(),
            verdict: RunVerdict::Discrepancy,
            exit_code: 1,
            changed_thresholds: Vec::new(),
            limiters: Vec::new(),
            shares: Default::default(),
            timelines: Vec::new(),
            target: None,
            advised: Err(String::new()),
            measurements: Vec::new(),
            together: Vec::new(),
            questions: Default::default(),
            detectors: Vec::new(),
        }
    }

    fn no_plan() -> Planned {
        Planned { phases: Vec::new(), warned: Vec::new() }
    }

    fn check(tool: &str, line: &str, codes: &[&str], expected: &str, left: &[&str]) {
        // Quotes hold a shell's line together.
        let words = line.split('\'').enumerate().flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<String>>(),
            _ => vec![part.to_owned()],
        });
        let argv: Vec<String> = words.collect();
        let own = match argv.iter().position(|word| word == tool) {
            Some(start) => argv[start..].to_vec(),
            None => argv.last().expect("a script").split_whitespace().map(str::to_owned).collect(),
        };
        let command = |argv| CommandLine { argv, cwd: String::new() };
        let manifest = Manifest { command: command(argv), tool_command: Some(command(own)), ..Manifest::default() };
        let phase = Phase { submission: Submission::AsynchronousIfDirect, ..Phase::planned("p", "p", Direction::Read) };
        let run = JudgedRun {
            parsed: Parsed { tool: tool.to_owned(), ..Parsed::default() },
            phases: vec![phase],
            findings: codes.iter().map(|code| fires(code)).collect(),
            ..judged(manifest)
        };
        match advised(&run, advisor_of(tool), &[], &|_| no_plan()) {
            Ok(result) => {
                assert_eq!(result.argv.join(" "), expected.replace('\'', ""), "{line}: {codes:?}");
                let kept: Vec<&str> = result.left.iter().map(|left| left.code.as_str()).collect();
                assert_eq!(kept, left, "{line}: {:?}", result.left);
            }
            Err(why) => {
                assert_eq!(line, expected, "{codes:?}: {why}");
                let is_named = |code: &&str| why.contains(*code) || why.starts_with("No command can be advised");
                assert!(left.iter().all(is_named), "{line}: {why}");
            }
        }
    }

    #[test]
    fn an_option_is_added_once_and_never_one_that_is_given() {
        check("iozone", "iozone -i0 -s1g", &["AB302", "AB301"], "iozone -i0 -s1g -e -c", &[]);
        check("iozone", "iozone -i0 -e -c", &["AB302"], "iozone -i0 -e -c", &["AB302"]);
        check("iozone", "nice -n 5 iozone -i0 -i1", &["AB201", "AB302"], "nice -n 5 iozone -i0 -i1 -I -e -c", &[]);
        check("iozone", "sh -c 'iozone -i0'", &["AB302"], "iozone -i0 -e -c", &[]);
        check("iozone", "sh -c 'iozone -i0 -f $FILE'", &["AB302"], "sh -c 'iozone -i0 -f $FILE'", &["AB302"]);
        check("bonnie++", "bonnie++ -s 1g", &["AB201", "AB301"], "bonnie++ -s 1g", &["AB201"]);
        check("orion", "orion -run simple", &["AB401"], "orion -run simple", &["AB401"]);
        check("", "dd if=a of=b", &["AB301"], "dd if=a of=b", &["AB301"]);
    }

    #[test]
    fn what_is_applied_is_what_the_report_advises() {
        use activebench_model::advice::Improvement::{
            CountAllTasks, RandomPayload, ReadFromStorage, SurvivePowerLoss, SyncInsideClock,
        };
        for (line, codes, wanted) in [
            ("iozone -i0", &["AB301", "AB302"][..], SyncInsideClock),
            ("iozone -i1", &["AB201", "AB203"], ReadFromStorage),
            ("iozone -i0", &["AB404", "AB405"], RandomPayload),
            ("iozone -i0 -t2", &["AB110"], CountAllTasks),
            ("fio --name=a", &["AB301", "AB302"], SyncInsideClock),
            ("fio --name=a", &["AB303"], SurvivePowerLoss),
            ("fio --name=a", &["AB201", "AB203"], ReadFromStorage),
            ("fio --name=a", &["AB404", "AB405"], RandomPayload),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let manifest =
                Manifest { command: CommandLine { argv: words.clone(), cwd: String::new() }, ..Manifest::default() };
            let parsed = Parsed { tool: words[0].clone(), ..Parsed::default() };
            let phase = Phase::planned("p", "p", Direction::Read);
            let (facts, profiles, phases) = (Facts::default(), Profiles::default(), [phase.clone()]);
            let thresholds = Thresholds::profile("default").expect("there is one");
            let advisor = advisor_of(&words[0]);
            let run = Run {
                manifest: &manifest,
                parsed: &parsed,
                phases: &phases,
                facts: &facts,
                profiles: &profiles,
                thresholds: &thresholds,
                advisor,
                index: &RunIndex::default(),
                part: None,
            };
            let advice = advise(&run, Some(&phase), wanted);
            for code in codes {
                let run = JudgedRun {
                    parsed: parsed.clone(),
                    phases: phases.to_vec(),
                    findings: vec![fires(code)],
                    ..judged(manifest.clone())
                };
                let applied = advised(&run, advisor, &[], &|_| no_plan()).expect("there is a change").applied;
                let [Applied { change, .. }] = &applied[..] else { panic!("{line}, {code}: {applied:?}") };
                let option = change.strip_prefix("added ").expect("it adds an option");
                assert!(advice.contains(option), "{line}, {code}: {option} against {advice:?}");
            }
        }
    }

    #[test]
    fn what_fio_is_told_holds_for_all_its_jobs() {
        check("fio", "fio --name=a --rw=write", &["AB301"], "fio --end_fsync=1 --name=a --rw=write", &[]);
        check("fio", "fio --name=a --norandommap", &["AB401"], "fio --name=a", &[]);
        check("fio", "fio --random_distribution zipf:1.2 --name=a", &["AB401"], "fio --name=a", &[]);
        check("fio", "fio --name=a --percentage_random=50", &["AB401"], "fio --name=a", &[]);
        check("fio", "fio --name=a --rw=randread", &["AB401"], "fio --name=a --rw=randread", &["AB401"]);
        check("fio", "fio jobs.fio", &["AB301"], "fio jobs.fio", &["AB301"]);
        check(
            "fio",
            "fio --name=a --iodepth=8",
            &["AB403", "AB701"],
            "fio --runtime=10s --time_based --direct=1 --name=a --iodepth=8",
            &[],
        );
    }
}
