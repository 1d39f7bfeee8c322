//! The corpus of planted lies and honest twins, one test a case.
//!
//! The cases are files, so the tests are made from them as they run; a case that this host cannot have is
//! one skip, with its reason. To end within minutes it runs a part: of each detector the first lie and the first
//! twin that are not slow, and every plan. The others are ignored tests; `cargo xtask truth` runs all of them.

use std::time::Duration;

use activebench_e2e::{log_cost, skip_named, truth};
use libtest_mimic::{Arguments, Failed, Trial};
use truth::case::How;
use truth::outcome::Outcome;

fn main() {
    let mut arguments = Arguments::from_args();
    // They share one machine and one page cache.
    arguments.test_threads = Some(1);
    let cases = truth::load(&truth::corpus()).expect("every file is a case");
    let folders = Trial::test("truth::every_folder_is_that_of_a_detector", folders_are_those_of_detectors);
    let mut seen = Vec::new();
    let cases = cases.into_iter().map(|case| {
        let kind = (case.code.clone(), case.kind());
        let is_first = !case.slow && !seen.contains(&kind);
        let left_out = !is_first && case.how != How::Plan;
        if is_first {
            seen.push(kind);
        }
        Trial::test(format!("truth::{}", case.id()), move || check(&case)).with_ignored_flag(left_out)
    });
    libtest_mimic::run(&arguments, std::iter::once(folders).chain(cases).collect()).exit();
}

fn folders_are_those_of_detectors() -> Result<(), Failed> {
    let detectors = truth::detectors();
    for entry in std::fs::read_dir(truth::corpus())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_known = detectors.iter().any(|(code, detector)| format!("{code}-{detector}") == name);
        if entry.file_type()?.is_dir() && !is_known {
            return Err(format!("no detector is called {name}").into());
        }
    }
    Ok(())
}

fn check(case: &truth::case::Case) -> Result<(), Failed> {
    let ended = truth::run(case, None);
    log_cost(&format!("truth::{}", case.id()), Duration::from_secs_f64(ended.seconds));
    if let Outcome::NotRun(reason) = &ended.outcome {
        skip_named(&format!("truth::{}", case.id()), reason);
    }
    match ended.outcome.is_failure() {
        true => Err(format!("{}: {}\n{}", ended.outcome.word(), ended.outcome.why(), ended.story).into()),
        false => Ok(()),
    }
}
