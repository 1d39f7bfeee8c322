//! fio's jobs: their options from the command line and job files, their clones and groups.

use activebench_model::output::ToolFile;

use super::command::{Command, is_global};
use super::numbers::is_true;
use super::options::{Answer, JobOptions, MOST_JOBS};

/// One job as fio runs it: a clone where `numjobs` makes several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) options: JobOptions,
    /// Jobs of one group may be reported together.
    pub(super) group: u32,
    /// Number of the job among the clones of one definition, from 0.
    pub(super) clone: usize,
    /// Number of clones.
    pub(super) clones: usize,
}

/// The jobs that a command makes fio run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Setup {
    pub(super) command: Command,
    /// The words that fio was executed with, its own name first.
    pub(super) argv: Vec<String>,
    /// In fio's own order, clones one after another.
    pub(super) jobs: Vec<Job>,
    /// Reason why the list of jobs may be incomplete.
    pub(super) open: Option<String>,
    /// Unknowns about the jobs.
    pub(super) notes: Vec<String>,
}

impl Setup {
    /// Reads the command line and the job files that it names.
    pub(super) fn new(argv: &[String], files: &[ToolFile]) -> Self {
        let command = Command::parse(argv);
        let mut reader = FileReader { command: &command, files, open: None, notes: Vec::new() };
        let mut all = command.jobs.clone();
        for (place, name) in command.files.iter().enumerate() {
            match find(files, name) {
                Some(file) => {
                    // fio forgets the global options of a file before it reads the next one, whose first job waits.
                    let globals = if place == 0 { command.globals.clone() } else { JobOptions::default() };
                    all.append(&mut reader.read(&file.name, &file.bytes, globals, place > 0));
                }
                None => {
                    let why = format!("the job file {name} was not kept: what it asks for is not known");
                    reader.open.get_or_insert_with(|| why.clone());
                    reader.notes.push(why);
                }
            }
        }
        let FileReader { mut open, mut notes, .. } = reader;
        if let Some(job) = all.iter().find(|job| job.clones().is_none() || job.unread().is_some()) {
            let why = job.unread().unwrap_or("how many clones a job has is not known").to_owned();
            if !notes.contains(&why) {
                notes.push(why.clone());
            }
            open.get_or_insert(why);
        }
        Self { jobs: with_clones(all), command, argv: argv.to_vec(), open, notes }
    }

    /// Returns the jobs of each entry of the report, in order.
    pub(super) fn entries(&self) -> Vec<Vec<usize>> {
        let mut entries: Vec<Vec<usize>> = Vec::new();
        let mut last_group = None;
        for (index, job) in self.jobs.iter().enumerate() {
            if matches!(job.options.get("stats"), Answer::Stated(stats) if !is_true(stats)) {
                continue;
            }
            let joins = job.options.has("group_reporting") && last_group == Some(job.group);
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
        if in_group && (options.has("stonewall") || options.has("new_group")) {
            group += 1;
        }
        in_group = true;
        let clones = options.clones().unwrap_or(1);
        for clone in 0..clones {
            if jobs.len() == MOST_JOBS {
                return jobs;
            }
            jobs.push(Job { options: options.clone(), group, clone, clones });
        }
    }
    jobs
}

/// Finds the file of a name, as the tool wrote it; a different spelling of its folder still matches.
pub(super) fn find<'f>(files: &'f [ToolFile], name: &str) -> Option<&'f ToolFile> {
    let same = files.iter().find(|file| file.name == name);
    same.or_else(|| files.iter().find(|file| file.file_name() == last_component(name)))
}

/// Maximum depth of includes, so that files that include each other end.
pub(super) const MOST_INCLUDED: usize = 16;

/// Reads job files.
struct FileReader<'a> {
    command: &'a Command,
    files: &'a [ToolFile],
    /// See [`Setup::open`].
    open: Option<String>,
    notes: Vec<String>,
}

impl FileReader<'_> {
    /// Reads the jobs of a file. `[global]` sections apply to the jobs after them.
    fn read(&mut self, file_name: &str, bytes: &[u8], mut globals: JobOptions, waits: bool) -> Vec<JobOptions> {
        let mut jobs: Vec<JobOptions> = Vec::new();
        for (name, lines) in sections(&String::from_utf8_lossy(bytes)) {
            if is_global(&name) {
                self.set(&mut globals, file_name, &lines);
            } else if self.command.runs(&name) {
                let mut job = globals.clone();
                job.set("name", &name);
                if waits && jobs.is_empty() {
                    job.set("stonewall", "1");
                }
                self.set(&mut job, file_name, &lines);
                jobs.push(job);
            }
        }
        jobs
    }

    /// Sets the options of a section in fio's order: those that others depend on are first.
    fn set(&mut self, options: &mut JobOptions, file_name: &str, lines: &[String]) {
        let mut given = Vec::new();
        self.gather(options, file_name, lines, &mut given, 0);
        given.sort_by_key(|(name, _)| !FIRST.contains(&name.as_str()));
        for (name, value) in given {
            match value {
                Some(value) if !is_substituted(&value) => options.set(&name, &value),
                Some(_) => options.set_unknown(&name),
                None => options.set(&name, "1"),
            }
        }
    }

    /// Splits lines into names and values; included files are inserted in place.
    fn gather(
        &mut self,
        options: &mut JobOptions,
        file_name: &str,
        lines: &[String],
        given: &mut Vec<(String, Option<String>)>,
        depth: usize,
    ) {
        for line in lines {
            let Some(included) = line.strip_prefix("include") else {
                let (name, value) = match line.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (line.as_str(), None),
                };
                match is_substituted(name) {
                    true => options.miss("which option a variable of the environment names is known to fio alone"),
                    false => given.push((name.trim().to_owned(), value)),
                }
                continue;
            };
            let included = included.trim();
            let beside = match file_name.rsplit_once('/') {
                Some((folder, _)) => format!("{folder}/{included}"),
                None => included.to_owned(),
            };
            match find(self.files, included).or_else(|| find(self.files, &beside)).filter(|_| depth < MOST_INCLUDED) {
                Some(file) => {
                    let text = String::from_utf8_lossy(&file.bytes).into_owned();
                    let lines: Vec<String> = text.lines().filter_map(option_line).collect();
                    self.gather(options, &file.name, &lines, given, depth + 1);
                }
                None => {
                    let why = format!("the included job file {included} was not kept: its options are not known");
                    options.miss_all_before(&why);
                    given.clear();
                    self.notes.push(why);
                }
            }
        }
    }
}

