//! The corpus of planted lies and honest twins, one test per case.
//!
//! The cases are files, so the tests are made from them at run time. A case that this host cannot provide is one skip,
//! with its reason. To end within minutes, only a part runs, chosen by the cost of each case in the last run of the
//! whole corpus: the cheapest lie of each detector, its cheapest twin unless that is expensive, and every case below one
//! second. The others are ignored tests; `cargo xtask truth` runs all of them.

use std::collections::{BTreeMap, HashMap};

use activebench_e2e::{Turn, skip_named, truth};
use libtest_mimic::{Arguments, Failed, Trial};
use truth::case::{Case, Kind};
use truth::outcome::Outcome;

/// Duration of each case in seconds; `cargo xtask truth` writes the file.
const SECONDS: &str = include_str!("../../../fixtures/truth/seconds.toml");
/// A case that costs no more than this always runs.
const CHEAP_SECONDS: f64 = 1.0;
/// A twin that costs more than this is left to `cargo xtask truth`: series and runs of a given length, which other
/// end-to-end tests play too.
const EXPENSIVE_TWIN_SECONDS: f64 = 5.0;
/// Number of cases that are started at once.
const THREADS: usize = 32;
/// Seed of the sample of drawn runs, and its number of runs of each kind.
const DRAWN_SEED: u64 = 1;
const DRAWN_HONEST: u32 = 16;
const DRAWN_LIES: u32 = 8;

fn main() {
    let mut arguments = Arguments::from_args();
    // Most threads wait for their case's turn: the cases share one machine and one page cache.
    arguments.test_threads = Some(THREADS);
    let cases = truth::load(&truth::corpus()).expect("every file is a case");
    let seconds: BTreeMap<String, f64> = toml::from_str(SECONDS).expect("seconds by the names of cases");
    let chosen = chosen(&cases, &seconds);
    let folders = Trial::test("truth::every_folder_is_that_of_a_detector", folders_are_those_of_detectors);
    let mut cases: Vec<(Case, bool)> = cases.into_iter().zip(chosen).collect();
    cases.extend(drawn().into_iter().map(|case| (case, true)));
    // The longest first, so that none is left to run on its own at the end.
    cases.sort_by(|(one, _), (other, _)| cost(other, &seconds).total_cmp(&cost(one, &seconds)));
    let cases = cases.into_iter().map(|(case, is_chosen)| {
        Trial::test(format!("truth::{}", case.id()), move || check(&case)).with_ignored_flag(!is_chosen)
    });
    libtest_mimic::run(&arguments, std::iter::once(folders).chain(cases).collect()).exit();
}

/// Returns the case's seconds in the last run of the whole corpus; infinite when it was not in it.
fn cost(case: &Case, seconds: &BTreeMap<String, f64>) -> f64 {
    seconds.get(&case.id()).copied().unwrap_or(f64::INFINITY)
}

/// Decides which cases belong to the part. A case of unknown cost counts as expensive, but every detector has cases.
fn chosen(cases: &[Case], seconds: &BTreeMap<String, f64>) -> Vec<bool> {
    let cost = |case: &Case| cost(case, seconds);
    let mut cheapest: HashMap<(&str, Kind), &Case> = HashMap::new();
    for case in cases {
        let least = cheapest.entry((&case.code, case.kind())).or_insert(case);
        if cost(case) < cost(least) {
            *least = case;
        }
    }
    let is_cheapest = |case: &Case| cheapest[&(case.code.as_str(), case.kind())].id() == case.id();
    let is_affordable = |case: &Case| case.kind() == Kind::Lie || cost(case) <= EXPENSIVE_TWIN_SECONDS;
    cases.iter().map(|case| cost(case) <= CHEAP_SECONDS || is_cheapest(case) && is_affordable(case)).collect()
}

/// Returns a sample of the runs that `cargo xtask truth --honest N --lies N` draws; the same runs each time.
fn drawn() -> Vec<Case> {
    let honest = (0..DRAWN_HONEST).map(|number| truth::drawn::honest(DRAWN_SEED, number));
    let lies = (0..DRAWN_LIES).map(|number| truth::drawn::lie(DRAWN_SEED, number));
    let of_the_machine = truth::machine(&truth::corpus().join("machine.toml")).expect("codes with reasons");
    honest.chain(lies).map(|case| case.on_machine(&of_the_machine)).collect()
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

/// Runs the case beside others. A written case says what holds on a machine that does nothing else, so one that is not
/// answered as expected runs once more alone. A drawn run must be answered rightly whatever else goes on; only what compares
/// its rate with another one, to a hundredth, may be compared alone.
fn check(case: &Case) -> Result<(), Failed> {
    let test = format!("truth::{}", case.id());
    let turn = Turn::beside_others(test.clone());
    let mut ended = truth::run(case, None);
    drop(turn);
    let compares_rates = matches!(ended.outcome, Outcome::Off(_) | Outcome::Differs(_));
    if (case.drawn.is_none() || compares_rates) && fails(case, &ended.outcome) {
        eprintln!("{test}: {} beside others, so it runs again alone: {}", ended.outcome.word(), ended.outcome.why());
        let turn = Turn::alone(test.clone());
        ended = truth::run(case, None);
        drop(turn);
    }
    if let Outcome::NotRun(reason) = &ended.outcome {
        skip_named(&test, reason);
    }
    match fails(case, &ended.outcome) {
        true => Err(format!("{}: {}\n{}", ended.outcome.word(), ended.outcome.why(), ended.story).into()),
        false => Ok(()),
    }
}

/// Tells whether the outcome fails the test. A few drawn runs have no answer; `cargo xtask truth` counts them.
fn fails(case: &Case, outcome: &Outcome) -> bool {
    let is_counted = case.drawn.is_some() && matches!(outcome, Outcome::Undecided { .. });
    outcome.is_failure() && !is_counted
}
