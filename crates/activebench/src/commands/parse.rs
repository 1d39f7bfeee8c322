//! `activebench parse`: a tool's stored output as claims.

use std::io::Read;
use std::path::{Path, PathBuf};

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_tools::{ADAPTERS, Adapter, adapter_by_name, read_pasted};
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Rights, Subcommand};
use crate::output::print;

/// The tools that have an adapter.
fn known_tool() -> impl TypedValueParser<Value = &'static dyn Adapter> {
    PossibleValuesParser::new(ADAPTERS.iter().map(|adapter| adapter.name()))
        .try_map(|name| adapter_by_name(&name).ok_or("no adapter has this name"))
}

/// Print the claims in a tool's stored output as JSON.
///
/// A text may hold several outputs: each is a document of its own. Quotation signs, names of hosts and indentation before
/// the lines are taken off, with a note.
#[derive(Args, Debug)]
pub(crate) struct Parse {
    /// The tool that printed it.
    #[arg(value_parser = known_tool())]
    tool: &'static dyn Adapter,
    /// Its standard output as stored; standard input if absent or `-`.
    file: Option<PathBuf>,
    /// The arguments of the tool, if the output does not contain them: after `--`, or after FILE.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Subcommand for Parse {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let adapter = self.tool;
        let mut text = Vec::new();
        match self.file.as_deref().filter(|file| *file != Path::new("-")) {
            Some(file) => {
                text = std::fs::read(file)
                    .with_context(|| format!("cannot read {}", file.display()))
                    .or_exit(ExitCode::Usage)?;
            }
            None => {
                let read = std::io::stdin().read_to_end(&mut text);
                read.context("cannot read standard input").or_exit(ExitCode::Usage)?;
            }
        }
        // Without arguments the command is unknown: the output may state it.
        let argv = match self.command.iter().skip_while(|word| adapter.is_program(word)).collect::<Vec<_>>() {
            words if words.is_empty() => Vec::new(),
            words => [adapter.name().to_owned()].into_iter().chain(words.into_iter().cloned()).collect(),
        };
        let command = CommandLine { argv, cwd: String::new() };
        let outputs = read_pasted(adapter, &command, &text, None);
        for output in &outputs {
            let json =
                serde_json::to_string_pretty(output).context("cannot serialise the claims").or_exit(ExitCode::Bug)?;
            print(&format!("{json}\n"))?;
        }
        if outputs.iter().all(|output| output.claims.is_empty()) {
            return Err(nothing_read(adapter, &text, &outputs));
        }
        Ok(0)
    }
}

/// Returns the failure that no figure was read, with the first reason.
fn nothing_read(adapter: &dyn Adapter, text: &[u8], outputs: &[Parsed]) -> Failure {
    let lines = String::from_utf8_lossy(text).lines().count();
    let mut why = outputs.iter().flat_map(|output| output.errors.iter().chain(&output.notes));
    let first = why.next().map_or(String::new(), |note| format!("; line {}: {}", note.source.line, note.message));
    let message = format!("no figure of {} was read in {lines} lines{first}", adapter.name());
    Failure::new(ExitCode::Inconclusive, anyhow::anyhow!(message))
}
