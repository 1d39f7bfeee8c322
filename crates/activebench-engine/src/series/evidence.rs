//! Checks that the recorded preconditioning of a series is what its runs say of it: AB606 relies on their statements.

use activebench_model::preparation::Preconditioning;
use activebench_model::report::JudgedRun;
use activebench_model::series::RunOfSeries;
use activebench_model::units::Quantity;
use activebench_record::RunReader;

use crate::preparation::written;

/// Returns where it is not, as lower-case fragments. If it was `judged`, the bytes that the device took are compared
/// too.
pub(super) fn faults(
    folder: &str,
    reader: &RunReader,
    judged: Option<&JudgedRun>,
    runs: &[RunOfSeries],
) -> Vec<String> {
    let mut faults: Vec<String> = Vec::new();
    for mismatch in reader.verify_hashes() {
        faults.push(match mismatch.found {
            Ok(_) => format!("{folder}/{} is not what was recorded: its SHA-256 differs", mismatch.name),
            Err(why) => format!("{folder}/{} cannot be read: {why}", mismatch.name),
        });
    }
    let mut told = |runs: Option<String>, what: String| {
        faults.extend(runs.map(|runs| format!("{what} in run.json of {runs}")));
    };
    told(named(runs, |run| stated(run).is_none()), format!("{folder} is not named"));
    let another = |stated: &Preconditioning| stated.sha256 != reader.manifest_sha256();
    told(named(runs, |run| stated(run).is_some_and(another)), format!("{folder}/run.json has another SHA-256 than"));
    if let Some(judged) = judged {
        let found = written(judged);
        let what = match found {
            Some(bytes) => format!("the device took {}", Quantity { value: bytes, ..Quantity::bytes(0) }),
            None => "the bytes that the device took are not known".to_owned(),
        };
        let another = |stated: &Preconditioning| stated.written_bytes != found;
        told(named(runs, |run| stated(run).is_some_and(another)), format!("{folder}: {what}, unlike"));
    }
    faults
}

/// Like [`faults`], for a series that names no record of a preconditioning.
pub(super) fn without_record(runs: &[RunOfSeries]) -> Option<String> {
    let runs = named(runs, |run| stated(run).is_some())?;
    Some(format!("series.json names no preconditioning, and run.json of {runs} does"))
}

fn stated(run: &RunOfSeries) -> Option<&Preconditioning> {
    run.preparation.as_ref().map(|preparation| &preparation.preconditioning)
}

/// `run 1`, `runs 1, 3`; `None` where there is no such run.
fn named(runs: &[RunOfSeries], is: impl Fn(&RunOfSeries) -> bool) -> Option<String> {
    let numbers: Vec<String> = runs.iter().filter(|run| is(run)).map(|run| run.number.to_string()).collect();
    match numbers.as_slice() {
        [] => None,
        [run] => Some(format!("run {run}")),
        runs => Some(format!("runs {}", runs.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use activebench_model::preparation::Preparation;
    use activebench_model::series::JudgedSeries;
    use activebench_model::verdict::RunVerdict;

    use super::super::{Each, judged_each, samples};

    /// Returns the names of the runs that are passed to `each`, and the series.
    fn read(directory: &Path, judges: bool) -> (Vec<String>, JudgedSeries) {
        let mut shown = Vec::new();
        let mut each = |name: &str, _: &_, _: &_| {
            shown.push(name.to_owned());
            Ok(())
        };
        let mut nothing = |_: &str, _: &_, _: &_| Ok(());
        let preconditioning: Option<Each<'_>> = if judges { Some(&mut nothing) } else { None };
        let series =
            judged_each(directory, directory, |_| {}, &mut each, preconditioning, crate::judge::Timelines::LeftOut);
        (shown, series.ok().flatten().expect("a series that can be judged"))
    }

    #[test]
    fn the_preconditioning_is_none_of_the_runs_and_is_held_against_their_word() {
        type Change = fn(u32, Preparation) -> Option<Preparation>;
        let cases: &[(Change, &[&str], &[&str])] = &[
            (|_, preparation| Some(preparation), &[], &[]),
            (
                |run, mut preparation| {
                    if run == 2 {
                        preparation.preconditioning.sha256 = "0".repeat(64);
                    }
                    Some(preparation)
                },
                &["preconditioning/run.json has another SHA-256 than in run.json of run 2"],
                &["preconditioning/run.json has another SHA-256 than in run.json of run 2"],
            ),
            (
                |_, mut preparation| {
                    preparation.preconditioning.written_bytes = Some(1e12);
                    Some(preparation)
                },
                &[],
                &["preconditioning: the bytes that the device took are not known, unlike in run.json of \
                   runs 1, 2"],
            ),
            (
                |run, preparation| (run == 1).then_some(preparation),
                &["preconditioning is not named in run.json of run 2"],
                &["preconditioning is not named in run.json of run 2"],
            ),
        ];
        for (change, by_hashes, judged) in cases {
            let folder = samples::prepared_series(change);
            for (judges, expected) in [(false, by_hashes), (true, judged)] {
                let (shown, series) = read(folder.path(), judges);
                assert_eq!(shown, ["1", "2"]);
                assert_eq!(series.manifest.incomplete, **expected);
                // Whatever the verdicts on the runs are.
                assert_eq!(series.verdict, RunVerdict::Inconclusive);
            }
        }
    }

    #[test]
    fn a_changed_record_of_the_preconditioning_and_one_that_is_not_named_are_told() {
        let folder = samples::prepared_series(&|_, preparation| Some(preparation));
        fs::write(folder.path().join("preconditioning/stdout.txt"), "other").expect("it is written");
        let (_, series) = read(folder.path(), false);
        let expected = "preconditioning/stdout.txt is not what was recorded: its SHA-256 differs";
        assert_eq!(series.manifest.incomplete, [expected]);
        samples::forget_preconditioning(folder.path());
        let (_, series) = read(folder.path(), true);
        let expected = "series.json names no preconditioning, and run.json of runs 1, 2 does";
        assert_eq!(series.manifest.incomplete, [expected]);
    }
}
