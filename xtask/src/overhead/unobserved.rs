//! The proof of `unobserved`: does the figure of a run without observation lie in the interval that the observed run
//! states? Pairs of runs, one right after the other, each observed first as often as last.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::mount::{MountFlags, UnmountFlags};
use serde::Serialize;
use serde_json::Value;
use statrs::statistics::{Data, Median};

use crate::loop_device::LoopDevice;
use crate::overhead::workloads::{CACHED_FILE, DIRECT_FILE};
use crate::process;
use crate::tools::{self, Tool};

/// Pairs of each load; of a quick run.
pub(crate) const PAIRS: u32 = 20;
const QUICK_PAIRS: u32 = 2;
/// Share of the figures that the stated intervals should contain.
pub(crate) const AIM: f64 = 0.95;
const RUN_DIR: &str = "unobserved-run";
const OUTPUT: &str = "unobserved-output";
/// Folder of the files that bonnie++ writes.
const WRITTEN_FOLDER: &str = "written-files";
/// Image of the file system that is made for each run of a load that needs a new one.
const IMAGE: &str = "new-file-system";
/// Its size: room for the journal, and for the inodes of twice the files that are created.
const IMAGE_BYTES: u64 = 512 << 20;
const IMAGE_INODES: &str = "100000";

/// A command whose figures are compared.
struct Load {
    name: &'static str,
    title: &'static str,
    tool: &'static Tool,
    /// Its arguments.
    arguments: &'static [&'static str],
    /// Each run gets a new ext4. On a used one without a journal, the rate of creating files depends on the run before:
    /// ext4 searches past every inode that was deleted a short time ago (`recently_deleted` in a profile). Measured
    /// without observation: 9,400 and 56,000 files per second there, 138,000 to 150,000 on new ones.
    new_file_system: bool,
}

const fn fio(name: &'static str, title: &'static str, arguments: &'static [&'static str]) -> Load {
    Load { name, title, tool: &tools::FIO, arguments, new_file_system: false }
}

/// Arguments of every load of fio, in front of its own.
const FIO: &[&str] = &["--name=load", "--output-format=json", "--size=64m", "--time_based", "--runtime=500ms"];

const LOADS: &[Load] = &[
    fio(
        "cached",
        "fio psync, cached 4 KiB random reads",
        &["--ioengine=psync", "--rw=randread", "--bs=4k", "--invalidate=0", "--filename=cached"],
    ),
    fio(
        "direct",
        "fio psync, direct 4 KiB random reads",
        &["--ioengine=psync", "--rw=randread", "--bs=4k", "--direct=1", "--filename=direct"],
    ),
    fio(
        "io-uring",
        "fio io_uring with a queue of 16, cached 4 KiB random reads",
        &["--ioengine=io_uring", "--iodepth=16", "--rw=randread", "--bs=4k", "--invalidate=0", "--filename=cached"],
    ),
    fio(
        "libaio",
        "fio libaio with a queue of 16, cached 4 KiB random reads",
        &["--ioengine=libaio", "--iodepth=16", "--rw=randread", "--bs=4k", "--invalidate=0", "--filename=cached"],
    ),
    // As bonnie++ writes characters, which takes it 3 s of sleep and as many reads in each run.
    fio(
        "characters",
        "fio psync, writes of one byte into the cache",
        &["--ioengine=psync", "--rw=write", "--bs=1", "--size=1m", "--invalidate=0", "--filename=written"],
    ),
    Load {
        name: "small-files",
        title: "bonnie++, deleting the empty files that it created, on a new file system",
        tool: &tools::BONNIE,
        arguments: &["-q", "-u", "root", "-d", WRITTEN_FOLDER, "-s", "0", "-n", "40"],
        new_file_system: true,
    },
    fio(
        "fsync",
        "fio psync, 4 KiB writes with an fsync each",
        &["--ioengine=psync", "--rw=write", "--bs=4k", "--fsync=1", "--filename=written"],
    ),
    fio(
        "threads",
        "fio psync, 16 threads, cached 4 KiB random reads",
        &[
            "--ioengine=psync",
            "--rw=randread",
            "--bs=4k",
            "--invalidate=0",
            "--filename=cached",
            "--numjobs=16",
            "--thread",
            "--group_reporting",
        ],
    ),
    fio(
        "mmap",
        "fio mmap, cached 4 KiB random reads",
        &["--ioengine=mmap", "--rw=randread", "--bs=4k", "--invalidate=0", "--filename=cached"],
    ),
    fio(
        "throttled",
        "fio psync, cached 4 KiB random reads, 20,000 a second",
        &["--ioengine=psync", "--rw=randread", "--bs=4k", "--invalidate=0", "--filename=cached", "--rate_iops=20000"],
    ),
];

