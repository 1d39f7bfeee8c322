//! fio's command line: the report's formats and destination, the jobs given as options, and the names of job files.

use super::names::{self, Name, Takes};
use super::options::JobOptions;

/// Options that make fio do something other than run jobs on this machine.
const NO_RUN: &[&str] = &[
    "version",
    "help",
    "parse-only",
    "showcmd",
    "crctest",
    "memcpytest",
    "cpuclock-test",
    "enghelp",
    "cmdhelp",
    "server",
    "client",
    "remote-config",
    "daemonize",
    "inflate-log",
    "merge-blktrace-only",
];

/// A parsed fio command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Command {
    /// The formats of the report that fio finally uses: `normal`, `terse,json`.
    pub(super) formats: String,
    /// File that receives the report instead of standard output.
    pub(super) output: Option<String>,
    /// Jobs of the command line, in order, each with the options before the first `--name`.
    pub(super) jobs: Vec<JobOptions>,
    /// Job files, in order.
    pub(super) files: Vec<String>,
    /// Options before any `--name`: they also apply to the first job file.
    pub(super) globals: JobOptions,
    /// The only sections of job files to run; empty for all.
    pub(super) sections: Vec<String>,
    /// The servers that run the jobs, as `--client` names them; empty if the jobs run here.
    pub(super) servers: Vec<String>,
    /// True if no job runs here: help, a check of the options, a server, a client.
    pub(super) runs_nothing: bool,
    /// True if there were words to parse.
    pub(super) known: bool,
    /// True after `--`: every later word is a job file, so no option can be appended.
    pub(super) ends_in_files: bool,
}

/// A part of fio's command line.
pub(super) enum Given<'a> {
    /// An option as it is written, which one that is, and its value; without value where it takes none or none follows.
    Option { word: &'a str, name: Name, value: Option<&'a str> },
    /// `--`: every later word is a job file.
    EndOfOptions,
    /// A job file.
    File(&'a str),
}

/// Returns the parts of `argv`, whose first word is fio itself, in order.
pub(super) fn given(argv: &[String]) -> impl Iterator<Item = Given<'_>> {
    let mut words = argv.iter().skip(1).map(String::as_str).peekable();
    let mut ends_in_files = false;
    std::iter::from_fn(move || {
        let word = words.next()?;
        if word == "--" && !ends_in_files {
            ends_in_files = true;
            return Some(Given::EndOfOptions);
        }
        let option = word.strip_prefix("--").map(|option| (option, 2));
        let option = option.or_else(|| word.strip_prefix('-').map(|option| (option, 1)));
        let Some((option, dashes)) = option.filter(|(option, _)| !option.is_empty() && !ends_in_files) else {
            return Some(Given::File(word));
        };
        let (written, attached) = match option.split_once('=') {
            Some((written, value)) => (written, Some(value)),
            None => (option, None),
        };
        let name = names::of_command_line(written, dashes);
        let takes_next = match name {
            Name::Own(_, takes) | Name::Job(_, takes) => takes == Takes::Value,
            // It may take the next word as its value, but not another option.
            Name::Unknown => words.peek().is_some_and(|next| !next.starts_with('-')),
        };
        let value = match attached {
            None if takes_next => words.next(),
            attached => attached,
        };
        Some(Given::Option { word, name, value })
    })
}

impl Command {
    /// Parses `argv`, whose first word is fio itself.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut command = Command { formats: "normal".to_owned(), known: argv.len() > 1, ..Command::default() };
        let mut current: Option<JobOptions> = None;
        for given in given(argv) {
            match given {
                Given::File(file) => command.files.push(file.to_owned()),
                Given::EndOfOptions => command.ends_in_files = true,
                Given::Option { name: Name::Own(name, _), value, .. } => {
                    command.read_own(name, value.map(str::to_owned));
                }
                Given::Option { name: Name::Job("name", _), value, .. } => {
                    command.jobs.extend(current.take());
                    current = command.begin(value.unwrap_or_default());
                }
                Given::Option { name: Name::Job(name, _), value, .. } => {
                    current.as_mut().unwrap_or(&mut command.globals).set(name, value.unwrap_or("1"));
                }
                Given::Option { word, name: Name::Unknown, .. } => {
                    let why = format!("the option {word} is not known");
                    current.as_mut().unwrap_or(&mut command.globals).miss(&why);
                }
            }
        }
        command.jobs.extend(current);
        command
    }

    /// Returns the job that `--name` begins; `None` if the name is `global` or the job is not among the sections to run.
    /// The options that follow then apply to all jobs.
    fn begin(&mut self, name: &str) -> Option<JobOptions> {
        if is_global(name) || !self.runs(name) {
            return None;
        }
        let mut job = self.globals.clone();
        job.set("name", name);
        Some(job)
    }

    /// Returns true if a section runs.
    pub(super) fn runs(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|wanted| wanted == section)
    }

    fn read_own(&mut self, name: &str, value: Option<String>) {
        self.runs_nothing |= NO_RUN.contains(&name);
        let value = value.unwrap_or_default();
        match name {
            "output" => self.output = Some(value).filter(|name| !name.is_empty()),
            "output-format" => self.formats = value,
            "minimal" => "terse".clone_into(&mut self.formats),
            "append-terse" => self.formats.push_str(",terse"),
            "section" => self.sections.push(value),
            "client" => self.servers.push(value),
            // A profile makes its own jobs.
            "profile" => self.globals.miss(&format!("the profile {value} is not known")),
            _ => {}
        }
    }

    /// Returns the servers that run the jobs instead of this machine.
    pub(super) fn runs_at(&self) -> Option<String> {
        let servers = self.servers.join(" and ");
        (!self.servers.is_empty()).then(|| format!("the fio server at {servers}"))
    }

    /// Returns true if the report is printed in this format.
    pub(super) fn prints(&self, format: &str) -> bool {
        self.formats.split(',').any(|printed| printed.trim() == format)
    }

    /// Returns true if the report includes JSON without added arguments.
    pub(super) fn prints_json(&self) -> bool {
        self.prints("json") || self.prints("json+")
    }
}

