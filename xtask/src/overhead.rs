//! `cargo xtask overhead`: the cost of observing, compared with no observation and with other tracers.
//!
//! Contains the rounds and the output paths. The workloads, the variants, one run and the statistics are modules of
//! their own. The task measures and does not judge: no figure, however bad, makes it fail. It fails only when it cannot
//! measure at all.

mod bench;
mod offsets;
mod outputs;
mod page;
pub(crate) mod results;
pub(crate) mod statistics;
mod unobserved;
mod variants;
mod workloads;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::mounts;
use crate::overhead::bench::Bench;
use crate::overhead::outputs::Records;
use crate::overhead::results::{Measurement, Provenance, SCHEMA, WorkloadResult};
use crate::overhead::variants::Variant;
use crate::overhead::workloads::{Amount, Workload};
use crate::packages::{self, Missing};
use crate::workspace;
use crate::{process, provenance, tools};

/// Rounds that, together with those of [`workloads::More`], let the whole task end in less than twenty minutes on two
/// CPUs. Fewer rounds do not give an interval.
const ROUNDS: u32 = 6;
/// Rounds of a quick run.
const QUICK_ROUNDS: u32 = 2;
/// Rounds of a few variants alone in a quick run: together with the others they are enough for an interval.
const QUICK_MORE_ROUNDS: u32 = 4;

/// Enough calls that a run takes some tenths of a second: the longest pause by a scheduler is then 1 % of it.
const AMOUNT: Amount = Amount { preads: 1_000_000, slow_preads: 20_000, fio_ms: 800 };
/// Amount of a quick run.
const QUICK_AMOUNT: Amount = Amount { preads: 200_000, slow_preads: 5_000, fio_ms: 300 };

/// The committed page.
const PAGE: &str = "docs/overhead.md";
/// The name of the check for lost records, beside those of the workloads.
const LOSS: &str = "loss";
/// The name of the comparison of analyses of repeated offsets.
const OFFSETS: &str = "offsets";
/// The name of the comparison of stated intervals with runs without observation.
const UNOBSERVED: &str = "unobserved";

/// Options of `cargo xtask overhead`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Rounds of each workload [default: 6, with --quick 2]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Rounds of untraced and activebench alone that follow where an aim speaks of them [default: 20 to 60, with
    /// --quick 4]
    #[arg(long, value_name = "ROUNDS")]
    more_rounds: Option<u32>,
    /// Short runs and few rounds: to try it out, not to quote it
    #[arg(long)]
    quick: bool,
    /// Measure this workload alone, may be given several times; the page then stays out of docs/
    #[arg(long, value_name = "WORKLOAD", value_parser = workload_names())]
    only: Vec<String>,
    /// Measure this binary instead of building one as `cargo xtask demo` does
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where the page goes [default: docs/overhead.md, with --only overhead/overhead.md in the target directory]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Where the figures go as JSON [default: overhead/overhead.json in the target directory]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn workload_names() -> Vec<&'static str> {
    workloads::ALL.iter().map(|workload| workload.name).chain([LOSS, OFFSETS, UNOBSERVED]).collect()
}

