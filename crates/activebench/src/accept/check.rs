//! What can be known of an acceptance file before anything runs: whether its target is there, what its commands would
//! run and claim, and whether the limits name figures that they will state.

use std::fmt::Write as _;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use activebench_detect::acceptance::{Benchmark, Fault, Faults, Sizes, alike, listed};
use activebench_host::{Process, Roots, Survey};
use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::command::shell_command;
use activebench_model::host::Target;
use activebench_model::phase::{Direction, Phase};
use activebench_report::escape::terminal;
use activebench_tools::Adapter;

use super::Agreed;
use crate::{judge, plan};

/// A benchmark as it will be run.
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) command: CommandLine,
    tool: &'static str,
    phases: Vec<Phase>,
    repetition: String,
}

/// A file that can be used here.
pub(super) struct Checked {
    /// In the order of the file.
    pub(super) benchmarks: Vec<Ready>,
}

/// Everything that is wrong with the file on this machine.
pub(super) fn check(agreed: &Agreed) -> Result<Checked, Faults> {
    let mut faults = Vec::new();
    let file = &agreed.file;
    let target = &file.target;
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let below = below(&mut survey, Path::new(&target.path.value), target.is_device);
    if let Err(why) = &below {
        let hint = "name a directory as `path`, a block device as `device`";
        faults.push(Fault::new(target.path.span.clone(), why.clone(), hint));
    }
    let sizes = sizes(&target.path.value, below.as_ref().ok());
    let cwd = match target.is_device {
        true => std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default(),
        false => target.path.value.clone(),
    };
    let mut benchmarks = Vec::new();
    for benchmark in &file.benchmarks {
        match ready(benchmark, &sizes, &cwd) {
            Ok((ready, adapter)) => {
                limits(agreed, &ready, adapter, &mut faults);
                writes(agreed, benchmark, &ready, &mut faults);
                benchmarks.push(ready);
            }
            Err(fault) => faults.push(fault),
        }
    }
    match faults.is_empty() {
        true => Ok(Checked { benchmarks }),
        false => Err(Faults::new(&agreed.name(), &agreed.text, faults)),
    }
}

/// What lies below a target.
///
/// # Errors
/// Why it is no target.
pub(super) fn below(survey: &mut Survey, path: &Path, is_device: bool) -> Result<Target, String> {
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("cannot look at the target {}: {error}", path.display()))?;
    match is_device {
        true if metadata.file_type().is_block_device() => {
            let rdev = metadata.rdev();
            Ok(survey.target_for_device(DeviceNumber::new(libc::major(rdev), libc::minor(rdev))))
        }
        true => Err(format!("{} is no block device", path.display())),
        false if metadata.is_dir() => {
            survey.target_of_path(path).ok_or_else(|| format!("it is not known what {} lies on", path.display()))
        }
        false => Err(format!("{} is no directory", path.display())),
    }
}

/// What placeholders stand for on this machine.
fn sizes(path: &str, below: Option<&Target>) -> Sizes {
    let host = activebench_host::read_host(&Roots::default(), Process::Own, &[]);
    Sizes {
        target: path.to_owned(),
        memory_bytes: [host.memory_bytes, host.memory_limit_bytes].into_iter().flatten().min(),
        device_bytes: below.and_then(Target::device).and_then(|device| device.size_bytes),
    }
}

fn ready(benchmark: &Benchmark, sizes: &Sizes, cwd: &str) -> Result<(Ready, &'static dyn Adapter), Fault> {
    let fault = |message: String, hint: &str| Fault::new(benchmark.command_span.clone(), message, hint);
    let argv = benchmark.resolved(sizes).map_err(|why| fault(why, "give the size itself: `{10 GiB}`"))?;
    let command = CommandLine { argv, cwd: cwd.to_owned() };
    let known: Vec<&str> = activebench_tools::ADAPTERS.iter().map(|adapter| adapter.name()).collect();
    let Some((adapter, own)) = judge::tool_of_words(&command) else {
        let message = format!("{} is no benchmark whose figures are known", command.program());
        return Err(fault(message, &format!("one of {}", listed(&known))));
    };
    let phases = adapter.plan(&own, &plan::input_files(adapter, &own)).phases;
    let (name, repetition) = (benchmark.name.value.clone(), benchmark.repetition.words());
    Ok((Ready { name, command, tool: adapter.name(), phases, repetition }, adapter))
}

