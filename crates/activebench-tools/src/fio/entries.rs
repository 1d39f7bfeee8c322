//! The jobs of the command that belong to an entry of the report, and the names of its phases.

use std::collections::{HashMap, HashSet};

use super::jobs::{Job, Setup};
use super::options::JobOptions;
use super::report::{Directed, Entry, Told, Way};

/// An entry of the report with its jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paired {
    /// Prefix of the ids of its phases; unique in the run.
    pub(super) base: String,
    /// Its jobs, by their indices in the setup; empty if the command is unknown.
    pub(super) places: Vec<usize>,
    /// Its jobs. If the command is unknown, as many as the report states, and at least one.
    pub(super) jobs: Vec<Job>,
    /// True if the number of jobs is known.
    pub(super) counted: bool,
}

impl Paired {
    pub(super) fn phase_id(&self, way: Way) -> String {
        format!("{}-{}", self.base, way.word())
    }

    /// Returns the options of its first job; those of a group may differ.
    pub(super) fn job(&self) -> Option<&JobOptions> {
        self.jobs.first().map(|job| &job.options)
    }

    /// Returns true if the condition may apply to one of its jobs, also if the jobs are unknown.
    pub(super) fn perhaps_of_one(&self, of: impl Fn(&JobOptions) -> bool) -> bool {
        self.jobs.is_empty() || self.jobs.iter().any(|job| of(&job.options))
    }

    /// Returns true if the condition applies to each of its jobs and the jobs are known.
    pub(super) fn of_each(&self, of: impl Fn(&JobOptions) -> bool) -> bool {
        !self.jobs.is_empty() && self.jobs.iter().all(|job| of(&job.options))
    }

    /// Returns the number of jobs that the entry covers; `None` if unknown.
    pub(super) fn jobs_of(&self, entry: &Entry) -> Option<u32> {
        entry.jobs.or_else(|| u32::try_from(self.jobs.len()).ok().filter(|count| self.counted && *count > 0))
    }

    /// Returns why some options of its jobs may not have been read.
    pub(super) fn unread(&self) -> Option<&str> {
        self.jobs.iter().find_map(|job| job.options.unread())
    }
}

/// Pairs entries with jobs, in order. Where the numbers or the names differ, only the entries are used.
///
/// fio's own statements about a job override what was read of its command: its JSON states every option that has a
/// value, its first lines the order, block sizes, engine and depth.
pub(super) fn pair(setup: &Setup, entries: &[Entry]) -> Vec<Paired> {
    let planned = setup.entries();
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let bases = unique(&names);
    let fits = planned.len() == entries.len()
        && planned.iter().zip(entries).all(|(jobs, entry)| {
            let first = jobs.first().map(|place| setup.jobs[*place].options.name());
            let counted = match entry.jobs {
                Some(count) => count as usize == jobs.len(),
                None => setup.open.is_none(),
            };
            first == Some(entry.name.as_str()) && counted
        });
    let pair = |(index, base): (usize, String)| {
        let entry = &entries[index];
        if fits {
            let places = planned[index].clone();
            let mut jobs: Vec<Job> = places.iter().map(|place| setup.jobs[*place].clone()).collect();
            let one_definition = jobs.first().is_some_and(|job| job.clone == 0 && job.clones == jobs.len());
            let known = jobs.first().map(|job| correct(&job.options, entry, setup)).filter(|_| one_definition);
            for job in &mut jobs {
                job.options = known.as_ref().unwrap_or(&job.options).clone();
            }
            return Paired { base, places, jobs, counted: true };
        }
        let options = of_entry(entry, setup);
        let count = entry.jobs.unwrap_or(1).clamp(1, 4096) as usize;
        let job = |clone| Job { options: options.clone(), group: entry.group.unwrap_or(0), clone, clones: count };
        let counted = entry.jobs.is_some();
        Paired { base, places: Vec::new(), jobs: (0..count).map(job).collect(), counted }
    };
    bases.into_iter().enumerate().map(pair).collect()
}

/// Returns true if the global options of the JSON apply to every job: those of the last file apply only to its own jobs.
fn are_of_all(setup: &Setup) -> bool {
    setup.command.files.len() <= 1
}

/// Corrects the options that were read for clones of one job by those that fio states.
fn correct(read: &JobOptions, entry: &Entry, setup: &Setup) -> JobOptions {
    let Some(told) = &entry.told else { return with_head(read.clone(), entry) };
    if read.unread().is_some() && are_of_all(setup) {
        let mut options = of_told(told, entry);
        // Only what was read contains switches without a value; fio would state an option with a value.
        options.fill_from(read);
        return options;
    }
    let mut options = read.clone();
    if !options.is_whole() && are_of_all(setup) {
        options.fill_from(&JobOptions::told(told.globals.iter().chain(&told.own)));
    }
    for (place, (name, value)) in told.own.iter().enumerate() {
        let is_last = told.own[place + 1..].iter().all(|(other, _)| other != name);
        if name != "filename" && is_last {
            options.correct(name, value);
        }
    }
    with_head(options, entry)
}

