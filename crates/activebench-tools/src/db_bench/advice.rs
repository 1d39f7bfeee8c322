//! Advice on changing a db_bench command line. The last of several options of one name counts.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::Options;
use super::output::{FILLSYNC, is_of_writes};

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss if !syncs_each(&Options::parse(about.argv)) => {
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

/// Returns `true` if each benchmark that writes keys syncs behind each write.
fn syncs_each(options: &Options) -> bool {
    let mut writing = options.benchmarks.iter().filter(|name| is_of_writes(name)).peekable();
    options.sync || writing.peek().is_some() && writing.all(|name| name == FILLSYNC)
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss)
            if !syncs_each(&Options::parse(about.argv)) =>
        {
            Ok(Change::AddLast(&["--sync=1"]))
        }
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) => {
            Err("the command asks for syncs already".to_owned())
        }
        _ => Err("no option of db_bench fixes it".to_owned()),
    }
}

pub(super) fn sized(argv: &[String], _about: &Sizing<'_>) -> Resized {
    Resized { argv: argv.to_vec(), makes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_added_where_none_is_asked_for() {
        let changed = |line: &str| {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
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
            change(Some(Improvement::SurvivePowerLoss), &about)
        };
        assert_eq!(changed("db_bench --benchmarks=fillseq"), Ok(Change::AddLast(&["--sync=1"])));
        assert_eq!(changed("db_bench --benchmarks=fillseq,fillsync"), Ok(Change::AddLast(&["--sync=1"])));
        for line in ["db_bench --benchmarks=fillsync,readseq", "db_bench --benchmarks=fillseq --sync"] {
            assert!(changed(line).is_err(), "{line}");
        }
    }
}
