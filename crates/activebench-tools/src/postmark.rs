//! The adapter for PostMark 1.5.
//!
//! `config` reads its commands from a file or from standard input, `output` makes claims of its verbose report, `phases`
//! finds its files in the observed calls. This adapter does not judge.

mod advice;
mod config;
mod output;
mod phases;
mod texts;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::adapter::{Adapter, OutputFilter, Plan, Replayed};
use crate::pasted::Forms;
use crate::program::{Packages, Program};
use crate::vetted::Vetted;
use config::Config;

/// PostMark.
pub const PROGRAM: Program = Program {
    name: "postmark",
    version: None,
    packages: Packages { apt: Some("postmark"), dnf: Some("postmark"), zypper: Some("postmark"), ..Packages::NONE },
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct PostMark;

impl Advisor for PostMark {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(wanted, about)
    }

    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
        advice::change(wanted, about)
    }

    fn sized(&self, argv: &[String], _about: &Sizing<'_>) -> Resized {
        Resized { argv: argv.to_vec(), makes: Vec::new() }
    }

    fn option_of_pauses(&self, _argv: &[String]) -> Option<String> {
        None
    }
}

impl Adapter for PostMark {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::OperationRate, Metric::OperationsDone, Metric::Throughput, Metric::BytesMoved]
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == PROGRAM.name
    }

    fn wrote(&self, output: &ToolOutput) -> bool {
        String::from_utf8_lossy(&output.stdout).lines().any(texts::is_banner)
    }

    fn parse(&self, _command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&Config::of(command, &output.files), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, files: &[ToolFile]) -> Plan {
        phases::plan(&Config::of(command, files))
    }

    fn added_arguments(&self, _command: &CommandLine) -> Vec<String> {
        Vec::new()
    }

    fn output_filter(&self, _command: &CommandLine) -> Option<Box<dyn OutputFilter>> {
        None
    }

    fn without_added(&self, _command: &CommandLine, _file: &ToolFile) -> Option<Vec<u8>> {
        None
    }

    fn input_files(&self, command: &CommandLine) -> Vec<String> {
        command.argv.get(1).cloned().into_iter().collect()
    }

    fn host_names(&self, _output: &ToolOutput) -> Vec<String> {
        Vec::new()
    }

    fn reads_file(&self, command: &CommandLine, name: &str) -> bool {
        command.argv.get(1).is_some_and(|own| own == name)
    }

    fn reads_standard_input(&self, command: &CommandLine) -> bool {
        command.argv.len() < 2
    }

    fn included_files(&self, _file: &ToolFile) -> Vec<String> {
        Vec::new()
    }

    fn comment_signs(&self) -> &'static [char] {
        &[]
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    fn is_label(&self, _word: &str) -> bool {
        false
    }

    fn is_input(&self, _word: &str) -> bool {
        // Its only operand is the file of its commands.
        true
    }

    fn replayed(&self, _texts: &[&str]) -> Option<Replayed> {
        None
    }

    fn vetted(&self, argv: &[String]) -> Vetted {
        // Its commands are in a file, and name any folder and any file of results.
        let mut vetted = Vetted::default();
        let words: &[String] = if argv.len() > 1 { &argv[1..] } else { argv };
        words.iter().for_each(|word| vetted.refuse(word, "its commands can name any file"));
        vetted
    }

    fn path_in_option(&self, path: &str) -> String {
        path.to_owned()
    }
}
