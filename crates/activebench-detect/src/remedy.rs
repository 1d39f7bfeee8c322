//! The same command with the advice of a report applied, for a second run beside the first.
//!
//! Only what an option of the tool mends is applied. A larger file, another file system or another
//! tool is the user's to choose, and is listed as left to them with the reason.

use activebench_model::claim::{Claim, Metric};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::phase::Submission;
use activebench_model::remedy::{Applied, Beside, Left, Remedied, Side, SideBySide};
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use crate::advice::{FIO_DRAWS, Fio, bonnie, iozone_options};
use crate::detector::Improvement;
use crate::registry::DETECTORS;

/// A change of a tool's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// Words that are put to the others.
    Add(&'static [&'static str]),
    /// Options of fio, by name, that are taken out.
    Drop(&'static [&'static str]),
}

/// The command of a run with what its findings (warnings and failures) ask for.
pub fn remedied(run: &JudgedRun) -> Remedied {
    let argv = &run.manifest.command.argv;
    let mut result = Remedied { argv: argv.clone(), ..Remedied::default() };
    let weighs = |finding: &&Finding| finding.outcome == Outcome::Fires && finding.severity > Some(Severity::Note);
    let fired =
        DETECTORS.iter().filter(|detector| run.findings.iter().filter(weighs).any(|finding| detector.made(finding)));
    let place = place_of(argv, &run.parsed.tool);
    let mut changes: Vec<(Change, Vec<String>)> = Vec::new();
    for detector in fired {
        let code = detector.code;
        match place.and_then(|place| change_for(run, detector.improvement, &argv[place..])) {
            Ok(change) => match changes.iter_mut().find(|(other, _)| *other == change) {
                Some((_, codes)) => codes.push(code.to_owned()),
                None => changes.push((change, vec![code.to_owned()])),
            },
            Err(why) => result.left.push(Left { code: code.to_owned(), why: why.to_owned() }),
        }
    }
    let Ok(place) = place else { return result };
    for (change, codes) in changes {
        let change = apply(&change, &run.parsed.tool, place, &mut result.argv);
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

/// Where the tool's own words begin: it is a word of its own, alone or behind a wrapper.
fn place_of(argv: &[String], tool: &str) -> Result<usize, &'static str> {
    // A version may follow the name: `bonnie++-1.03`.
    let is_tool = |word: &String| {
        let rest = word.rsplit('/').next().and_then(|name| name.strip_prefix(tool));
        rest.is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_digit() || "-._".contains(letter)))
    };
    match tool.is_empty() {
        true => Err("the tool's options are not known"),
        false => argv.iter().position(is_tool).ok_or("the tool's words stand in a script or in a shell's line"),
    }
}

fn change_for(run: &JudgedRun, wanted: Option<Improvement>, words: &[String]) -> Result<Change, &'static str> {
    match run.parsed.tool.as_str() {
        "fio" => for_fio(run, wanted, words),
        "iozone" => for_iozone(wanted, words),
        "bonnie++" => for_bonnie(run, wanted, words),
        _ => Err("no option of the tool mends it"),
    }
}

fn for_fio(run: &JudgedRun, wanted: Option<Improvement>, words: &[String]) -> Result<Change, &'static str> {
    let given = Fio::new(words, &run.phases);
    let has = |name: &str| given.has(name);
    if !given.on_command_line {
        return Err("the jobs stand in a file: change it there");
    }
    let lacking = |name: &str, options: &'static [&'static str]| match has(name) {
        false => Ok(Change::Add(options)),
        true => Err("the option that mends it is given already"),
    };
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) => lacking("end_fsync", &["--end_fsync=1"]),
        Some(Improvement::ReadFromStorage) => lacking("direct", &["--direct=1"]),
        Some(Improvement::VisitBlocksOnce) => match FIO_DRAWS.into_iter().any(has) {
            true => Ok(Change::Drop(&FIO_DRAWS)),
            false => Err("no option of the command makes the offsets repeat"),
        },
        Some(Improvement::NewOffsetsEachRun) => lacking("randrepeat", &["--randrepeat=0"]),
        Some(Improvement::ReachDepth) => {
            let by_one = run.phases.iter().any(|phase| phase.submission == Submission::Synchronous);
            match (has("direct"), by_one && !has("ioengine")) {
                (true, true) => Ok(Change::Add(&["--ioengine=libaio"])),
                (false, true) => Ok(Change::Add(&["--ioengine=libaio", "--direct=1"])),
                (false, false) => Ok(Change::Add(&["--direct=1"])),
                (true, false) => Err("another engine, or fewer requests at once, is yours to choose"),
            }
        }
        Some(Improvement::RandomPayload) => lacking("refill_buffers", &["--refill_buffers"]),
        Some(Improvement::RunLonger) => match has("runtime") || has("time_based") {
            false => Ok(Change::Add(&["--runtime=10s", "--time_based"])),
            true => Err("the time that it runs is given"),
        },
        _ => Err("no option of fio mends it"),
    }
}

