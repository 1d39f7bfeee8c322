//! Lines of job files that decide an option: where options of the command line are only defaults.
//!
//! fio takes options of the command line, before or after the file's name, as those of a `[global]` section in front of
//! the first job file. Sections of the file override them, and further files never see them (init.c, 3.33).

use std::fmt;

use activebench_model::output::ToolFile;

use super::command::{Command, is_global};
use super::jobs::{MOST_INCLUDED, Setup, find, option_line};
use super::names;

/// Most characters of a line that are quoted.
const QUOTED: usize = 60;

/// One line of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobLine {
    /// The file as the tool named it.
    file: String,
    /// Number of the line, from 1.
    number: usize,
    /// The option as it is written there.
    pub(super) text: String,
}

impl fmt::Display for JobLine {
    /// `line 3 of a.fio`, then the option.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().take(QUOTED).collect();
        write!(f, "line {} of {}, `{text}`", self.number, self.file)
    }
}

/// Returns the line that gives a job one of these options: the last one of its section, otherwise the last one of the
/// `[global]` sections. `None` if no line of a kept file does.
pub(super) fn deciding(setup: &Setup, files: &[ToolFile], job: &str, options: &[&str]) -> Option<JobLine> {
    let mut found = Found { command: &setup.command, files, job, options, of_job: None, of_all: None };
    for file in setup.command.files.iter().filter_map(|name| find(files, name)) {
        found.read(file, None, 0);
    }
    found.of_job.or(found.of_all)
}

/// Whom the lines of a section apply to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    All,
    Job,
    Other,
}

struct Found<'a> {
    command: &'a Command,
    files: &'a [ToolFile],
    job: &'a str,
    options: &'a [&'a str],
    of_job: Option<JobLine>,
    of_all: Option<JobLine>,
}

impl Found<'_> {
    /// Reads a file. The lines of an included one belong to the section that includes it.
    fn read(&mut self, file: &ToolFile, inside: Option<Section>, depth: usize) {
        let mut section = inside.unwrap_or(Section::Other);
        for (number, line) in (1..).zip(String::from_utf8_lossy(&file.bytes).lines()) {
            let Some(line) = option_line(line) else { continue };
            if let Some(name) = line.strip_prefix('[') {
                let name = name.strip_suffix(|_: char| true).unwrap_or(name);
                section = match name {
                    _ if is_global(name) => Section::All,
                    _ if name == self.job && self.command.runs(name) => Section::Job,
                    _ => Section::Other,
                };
            } else if let Some(included) = line.strip_prefix("include").map(str::trim) {
                if let Some(included) = find(self.files, included).filter(|_| depth < MOST_INCLUDED) {
                    self.read(included, Some(section), depth + 1);
                }
            } else if self.gives_one(&line) {
                let line = JobLine { file: file.name.clone(), number, text: line };
                match section {
                    Section::All => self.of_all = Some(line),
                    Section::Job => self.of_job = Some(line),
                    Section::Other => {}
                }
            }
        }
    }

    fn gives_one(&self, line: &str) -> bool {
        let written = line.split_once('=').map_or(line, |(name, _)| name).trim();
        // Two names of one switch.
        let usual = names::of_job(written).map(|name| if name == "buffered" { "direct" } else { name });
        usual.is_some_and(|name| self.options.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_decides_is_found() {
        let text = "[global]\n; direct=1\nbs=4k\ndirect=0\n[a]\nrw=read\n[b]\nbuffered = 1 # cached\n";
        let files = [ToolFile { name: "d/j.fio".to_owned(), bytes: text.as_bytes().to_vec() }];
        let setup = Setup::new(&["fio".to_owned(), "j.fio".to_owned()], &files);
        for (job, options, expected) in [
            ("a", &["direct"][..], Some("line 4 of d/j.fio, `direct=0`")),
            ("b", &["direct"], Some("line 8 of d/j.fio, `buffered = 1`")),
            ("a", &["runtime", "bs"], Some("line 3 of d/j.fio, `bs=4k`")),
            ("a", &["end_fsync"], None),
        ] {
            let line = deciding(&setup, &files, job, options).map(|line| line.to_string());
            assert_eq!(line.as_deref(), expected, "{job} {options:?}");
        }
    }
}
