//! fio's jobs: their options from the command line and job files, their clones and groups.

use std::collections::BTreeMap;

use activebench_model::output::ToolFile;

use super::command::Command;
use super::numbers::{bytes, is_true, time_ns};

/// Most clones of all jobs together: fio itself allows 4096 jobs.
const MOST_JOBS: usize = 4096;

/// The options of one job, the later ones over the earlier ones, by their usual names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobOptions {
    values: BTreeMap<String, String>,
}

/// Other names of options.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("io_limit", "io_size"),
    ("timeout", "runtime"),
    ("wait_for_previous", "stonewall"),
    ("fill_fs", "fill_device"),
    ("fileoffset", "offset"),
    ("start_delay", "startdelay"),
];

impl JobOptions {
    /// Sets an option by any of its names.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let name = name.trim();
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, usual)| usual);
        // What a shell would have taken away is still there where words come from a script.
        let value = value.trim().trim_matches(['"', '\'']);
        // `buffered` is `direct` upside down.
        if name == "buffered" {
            let direct = if is_true(value) { "0" } else { "1" };
            self.values.insert("direct".to_owned(), direct.to_owned());
            return;
        }
        // Each of both sets the other; the later one counts.
        let opposite = match name {
            "rwmixread" => Some("rwmixwrite"),
            "rwmixwrite" => Some("rwmixread"),
            _ => None,
        };
        opposite.map(|opposite| self.values.remove(opposite));
        self.values.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a switch is on; off where it is not given.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_true)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        bytes(self.get(name)?, 1024)
    }

    /// A size in bytes by the job's own base.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        let base = if self.get("kb_base") == Some("1000") { 1000 } else { 1024 };
        bytes(self.get(name)?, base)
    }

    /// A time; without a unit it is in seconds.
    pub(super) fn seconds_as_ns(&self, name: &str) -> Option<u64> {
        time_ns(self.get(name)?, 1_000_000_000)
    }

    pub(super) fn name(&self) -> &str {
        self.get("name").unwrap_or("")
    }

    pub(super) fn engine(&self) -> &str {
        let engine = self.get("ioengine").unwrap_or("psync");
        // `external:path` and options behind a colon.
        engine.split(':').next().unwrap_or(engine)
    }

    /// The order and direction without what may stand behind a colon.
    pub(super) fn rw(&self) -> &str {
        let rw = self.get("rw").unwrap_or("read");
        rw.split([':', ',']).next().unwrap_or(rw)
    }

    pub(super) fn reads(&self) -> bool {
        matches!(self.rw(), "read" | "randread") || self.mixes()
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.rw(), "write" | "randwrite" | "trimwrite" | "randtrimwrite") || self.mixes()
    }

    pub(super) fn mixes(&self) -> bool {
        matches!(self.rw(), "rw" | "readwrite" | "randrw")
    }

    /// The option that sets the mix of reads and writes, and the share of reads, from 0 to 1. Half where
    /// none is given; `None` for a job that does not mix, or whose mix comes from elsewhere: a log of I/O, or
    /// the reads of a check beside its own.
    pub(super) fn mix(&self) -> Option<(String, f64)> {
        if !self.mixes() || self.get("read_iolog").is_some() || self.verify().is_some() {
            return None;
        }
        let percent = |name: &str| self.get(name).map(|value| (value, value.parse::<u32>().ok()));
        match (percent("rwmixread"), percent("rwmixwrite")) {
            (Some((value, reads)), _) => {
                Some((format!("rwmixread={value}"), f64::from(reads.filter(|reads| *reads <= 100)?) / 100.0))
            }
            (None, Some((value, writes))) => {
                let reads = 100 - writes.filter(|writes| *writes <= 100)?;
                Some((format!("rwmixwrite={value}"), f64::from(reads) / 100.0))
            }
            (None, None) => Some((format!("rw={}", self.rw()), 0.5)),
        }
    }

    pub(super) fn trims(&self) -> bool {
        matches!(self.rw(), "trim" | "randtrim" | "trimwrite" | "randtrimwrite")
    }

    pub(super) fn is_random(&self) -> bool {
        self.rw().starts_with("rand")
    }

    /// The check of the data that it asks for; `None` without.
    pub(super) fn verify(&self) -> Option<&str> {
        self.get("verify").filter(|method| !matches!(*method, "0" | "none" | "null" | "pattern_hdr_none"))
    }

    /// Whether what was written is read back and checked after each loop.
    pub(super) fn verifies_after(&self) -> bool {
        self.verify().is_some() && self.writes() && self.get("do_verify").is_none_or(is_true)
    }

    fn clones(&self) -> usize {
        let clones = self.get("numjobs").and_then(|count| count.parse().ok()).unwrap_or(1);
        clones.clamp(1, MOST_JOBS)
    }
}