fn for_iozone(wanted: Option<Improvement>, words: &[String]) -> Result<Change, &'static str> {
    let given = iozone_options(words);
    let lacking = |options: &'static [&'static str]| match options
        .iter()
        .filter(|option| option.starts_with('-'))
        .all(|option| given.contains(*option))
    {
        false => Ok(Change::Add(options)),
        true => Err("the option that mends it is given already"),
    };
    match wanted {
        Some(Improvement::SyncInsideClock) => lacking(&["-e", "-c"]),
        Some(Improvement::SurvivePowerLoss) => lacking(&["-e"]),
        Some(Improvement::CountAllTasks) if given.contains("-t") => lacking(&["-x"]),
        Some(Improvement::MakeOptionsTakeEffect) if given.contains("-G") || given.contains("-D") => lacking(&["-B"]),
        Some(Improvement::ReadFromStorage) => lacking(&["-I"]),
        Some(Improvement::RandomPayload) => lacking(&["-+w", "0", "-+y", "0", "-+C", "0"]),
        Some(Improvement::RunLonger) => Err("it takes a larger file: how large is yours to choose"),
        _ => Err("no option of iozone mends it"),
    }
}

fn for_bonnie(run: &JudgedRun, wanted: Option<Improvement>, words: &[String]) -> Result<Change, &'static str> {
    let old = run.parsed.version.as_deref().is_none_or(|version| version.starts_with("1.0"));
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss)
            if old && !bonnie::options(words).contains(&'b') =>
        {
            Ok(Change::Add(&["-b"]))
        }
        Some(Improvement::ReadFromStorage | Improvement::LargerFile | Improvement::RunLonger) => {
            Err("it takes a larger file: how large is yours to choose")
        }
        _ => Err("no option of bonnie++ mends it"),
    }
}

/// Changes the command and says what was done.
fn apply(change: &Change, tool: &str, place: usize, argv: &mut Vec<String>) -> String {
    match change {
        Change::Add(words) => {
            // What stands before fio's first job holds for all of them.
            let at = if tool == "fio" { place + 1 } else { argv.len() };
            argv.splice(at..at, words.iter().map(|word| (*word).to_owned()));
            format!("added `{}`", words.join(" "))
        }
        Change::Drop(names) => format!("dropped `{}`", dropped(names, argv).join(" ")),
    }
}

/// Takes options of fio out of a command, with their values, and gives them.
fn dropped(names: &[&str], argv: &mut Vec<String>) -> Vec<String> {
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
        // `norandommap` takes a value behind a sign alone, the others may have it in the word that follows.
        let value_follows = value.is_none() && name != "norandommap";
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
    use activebench_model::phase::{Direction, Phase};
    use activebench_model::profile::Profiles;
    use activebench_model::run::Manifest;
    use activebench_model::verdict::RunVerdict;

    use super::*;
    use crate::advice::Given;
    use crate::context::Run;
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
            message: String::new(),
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
            courses: Vec::new(),
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
        let manifest =
            Manifest { command: CommandLine { argv: words.collect(), cwd: String::new() }, ..Manifest::default() };
        let phase = Phase { submission: Submission::AsynchronousIfDirect, ..Phase::planned("p", "p", Direction::Read) };
        let run = JudgedRun {
            parsed: Parsed { tool: tool.to_owned(), ..Parsed::default() },
            phases: vec![phase],
            findings: codes.iter().map(|code| fires(code)).collect(),
            ..judged(manifest)
        };
        let result = remedied(&run);
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
        type Advice = fn(&Given<'_>, &Phase) -> String;
        let asked: [(&str, &[&str], Advice); 8] = [
            ("iozone -i0", &["AB301", "AB302"], |given, _| given.durable()),
            ("iozone -i1", &["AB201", "AB203"], |given, phase| given.cold_reads(phase)),
            ("iozone -i0", &["AB404", "AB405"], |given, _| given.random_payload()),
            ("iozone -i0 -t2", &["AB110"], |given, _| given.all_tasks()),
            ("fio --name=a", &["AB301", "AB302"], |given, _| given.durable()),
            ("fio --name=a", &["AB303"], |given, _| given.over_a_power_cut()),
            ("fio --name=a", &["AB201", "AB203"], |given, phase| given.cold_reads(phase)),
            ("fio --name=a", &["AB404", "AB405"], |given, _| given.random_payload()),
        ];
        for (line, codes, advice) in asked {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let manifest =
                Manifest { command: CommandLine { argv: words.clone(), cwd: String::new() }, ..Manifest::default() };
            let parsed = Parsed { tool: words[0].clone(), ..Parsed::default() };
            let phase = Phase::planned("p", "p", Direction::Read);
            let (facts, profiles, phases) = (Facts::default(), Profiles::default(), [phase.clone()]);
            let thresholds = Thresholds::profile("default").expect("there is one");
            let run = Run {
                manifest: &manifest,
                parsed: &parsed,
                phases: &phases,
                facts: &facts,
                profiles: &profiles,
                thresholds: &thresholds,
            };
            let advice = advice(&Given::new(&run), &phase);
            for code in codes {
                let run = JudgedRun {
                    parsed: parsed.clone(),
                    phases: phases.to_vec(),
                    findings: vec![fires(code)],
                    ..judged(manifest.clone())
                };
                let applied = remedied(&run).applied;
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
