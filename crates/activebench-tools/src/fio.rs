//! The adapter for fio 2 and 3 (measured: 3.33).
//!
//! `command` and `jobs` read its command line and job files, `json`, `normal` and `terse` its
//! reports, `entries` pairs the two. `plan` computes the promises of a job, `tasks` assigns processes to
//! jobs, `phases` finds the window of its clock. activebench requests fio's JSON in addition to the user's formats, and
//! `filter` removes it again. This adapter does not judge.

mod advice;
mod command;
mod engine;
mod entries;
mod filter;
mod groups;
mod job_lines;
mod jobs;
mod json;
mod names;
mod normal;
mod normal_numbers;
mod numbers;
mod observed_calls;
mod options;
mod output;
mod phases;
mod plan;
mod replay;
mod report;
mod subject;
mod tasks;
mod terse;
mod texts;
mod vetted;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::adapter::{Adapter, OutputFilter, Plan, Replayed};
use crate::pasted::Forms;
use crate::program::{Packages, Program, VersionQuery};
use crate::vetted::Vetted;
use command::Command;
use jobs::{Setup, last_component};

/// fio: packaged by every distribution.
pub const PROGRAM: Program = Program {
    name: "fio",
    version: Some(VersionQuery { arguments: &["--version"], printed_after: "fio-" }),
    packages: Packages::everywhere("fio"),
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Fio;

impl Advisor for Fio {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(wanted, about)
    }

    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
        advice::change(wanted, about)
    }

    fn sized(&self, argv: &[String], about: &Sizing<'_>) -> Resized {
        advice::sized(argv, about)
    }

    fn option_of_pauses(&self, argv: &[String]) -> Option<String> {
        advice::option_of_pauses(argv)
    }
}

impl Adapter for Fio {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::OperationRate,
            Metric::BytesMoved,
            Metric::OperationsDone,
            Metric::LatencyMean,
            Metric::LatencyP50,
            Metric::LatencyP95,
            Metric::LatencyP99,
            Metric::LatencyP999,
            Metric::CompletionLatencyMean,
            Metric::CompletionLatencyP50,
            Metric::CompletionLatencyP95,
            Metric::CompletionLatencyP99,
            Metric::CompletionLatencyP999,
            Metric::SyncsDone,
            Metric::SyncLatencyMean,
            Metric::SyncLatencyP50,
            Metric::SyncLatencyP95,
            Metric::SyncLatencyP99,
            Metric::SyncLatencyP999,
            Metric::CpuUser,
            Metric::CpuSystem,
        ]
    }

    /// `gtod_reduce` leaves out the times of the operations.
    fn metrics_of(&self, command: &CommandLine, files: &[ToolFile]) -> Vec<Metric> {
        let jobs = Setup::new(&command.argv, files).jobs;
        let untimed = !jobs.is_empty() && jobs.iter().all(|job| job.options.has("gtod_reduce"));
        self.metrics().iter().copied().filter(|metric| !(untimed && metric.is_latency())).collect()
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == "fio"
    }

    fn wrote(&self, output: &ToolOutput) -> bool {
        output::is_of_fio(output)
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&Setup::new(&command.argv, &output.files), output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&Setup::new(&command.argv, &output.files), output, parsed, activity)
    }

    fn plan(&self, command: &CommandLine, files: &[ToolFile]) -> Plan {
        plan::plan(&Setup::new(&command.argv, files))
    }

    /// The last `--output-format` counts: it repeats the user's own and appends JSON.
    fn added_arguments(&self, command: &CommandLine) -> Vec<String> {
        let read = Command::parse(&command.argv);
        let runs = !read.jobs.is_empty() || !read.files.is_empty();
        if read.runs_nothing || read.prints_json() || read.ends_in_files || !runs {
            return Vec::new();
        }
        vec![format!("--output-format={},json", read.formats)]
    }

    fn output_filter(&self, command: &CommandLine) -> Option<Box<dyn OutputFilter>> {
        let adds = !self.added_arguments(command).is_empty();
        let on_stdout = Command::parse(&command.argv).output.is_none();
        (adds && on_stdout).then(|| Box::new(filter::JsonCutter::new()) as Box<dyn OutputFilter>)
    }

    fn without_added(&self, command: &CommandLine, file: &ToolFile) -> Option<Vec<u8>> {
        let adds = !self.added_arguments(command).is_empty();
        let is_report = Command::parse(&command.argv).output.as_deref() == Some(file.name.as_str());
        let without = filter::without_objects(&file.bytes);
        (adds && is_report && without != file.bytes).then_some(without)
    }

    fn input_files(&self, command: &CommandLine) -> Vec<String> {
        Command::parse(&command.argv).files
    }

    /// Returns the names in `include` lines, as written and relative to the file's folder.
    fn included_files(&self, file: &ToolFile) -> Vec<String> {
        let text = String::from_utf8_lossy(&file.bytes);
        let folder = file.name.rsplit_once('/').map(|(folder, _)| folder);
        let named = text.lines().filter_map(|line| line.trim().strip_prefix("include ").map(str::trim));
        named
            .flat_map(|name| [Some(name.to_owned()), folder.map(|folder| format!("{folder}/{name}"))])
            .flatten()
            .collect()
    }

    fn reads_standard_input(&self, command: &CommandLine) -> bool {
        Command::parse(&command.argv).files.iter().any(|name| name == "-")
    }

    /// Returns true for job files and the file of `--output`; behind a wrapper, for files that its command names.
    fn reads_file(&self, command: &CommandLine, name: &str) -> bool {
        // A folder is not a file of figures: `jq .`.
        if matches!(last_component(name), "" | "." | "..") {
            return false;
        }
        let same = |known: &str| known == name;
        if self.is_program(command.program()) {
            let read = Command::parse(&command.argv);
            return read.files.iter().chain(&read.output).any(|known| same(known));
        }
        let words = || command.argv.iter().flat_map(|argument| argument.split_whitespace());
        let word =
            |word: &str| same(word.trim_matches(['\'', '"', ';'])) || word.strip_prefix("--output=").is_some_and(same);
        words().any(|w| last_component(w.trim_matches(['\'', '"'])) == "fio") && words().any(word)
    }

    fn host_names(&self, _output: &ToolOutput) -> Vec<String> {
        Vec::new()
    }

    fn comment_signs(&self) -> &'static [char] {
        &['#', ';']
    }

    /// Returns true for a job's name.
    fn is_label(&self, word: &str) -> bool {
        word.trim_start_matches('-').starts_with("name=")
    }

    fn is_input(&self, _word: &str) -> bool {
        false
    }

    fn replayed(&self, texts: &[&str]) -> Option<Replayed> {
        Some(replay::replayed(texts))
    }

    fn vetted(&self, argv: &[String]) -> Vetted {
        vetted::vetted(argv)
    }

    fn path_in_option(&self, path: &str) -> String {
        vetted::escaped(path)
    }
}
