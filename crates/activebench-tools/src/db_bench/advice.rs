//! Advice on changing a db_bench command line. The last of several options of one name counts.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::Options;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if !Options::parse(about.argv).sync => {
            Some("use `--sync=1`, which syncs the log behind each write".to_owned())
        }
        Improvement::ReadFromStorage | Improvement::OpenDirect => {
            Some("read in a run of its own, with `--use_existing_db=1 --use_direct_reads=1 --cache_size=1`".to_owned())
        }
        Improvement::RunLonger => {
            Some(format!("write more keys, {:.0} times as many (`--num`)", about.times_longer.ceil().max(2.0)))
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) if !Options::parse(about.argv).sync => {
            Ok(Change::AddLast(&["--sync=1"]))
        }
        _ => Err("no option of db_bench fixes it".to_owned()),
    }
}

pub(super) fn sized(argv: &[String], _about: &Sizing<'_>) -> Resized {
    Resized { argv: argv.to_vec(), makes: Vec::new() }
}
