//! Advice on changing a pg_test_fsync command line. How it makes data durable is what it compares, so only the length
//! of its tests can be changed.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::{LONG, Options, SHORT};
use crate::getopt::Given;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let seconds = Options::parse(about.argv).seconds;
    match wanted {
        Improvement::RunLonger => Some(format!(
            "let each test last longer, about `-s {:.0}`",
            (seconds as f64 * about.times_longer).ceil().max(1.0)
        )),
        Improvement::SurvivePowerLoss => {
            Some("look at the mount options and at the device's write cache: each test already syncs".to_owned())
        }
        _ => None,
    }
}

/// Always fails: what a test syncs, and how, is what the tool compares.
pub(super) fn change(_wanted: Option<Improvement>, _about: &Circumstances<'_>) -> Result<Change, String> {
    Err("no option of pg_test_fsync changes how its tests make data durable".to_owned())
}

/// Lets each test last as long as wanted.
pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let wanted = about.seconds.ceil() as u64;
    let given = Given::parse(argv, SHORT, LONG);
    let is_short = Options::parse(argv).seconds < wanted && about.wanted.contains(&Improvement::RunLonger);
    if !is_short || given.has(&["-s", "--secs-per-test"]) && given.value(&["-s", "--secs-per-test"]).is_none() {
        return Resized { argv: argv.to_vec(), makes: Vec::new() };
    }
    // The last of several counts.
    let argv = argv.iter().cloned().chain(["-s".to_owned(), wanted.to_string()]).collect();
    Resized { argv, makes: vec![Improvement::RunLonger] }
}
