//! fio's command line: what to print and where, the jobs that it spells out, the job files
//! that it names.

use super::jobs::JobOptions;

/// Options of fio itself that take no value.
const PLAIN: &[&str] = &[
    "version",
    "v",
    "help",
    "h",
    "minimal",
    "append-terse",
    "parse-only",
    "showcmd",
    "crctest",
    "cpuclock-test",
    "readonly",
    "warnings-fatal",
    "latency-log",
    "l",
    "bandwidth-log",
    "b",
    "enghelp",
    "cmdhelp",
    "server",
    "daemonize-none",
];
/// Options of fio itself that take one, also as the next word.
const VALUED: &[&str] = &[
    "output",
    "o",
    "output-format",
    "F",
    "f",
    "terse-version",
    "V",
    "client",
    "C",
    "remote-config",
    "R",
    "section",
    "x",
    "status-interval",
    "eta",
    "e",
    "eta-interval",
    "eta-newline",
    "E",
    "debug",
    "d",
    "max-jobs",
    "j",
    "alloc-size",
    "a",
    "daemonize",
    "D",
    "idle-prof",
    "I",
    "inflate-log",
    "X",
    "trigger-file",
    "trigger-timeout",
    "trigger",
    "trigger-remote",
    "aux-path",
    "K",
    "merge-blktrace-only",
    "bandwidth-log-file",
    "profile",
    "p",
];
/// Options of a job that stand without a value.
const SWITCHES: &[&str] = &[
    "time_based",
    "group_reporting",
    "thread",
    "stonewall",
    "wait_for_previous",
    "new_group",
    "norandommap",
    "zero_buffers",
    "refill_buffers",
    "bs_unaligned",
    "exitall_on_error",
    "fill_device",
    "fill_fs",
    "exitall",
    "verify_only",
    "hipri",
    "fixedbufs",
    "nonvectored",
    "registerfiles",
    "sqthread_poll",
    "userspace_reap",
    "gtod_reduce_all",
    "ignore_zone_limits",
    "uncached",
    "do_verify_only",
    "experimental_verify",
    "overwrite_zone",
    "force_async",
];
/// Words that make fio do something else than run jobs.
const NO_RUN: &[&str] = &[
    "version",
    "v",
    "help",
    "h",
    "parse-only",
    "showcmd",
    "crctest",
    "cpuclock-test",
    "enghelp",
    "cmdhelp",
    "server",
    "S",
    "P",
];

/// A fio command line, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Command {
    /// The formats of the report as fio ends up with them: `normal`, `terse,json`.
    pub(super) formats: String,
    /// Where the report goes instead of standard output.
    pub(super) output: Option<String>,
    /// Jobs of the command line, in order, each with the options before the first `--name`.
    pub(super) jobs: Vec<JobOptions>,
    /// Job files, in order.
    pub(super) files: Vec<String>,
    /// Options that stand before any `--name`: they hold for the first job file too.
    pub(super) globals: JobOptions,
    /// The sections of job files that alone are run; empty for all.
    pub(super) sections: Vec<String>,
    /// No job is run here: help, a check of the options, a server, a client.
    pub(super) runs_nothing: bool,
    /// Whether words were there to read.
    pub(super) known: bool,
}

impl Command {
    /// Reads `argv`, whose first word is fio itself.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut command = Command { formats: "normal".to_owned(), known: argv.len() > 1, ..Command::default() };
        let mut current: Option<JobOptions> = None;
        let mut words = argv.iter().skip(1).peekable();
        let mut only_files = false;
        while let Some(word) = words.next() {
            let option = if only_files { None } else { word.strip_prefix("--").or_else(|| word.strip_prefix('-')) };
            let Some(option) = option.filter(|option| !option.is_empty()) else {
                match word.as_str() {
                    "--" => only_files = true,
                    _ => command.files.push(word.clone()),
                }
                continue;
            };
            let (name, mut value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (option, None),
            };
            let of_fio = PLAIN.contains(&name) || VALUED.contains(&name) || NO_RUN.contains(&name);
            if value.is_none() && !PLAIN.contains(&name) && !SWITCHES.contains(&name) && !NO_RUN.contains(&name) {
                value = words.next().cloned();
            }
            if of_fio {
                command.read_own(name, value);
                continue;
            }
            let value = value.unwrap_or_else(|| "1".to_owned());
            if name == "name" {
                command.jobs.extend(current.take());
                let mut job = command.globals.clone();
                job.set("name", &value);
                current = Some(job);
            } else {
                current.as_mut().unwrap_or(&mut command.globals).set(name, &value);
            }
        }
        command.jobs.extend(current);
        command
    }

    fn read_own(&mut self, name: &str, value: Option<String>) {
        let value = value.unwrap_or_default();
        match name {
            "output" | "o" => self.output = Some(value).filter(|name| !name.is_empty()),
            "output-format" | "F" | "f" => self.formats = value,
            "minimal" | "m" => "terse".clone_into(&mut self.formats),
            "append-terse" => self.formats.push_str(",terse"),
            "section" | "x" => self.sections.push(value),
            "client" | "C" | "daemonize" | "D" | "remote-config" | "R" => self.runs_nothing = true,
            name if NO_RUN.contains(&name) => self.runs_nothing = true,
            _ => {}
        }
    }

    /// Whether a format of the report is this one.
    pub(super) fn prints(&self, format: &str) -> bool {
        self.formats.split(',').any(|printed| printed.trim() == format)
    }

    /// Whether the report has figures for machines anyway.
    pub(super) fn prints_json(&self) -> bool {
        self.prints("json") || self.prints("json+")
    }
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
        let value = |job: usize, key: &str| command.jobs[job].get(key).map(str::to_owned);
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
            let value = |key| command.jobs[0].get(key);
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
}