/// One figure of a pair, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// Printed by the run without observation.
    untraced: f64,
    /// Printed by the observed run.
    observed: f64,
    /// What the observation took, as the observed run states it.
    low: f64,
    high: f64,
    /// Where the observed run says that another run lies; `None` when it says that it does not know.
    again: Option<(f64, f64)>,
}

impl Figure {
    fn is_inside(&self) -> Option<bool> {
        self.again.map(|(low, high)| (low..=high).contains(&self.untraced))
    }
}

/// All pairs of one load.
#[derive(Debug, Serialize)]
pub(crate) struct LoadResult {
    name: &'static str,
    title: &'static str,
    /// The first rate that the tool prints.
    rates: Vec<Figure>,
    /// Its mean latency, where it prints one.
    latencies: Vec<Figure>,
    /// Why a pair has no figure, of the last one without; `None` when all have.
    reason: Option<String>,
}

/// The proof.
#[derive(Debug, Serialize)]
pub(crate) struct UnobservedCheck {
    loads: Vec<LoadResult>,
}

/// Runs all pairs in a folder that has the files.
pub(crate) fn check(activebench: &Path, folder: &Path, quick: bool) -> UnobservedCheck {
    let pairs = if quick { QUICK_PAIRS } else { PAIRS };
    let result = |load: &Load| {
        let mut result =
            LoadResult { name: load.name, title: load.title, rates: Vec::new(), latencies: Vec::new(), reason: None };
        for pair in 0..pairs {
            if process::interrupted() {
                break;
            }
            eprintln!("unobserved: {}: pair {} of {pairs}", load.name, pair + 1);
            match measure(load, activebench, folder, pair % 2 == 0) {
                Ok((rate, latency)) => {
                    result.rates.push(rate);
                    result.latencies.extend(latency);
                }
                Err(error) => result.reason = Some(format!("{error:#}")),
            }
        }
        result
    };
    UnobservedCheck { loads: LOADS.iter().map(result).collect() }
}

/// Runs a pair. Returns its rate, and its mean latency if there is one.
fn measure(load: &Load, activebench: &Path, folder: &Path, observed_first: bool) -> Result<(Figure, Option<Figure>)> {
    let program = load.tool.find().with_context(|| format!("{} is not installed", load.tool.command))?;
    fs::create_dir_all(folder.join(WRITTEN_FOLDER)).context("cannot make a folder")?;
    for name in [CACHED_FILE, DIRECT_FILE] {
        // Into the cache; direct reads pass it.
        fs::read(folder.join(name)).with_context(|| format!("cannot read {name}"))?;
    }
    let mut words = vec![program.display().to_string()];
    let shared = if load.tool.command == tools::FIO.command { FIO } else { &[] };
    words.extend(shared.iter().chain(load.arguments).map(|word| (*word).to_owned()));
    let run = |is_observed: bool| {
        let _mounted = load.new_file_system.then(|| NewFileSystem::mount(folder)).transpose()?;
        match is_observed {
            true => observed(&words, activebench, folder),
            false => untraced(load, &words, activebench, folder),
        }
    };
    let (first, second) = (run(observed_first)?, run(!observed_first)?);
    let (observed, untraced) = if observed_first { (first, second) } else { (second, first) };
    let rate = figure(&observed, &untraced, &["operation-rate", "throughput"]).context("no rate has an interval")?;
    Ok((rate, figure(&observed, &untraced, &["latency-mean"])))
}

