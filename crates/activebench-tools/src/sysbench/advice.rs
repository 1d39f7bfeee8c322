//! Advice on changing a command line of sysbench fileio.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::{Options, Task};

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss => Some(match options.fsync_end {
            false => "leave out `--file-fsync-end=off`: sysbench then syncs its files inside its clock".to_owned(),
            true => "quote the durable rate: the syncs at the end were asked for".to_owned(),
        }),
        Improvement::ReadFromStorage => Some(match options.flags.is_empty() {
            true => "add `--file-extra-flags=direct`".to_owned(),
            false => "add `direct` to `--file-extra-flags`, or use files that memory cannot hold".to_owned(),
        }),
        Improvement::LargerFile => {
            let bytes = about.beyond_memory_bytes?;
            Some(format!("use `--file-total-size={}G` or more, for prepare and run", bytes.div_ceil(1 << 30)))
        }
        Improvement::RunLonger if options.task == Some(Task::Run) => {
            let seconds = (options.seconds.max(1) as f64 * about.times_longer).ceil();
            Some(match options.events {
                0 => format!("let it run longer, about `--time={seconds:.0}`"),
                events => format!("make more requests, about `--events={:.0}`", events as f64 * about.times_longer),
            })
        }
        Improvement::RandomPayload => Some("use another benchmark: sysbench writes zeros".to_owned()),
        Improvement::NewOffsetsEachRun => {
            Some("leave out `--rand-seed`, and start no two runs in one second".to_owned())
        }
        Improvement::LeaveOutVerification => Some("leave out `--validate`".to_owned()),
        Improvement::LeaveOutPauses => Some("leave out `--rate`".to_owned()),
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let options = Options::parse(about.argv);
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) if !options.fsync_end => {
            Ok(Change::Drop(&["file-fsync-end"], &["file-fsync-end"]))
        }
        Some(Improvement::ReadFromStorage) if options.flags.is_empty() => {
            Ok(Change::AddLast(&["--file-extra-flags=direct"]))
        }
        Some(Improvement::NewOffsetsEachRun) => Ok(Change::Drop(&["rand-seed"], &["rand-seed"])),
        Some(Improvement::LeaveOutVerification) => Ok(Change::Drop(&["validate"], &["validate"])),
        Some(Improvement::LeaveOutPauses) => Ok(Change::Drop(&["rate", "tx-rate"], &["rate", "tx-rate"])),
        Some(Improvement::LargerFile) => {
            Err("it takes larger files, which `prepare` has to make with the same `--file-total-size`".to_owned())
        }
        Some(Improvement::RunLonger) => Err("it takes a longer `--time` or more `--events`".to_owned()),
        Some(Improvement::RandomPayload) => Err("sysbench writes zeros".to_owned()),
        _ => Err("no option of sysbench fixes it".to_owned()),
    }
}

/// A run lasts as long as `--time` says.
pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let options = Options::parse(argv);
    let seconds = about.seconds.ceil() as u64;
    let is_shorter = options.seconds > 0 && options.seconds < seconds;
    let mut words = argv.to_vec();
    let word = words.iter_mut().rfind(|word| word.starts_with("--time="));
    let Some(word) = word.filter(|_| options.task == Some(Task::Run) && options.events == 0 && is_shorter) else {
        return Resized { argv: argv.to_vec(), makes: Vec::new() };
    };
    *word = format!("--time={seconds}");
    Resized { argv: words, makes: vec![Improvement::RunLonger] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_option_asks_the_same_question_honestly() {
        let changed = |line: &str, wanted| {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let about = Circumstances {
                argv: &argv,
                files: &[],
                version: None,
                phases: &[],
                phase: None,
                beyond_memory_bytes: None,
                mount_point: None,
                times_longer: 1.0,
            };
            change(Some(wanted), &about)
        };
        let unsynced = "sysbench fileio --file-test-mode=seqwr --file-fsync-freq=0 --file-fsync-end=off run";
        assert!(matches!(changed(unsynced, Improvement::SyncInsideClock), Ok(Change::Drop(["file-fsync-end"], _))));
        assert!(changed("sysbench fileio --file-test-mode=seqwr run", Improvement::SyncInsideClock).is_err());
        let cached = "sysbench fileio --file-test-mode=rndrd run";
        assert_eq!(changed(cached, Improvement::ReadFromStorage), Ok(Change::AddLast(&["--file-extra-flags=direct"])));
        let flagged = "sysbench fileio --file-test-mode=rndrd --file-extra-flags=sync run";
        assert!(changed(flagged, Improvement::ReadFromStorage).is_err());
    }
}
