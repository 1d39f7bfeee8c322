//! Advice on changing an hdparm command line.

use activebench_model::advice::{Change, Circumstances, Improvement};

use super::options::Options;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let direct = Options::parse(about.argv).direct;
    match wanted {
        Improvement::ReadFromStorage | Improvement::OpenDirect if !direct => {
            Some("add `--direct`: hdparm then reads past the page cache".to_owned())
        }
        Improvement::RunLonger => {
            Some("use another tool: hdparm reads for 3 seconds, or to the end of the device".to_owned())
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    match wanted {
        Some(Improvement::ReadFromStorage | Improvement::OpenDirect) if !Options::parse(about.argv).direct => {
            Ok(Change::AddFirst(&["--direct"]))
        }
        _ => Err("no option of hdparm fixes it".to_owned()),
    }
}