/// Returns the options of an entry's jobs if the command does not determine them.
fn of_entry(entry: &Entry, setup: &Setup) -> JobOptions {
    let why = setup.open.as_deref().unwrap_or("the jobs of the command are not those of the report");
    let mut unknown = JobOptions::unknown(why);
    unknown.set("name", &entry.name);
    let Some(told) = entry.told.as_ref().filter(|_| are_of_all(setup)) else {
        return with_head(unknown, entry);
    };
    // The options stated for several jobs are the last job's: they apply to all if it has that many clones.
    let clones = told.own("numjobs").map_or(Some(1), |count| count.parse::<u32>().ok());
    match entry.jobs {
        Some(jobs) if Some(jobs) == clones || jobs == 1 => of_told(told, entry),
        _ => with_head(unknown, entry),
    }
}

/// Returns what fio's JSON and its first lines state about a job.
fn of_told(told: &Told, entry: &Entry) -> JobOptions {
    let mut options = JobOptions::told(told.globals.iter().chain(&told.own));
    if options.stated("name") != Some(entry.name.as_str()) {
        options.set("name", &entry.name);
    }
    let of_head = with_head(options.clone(), entry);
    if of_head.agrees(&options) {
        return of_head;
    }
    // A file may have several sections of global options, some of them after the job.
    let mut own = JobOptions::told(&told.own);
    own.miss("the global options that fio states are not all those of the job");
    own.set("name", &entry.name);
    with_head(own, entry)
}

/// Adds fio's description of a job before it starts to its options.
fn with_head(mut options: JobOptions, entry: &Entry) -> JobOptions {
    let Some(mut head) = entry.head.clone() else { return options };
    if options.unread().is_some() {
        // A job that replays a log has the block sizes of the log, whatever is stated for it.
        for way in Way::DIRECTIONS {
            let block = &mut head.block_bytes[way as usize];
            *block = block.filter(|bytes| !contradicts(entry.of(way), *bytes));
        }
    }
    options.take_head(&head);
    options
}

/// Returns true if the bytes and operations of a direction do not match this block size.
fn contradicts(directed: &Directed, block_bytes: u64) -> bool {
    let (Some(bytes), Some(operations)) = (&directed.bytes, &directed.operations) else { return false };
    (bytes.value - operations.value * block_bytes as f64).abs() > bytes.resolution + block_bytes as f64
}

/// Returns the entries that a command would print, before it ran.
pub(super) fn planned(setup: &Setup) -> Vec<Paired> {
    let entries = setup.entries();
    let names: Vec<String> = entries.iter().map(|jobs| setup.jobs[jobs[0]].options.name().to_owned()).collect();
    let paired = |(places, base): (Vec<usize>, String)| {
        let jobs = places.iter().map(|place| setup.jobs[*place].clone()).collect();
        Paired { base, places, jobs, counted: setup.open.is_none() }
    };
    entries.into_iter().zip(unique(&names)).map(paired).collect()
}

/// Replaces blanks and similar characters in names. Repeated names get their number, from 0.
fn unique(names: &[String]) -> Vec<String> {
    let plain = |name: &String| -> String {
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
        if plain.is_empty() { "job".to_owned() } else { plain }
    };
    let plain: Vec<String> = names.iter().map(plain).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    plain.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut bases: Vec<String> = Vec::new();
    let mut given: HashSet<String> = HashSet::new();
    for name in &plain {
        let mut base = match counts[name.as_str()] {
            1 => name.clone(),
            _ => {
                let number = taken.entry(name.clone()).or_default();
                *number += 1;
                format!("{name}.{}", *number - 1)
            }
        };
        // A job may have the name of another job's clone.
        while !given.insert(base.clone()) {
            base.push('_');
        }
        bases.push(base);
    }
    bases
}

#[cfg(test)]
mod tests {
    use activebench_model::output::ToolFile;

    use super::*;
    use crate::fio::report::{Figure, Head};

    #[test]
    fn names_are_unique() {
        for (names, expected) in [
            (vec!["a", "b"], vec!["a", "b"]),
            (vec!["a", "a"], vec!["a.0", "a.1"]),
            (vec!["a", "a", "a.0"], vec!["a.0", "a.1", "a.0_"]),
            (vec!["a b", ""], vec!["a_b", "job"]),
        ] {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            assert_eq!(unique(&names), expected);
        }
    }

