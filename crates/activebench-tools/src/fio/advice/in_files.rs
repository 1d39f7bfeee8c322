//! Changing a command whose jobs are in files: options of the command line are defaults that the files override.

use std::collections::BTreeSet;

use activebench_model::advice::{Change, Improvement};
use activebench_model::output::ToolFile;

use super::super::job_lines::deciding;
use super::super::jobs::{Job, Setup};
use super::{CHECKS, DRAWS, Given, PAUSES, SYNCS};

/// Other options that a change depends on.
const ASKED: &[&str] = &["end_fsync", "direct", "ioengine", "randrepeat", "refill_buffers", "runtime", "time_based"];

/// The jobs of files that a change is about.
pub(super) struct InFiles<'a> {
    setup: &'a Setup,
    files: &'a [ToolFile],
    wanted: Option<Improvement>,
}

impl<'a> InFiles<'a> {
    /// Returns `None` for a command without job files.
    ///
    /// # Errors
    /// When the files are unknown, or cannot be named again.
    pub(super) fn of(
        setup: &'a Setup,
        files: &'a [ToolFile],
        wanted: Option<Improvement>,
    ) -> Result<Option<Self>, String> {
        if setup.command.files.is_empty() {
            return Ok(None);
        }
        if setup.command.files.iter().any(|name| name == "-") {
            return Err("the jobs came from standard input: change them there".to_owned());
        }
        match &setup.open {
            Some(why) => Err(why.clone()),
            None => Ok(Some(Self { setup, files, wanted })),
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &'a Job> {
        let wanted = self.wanted;
        self.setup.jobs.iter().filter(move |job| concerns(wanted, job))
    }

    /// Collects the options of the jobs.
    pub(super) fn given(&self) -> Given {
        let names = || [ASKED, DRAWS, CHECKS, PAUSES, SYNCS].concat().into_iter();
        let has = |job: &Job, name: &str| job.options.stated(name).is_some() && job.options.is_on(name) != Some(false);
        let is_first = |name: &&str| self.jobs().all(|job| has(job, name));
        let of_all: BTreeSet<String> = names().filter(is_first).map(str::to_owned).collect();
        let of_one = names().filter(|name| self.jobs().any(|job| has(job, name))).map(str::to_owned).collect();
        Given { options: of_all, of_one, on_command_line: false }
    }

    /// Checks that a change of the command line takes effect in each of the jobs.
    ///
    /// # Errors
    /// Returns the line of a job file to change instead.
    pub(super) fn can_be(&self, change: &Change, argv: &[String]) -> Result<(), String> {
        match change {
            Change::AddFirst(options) => self.can_add(options, argv),
            Change::Drop(names, _) => {
                let line = self.jobs().find_map(|job| deciding(self.setup, self.files, job.options.name(), names));
                line.map_or(Ok(()), |line| Err(format!("remove {line}")))
            }
            Change::AddLast(_) | Change::DropWord(_) => Ok(()),
        }
    }

    fn can_add(&self, options: &[&str], argv: &[String]) -> Result<(), String> {
        let mut changed = argv.to_vec();
        changed.splice(1..1, options.iter().map(|option| (*option).to_owned()));
        let changed = Setup::new(&changed, self.files);
        for job in changed.jobs.iter().filter(|job| concerns(self.wanted, job)) {
            for option in options {
                let option = option.trim_start_matches('-');
                let (name, value) = option.split_once('=').unwrap_or((option, "1"));
                if job.options.stated(name) == Some(value) {
                    continue;
                }
                let job = job.options.name();
                return Err(match deciding(&changed, self.files, job, &[name]) {
                    Some(line) => format!("{line}, overrides the command line: change it to `{option}`"),
                    None => format!(
                        "options of the command line reach the first job file alone: add `{option}` to section [{job}]"
                    ),
                });
            }
        }
        Ok(())
    }
}

/// Returns `true` for a job that a change is for.
fn concerns(wanted: Option<Improvement>, job: &Job) -> bool {
    match wanted {
        Some(Improvement::ReadFromStorage) => job.options.reads() != Some(false),
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss | Improvement::RandomPayload) => {
            job.options.writes() != Some(false)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::advice::Circumstances;
    use activebench_model::phase::{Direction, Phase, Submission};

    use super::*;

    /// Returns the words of a change, or why there is none.
    fn change(line: &str, file: &str, wanted: Improvement) -> String {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let other = ToolFile { name: "b.fio".to_owned(), bytes: b"[b]\nrw=write\n".to_vec() };
        let files = [ToolFile { name: "a.fio".to_owned(), bytes: file.as_bytes().to_vec() }, other];
        let by_one = Phase { submission: Submission::Synchronous, ..Phase::planned("a", "a", Direction::Read) };
        let about = Circumstances {
            argv: &argv,
            files: &files,
            version: None,
            phases: &[by_one],
            phase: None,
            beyond_memory_bytes: None,
            mount_point: None,
            times_longer: 1.0,
        };
        match super::super::change(Some(wanted), &about) {
            Ok(Change::AddFirst(words)) => words.join(" "),
            Ok(Change::Drop(names, _)) => format!("drop {}", names[0]),
            Ok(other) => panic!("{other:?}"),
            Err(why) => why,
        }
    }

    #[test]
    fn an_option_is_advised_where_no_line_of_the_job_file_overrides_it() {
        use Improvement::{ReachDepth, ReadFromStorage, RunLonger, SurvivePowerLoss, SyncInsideClock};
        let overrides = "overrides the command line: change it to";
        for (line, file, wanted, expected) in [
            ("fio a.fio", "[a]\nrw=write\n", SyncInsideClock, "--end_fsync=1".to_owned()),
            ("fio --bs=4k a.fio", "[global]\nrw=read\n[a]\n", ReadFromStorage, "--direct=1".to_owned()),
            (
                "fio a.fio",
                "[a]\nrw=write\nend_fsync=0\n",
                SyncInsideClock,
                format!("line 3 of a.fio, `end_fsync=0`, {overrides} `end_fsync=1`"),
            ),
            (
                "fio a.fio",
                "[global]\nbuffered=1\n[a]\nrw=read\n",
                ReadFromStorage,
                format!("line 2 of a.fio, `buffered=1`, {overrides} `direct=1`"),
            ),
            // A line for a job that the change is not about overrides nothing.
            (
                "fio a.fio",
                "[w]\nrw=write\ndirect=0\n[r]\nrw=read\nstonewall\n",
                ReadFromStorage,
                "--direct=1".to_owned(),
            ),
            ("fio a.fio", "[a]\nrw=write\nend_fsync=1\n[b]\nrw=write\n", SyncInsideClock, "--end_fsync=1".to_owned()),
            (
                "fio a.fio",
                "[a]\nrw=write\nend_fsync=1\n",
                SyncInsideClock,
                "the option that fixes it is already given".to_owned(),
            ),
            (
                "fio a.fio",
                "[a]\nrw=write\nfsync=8\n",
                SurvivePowerLoss,
                "the command asks for syncs already".to_owned(),
            ),
            (
                "fio a.fio b.fio",
                "[a]\nrw=write\n",
                SyncInsideClock,
                "options of the command line reach the first job file alone: add `end_fsync=1` to section [b]"
                    .to_owned(),
            ),
            ("fio a.fio", "[a]\nrw=randread\niodepth=8\n", ReachDepth, "--ioengine=libaio --direct=1".to_owned()),
            (
                "fio a.fio",
                "[a]\nrw=randread\niodepth=8\ndirect=0\n",
                ReachDepth,
                format!("line 4 of a.fio, `direct=0`, {overrides} `direct=1`"),
            ),
            ("fio a.fio", "[a]\nrw=read\nruntime=1\n", RunLonger, "the time that it runs is given".to_owned()),
            ("fio a.fio", "[a]\nrw=read\ndirect=1\n", RunLonger, "--runtime=10s --time_based".to_owned()),
            (
                "fio a.fio",
                "[a]\nrw=read\n",
                RunLonger,
                "it takes a larger file: how large is yours to choose".to_owned(),
            ),
            (
                "fio c.fio",
                "",
                SyncInsideClock,
                "the job file c.fio was not kept: what it asks for is not known".to_owned(),
            ),
            ("fio -", "", SyncInsideClock, "the jobs came from standard input: change them there".to_owned()),
        ] {
            assert_eq!(change(line, file, wanted), expected, "{line}: {file}");
        }
    }

    #[test]
    fn an_option_of_a_job_file_is_removed_there() {
        use Improvement::{LeaveOutPauses, VisitBlocksOnce};
        for (line, file, wanted, expected) in [
            ("fio a.fio", "[a]\nrw=randread\nnorandommap\n", VisitBlocksOnce, "remove line 3 of a.fio, `norandommap`"),
            ("fio --norandommap a.fio", "[a]\nrw=randread\n", VisitBlocksOnce, "drop random_distribution"),
            ("fio a.fio", "[a]\nrw=read\nthinktime=9\n", LeaveOutPauses, "remove line 3 of a.fio, `thinktime=9`"),
            ("fio a.fio", "[a]\nrw=read\n", LeaveOutPauses, "no option of the command makes fio pause"),
        ] {
            assert_eq!(change(line, file, wanted), expected, "{line}: {file}");
        }
    }
}