/// One job as fio runs it: a clone where `numjobs` makes several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) options: JobOptions,
    /// Jobs of one group may be reported together.
    pub(super) group: u32,
    /// Its number among the clones of one job, from 0.
    pub(super) clone: usize,
    /// How many clones there are.
    pub(super) clones: usize,
}

/// Everything that a command makes fio run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Setup {
    pub(super) command: Command,
    /// In fio's own order, clones one after another.
    pub(super) jobs: Vec<Job>,
    /// What is not known of them.
    pub(super) notes: Vec<String>,
}

impl Setup {
    /// From the command line and the job files that it names.
    pub(super) fn new(argv: &[String], files: &[ToolFile]) -> Self {
        let command = Command::parse(argv);
        let mut notes = Vec::new();
        let mut all = command.jobs.clone();
        let mut globals = command.globals.clone();
        for name in &command.files {
            let found = files.iter().find(|file| file.name == *name);
            match found.or_else(|| files.iter().find(|file| file.file_name() == last_component(name))) {
                Some(file) => {
                    let text = String::from_utf8_lossy(&file.bytes);
                    all.append(&mut read_job_file(&text, &globals, &command.sections, &mut notes));
                }
                None => notes.push(format!("the job file {name} was not kept: what it asks for is not known")),
            }
            globals = JobOptions::default();
        }
        Self { jobs: with_clones(all), command, notes }
    }

    /// The logs that jobs replay (`read_iolog`): a colon stands between two, unless a backslash is before it.
    pub(super) fn replayed_logs(&self) -> Vec<String> {
        let mut logs = Vec::new();
        for option in self.jobs.iter().filter_map(|job| job.options.get("read_iolog")) {
            let mut log = String::new();
            let mut characters = option.chars();
            while let Some(character) = characters.next() {
                match character {
                    '\\' => log.extend(characters.next()),
                    ':' => logs.push(std::mem::take(&mut log)),
                    plain => log.push(plain),
                }
            }
            logs.push(log);
        }
        logs
    }

    /// The jobs of each entry of the report, in order.
    pub(super) fn entries(&self) -> Vec<Vec<usize>> {
        let mut entries: Vec<Vec<usize>> = Vec::new();
        let mut last_group = None;
        for (index, job) in self.jobs.iter().enumerate() {
            if job.options.get("stats").is_some_and(|value| !is_true(value)) {
                continue;
            }
            let joins = job.options.is_on("group_reporting") && last_group == Some(job.group);
            last_group = Some(job.group);
            match entries.last_mut() {
                Some(entry) if joins => entry.push(index),
                _ => entries.push(vec![index]),
            }
        }
        entries
    }
}

