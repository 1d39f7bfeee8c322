//! The folder of the runs that are given no directory of their own.

use std::path::{Path, PathBuf};

use activebench_record::{RecordError, RunFolder};
use time::OffsetDateTime;
use time::macros::format_description;

/// Folder of runs below the working directory, unless the user names another one.
pub const RUNS: &str = "activebench-runs";
/// Link in the folder of runs to the run that was finished last.
pub const LATEST: &str = "latest";

/// Returns `RUNS/20261121T040506Z-iozone`, with a number appended if that exists.
pub fn default_directory(runs: &Path, program: &str) -> PathBuf {
    let now = OffsetDateTime::now_utc();
    let stamp = now
        .format(format_description!("[year][month][day]T[hour][minute][second]Z"))
        .unwrap_or_else(|_| now.unix_timestamp().to_string());
    let tool: String = program.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let base = runs.join(format!("{stamp}-{tool}"));
    let numbered = |number: u32| base.with_file_name(format!("{stamp}-{tool}-{number}"));
    std::iter::once(base.clone()).chain((2..).map(numbered)).find(|path| !path.exists()).unwrap_or(base)
}

/// Points the link `latest` of the folder of runs to a finished run; does nothing for a run elsewhere. The folder may
/// belong to the benchmark's user: call it with that user's rights. That it cannot be written is reported, and changes
/// nothing about the run.
pub fn point_latest(runs: &Path, run: &Path) {
    if let Err(error) = point(runs, run) {
        say!("{error}");
    }
}

fn point(runs: &Path, run: &Path) -> Result<(), RecordError> {
    let plain = |path: &Path| path.components().collect::<PathBuf>();
    let here = |path: &Path| plain(path.strip_prefix(".").unwrap_or(path));
    match (run.parent(), run.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) if here(parent) == here(runs) => RunFolder::open(runs)?.point(LATEST, name),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_is_a_link_to_a_run_of_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path();
        let latest = || std::fs::read_link(runs.join(LATEST)).ok();
        point(runs, Path::new("/elsewhere/run")).expect("nothing to do");
        assert_eq!(latest(), None);
        for name in ["first", "second"] {
            point(runs, &runs.join(name)).expect("a link");
            assert_eq!(latest(), Some(PathBuf::from(name)));
        }
        assert_eq!(default_directory(runs, "a/b c").parent(), Some(runs));
    }
}