/// An ext4 over a file, mounted on the folder that bonnie++ writes to until it is dropped.
struct NewFileSystem {
    mount_point: PathBuf,
    _device: LoopDevice,
}

impl NewFileSystem {
    fn mount(folder: &Path) -> Result<Self> {
        let image = folder.join(IMAGE);
        let file = fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES));
        file.with_context(|| format!("cannot make {}", image.display()))?;
        let mkfs = tools::MKFS_EXT4.find().context("mkfs.ext4 is not installed")?;
        // Nothing is left to a kernel thread that would write while the load runs.
        let made = Command::new(mkfs)
            .args(["-q", "-F", "-N", IMAGE_INODES, "-E", "lazy_itable_init=0,lazy_journal_init=0"])
            .arg(&image)
            .status()
            .context("cannot start mkfs.ext4")?;
        if !made.success() {
            bail!("mkfs.ext4 ended with {made}");
        }
        let device = LoopDevice::new(&image)?;
        let mount_point = folder.join(WRITTEN_FOLDER);
        rustix::mount::mount(device.path(), &mount_point, "ext4", MountFlags::empty(), None)
            .map_err(std::io::Error::from)
            .with_context(|| format!("cannot mount {}", image.display()))?;
        Ok(Self { mount_point, _device: device })
    }
}

impl Drop for NewFileSystem {
    fn drop(&mut self) {
        if let Err(error) = rustix::mount::unmount(&self.mount_point, UnmountFlags::empty()) {
            eprintln!("cannot unmount {}: {error}", self.mount_point.display());
        }
    }
}

/// Runs the tool alone. Returns its claims, by the same adapter.
fn untraced(load: &Load, words: &[String], activebench: &Path, folder: &Path) -> Result<Vec<Value>> {
    let output = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", words[0]))?;
    if !output.status.success() {
        bail!("{} ended with {}", load.tool.command, output.status);
    }
    let stored = folder.join(OUTPUT);
    fs::write(&stored, &output.stdout).context("cannot store the output")?;
    let mut parse = Command::new(activebench);
    parse.args(["parse", load.tool.command]).arg(&stored).arg("--").args(&words[1..]);
    let parsed = parse.output().context("cannot start activebench")?;
    claims(&parsed.stdout)
}

