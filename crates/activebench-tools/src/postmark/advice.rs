//! Advice on PostMark's commands. They are in a file, so that no change of its command line helps, and none of them
//! makes it sync.

use activebench_model::advice::{Change, Circumstances, Improvement};

pub(super) fn advise(wanted: Improvement, _about: &Circumstances<'_>) -> Option<String> {
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss => {
            Some("quote it as a figure of the page cache: PostMark has no command that syncs its files".to_owned())
        }
        Improvement::RunLonger => Some(
            "raise `set transactions` until each duration is 100 seconds or more: PostMark counts whole seconds"
                .to_owned(),
        ),
        Improvement::ReadFromStorage | Improvement::LargerFile => {
            Some("raise `set number` and `set size` until the files have twice the size of the memory".to_owned())
        }
        _ => None,
    }
}

pub(super) fn change(_wanted: Option<Improvement>, _about: &Circumstances<'_>) -> Result<Change, String> {
    Err("PostMark takes its settings from a file of commands".to_owned())
}
