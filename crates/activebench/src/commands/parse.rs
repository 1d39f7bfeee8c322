//! `activebench parse`: a tool's stored output as claims.

use std::io::Read;
use std::path::{Path, PathBuf};

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_tools::{ADAPTERS, Adapter, adapter_by_name};
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
#[derive(Args, Debug)]
pub(crate) struct Parse {
    /// The tool that printed it.
    #[arg(value_parser = known_tool())]
    tool: &'static dyn Adapter,
    /// Its standard output as stored; standard input if absent or `-`.
    file: Option<PathBuf>,
    /// The arguments of the tool, after `--`, if the output does not contain them.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Subcommand for Parse {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let adapter = self.tool;
        let mut stdout = Vec::new();
        match self.file.as_deref().filter(|file| *file != Path::new("-")) {
            Some(file) => {
                stdout = std::fs::read(file)
                    .with_context(|| format!("cannot read {}", file.display()))
                    .or_exit(ExitCode::Usage)?;
            }
            None => {
                let read = std::io::stdin().read_to_end(&mut stdout);
                read.context("cannot read standard input").or_exit(ExitCode::Usage)?;
            }
        }
        let mut argv = vec![adapter.name().to_owned()];
        argv.extend(self.command.iter().skip_while(|word| adapter.is_program(word)).cloned());
        let command = CommandLine { argv, cwd: String::new() };
        let parsed = adapter.parse(&command, &ToolOutput { stdout, ..ToolOutput::default() }, None);
        let json =
            serde_json::to_string_pretty(&parsed).context("cannot serialise the claims").or_exit(ExitCode::Bug)?;
        print(&format!("{json}\n"))?;
        Ok(0)
    }
}
