//! `cargo xtask judging`: the cost of judging by the shape of the run, and of the shortest run, beside their aims.
//!
//! The bench `judging` judges generated runs of every shape at three sizes. This task runs it and writes its table, and
//! what it says about each aim, as a page. Beside it `verify -- true` is run some times: start, one process, reports.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use statrs::statistics::{Data, OrderStatistics};

use crate::overhead::results::Standing;
use crate::overhead::statistics::{Interval, median_interval};
use crate::provenance;
use crate::workspace;

/// The page of all shapes at the full size.
const PAGE: &str = "docs/judging.md";
/// The size that the aims are about. A page of another size is not committed.
const CALLS: u64 = 1_000_000;
/// Longest judgement of a run of [`CALLS`], reports included, in seconds: a million calls per second.
const MOST_SECONDS: f64 = 1.0;
/// Most memory of a judgement of a run of [`CALLS`], in MiB.
const MOST_MIB: f64 = 256.0;
/// Largest growth of time where the calls double.
const MOST_GROWTH: f64 = 2.2;
/// Longest judgement of a run of [`CALLS`] of the shapes that were quadratic once, in seconds.
const MOST_SECONDS_AT_ALL: f64 = 10.0;

/// Longest `verify -- true`, in milliseconds.
const MOST_START_MS: f64 = 150.0;
/// Number of times that it is measured, after a first time that fills the caches.
const STARTS: usize = 30;

/// Options of `cargo xtask judging`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Calls of each shape at its smallest size; the page of another number stays out of docs/
    #[arg(long, default_value_t = CALLS)]
    calls: u64,
    /// Judge these shapes alone; the page stays out of docs/
    #[arg(value_name = "SHAPE")]
    shapes: Vec<String>,
}

/// One judgement.
#[derive(Clone, Debug, PartialEq)]
struct Judgement {
    shape: String,
    calls: u64,
    phases: u64,
    claims: u64,
    judged_s: f64,
    reports_s: f64,
    peak_mib: f64,
}

impl Judgement {
    /// Reads a row of the bench; `None` for the head, the rule, and lines of cargo.
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [shape, calls, phases, claims, judged, reports, _, peak] = cells[..] else { return None };
        Some(Self {
            shape: shape.to_owned(),
            calls: calls.parse().ok()?,
            phases: phases.parse().ok()?,
            claims: claims.parse().ok()?,
            judged_s: judged.parse().ok()?,
            reports_s: reports.parse().ok()?,
            peak_mib: peak.parse().ok()?,
        })
    }

    fn seconds(&self) -> f64 {
        self.judged_s + self.reports_s
    }
}

/// Runs the task.
///
/// # Errors
/// When the bench does not compile or run, or a row is missing.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let started = Instant::now();
    let mut command = workspace::cargo();
    // Optimised as users get it, with the features of all other builds.
    command.args(["bench", "--workspace", "--bench", "judging", "--"]).args(&options.shapes);
    command.env("ACTIVEBENCH_BENCH_CALLS", options.calls.to_string()).stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo bench")?;
    if !output.status.success() {
        bail!("the bench failed: {}", output.status);
    }
    let judgements: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(Judgement::parse).collect();
    ensure!(!judgements.is_empty(), "the bench printed no row: there is no such shape");
    let starts_ms = starts_ms()?;
    let page = page(options.calls, &judgements, &starts_ms, &provenance::line(&[], started.elapsed())?);
    let path = match options.shapes.is_empty() && options.calls == CALLS {
        true => workspace::root().join(PAGE),
        false => workspace::target_dir()?.join("judging.md"),
    };
    fs::write(&path, &page).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Runs `verify -- true` again and again; returns the wall time of each, in milliseconds.
fn starts_ms() -> Result<Vec<f64>> {
    let product = workspace::build_release()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the runs")?;
    let mut times_ms = Vec::new();
    for number in 0..=STARTS {
        let started = Instant::now();
        let mut command = Command::new(&product);
        command.args(["verify", "--", "true"]).current_dir(folder.path());
        let output = command.output().context("cannot run activebench")?;
        let took_ms = started.elapsed().as_secs_f64() * 1e3;
        // A run without figures is inconclusive, but it is observed.
        let is_observed = String::from_utf8_lossy(&output.stdout).contains("INCONCLUSIVE");
        ensure!(is_observed, "verify -- true did not observe: {}", String::from_utf8_lossy(&output.stderr));
        if number > 0 {
            times_ms.push(took_ms);
        }
    }
    Ok(times_ms)
}