/// Runs the task.
///
/// # Errors
/// When nothing can be measured: no rights, no build, no space. A workload or a variant that cannot be measured is a
/// row with its reason.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if !process::is_root() {
        bail!(
            "cannot observe the kernel as an ordinary user: loading BPF needs root (hint: {})",
            process::as_root("overhead")
        );
    }
    if let Err(error) = mounts::with_tracefs() {
        eprintln!("perf and bpftrace find no tracepoints: {error:#}");
    }
    let missing = packages::ensure(tools::FOR_OVERHEAD);
    packages::report_missing(&missing);
    let (activebench, build) = match &options.binary {
        Some(binary) => {
            let path = binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?;
            (path, "a binary given by --binary".to_owned())
        }
        None => {
            eprintln!("building activebench, with the profile that cargo xtask demo builds");
            let path = workspace::build_product()?;
            (
                path,
                "development build, as cargo xtask demo makes it (the kernel side is the same in every profile)"
                    .to_owned(),
            )
        }
    };
    let folder = workspace::target_dir()?.join("overhead");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;

    process::outlive_interrupt();
    let rounds = options.rounds.unwrap_or(if options.quick { QUICK_ROUNDS } else { ROUNDS });
    let bench = Bench::new(&activebench, if options.quick { QUICK_AMOUNT } else { AMOUNT }, &folder)?;
    let provenance = provenance(options, rounds, build, bench.folder())?;
    let measurement = measure(options, bench, &missing, provenance);

    let json = options.json.clone().unwrap_or_else(|| folder.join("overhead.json"));
    let text = serde_json::to_string_pretty(&measurement).context("cannot serialise the figures")? + "\n";
    write(&json, &text)?;
    let whole = options.only.is_empty() && measurement.provenance.incomplete.is_none();
    let page = match &options.page {
        Some(page) => page.clone(),
        None if whole => workspace::root().join(PAGE),
        None => folder.join("overhead.md"),
    };
    let text = page::render(&measurement);
    print!("{text}");
    write(&page, &text)?;
    eprintln!("wrote {} and {}", page.display(), json.display());
    // The shell's own convention for an interrupt.
    Ok(if process::interrupted() { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn measure(options: &Options, mut bench: Bench, missing: &[Missing], mut provenance: Provenance) -> Measurement {
    let started = Instant::now();
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let mut results = Vec::new();
    for workload in workloads::ALL.iter().filter(|workload| wanted(workload.name)) {
        if process::interrupted() {
            break;
        }
        let more = options.more_rounds.or(options.quick.then_some(QUICK_MORE_ROUNDS));
        results.push(measure_workload(workload, &mut bench, missing, provenance.rounds, more));
    }
    let mut loss = None;
    if wanted(LOSS) && !process::interrupted() {
        eprintln!("{LOSS}: threads that read at once");
        loss = Some(bench.loss_check());
    }
    let mut repeated = None;
    if wanted(OFFSETS) && !process::interrupted() {
        eprintln!("{OFFSETS}: recorded reads, analysed by activebench and by sort | uniq -c");
        repeated = Some(offsets::check(bench.activebench(), bench.folder(), options.quick));
    }
    let mut stated = None;
    if wanted(UNOBSERVED) && !process::interrupted() {
        stated = Some(unobserved::check(bench.activebench(), bench.folder(), options.quick));
    }
    provenance.seconds = started.elapsed().as_secs();
    provenance.incomplete = process::interrupted().then(|| "it was interrupted".to_owned());
    Measurement {
        schema: SCHEMA,
        provenance,
        aims: results::aims(&results, repeated.as_ref(), stated.as_ref()),
        workloads: results,
        loss,
        offsets: repeated,
        unobserved: stated,
    }
}

fn measure_workload(
    workload: &Workload,
    bench: &mut Bench,
    missing: &[Missing],
    rounds: u32,
    more_rounds: Option<u32>,
) -> WorkloadResult {
    let mut result = WorkloadResult::new(workload);
    if let Some(tool) = workload.tools().iter().find(|tool| tool.find().is_none()) {
        result.reason = Some(why_missing(tool, missing));
    } else if let Err(error) = bench.prepare(workload) {
        result.reason = Some(format!("{error:#}"));
    }
    if let Some(reason) = &result.reason {
        eprintln!("{}: not measured: {reason}", workload.name);
        return result;
    }
    for (variant, row) in workload.variants.iter().zip(&mut result.variants) {
        if let Some(tool) = variant.tool().filter(|tool| tool.find().is_none()) {
            row.reason = Some(why_missing(tool, missing));
        }
    }
    let rounds = workload.rounds(rounds);
    let more = workload.more.as_ref().map(|more| (more.variants, more_rounds.unwrap_or(more.rounds)));
    let all = rounds + more.map_or(0, |(_, rounds)| rounds);
    for round in 0..all {
        if process::interrupted() {
            break;
        }
        eprintln!("{}: round {} of {all}", workload.name, round + 1);
        let variants = more.filter(|_| round >= rounds).map_or(workload.variants, |(variants, _)| variants);
        measure_round(workload, variants, bench, round as usize, &mut result);
        if let Some(reason) = &result.variants[0].reason {
            result.reason = Some(reason.clone());
            break;
        }
    }
    result.conclude();
    result
}

/// Runs each of these variants once, except failed ones; each round starts with another variant.
fn measure_round(workload: &Workload, variants: &[Variant], bench: &Bench, round: usize, result: &mut WorkloadResult) {
    let mut foreign = foreign_tracers(bench);
    // A row has an entry for every round, also for rounds without its variant.
    for row in &mut result.variants {
        row.ns_per_call.push(None);
        row.median_ns.push(None);
    }
    let count = variants.len();
    for variant in (0..count).map(|offset| variants[(round + offset) % count]) {
        let Some(row) = result.variants.iter_mut().find(|row| row.name == variant.name()) else { continue };
        if process::interrupted() || row.reason.is_some() {
            continue;
        }
        match bench.run(workload, variant) {
            Ok(sample) => {
                if let Some(figure) = row.ns_per_call.last_mut() {
                    *figure = Some(sample.ns_per_call);
                }
                if let Some(figure) = row.median_ns.last_mut() {
                    *figure = sample.median_ns;
                }
                if let Some((records, account)) = sample.accounts {
                    row.records.get_or_insert_with(Records::default).add(records);
                    row.own_account = Some(row.own_account.map_or(account, |sum| sum.and(account)));
                }
            }
            Err(error) => {
                // A failure after an interrupt is not caused by the variant.
                if !process::interrupted() {
                    let reason = format!("{error:#}");
                    eprintln!("{}: {}: {reason}", workload.name, variant.name());
                    row.reason = Some(reason);
                }
            }
        }
    }
    foreign.extend(foreign_tracers(bench));
    result.rounds += 1;
    result.rounds_beside_others += u32::from(!foreign.is_empty());
    result.foreign_tracers.extend(foreign);
    result.foreign_tracers.sort_unstable();
    result.foreign_tracers.dedup();
}

/// If the kernel does not provide the names, the list contains that reason: unknown differs from none.
fn foreign_tracers(bench: &Bench) -> Vec<String> {
    bench.foreign_tracers().unwrap_or_else(|error| vec![format!("unknown: {error:#}")])
}

fn why_missing(tool: &tools::Tool, missing: &[Missing]) -> String {
    match missing.iter().find(|entry| entry.tool == tool) {
        Some(entry) => format!("cannot install {}: {}", tool.command, entry.why),
        None => format!("{} is not installed", tool.command),
    }
}

fn provenance(options: &Options, rounds: u32, build: String, folder: &Path) -> Result<Provenance> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let mountinfo = read("/proc/self/mountinfo")?;
    let folder = folder.canonicalize().with_context(|| format!("cannot resolve {}", folder.display()))?;
    let file_system = mounts::mount_of(&folder, &mountinfo)
        .map_or_else(|| "an unknown file system".to_owned(), |mount| format!("{} ({})", mount.fs_type, mount.source));
    let loadavg = read("/proc/loadavg")?;
    Ok(Provenance {
        machine: provenance::machine(&read("/proc/cpuinfo")?, &read("/proc/meminfo")?),
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        file_system,
        build,
        tool_versions: tools::FOR_OVERHEAD.iter().filter_map(|tool| provenance::version(tool)).collect(),
        rounds,
        quick: options.quick,
        day: provenance::today(),
        load_before: loadavg.split(' ').next().and_then(|number| number.parse().ok()),
        seconds: 0,
        incomplete: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_told_with_what_kept_it_away() {
        let missing = [Missing { tool: &tools::PERF, why: "no root".to_owned() }];
        assert_eq!(why_missing(&tools::PERF, &missing), "cannot install perf: no root");
        assert_eq!(why_missing(&tools::STRACE, &missing), "strace is not installed");
    }
}
