//! The same command with the advice of a report applied, for a second run.
//!
//! Only changes that an option of the tool makes are applied. A larger file, another file system or another
//! tool is the user's to choose, and is listed as left to them with the reason.

use std::ops::Range;

use activebench_model::advice::{Advisor, Change, Circumstances};
use activebench_model::claim::{Claim, Metric};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::remedy::{Applied, Beside, Left, Remedied, Side, SideBySide};
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use crate::registry::DETECTORS;

/// The command of a run with what its findings (warnings and failures) ask for.
pub fn remedied(run: &JudgedRun, advisor: &dyn Advisor) -> Remedied {
    let argv = &run.manifest.command.argv;
    let mut result = Remedied { argv: argv.clone(), ..Remedied::default() };
    let weighs = |finding: &&Finding| finding.outcome == Outcome::Fires && finding.severity > Some(Severity::Note);
    let fired =
        DETECTORS.iter().filter(|detector| run.findings.iter().filter(weighs).any(|finding| detector.made(finding)));
    let place = place_of(run);
    let about = Circumstances {
        argv: run.manifest.tool_argv(),
        version: run.parsed.version.as_deref(),
        phases: &run.phases,
        phase: None,
        beyond_memory_bytes: None,
        mount_point: None,
        times_longer: 1.0,
    };
    let mut changes: Vec<(Change, Vec<String>)> = Vec::new();
    for detector in fired {
        let code = detector.code.to_owned();
        match place.clone().and_then(|_| advisor.change(detector.improvement, &about)) {
            Ok(change) => match changes.iter_mut().find(|(other, _)| *other == change) {
                Some((_, codes)) => codes.push(code),
                None => changes.push((change, vec![code])),
            },
            Err(why) => result.left.push(Left { code, why }),
        }
    }
    let Ok(place) = place else { return result };
    for (change, codes) in changes {
        let change = apply(change, &place, &mut result.argv);
        result.applied.push(Applied { codes, change });
    }
    result
}

/// Both runs with their figures side by side. Figures that agree in phase, kind and place among equals are one.
pub fn side_by_side(as_given: JudgedRun, with_advice: JudgedRun, remedied: Remedied) -> SideBySide {
    let (given, mut advised) = (sides(&as_given), sides(&with_advice));
    let mut beside = |phase: &str, metric: Metric| {
        let same = advised.iter().position(|(other, kind, _)| *other == phase && *kind == metric)?;
        // The next one like it is another's.
        Some(advised.remove(same).2)
    };
    let figures: Vec<Beside> = given
        .into_iter()
        .map(|(phase, metric, as_given)| {
            let with_advice = beside(&phase, metric);
            Beside { phase, metric, as_given, with_advice }
        })
        .collect();
    let holds =
        |figure: &&Beside| figure.with_advice.as_ref().is_some_and(|side| side.verdict == ClaimVerdict::Confirmed);
    let holding = figures.iter().filter(holds).count();
    SideBySide { as_given, with_advice, remedied, figures, holding }
}

/// The figures of a run, in the order of its output.
fn sides(run: &JudgedRun) -> Vec<(String, Metric, Side)> {
    let side = |(claim, judged): (&Claim, &JudgedClaim)| {
        let side = Side { claimed: claim.value, honest: judged.honest(claim), verdict: judged.verdict() };
        (claim.phase.clone(), claim.metric, side)
    };
    run.parsed.claims.iter().zip(&run.judged).map(side).collect()
}

/// Returns the position of the tool's own words in the command.
///
/// # Errors
/// When they are not known, or are in a script.
fn place_of(run: &JudgedRun) -> Result<Range<usize>, String> {
    if run.parsed.tool.is_empty() {
        return Err("the tool's options are not known".to_owned());
    }
    let (argv, own) = (&run.manifest.command.argv, run.manifest.tool_argv());
    let is_there = |start: &usize| argv[*start..].starts_with(own);
    match (0..argv.len()).find(is_there) {
        Some(start) if !own.is_empty() => Ok(start..start + own.len()),
        _ => Err("the tool's words stand in a script or in a shell's line".to_owned()),
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
            questions: Default::default(),
            detectors: Vec::new(),
        }
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
        let result = remedied(&run, advisor_of(tool));
        assert_eq!(result.argv.join(" "), expected.replace('\'', ""), "{line}: {codes:?}");
        let kept: Vec<&str> = result.left.iter().map(|left| left.code.as_str()).collect();
        assert_eq!(kept, left, "{line}: {:?}", result.left);
    }

    #[test]
    fn an_option_is_added_once_and_never_one_that_is_given() {
        check("iozone", "iozone -i0 -s1g", &["AB302", "AB301"], "iozone -i0 -s1g -e -c", &[]);
        check("iozone", "iozone -i0 -e -c", &["AB302"], "iozone -i0 -e -c", &["AB302"]);
        check("iozone", "nice -n 5 iozone -i0 -i1", &["AB201", "AB302"], "nice -n 5 iozone -i0 -i1 -I -e -c", &[]);
        check("iozone", "sh -c 'iozone -i0'", &["AB302"], "sh -c 'iozone -i0'", &["AB302"]);
        check("bonnie++", "bonnie++ -s 1g", &["AB201", "AB301"], "bonnie++ -s 1g -b", &["AB201"]);
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
            };
            let advice = advise(&run, Some(&phase), wanted);
            for code in codes {
                let run = JudgedRun {
                    parsed: parsed.clone(),
                    phases: phases.to_vec(),
                    findings: vec![fires(code)],
                    ..judged(manifest.clone())
                };
                let applied = remedied(&run, advisor).applied;
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
