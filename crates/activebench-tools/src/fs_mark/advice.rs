//! Advice on changing an fs_mark command line. The last of several options of one kind counts.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::{Options, Sync};

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if options.sync == Sync::Nothing => {
            Some("use `-S 1`, which syncs each file before its close, inside the clock".to_owned())
        }
        Improvement::RunLonger => {
            let files = (options.files? as f64 * about.times_longer).ceil();
            Some(format!("make more files, about `-n {files:.0}`"))
        }
        Improvement::RandomPayload => {
            Some("quote it as the rate of files of zeros: fs_mark writes no other data".to_owned())
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss)
            if Options::parse(about.argv).sync == Sync::Nothing =>
        {
            Ok(Change::AddLast(&["-S", "1"]))
        }
        _ => Err("no option of fs_mark fixes it".to_owned()),
    }
}

pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let options = Options::parse(argv);
    let unchanged = || Resized { argv: argv.to_vec(), makes: Vec::new() };
    let rate = about.rate_bytes_per_sec.filter(|rate| rate.is_finite() && *rate > 0.0);
    let (Some(files), Some(rate), 1..) = (options.files, rate, options.size) else { return unchanged() };
    let of_all = f64::from(options.tasks) * options.size as f64;
    let wanted = ((rate * about.seconds).min(about.most_bytes as f64) / of_all).floor() as u64;
    if wanted <= files.saturating_mul(2) {
        return unchanged();
    }
    let argv = argv.iter().cloned().chain(["-n".to_owned(), wanted.to_string()]).collect();
    Resized { argv, makes: vec![Improvement::RunLonger] }
}
