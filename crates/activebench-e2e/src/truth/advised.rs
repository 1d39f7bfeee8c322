//! The command that the report of a lie advises is run, where the lie was found.
//!
//! What is advised has to be verified or qualified, and has to answer the same question: the same passes, in the same
//! directions, with claims about the same subject.

use std::path::Path;

use serde_json::Value;

use crate::truth::case::{Case, How};
use crate::truth::outcome::{Outcome, list, severity, shown, text};
use crate::truth::{Ended, Played, ended, stage::Stage};
use crate::{Verified, obstacle, verify_in};

/// Runs a lie, and then the command that its report advises.
///
/// [`Outcome::Hit`] when the advised command holds, [`Outcome::Miss`] when it does not, [`Outcome::NotRun`] with the
/// report's own reason where no command is advised.
pub fn run(case: &Case, keep: Option<&Path>) -> Ended {
    ended(|| play(case, keep))
}

/// Returns `true` for a case whose report can advise a command that can be run: one run of a lie.
pub fn is_playable(case: &Case) -> bool {
    case.how == How::Verify && case.repeat.is_none() && case.name.starts_with("lie-")
}

fn play(case: &Case, keep: Option<&Path>) -> Played {
    let programs = case.programs();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    if let Some(reason) = obstacle(&programs) {
        return Outcome::NotRun(reason).into();
    }
    let mut stage = match Stage::set(case, keep) {
        Ok(stage) => stage,
        Err(reason) => return Outcome::NotRun(reason).into(),
    };
    let options: Vec<String> = case.options.iter().map(|option| stage.fill(option)).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let run = |stage: &Stage, name: &str, command: &[String]| {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        verify_in(&stage.folder(), stage.run_folder().with_extension(name), &options, &command)
    };
    let given = run(&stage, "given", &stage.command(case));
    // No command mends what others do to the machine.
    stage.end_neighbours();
    let words = match given.report["advice"]["command"].as_array() {
        Some(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>(),
        None => {
            let why = text(&given.report, "no_advice");
            return (Outcome::NotRun(format!("no command is advised: {why}")), given.story()).into();
        }
    };
    stage.settle(case.keep_cache);
    let advised = run(&stage, "advised", &words);
    let outcome = outcome(&given.report, &advised, case);
    let outcome = match outcome {
        Some(why) => Outcome::Miss(format!("`{}`: {why}", words.join(" "))),
        None => Outcome::Hit,
    };
    (outcome, format!("{}\n{}", given.story(), advised.story())).into()
}

/// Returns why the advised run does not hold, or answers another question; `None` where it is as it should be.
fn outcome(given: &Value, advised: &Verified, case: &Case) -> Option<String> {
    let report = &advised.report;
    let verdict = text(report, "verdict");
    if verdict != "verified" && verdict != "qualified" {
        let finding = list(report, "findings")
            .iter()
            .filter(|finding| finding["outcome"] == "fires" && !case.of_the_machine.contains_key(text(finding, "code")))
            .max_by_key(|finding| severity(finding));
        return Some(format!("it is {verdict}: {}", finding.map_or_else(String::new, shown)));
    }
    let (before, after) = (questions(given), questions(report));
    (before != after).then(|| format!("it answers {after:?}, and {before:?} was asked"))
}

/// Returns what a run asks: each pass with its name, which says direction and pattern, and what its rates are said to
/// be about. A durable write is one to the device.
fn questions(report: &Value) -> Vec<String> {
    let subject = |phase: &Value| {
        let claim = list(report, "claims").iter().find(|claim| claim["phase"] == phase["id"]);
        match claim.map_or("", |claim| text(claim, "subject")) {
            "device" | "durable-write" => "storage",
            other => other,
        }
        .to_owned()
    };
    list(report, "phases").iter().map(|phase| format!("{} of {}", text(phase, "name"), subject(phase))).collect()
}
