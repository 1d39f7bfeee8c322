//! Runs known tools as if no adapter knew them, and compares the claims with those of the adapters.
//!
//! `cargo xtask any-program` starts it and makes the page from its output. The exit code of this program is 0 when the
//! outcomes could be written.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use activebench_e2e::any_program::{self, Ended, drawn};
use clap::Parser;
use serde_json::json;

/// Compares claims that are read without adapters with those of the adapters.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seed of the draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Multiply the number of commands by N
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: u32,
    /// Run these tools alone
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Keep the run directories in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Judge the kept runs again, and record none
    #[arg(long, requires = "keep")]
    again: bool,
    /// Where the outcomes go, as JSON
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("any-program: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let folder = tempfile::TempDir::with_prefix("activebench-any-program-").map_err(|error| error.to_string())?;
    let keep = match &arguments.keep {
        Some(keep) => {
            fs::create_dir_all(keep).map_err(|error| format!("cannot make {}: {error}", keep.display()))?;
            keep.canonicalize().map_err(|error| format!("cannot find {}: {error}", keep.display()))?
        }
        None => folder.path().to_owned(),
    };
    let mut draws = drawn::draws(arguments.seed, arguments.times);
    draws.retain(|draw| {
        arguments.only.is_empty() || arguments.only.iter().any(|only| only == draw.tool || *only == draw.name)
    });
    let mut runs = Vec::new();
    for draw in &draws {
        let ended = any_program::run(draw, &keep, arguments.again);
        eprintln!("{}", line(&ended));
        if arguments.keep.is_none() {
            let _: Result<(), std::io::Error> = fs::remove_dir_all(keep.join(&draw.name));
        }
        runs.push(ended);
    }
    let all = json!({"schema": "activebench.any-program/1", "whole": arguments.only.is_empty(), "runs": runs});
    let text = serde_json::to_string_pretty(&all).expect("values are JSON") + "\n";
    fs::write(&arguments.json, text).map_err(|error| format!("cannot write {}: {error}", arguments.json.display()))
}

/// Returns the outcome of a run in one line.
fn line(ended: &Ended) -> String {
    if let Some(why) = &ended.not_run {
        return format!("{}: not run: {why}", ended.name);
    }
    let count = |outcome| ended.compared.figures.iter().filter(|figure| figure.outcome == outcome).count();
    use any_program::compared::Outcome::{Right, Unverifiable, Wrong};
    format!(
        "{}: {} right, {} wrong, {} unverifiable, {} accused{}, {:.1} s",
        ended.name,
        count(Right),
        count(Wrong),
        count(Unverifiable),
        ended.compared.accused.len(),
        if ended.compared.is_honest { "" } else { " (not honest)" },
        ended.seconds
    )
}
