//! Advice on changing an ioping command line.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::Options;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    let said = match wanted {
        Improvement::ReadFromStorage | Improvement::OpenDirect if !options.direct => {
            "add `-D`: ioping's own way to empty the page cache does not reach data that is cached in large folios"
        }
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if options.cached => {
            "leave out `-C`: each write is then followed by an fdatasync"
        }
        Improvement::LargerFile | Improvement::VisitBlocksOnce => {
            "use a larger working set (`-S`), for a folder it is 1 MiB by default"
        }
        Improvement::LeaveOutPauses if options.waits => "use `-i 0`: ioping then makes one request after the other",
        Improvement::RunLonger => {
            let seconds = about.phase?.window?.duration_ns() as f64 / 1e9 * about.times_longer;
            return Some(format!("let it run longer, about `-w {:.0}`", seconds.ceil().max(1.0)));
        }
        _ => return None,
    };
    Some(said.to_owned())
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let options = Options::parse(about.argv);
    match wanted {
        Some(Improvement::ReadFromStorage | Improvement::OpenDirect) if !options.direct => {
            Ok(Change::AddFirst(&["-D"]))
        }
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss)
            if options.cached && about.argv.iter().any(|word| word == "-C") =>
        {
            Ok(Change::DropWord("-C"))
        }
        _ => Err("no option of ioping fixes it".to_owned()),
    }
}

pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let options = Options::parse(argv);
    let is_short = options.time_ns.is_none_or(|time_ns| (time_ns as f64) < about.seconds * 1e9);
    // A number of requests is the user's own choice.
    if !is_short || options.count.is_some() || !about.wanted.contains(&Improvement::RunLonger) {
        return Resized { argv: argv.to_vec(), makes: Vec::new() };
    }
    // The last of several counts, and options may follow the target.
    let argv = argv.iter().cloned().chain(["-w".to_owned(), format!("{:.0}", about.seconds.ceil())]).collect();
    Resized { argv, makes: vec![Improvement::RunLonger] }
}
