//! Runs the corpus of planted lies and honest twins and writes down how each case ended.
//!
//! `cargo xtask truth` starts it, makes the table from what it writes, and decides on the exit code: here it
//! is 0 when the outcomes could be written.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use activebench_e2e::truth::{self, case::Case, outcome::Outcome};
use clap::Parser;
use serde_json::json;

/// Runs the corpus of planted lies and honest twins.
#[derive(Debug, Parser)]
struct Arguments {
    /// Run the cases of these detectors alone, by their codes
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Run cases alone whose name contains this
    #[arg(long)]
    case: Option<String>,
    /// Keep the run directories, and what was seen of each case, in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where the outcomes go, as JSON
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

/// Whether an interrupt came: the case under way ends, what it made is taken down, and no other begins.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let handler = note as extern "C" fn(libc::c_int);
    // SAFETY: the handler has the signature that signal(2) wants, lives as long as the program, and stores to
    // an atomic, so it is safe in a signal's context.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("truth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut cases = truth::load(&truth::corpus())?;
    cases.retain(|case| wanted(arguments, case));
    if cases.is_empty() {
        return Err("no case has this code and name".to_owned());
    }
    let mut ended = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if INTERRUPTED.load(Ordering::Relaxed) {
            break;
        }
        eprint!("[{}/{}] {} ", number + 1, cases.len(), case.id());
        let outcome = play(arguments, case)?;
        ended.push(outcome);
    }
    let detectors: Vec<_> =
        truth::detectors().into_iter().map(|(code, name)| json!({"code": code, "name": name})).collect();
    let all = json!({
        "schema": "activebench.truth/1",
        "interrupted": INTERRUPTED.load(Ordering::Relaxed),
        "whole": arguments.only.is_empty() && arguments.case.is_none(),
        "detectors": detectors,
        "cases": ended,
    });
    let text = serde_json::to_string_pretty(&all).expect("values are JSON") + "\n";
    fs::write(&arguments.json, text).map_err(|error| format!("cannot write {}: {error}", arguments.json.display()))
}

fn wanted(arguments: &Arguments, case: &Case) -> bool {
    let of_code = |code: &String| code.eq_ignore_ascii_case(&case.code);
    (arguments.only.is_empty() || arguments.only.iter().any(of_code))
        && arguments.case.as_ref().is_none_or(|part| case.id().contains(part))
}

fn play(arguments: &Arguments, case: &Case) -> Result<serde_json::Value, String> {
    let ended = truth::run(case, arguments.keep.as_deref());
    let outcome = &ended.outcome;
    eprintln!("{} ({:.1} s) {}", outcome.word(), ended.seconds, outcome.why());
    if let Some(folder) = &arguments.keep {
        let path = folder.join(format!("{}.txt", case.id().replace('/', "-")));
        fs::write(&path, &ended.story).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    } else if outcome.is_failure() {
        eprintln!("{}", ended.story);
    }
    Ok(json!({
        "code": case.code,
        "name": case.name,
        "kind": if case.name.starts_with("lie-") { "lie" } else { "honest" },
        "what": case.what,
        "command": case.command,
        "beside": case.expect.beside,
        "outcome": outcome.word(),
        "why": outcome.why(),
        "foreseen": matches!(outcome, Outcome::Undecided { foreseen: true, .. }),
        "failed": outcome.is_failure(),
        "seconds": ended.seconds,
    }))
}