/// Runs the tool observed. Returns the claims of the report.
fn observed(words: &[String], activebench: &Path, folder: &Path) -> Result<Vec<Value>> {
    let run = folder.join(RUN_DIR);
    if run.exists() {
        fs::remove_dir_all(&run).context("cannot remove the run before")?;
    }
    let mut verify = Command::new(activebench);
    verify.args(["verify", "--quiet", "--fail-on", "never", "--out", RUN_DIR, "--"]).args(words);
    let output = verify.current_dir(folder).stdin(Stdio::null()).output().context("cannot start activebench")?;
    let report = fs::read(run.join("report.json"))
        .with_context(|| format!("activebench left no report: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    claims(&report)
}

fn claims(document: &[u8]) -> Result<Vec<Value>> {
    let document: Value = serde_json::from_slice(document).context("activebench printed no JSON")?;
    document["claims"].as_array().cloned().context("the document has no claims")
}

/// Returns the first claim of one of these metrics whose figure without observation is stated, and that both runs have.
/// Numbers of claims do not say which are the same: a tool does not print the figure of a pass that was too short.
fn figure(observed: &[Value], untraced: &[Value], metrics: &[&str]) -> Option<Figure> {
    observed.iter().filter(|claim| metrics.contains(&claim["metric"].as_str().unwrap_or_default())).find_map(|claim| {
        let stated = &claim["unobserved"];
        let same =
            untraced.iter().find(|other| other["phase"] == claim["phase"] && other["metric"] == claim["metric"])?;
        let again = &stated["again"];
        Some(Figure {
            untraced: same["value"]["value"].as_f64()?,
            observed: claim["value"].as_f64()?,
            low: stated["low"].as_f64()?,
            high: stated["high"].as_f64()?,
            again: again["low"].as_f64().zip(again["high"].as_f64()),
        })
    })
}

/// Returns how many figures have a stated interval, and how many of them lie in it.
fn counted<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> (usize, usize) {
    figures
        .into_iter()
        .filter_map(Figure::is_inside)
        .fold((0, 0), |(stated, inside), is_inside| (stated + 1, inside + usize::from(is_inside)))
}

impl UnobservedCheck {
    /// Returns how many rates and mean latencies have a stated interval, and how many of them lie in it.
    pub(crate) fn counts(&self) -> (usize, usize) {
        counted(self.loads.iter().flat_map(|load| load.rates.iter().chain(&load.latencies)))
    }

    /// Returns the share of the figures that lie in their interval; `None` without any.
    pub(crate) fn share(&self) -> Option<f64> {
        let (stated, inside) = self.counts();
        (stated > 0).then(|| inside as f64 / stated as f64)
    }

    /// Renders the section of the page.
    pub(crate) fn section(&self) -> String {
        let mut text = String::from(
            "\n## Figures without observation\n\n\
             Each pair runs a command observed and unobserved, one right after the other. The observed run says what the \
             observation took, and where another run without it would lie (`unobserved` in `report.json`). All intervals \
             are multiples of what the observed run printed; medians over the pairs.\n\n\
             | load | pairs | unobserved / observed | taken by the observation | another run | rates inside | mean \
             latencies inside |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        );
        for load in &self.loads {
            let LoadResult { name, title, rates, latencies, reason } = load;
            let median = |value: fn(&Figure) -> f64| {
                let values: Vec<f64> = rates.iter().map(|figure| value(figure) / figure.observed).collect();
                match values.is_empty() {
                    true => "-".to_owned(),
                    false => format!("{:.3}", Data::new(values).median()),
                }
            };
            let inside = |figures: &[Figure]| match counted(figures) {
                (0, _) => "not stated".to_owned(),
                (stated, inside) => format!("{inside} of {stated}"),
            };
            let again = match rates.iter().any(|figure| figure.again.is_some()) {
                true => format!(
                    "{} to {}",
                    median(|figure| figure.again.map_or(f64::NAN, |(low, _)| low)),
                    median(|figure| figure.again.map_or(f64::NAN, |(_, high)| high))
                ),
                false => "not stated".to_owned(),
            };
            writeln!(
                text,
                "| `{name}`: {title} | {} | {} | {} to {} | {again} | {} | {} |",
                rates.len(),
                median(|figure| figure.untraced),
                median(|figure| figure.low),
                median(|figure| figure.high),
                inside(rates),
                inside(latencies),
            )
            .expect("a String takes every character");
            if let Some(reason) = reason {
                writeln!(text, "| | | a pair without a figure: {reason} | | | | |")
                    .expect("a String takes every character");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rate_with_an_interval_is_compared_with_the_same_claim() {
        let stated = json!({"value": 110.0, "low": 105.0, "high": 115.0, "again": {"low": 100.0, "high": 120.0}});
        let observed = [
            json!({"phase": "a", "metric": "operation-rate", "value": 90, "unobserved": null}),
            json!({"phase": "b", "metric": "operation-rate", "value": 100, "unobserved": stated}),
        ];
        let untraced = [
            json!({"phase": "a", "metric": "operation-rate", "value": {"value": 1.0}}),
            json!({"phase": "b", "metric": "operation-rate", "value": {"value": 121.0}}),
        ];
        let found = figure(&observed, &untraced, &["operation-rate"]).expect("the second one");
        let expected =
            Figure { untraced: 121.0, observed: 100.0, low: 105.0, high: 115.0, again: Some((100.0, 120.0)) };
        assert_eq!(found, expected);
        assert_eq!(found.is_inside(), Some(false));
        assert_eq!(figure(&observed, &untraced, &["latency-mean"]), None);
        let unknown = Figure { again: None, ..expected };
        assert_eq!(counted(&[expected, unknown, Figure { untraced: 120.0, ..expected }]), (2, 1));
    }
}