/// Returns true if a section's options apply to all jobs after it.
pub(super) fn is_global(section: &str) -> bool {
    section.starts_with("global")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Command {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Command::parse(&argv)
    }

    #[test]
    fn formats_end_up_as_the_last_option_says() {
        for (line, formats) in [
            ("fio --name=a", "normal"),
            ("fio --output-format=json --output-format=terse --name=a", "terse"),
            ("fio --output-format json+ --name=a", "json+"),
            ("fio --minimal --name=a", "terse"),
            ("fio --append-terse --name=a", "normal,terse"),
        ] {
            assert_eq!(parse(line).formats, formats, "{line}");
        }
    }

    #[test]
    fn jobs_have_what_stood_before_the_first_name() {
        let command = parse("fio --rw=read --size=1g --name=a --bs 4k --name=b --rw=write --time_based j.fio");
        let value = |job: usize, key: &str| command.jobs[job].stated(key).map(str::to_owned);
        assert_eq!(command.jobs.len(), 2);
        assert_eq!((value(0, "rw").as_deref(), value(0, "bs").as_deref()), (Some("read"), Some("4k")));
        assert_eq!((value(1, "rw").as_deref(), value(1, "size").as_deref()), (Some("write"), Some("1g")));
        assert_eq!(value(1, "bs"), None);
        assert_eq!(value(1, "time_based").as_deref(), Some("1"));
        assert_eq!(command.files, ["j.fio"]);
    }

    #[test]
    fn a_switch_takes_no_word_after_it() {
        for switch in ["refill_buffers", "bs_unaligned", "exitall_on_error", "thread"] {
            let command = parse(&format!("fio --name=a --{switch} --end_fsync=1"));
            let value = |key| command.jobs[0].stated(key);
            assert_eq!((value(switch), value("end_fsync")), (Some("1"), Some("1")), "{switch}");
        }
    }

    #[test]
    fn what_runs_no_job_is_told() {
        for line in
            ["fio --version", "fio --cmdhelp=rw", "fio --parse-only j.fio", "fio --client=host j.fio", "fio --server"]
        {
            assert!(parse(line).runs_nothing, "{line}");
        }
        assert!(!parse("fio --output=x --name=a").runs_nothing);
        assert_eq!(parse("fio --output=x --name=a").output.as_deref(), Some("x"));
    }
    #[test]
    fn words_are_taken_as_fio_takes_them() {
        for (line, jobs, files, whole) in [
            ("fio --name=a --ioeng=libaio j.fio", vec!["a"], vec!["j.fio"], true),
            ("fio --name=global --rw=write --name=b", vec!["b"], vec![], true),
            ("fio --section=b --name=a --rw=write --name=b", vec!["b"], vec![], true),
            ("fio --name=a --nonvectored 1 --thread j.fio", vec!["a"], vec!["j.fio"], true),
            ("fio --name=a --no_such_option x", vec!["a"], vec![], false),
            ("fio --profile=tiobench --name=a", vec!["a"], vec![], false),
            ("fio --name=a -- --b", vec!["a"], vec!["--b"], true),
            ("fio -", vec![], vec!["-"], true),
        ] {
            let command = parse(line);
            let names: Vec<&str> = command.jobs.iter().map(JobOptions::name).collect();
            assert_eq!((names, command.files.iter().map(String::as_str).collect()), (jobs, files), "{line}");
            assert_eq!(command.jobs.iter().all(JobOptions::is_whole), whole, "{line}");
        }
    }
}