/// Whether the limits of a benchmark name figures that it will state.
fn limits(agreed: &Agreed, ready: &Ready, adapter: &dyn Adapter, faults: &mut Vec<Fault>) {
    let phases: Vec<&str> = ready.phases.iter().map(|phase| phase.id.as_str()).collect();
    for limit in agreed.file.limits.iter().filter(|limit| limit.benchmark.value == ready.name) {
        // Some commands tell only when they run what passes they make.
        if !phases.is_empty() && !phases.contains(&limit.phase.value.as_str()) {
            let hint = match alike(&limit.phase.value, &phases) {
                Some(name) => format!("did you mean {name:?}? Its phases are {}", listed(&phases)),
                None => format!("its phases are {}", listed(&phases)),
            };
            let message = format!("the benchmark {:?} has no phase {:?}", ready.name, limit.phase.value);
            faults.push(Fault::new(limit.phase.span.clone(), message, hint));
        }
        if !adapter.metrics().contains(&limit.metric.value) {
            let names: Vec<&str> = adapter.metrics().iter().map(|metric| metric.as_str()).collect();
            let message = format!("{} states no {}", adapter.name(), limit.metric.value.as_str());
            let hint = format!("it states {}", listed(&names));
            faults.push(Fault::new(limit.metric.span.clone(), message, hint));
        }
    }
}

/// A device is written to only where the file says so.
fn writes(agreed: &Agreed, benchmark: &Benchmark, ready: &Ready, faults: &mut Vec<Fault>) {
    let target = &agreed.file.target;
    let writing = |phase: &&Phase| matches!(phase.direction, Direction::Write | Direction::Mixed | Direction::Discard);
    if let Some(phase) = ready.phases.iter().find(writing)
        && target.is_device
        && !target.destroy
    {
        let message = format!("the phase {:?} would write to {}", phase.id, target.path.value);
        let hint = "write `destroy = true` in [target] when everything on the device may be lost";
        faults.push(Fault::new(benchmark.command_span.clone(), message, hint));
    }
}

/// What `--check` says of a file without faults.
pub(super) fn summary(agreed: &Agreed, checked: &Checked) -> String {
    let mut text = format!("{} can be used here.\nsha256  {}\n", agreed.name(), agreed.sha256);
    for ready in &checked.benchmarks {
        let _ = writeln!(text, "\n{}  {} ({})", ready.name, shell_command(&ready.command.argv), ready.repetition);
        let phases: Vec<&str> = ready.phases.iter().map(|phase| phase.id.as_str()).collect();
        let phases = if phases.is_empty() { "known only when it runs".to_owned() } else { phases.join(", ") };
        let _ = writeln!(text, "  in      {}\n  tool    {}\n  phases  {phases}", ready.command.cwd, ready.tool);
        for limit in agreed.file.limits.iter().filter(|limit| limit.benchmark.value == ready.name) {
            let (metric, bound) = (limit.metric.value.as_str(), limit.bound.words());
            let _ = writeln!(text, "  limit   {} {metric} {bound} {}", limit.phase.value, limit.as_written);
        }
    }
    if agreed.file.limits.is_empty() {
        text.push_str("\nThe file has no [[limit]] yet: the suite can be run, and nothing will be judged.\n");
    }
    let lines: Vec<String> = text.lines().map(terminal).collect();
    lines.join("\n") + "\n"
}
