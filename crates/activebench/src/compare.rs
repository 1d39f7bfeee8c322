//! `activebench compare`: stored runs, or series of runs, side by side.

use std::path::Path;

use activebench_detect::compare::{Compare, OfRun, compare, contribution};
use activebench_model::report::JudgedRun;
use activebench_record::RunReader;
use activebench_report::compare::{COMPARE_FORMATS, render};

use crate::arguments::{CompareRuns, FailOnArgument, Output};
use crate::exit::{ExitCode, Failure, OrExit};
use crate::{bundle, judge, output, series};

/// Compares runs. The verdicts do not affect the exit code: the command did what it was asked.
pub(crate) fn main(arguments: &CompareRuns) -> Result<(), Failure> {
    let output = Output { formats: arguments.formats.clone(), fail_on: FailOnArgument::Fail, quiet: false };
    output::formats_exist(&output, "several runs", &COMPARE_FORMATS)?;
    let columns = arguments.runs.iter().map(|path| column(path)).collect::<Result<Vec<_>, _>>()?;
    let comparison = compare(&columns);
    output::deliver(&output, |request, style, out| output::write_text(render(&request.format, &comparison, style), out))
}

/// Returns a run or a series, or a bundle of one, judged again from its evidence.
fn column(path: &Path) -> Result<Compare, Failure> {
    let located = bundle::located(path)?;
    let mut runs: Vec<OfRun> = Vec::new();
    let mut each = |_: &str, _: &RunReader, run: &JudgedRun| {
        runs.push(contribution(run));
        Ok(())
    };
    if let Some(judged) = series::judged_each(&located.directory, path, |_| {}, &mut each, None)? {
        return Ok(Compare {
            directory: judged.directory,
            series: true,
            verdict: judged.verdict,
            incomplete: judged.manifest.incomplete,
            runs,
        });
    }
    let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
    let judged = judge::judge(path, &reader, reader.manifest().clone()).or_exit(ExitCode::Usage)?;
    Ok(Compare {
        runs: vec![contribution(&judged)],
        directory: judged.directory,
        series: false,
        verdict: judged.verdict,
        incomplete: judged.manifest.incomplete,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::samples::prepared_series;

    #[test]
    fn what_prepared_a_device_is_none_of_the_runs_that_are_compared() {
        let folder = prepared_series(&|_, preparation| Some(preparation));
        let column = column(folder.path()).expect("a series");
        assert_eq!((column.runs.len(), column.incomplete), (2, Vec::new()));
    }
}