/// Options of a section that fio sets before the others (their `prio` in options.c, 3.33).
const FIRST: &[&str] = &["kb_base", "unit_base"];

/// Returns true if fio substitutes a part of the text: environment variables, sizes of the machine.
fn is_substituted(text: &str) -> bool {
    ["${", "$pagesize", "$mb_memory", "$ncpus"].iter().any(|word| text.contains(word))
}

/// Splits a file into sections with their lines. Lines outside sections are ignored.
fn sections(text: &str) -> Vec<(String, Vec<String>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter_map(option_line) {
        match (line.strip_prefix('['), sections.last_mut()) {
            // The name extends to the end of the line, without its last character.
            (Some(name), _) => {
                sections.push((name[..name.char_indices().last().map_or(0, |(at, _)| at)].to_owned(), Vec::new()))
            }
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    sections
}

/// Returns a line without comments: everything after a `;` or `#` is removed. `None` if nothing remains.
pub(super) fn option_line(line: &str) -> Option<String> {
    let line = line.split([';', '#']).next().unwrap_or(line).trim();
    (!line.is_empty()).then(|| line.to_owned())
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
            .map(|job| (job.options.name(), job.options.rw().unwrap_or(""), job.options.size("bs"), job.group))
            .collect();
        assert_eq!(seen, [("job1", "randread", None, 0), ("job2", "read", Some(64), 1)]);
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
    fn job_files_are_read_as_fio_does() {
        for (text, option, expected) in [
            ("[a]\nbs=8k ; a comment\n", "bs", Answer::Stated("8k")),
            ("[a]\ndirect=0 # off\n", "direct", Answer::Stated("0")),
            ("[global of all]\nbs=8k\n[a]\n", "bs", Answer::Stated("8k")),
            ("[Global]\nbs=8k\n", "name", Answer::Stated("Global")),
            ("[a]\nbs=$pagesize\n", "bs", Answer::Unknown),
            ("[a]\nbs=$pagesize\n", "rw", Answer::Default),
            ("[a]\nsize=${SIZE}\n", "size", Answer::Unknown),
            ("[a]\n${OPTION}\n", "rw", Answer::Unknown),
            ("[a]\ninclude other.fio\n", "rw", Answer::Unknown),
            ("[global]\ninclude other.fio\n[a]\nbs=8k\n", "rw", Answer::Unknown),
            ("[global]\ninclude other.fio\n[a]\nbs=8k\n", "bs", Answer::Stated("8k")),
            ("[global]\nbs=8k\n[a]\nrw=write\ninclude other.fio\n", "rw", Answer::Unknown),
            ("[global]\nbs=8k\n[a]\nrw=write\ninclude other.fio\n", "bs", Answer::Unknown),
            ("[a]\ninclude j.fio\n", "rw", Answer::Unknown),
            ("[a]\nno_such_option=1\n", "rw", Answer::Unknown),
        ] {
            let setup = setup("fio j.fio", text);
            assert_eq!(setup.jobs[0].options.get(option), expected, "{text}");
            let unknown = setup.jobs[0].options.unread().is_some();
            assert_eq!(setup.open.is_some() && !setup.notes.is_empty(), unknown, "{text}");
        }
        let base = setup("fio j.fio", "[a]\nsize=4k\nkb_base=1000\n");
        assert_eq!(base.jobs[0].options.size("size"), Some(4000));
        assert_eq!(
            setup("fio j.fio", "[a]\nnumjobs=$ncpus\n").open.as_deref(),
            Some("how many clones a job has is not known")
        );
    }

    #[test]
    fn included_files_that_were_kept_are_read() {
        let file = |name: &str, text: &str| ToolFile { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let files = [file("d/j.fio", "[global]\ninclude more.fio\n[a]\n"), file("d/more.fio", "bs=8k # blocks\n")];
        let setup = Setup::new(&["fio".to_owned(), "d/j.fio".to_owned()], &files);
        assert_eq!(setup.jobs[0].options.stated("bs"), Some("8k"));
        assert_eq!((setup.open, setup.notes), (None, vec![]));
    }

    #[test]
    fn a_second_file_begins_anew() {
        let file = |name: &str, text: &str| ToolFile { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let files = [file("a.fio", "[global]\nbs=8k\n[a]\n"), file("b.fio", "[b]\n[c]\n")];
        let argv = ["fio", "--size=1m", "a.fio", "b.fio"].map(str::to_owned);
        let seen: Vec<_> = Setup::new(&argv, &files)
            .jobs
            .iter()
            .map(|job| (job.options.stated("bs").map(str::to_owned), job.options.lacks("size"), job.group))
            .collect();
        assert_eq!(seen, [(Some("8k".to_owned()), false, 0), (None, true, 1), (None, true, 1)]);
    }
}