    fn setup(line: &str, file: Option<&str>) -> Setup {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let file = file.map(|text| ToolFile { name: "j.fio".to_owned(), bytes: text.as_bytes().to_vec() });
        Setup::new(&argv, file.as_slice())
    }

    fn entry(jobs: Option<u32>, told: Option<(&str, &str)>, head: Option<Head>) -> Entry {
        let options = |text: &str| -> Vec<(String, String)> {
            let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            text.split_whitespace().filter_map(pair).collect()
        };
        let told = told.map(|(globals, own)| Told { globals: options(globals), own: options(own) });
        Entry { name: "a".to_owned(), jobs, told, head, ..Entry::default() }
    }

    fn head(rw: &str, block_bytes: u64) -> Option<Head> {
        let (engine, depth) = (Some("libaio".to_owned()), Some("4".to_owned()));
        Some(Head { rw: Some(rw.to_owned()), engine, depth, block_bytes: [Some(block_bytes); 3] })
    }

    #[test]
    fn what_fio_says_of_a_job_counts_more_than_what_was_read() {
        // Order, block of reads, direct, whether options may be given that were not read.
        type Known = (Option<&'static str>, Option<u64>, Option<bool>, bool);
        fn check(setup: &Setup, entry: Entry, expected: Known) {
            let paired = pair(setup, std::slice::from_ref(&entry));
            let job = paired[0].job().expect("an entry has a job");
            let seen = (job.rw(), job.block_bytes(Way::Read), job.is_on("direct"), paired[0].unread().is_some());
            assert_eq!(seen, expected, "{entry:?}");
        }
        let told = || Some(("direct=1 bs=8k ioengine=libaio", "rw=randread iodepth=4"));
        let whole = setup("fio j.fio", Some("[a]\nrw=randread\nbs=8k\n"));
        check(&whole, entry(Some(1), None, None), (Some("randread"), Some(8192), Some(false), false));
        check(
            &whole,
            entry(Some(1), Some(("", "rw=write bs=8k")), None),
            (Some("write"), Some(8192), Some(false), false),
        );
        check(&whole, entry(Some(1), None, head("read", 4096)), (Some("read"), Some(4096), Some(false), false));
        // Not everything was read: the JSON states everything that was given except switches.
        let part = setup("fio j.fio", Some("[a]\ninclude x\nthread\n"));
        check(&part, entry(Some(1), told(), None), (Some("randread"), Some(8192), Some(true), false));
        check(&part, entry(Some(1), told(), head("randread", 8192)), (Some("randread"), Some(8192), Some(true), false));
        check(&part, entry(Some(1), None, None), (None, None, None, true));
        let options = pair(&part, &[entry(Some(1), told(), None)])[0].job().cloned().expect("an entry has a job");
        assert_eq!((options.is_on("thread"), options.is_on("time_based")), (Some(true), None));
        // Nothing was read.
        let none = setup("fio -", None);
        check(&none, entry(Some(1), told(), None), (Some("randread"), Some(8192), Some(true), false));
        check(&none, entry(None, told(), None), (None, None, None, true));
        check(&none, entry(Some(2), told(), None), (None, None, None, true));
        check(
            &none,
            entry(Some(2), Some(("bs=8k", "numjobs=2")), None),
            (Some("read"), Some(8192), Some(false), false),
        );
        // Global options after the job do not apply to it: the first lines contradict them.
        check(&none, entry(Some(1), told(), head("randread", 4096)), (Some("randread"), Some(4096), None, true));
        let substituted = setup("fio j.fio", Some("[a]\nbs=$pagesize\n"));
        check(&substituted, entry(Some(1), None, None), (Some("read"), None, Some(false), false));
        check(
            &substituted,
            entry(Some(1), Some(("", "bs=4096")), None),
            (Some("read"), Some(4096), Some(false), false),
        );
        check(&substituted, entry(Some(1), None, head("read", 4096)), (Some("read"), Some(4096), Some(false), false));
    }

    #[test]
    fn blocks_that_the_report_contradicts_are_not_known() {
        let figure = |value: f64| Figure {
            value,
            resolution: 512.0,
            text: String::new(),
            unit: String::new(),
            source: activebench_model::claim::SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() },
        };
        for (bytes, expected) in [(4096.0 * 1000.0, Some(4096)), (8192.0 * 1000.0, None)] {
            let mut entry = entry(Some(1), None, head("read", 4096));
            entry.of_mut(Way::Read).bytes = Some(figure(bytes));
            entry.of_mut(Way::Read).operations = Some(figure(1000.0));
            let paired = pair(&setup("fio -", None), &[entry]);
            assert_eq!(paired[0].job().and_then(|job| job.block_bytes(Way::Read)), expected, "{bytes}");
        }
    }
}
