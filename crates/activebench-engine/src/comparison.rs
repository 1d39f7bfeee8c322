//! Stored runs and series as columns of a comparison.

use std::path::Path;

use activebench_detect::compare::{Compare, OfRun, contribution};
use activebench_model::report::JudgedRun;
use activebench_record::RunReader;

use crate::failure::{ExitCode, Failure, OrExit};
use crate::{bundle, judge, series};

/// Returns a run or a series, or a bundle of one, judged again from its evidence.
///
/// # Errors
/// Returns an error if it cannot be read or judged.
pub fn column(path: &Path) -> Result<Compare, Failure> {
    let located = bundle::located(path)?;
    let mut runs: Vec<OfRun> = Vec::new();
    let mut each = |_: &str, _: &RunReader, run: &JudgedRun| {
        runs.push(contribution(run));
        Ok(())
    };
    if let Some(judged) =
        series::judged_each(&located.directory, path, |_| {}, &mut each, None, judge::Timelines::LeftOut)?
    {
        return Ok(Compare {
            directory: judged.directory,
            series: true,
            verdict: judged.verdict,
            incomplete: judged.manifest.incomplete,
            runs,
        });
    }
    let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
    let judged =
        judge::judge(path, &reader, reader.manifest().clone(), judge::Timelines::LeftOut).or_exit(ExitCode::Usage)?;
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
    fn the_preconditioning_is_not_one_of_the_compared_runs() {
        let folder = prepared_series(&|_, preparation| Some(preparation));
        let column = column(folder.path()).expect("a series");
        assert_eq!((column.runs.len(), column.incomplete), (2, Vec::new()));
    }
}
