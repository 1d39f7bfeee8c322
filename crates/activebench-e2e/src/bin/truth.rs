//! Runs the corpus of planted lies and honest twins, or drawn runs, and records the outcome of each case.
//!
//! `cargo xtask truth` starts it, makes the table from its output, and decides on the exit code. The exit code of this
//! program is 0 when the outcomes could be written.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use activebench_e2e::truth::{
    self,
    case::{Case, Storage},
    outcome::Outcome,
};
use activebench_e2e::{BESIDE_AT_ONCE, Turn, ordinary};
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
    /// Draw so many honest runs, and run them instead of the corpus
    #[arg(long, value_name = "N", default_value_t = 0)]
    honest: u32,
    /// Draw so many lies, and run them instead of the corpus
    #[arg(long, value_name = "N", default_value_t = 0)]
    lies: u32,
    /// Seed of the draws
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Run each drawn run a second time, behind another program and in another format: the answers have to be the same
    #[arg(long)]
    again: bool,
    /// Run the command that the report of each lie advises, in place of judging the case: it has to hold
    #[arg(long)]
    advice: bool,
    /// Let others have more than half of each CPU meanwhile
    #[arg(long)]
    busy: bool,
    /// Run the product as an ordinary user, for whom a tracer observes: what it cannot see may leave a run undecided
    #[arg(long)]
    trace: bool,
    /// Play the cases for a loop device on other storage, and no others
    #[arg(long, value_enum, value_name = "STORAGE")]
    on: Option<Storage>,
    /// Keep the run directories, and what was seen of each case, in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where the outcomes go, as JSON
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
}

/// `true` after an interrupt: the current case ends and is cleaned up, and no other case begins.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let handler = note as extern "C" fn(libc::c_int);
    // SAFETY: the handler has the signature that signal(2) wants, lives as long as the program, and stores to an
    // atomic, so it is async-signal-safe.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
    let arguments = Arguments::parse();
    // SAFETY: there is one thread so far.
    let home = arguments.trace.then(|| unsafe { ordinary::become_ordinary() }).transpose();
    match home.and_then(|_home| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("truth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let are_drawn = arguments.honest + arguments.lies > 0;
    let mut cases = if are_drawn { drawn(arguments)? } else { truth::load(&truth::corpus())? };
    cases.retain(|case| wanted(arguments, case) && (!arguments.advice || truth::advised::is_playable(case)));
    if let Some(storage) = arguments.on {
        cases = cases.into_iter().filter_map(|case| case.on(storage)).collect();
    }
    if cases.is_empty() {
        return Err("no case has this code and name".to_owned());
    }
    let _hogs: Vec<Hog> = if arguments.busy { Hog::of_each_processor()? } else { Vec::new() };
    if let Some(folder) = &arguments.keep {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let ended = play_all(arguments, &cases)?;
    let detectors: Vec<_> =
        truth::detectors().into_iter().map(|(code, name)| json!({"code": code, "name": name})).collect();
    let all = json!({
        "schema": "activebench.truth/1",
        "interrupted": INTERRUPTED.load(Ordering::Relaxed),
        "whole": arguments.on.is_none() && arguments.only.is_empty() && arguments.case.is_none() && !are_drawn && !arguments.advice && !arguments.trace,
        "detectors": detectors,
        "cases": ended,
    });
    let text = serde_json::to_string_pretty(&all).expect("values are JSON") + "\n";
    fs::write(&arguments.json, text).map_err(|error| format!("cannot write {}: {error}", arguments.json.display()))
}

/// Returns the drawn runs that the arguments ask for.
fn drawn(arguments: &Arguments) -> Result<Vec<Case>, String> {
    let of_the_machine = truth::machine(&truth::corpus().join("machine.toml"))?;
    let honest = (0..arguments.honest).map(|number| truth::drawn::honest(arguments.seed, number));
    let lies = (0..arguments.lies).map(|number| truth::drawn::lie(arguments.seed, number));
    Ok(honest.chain(lies).map(|case| case.on_machine(&of_the_machine)).collect())
}

/// A process that takes CPU time from all others; ended when dropped.
struct Hog(Child);

impl Hog {
    /// Starts two per CPU, which leave a third of it to another task that could use all of it.
    fn of_each_processor() -> Result<Vec<Self>, String> {
        let processors = std::thread::available_parallelism().map_err(|error| error.to_string())?.get();
        let hog = |_| {
            let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
            child.map(Hog).map_err(|error| format!("cannot start sh: {error}"))
        };
        (0..2 * processors).map(hog).collect()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("cleaning up: a process that takes CPU time: {error}");
        }
    }
}

/// Runs all cases, in parallel where they allow it; returns their outcomes in the order of the cases.
fn play_all(arguments: &Arguments, cases: &[Case]) -> Result<Vec<serde_json::Value>, String> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, serde_json::Value)>, String> {
        let mut ended = Vec::new();
        while !INTERRUPTED.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(number) else { break };
            // A case says what holds on a machine that does nothing else.
            let turn = match case.drawn.is_some() {
                true => Turn::beside_others(case.id()),
                false => Turn::alone(case.id()),
            };
            let played = play(arguments, case);
            drop(turn);
            let (outcome, said) = played?;
            eprintln!("[{}/{}] {} {said}", done.fetch_add(1, Ordering::Relaxed) + 1, cases.len(), case.id());
            ended.push((number, outcome));
        }
        Ok(ended)
    };
    let mut ended = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..BESIDE_AT_ONCE).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            ended.append(&mut worker.join().expect("a case's panic is its outcome")?);
        }
        Ok::<(), String>(())
    })?;
    ended.sort_by_key(|(number, _)| *number);
    Ok(ended.into_iter().map(|(_, outcome)| outcome).collect())
}

fn wanted(arguments: &Arguments, case: &Case) -> bool {
    let of_code = |code: &String| code.eq_ignore_ascii_case(&case.code);
    (arguments.only.is_empty() || arguments.only.iter().any(of_code))
        && arguments.case.as_ref().is_none_or(|part| case.id().contains(part))
}

/// Runs a case; returns its outcome for the file, and as text.
fn play(arguments: &Arguments, case: &Case) -> Result<(serde_json::Value, String), String> {
    let mut ended = match arguments.advice {
        true => truth::advised::run(case, arguments.keep.as_deref()),
        false => truth::run(case, arguments.keep.as_deref()),
    };
    if arguments.again {
        ended = truth::run_again(case, ended, arguments.keep.as_deref());
    }
    let outcome = &ended.outcome;
    let mut said = format!("{} ({:.1} s) {}", outcome.word(), ended.seconds, outcome.why());
    if let Some(folder) = &arguments.keep {
        let path = folder.join(format!("{}.txt", case.id().replace('/', "-")));
        fs::write(&path, &ended.story).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    } else if outcome.is_failure() {
        said.push('\n');
        said.push_str(&ended.story);
    }
    let outcome = json!({
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
        "falsely_confirmed": ended.falsely_confirmed,
        "right": ended.right,
    });
    Ok((outcome, said))
}