pub(super) fn last_component(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn with_clones(all: Vec<JobOptions>) -> Vec<Job> {
    let mut jobs = Vec::new();
    let (mut group, mut in_group) = (0, false);
    for options in all {
        if in_group && (options.is_on("stonewall") || options.is_on("new_group")) {
            group += 1;
        }
        in_group = true;
        let clones = options.clones();
        for clone in 0..clones {
            if jobs.len() == MOST_JOBS {
                return jobs;
            }
            jobs.push(Job { options: options.clone(), group, clone, clones });
        }
    }
    jobs
}

/// The jobs of an INI file. `[global]` sections hold for the jobs after them.
fn read_job_file(text: &str, globals: &JobOptions, sections: &[String], notes: &mut Vec<String>) -> Vec<JobOptions> {
    let mut globals = globals.clone();
    let mut jobs = Vec::new();
    let mut current: Option<JobOptions> = None;
    let mut in_section = false;
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            jobs.extend(current.take());
            in_section = true;
            if !name.eq_ignore_ascii_case("global") {
                let mut job = globals.clone();
                job.set("name", name);
                current = Some(job);
            }
            continue;
        }
        if !in_section {
            continue;
        }
        if line.strip_prefix("include").is_some_and(|rest| rest.starts_with([' ', '\t'])) {
            notes.push("an included job file is not read: its options are not known".to_owned());
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "1"));
        current.as_mut().unwrap_or(&mut globals).set(name, value);
    }
    jobs.extend(current);
    jobs.retain(|job| sections.is_empty() || sections.iter().any(|section| section == job.name()));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(line: &str, file: &str) -> Setup {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let files = [ToolFile { name: "j.fio".to_owned(), bytes: file.as_bytes().to_vec() }];
        Setup::new(&argv, &files)
    }

    #[test]
    fn job_files_are_read_with_their_globals() {
        let text =
            "; a comment\n[global]\nrw=randread\nsize=16m\n[job1]\n[job2]\nstonewall\nrw=read\nblocksize = 64k\n";
        let setup = setup("fio j.fio", text);
        let seen: Vec<_> = setup
            .jobs
            .iter()
            .map(|job| (job.options.name(), job.options.rw(), job.options.size("bs"), job.group))
            .collect();
        assert_eq!(seen, [("job1", "randread", None, 0), ("job2", "read", Some(65536), 1)]);
        let only = super::Setup::new(
            &["fio".to_owned(), "--section=job2".to_owned(), "j.fio".to_owned()],
            &[ToolFile { name: "j.fio".to_owned(), bytes: text.as_bytes().to_vec() }],
        );
        assert_eq!(only.jobs.len(), 1);
    }

    #[test]
    fn groups_are_reported_together_where_they_ask_for_it() {
        for (line, entries) in [
            ("fio --name=a --numjobs=3", vec![1, 1, 1]),
            ("fio --name=a --numjobs=3 --group_reporting", vec![3]),
            ("fio --group_reporting --name=a --numjobs=2 --name=b --stonewall --numjobs=2", vec![2, 2]),
            ("fio --group_reporting --name=a --name=b", vec![2]),
            ("fio --name=a --name=b --group_reporting", vec![2]),
            ("fio --name=a --numjobs=99999999", vec![1; MOST_JOBS]),
        ] {
            let sizes: Vec<usize> = setup(line, "").entries().iter().map(Vec::len).collect();
            assert_eq!(sizes, entries, "{line}");
        }
    }

    #[test]
    fn a_file_that_was_not_kept_is_said() {
        let argv = ["fio".to_owned(), "other.fio".to_owned()];
        assert_eq!(Setup::new(&argv, &[]).notes.len(), 1);
    }

    #[test]
    fn the_later_option_sets_the_mix() {
        for (line, expected) in [
            ("fio --name=a --rw=randrw --rwmixread=70", Some(("rwmixread=70", 0.7))),
            ("fio --name=a --rw=rw --rwmixwrite=20", Some(("rwmixwrite=20", 0.8))),
            ("fio --name=a --rw=rw --rwmixread=70 --rwmixwrite=20", Some(("rwmixwrite=20", 0.8))),
            ("fio --name=a --rw=rw --rwmixwrite=20 --rwmixread=70", Some(("rwmixread=70", 0.7))),
            ("fio --name=a --rw=randrw", Some(("rw=randrw", 0.5))),
            ("fio --name=a --rw=randrw --rwmixread=170", None),
            ("fio --name=a --rw=randrw --verify=crc32c", None),
            ("fio --name=a --rw=randread --rwmixread=70", None),
        ] {
            let mix = setup(line, "").jobs[0].options.mix();
            let mix = mix.as_ref().map(|(option, reads)| (option.as_str(), *reads));
            assert_eq!(mix, expected, "{line}");
        }
    }

    #[test]
    fn buffered_is_direct_upside_down() {
        let mut options = JobOptions::default();
        options.set("buffered", "0");
        assert!(options.is_on("direct"));
    }
}
