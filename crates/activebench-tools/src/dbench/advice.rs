//! Advice on changing a dbench command line.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::Options;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if !options.sync_open && !options.fsync => Some(
            "use `-s -S`, and quote the figure as one of file-system calls: the reads come from the page cache"
                .to_owned(),
        ),
        Improvement::ReadFromStorage | Improvement::LargerFile => Some(
            "quote it as a figure of file-system calls, or read with fio: the files of dbench fit into the page cache"
                .to_owned(),
        ),
        Improvement::RunLonger => {
            let seconds = (options.seconds as f64 * about.times_longer).ceil();
            Some(format!("let it run longer, about `-t {seconds:.0}`"))
        }
        Improvement::RandomPayload => Some("quote it as the rate of zeros: dbench writes no other data".to_owned()),
        Improvement::LeaveOutPauses if options.rate.is_some() => Some("leave `-R` out".to_owned()),
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let options = Options::parse(about.argv);
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) if !options.sync_open && !options.fsync => {
            Ok(Change::AddFirst(&["-s", "-S"]))
        }
        _ => Err("no option of dbench fixes it".to_owned()),
    }
}

pub(super) fn sized(argv: &[String], _about: &Sizing<'_>) -> Resized {
    Resized { argv: argv.to_vec(), makes: Vec::new() }
}
