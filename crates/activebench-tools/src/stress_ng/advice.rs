//! Advice on changing a stress-ng command line.

use activebench_model::advice::{Change, Circumstances, Improvement};

use super::options::Options;

/// Direct I/O with a sync behind each write.
const HONEST: &[&str] = &["--hdd-opts", "direct,fsync"];

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if options.sync().is_none() => {
            Some("use `--hdd-opts direct,fsync`, and quote the bogo ops by real time, which cover the syncs".to_owned())
        }
        Improvement::ReadFromStorage | Improvement::OpenDirect if !options.has("direct") => {
            Some("use `--hdd-opts direct,fsync`: by default the stressor reads what it has just written".to_owned())
        }
        Improvement::RunLonger => {
            let seconds = about.phase?.window?.duration_ns() as f64 / 1e9 * about.times_longer;
            Some(format!("let it run longer, about `--timeout {:.0}s`", seconds.ceil().max(1.0)))
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let options = Options::parse(about.argv);
    match wanted {
        Some(
            Improvement::SyncInsideClock
            | Improvement::SurvivePowerLoss
            | Improvement::ReadFromStorage
            | Improvement::OpenDirect,
        ) if options.instances.is_some() && options.modes.is_empty() => Ok(Change::AddLast(HONEST)),
        _ => Err("no option of stress-ng fixes it".to_owned()),
    }
}