/// Compares the median of the starts with the aim.
fn of_starts(starts_ms: &[f64]) -> (String, String, &'static str) {
    let interval = median_interval(starts_ms);
    let said = interval.map_or_else(
        || "too few runs for an interval".to_owned(),
        |Interval { low, high }| format!("95 % interval {low:.0} to {high:.0}, {} runs", starts_ms.len()),
    );
    let measured = format!("{:.0} ms in the median ({said})", Data::new(starts_ms.to_vec()).median());
    let word = Standing::of(interval, MOST_START_MS, 0.0).word();
    (format!("`activebench verify -- true` within {MOST_START_MS} ms"), measured, word)
}

fn page(calls: u64, judgements: &[Judgement], starts_ms: &[f64], provenance: &str) -> String {
    let mut page = String::from(
        "# What judging costs\n\n\
         Measured by `cargo xtask judging`, which writes this page; nobody edits it.\n\n\
         A judgement is all that `activebench recheck` does after it has read the files: activity, claims, phases, \
         facts, findings, verdicts, and the reports that every run gets. Each shape is a run that exists only as a generator: its calls \
         are made while they are read, so the memory is that of the judgement alone. Making the calls is in the time. \
         Each shape is judged at three sizes on one CPU, three times each; the fastest counts. *Growth* is the time as a multiple of that of half as \
         many calls.\n\n",
    );
    writeln!(page, "Provenance: {provenance}; release build.\n").expect("a String takes every character");
    page.push_str("## Beside the aims\n\n| aim | measured | |\n| --- | --- | --- |\n");
    for (aim, measured, is_within) in aims(calls, judgements) {
        let word = if is_within { "within" } else { "beyond" };
        writeln!(page, "| {aim} | {measured} | {word} |").expect("a String takes every character");
    }
    let (aim, measured, word) = of_starts(starts_ms);
    writeln!(page, "| {aim} | {measured} | {word} |").expect("a String takes every character");
    page.push_str(
        "\n## By shape\n\nEach pass costs about a millisecond and 50 KiB, and the first 4,096 passes of a run are judged (of more the \
         report says so, and is inconclusive): the shapes that grow in passes end there.\n\n| shape | calls | phases | claims | judged, s | reports, s | ns per call | growth | peak, MiB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (place, judgement) in judgements.iter().enumerate() {
        let Judgement { shape, calls, phases, claims, judged_s, reports_s, peak_mib } = judgement;
        let growth = growth(judgements, place).map_or_else(String::new, |growth| format!("{growth:.2}"));
        let ns = judgement.seconds() * 1e9 / *calls as f64;
        writeln!(
            page,
            "| {shape} | {calls} | {phases} | {claims} | {judged_s:.2} | {reports_s:.2} | {ns:.0} | {growth} | {peak_mib:.0} |"
        )
        .expect("a String takes every character");
    }
    page
}

/// Returns the time as a multiple of that of half as many calls; `None` for the smallest size of a shape.
fn growth(judgements: &[Judgement], place: usize) -> Option<f64> {
    let before = judgements.get(place.checked_sub(1)?)?;
    let this = &judgements[place];
    // As for twice as many calls, where rounding to whole units makes it a few more or less.
    let doublings = this.calls as f64 / before.calls as f64 / 2.0;
    (before.shape == this.shape).then(|| this.seconds() / before.seconds() / doublings)
}

