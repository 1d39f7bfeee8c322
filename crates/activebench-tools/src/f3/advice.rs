//! Advice on the command lines of f3write and f3read. No option of theirs changes how they write, read or sync.

use activebench_model::advice::{Change, Circumstances, Improvement};

use super::F3;
use super::options::Options;

pub(super) fn advise(tool: F3, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    match wanted {
        Improvement::ReadFromStorage | Improvement::OpenDirect if tool == F3::Read => {
            Some("unmount and mount the file system before f3read, so that its files are not in memory".to_owned())
        }
        Improvement::LeaveOutPauses => {
            let limit = Options::parse(about.argv).limit?;
            Some(format!("leave out `{limit}`"))
        }
        Improvement::RunLonger if tool == F3::Write => {
            Some("give f3write more free space: it fills the file system, or stops at `--end-at` GiB".to_owned())
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let limited = |name: &str| about.argv.iter().any(|word| word.split('=').next() == Some(name));
    match wanted {
        Some(Improvement::LeaveOutPauses) if limited("--max-write-rate") => Ok(Change::Drop(&["max-write-rate"], &[])),
        Some(Improvement::LeaveOutPauses) if limited("--max-read-rate") => Ok(Change::Drop(&["max-read-rate"], &[])),
        Some(Improvement::ReadFromStorage | Improvement::OpenDirect) => {
            Err("it takes a file system that was mounted again, so that its files are not in memory".to_owned())
        }
        _ => Err("no option of f3write or f3read fixes it".to_owned()),
    }
}