/// Returns each aim with what was measured, and whether it was reached.
fn aims(calls: u64, judgements: &[Judgement]) -> Vec<(String, String, bool)> {
    // The run of this size; of a shape that ends before it, the largest. Calls are whole units: some are a few less.
    let is_of_size = |judgement: &&Judgement| judgement.calls + calls / 100 >= calls;
    let of_shape = |rows: &'_ [Judgement]| rows.iter().find(is_of_size).or(rows.last()).cloned();
    let sized: Vec<Judgement> = judgements.chunk_by(|a, b| a.shape == b.shape).filter_map(of_shape).collect();
    let growths: Vec<(&str, f64)> = judgements
        .iter()
        .enumerate()
        .filter_map(|(place, this)| Some((this.shape.as_str(), growth(judgements, place)?)))
        .collect();
    let seconds: Vec<_> = sized.iter().map(|of| (of.shape.as_str(), of.seconds())).collect();
    let memory: Vec<_> = sized.iter().map(|of| (of.shape.as_str(), of.peak_mib)).collect();
    vec![
        aim(
            format!("{calls} calls of any shape judged and reported within {MOST_SECONDS} s"),
            &seconds,
            MOST_SECONDS,
            "s",
        ),
        aim(
            format!("{calls} calls of any shape judged and reported within {MOST_SECONDS_AT_ALL} s"),
            &seconds,
            MOST_SECONDS_AT_ALL,
            "s",
        ),
        aim(format!("less than {MOST_MIB} MiB for {calls} calls of any shape"), &memory, MOST_MIB, "MiB"),
        aim(format!("twice as many calls take at most {MOST_GROWTH} times as long"), &growths, MOST_GROWTH, "times"),
    ]
}

/// Compares every shape with an aim: names the worst one, and all that miss it.
fn aim(words: String, of: &[(&str, f64)], most: f64, unit: &str) -> (String, String, bool) {
    let beyond: Vec<_> = of.iter().filter(|(_, value)| *value > most).collect();
    let said = |(shape, value): &(&str, f64)| format!("{shape} {value:.2} {unit}");
    let measured = match beyond.is_empty() {
        true => of.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|worst| format!("at most: {}", said(worst))),
        false => Some(beyond.iter().map(|miss| said(miss)).collect::<Vec<_>>().join("; ")),
    };
    (words, measured.unwrap_or_default(), beyond.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "   Compiling activebench\n\
        | shape | calls | phases | claims | judged, s | reports, s | ns per call | peak, MiB |\n\
        | --- | --- | --- | --- | --- | --- | --- | --- |\n\
        | reads | 1000 | 1 | 0 | 0.40 | 0.10 | 500 | 20 |\n\
        | reads | 2000 | 1 | 0 | 0.90 | 0.10 | 500 | 20 |\n\
        | files | 1000 | 1 | 0 | 1.40 | 0.10 | 1500 | 300 |\n\
        | files | 2000 | 1 | 0 | 4.40 | 0.10 | 2250 | 600 |\n";

    fn judgements() -> Vec<Judgement> {
        ROWS.lines().filter_map(Judgement::parse).collect()
    }

    #[test]
    fn rows_are_read_and_compared_with_the_smaller_size_of_their_shape() {
        let judgements = judgements();
        assert_eq!(judgements.len(), 4);
        let growths: Vec<_> = (0..4).map(|place| growth(&judgements, place)).collect();
        assert_eq!(growths, [None, Some(2.0), None, Some(3.0)]);
    }

    #[test]
    fn a_shape_that_ends_before_the_size_is_compared_at_its_largest() {
        let (_, memory, is_within) = aims(4000, &judgements()).swap_remove(2);
        assert_eq!((&*memory, is_within), ("files 600.00 MiB", false));
    }

    #[test]
    fn a_missed_aim_names_every_shape_that_misses_it() {
        let aims = aims(1000, &judgements());
        let told: Vec<_> = aims.iter().map(|(_, measured, is_within)| (measured.as_str(), *is_within)).collect();
        assert_eq!(
            told,
            [
                ("files 1.50 s", false),
                ("at most: files 1.50 s", true),
                ("files 300.00 MiB", false),
                ("files 3.00 times", false)
            ]
        );
        let page = page(1000, &judgements(), &[100.0, 110.0, 120.0, 130.0, 140.0, 145.0], "here");
        assert!(
            page.contains("true` within 150 ms | 125 ms in the median (95 % interval 100 to 145, 6 runs) | within |"),
            "{page}"
        );
        assert!(page.contains("| files | 2000 | 1 | 0 | 4.40 | 0.10 | 2250000 | 3.00 | 600 |"), "{page}");
    }
}
