//! The command line.

pub(crate) mod accept;
pub(crate) mod ceiling;
pub(crate) mod history;
pub(crate) mod replicate;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use activebench_model::claim::Subject;
use activebench_model::run::{Choices, FailOn};
use activebench_model::series::Until;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::formats;
use crate::recorded::Recorded;
use crate::thresholds;
use crate::workload::Workload;

pub(crate) use accept::Accept;

/// Runs a disk benchmark, watches with eBPF what the kernel really did for it, and says
/// for every number that the benchmark printed whether it is true, what it really
/// measures, and what the honest figure is.
#[derive(Parser, Debug)]
#[command(name = "activebench", version, about, long_about, max_term_width = 100)]
#[command(after_help = "Examples:\n  \
    activebench verify -- iozone -i0 -s1g\n  \
    activebench verify --format markdown=ticket.md -- iozone -i0 -i1 -e -c -s4g\n  \
    activebench verify --plan -- fio --name=a --rw=randread --size=1g --iodepth=32\n  \
    activebench recheck activebench-runs/20261121T040506Z-iozone\n  \
    activebench compare runs/disk-a runs/disk-b\n  \
    activebench replicate runs/disk-a --target /mnt/disk-b\n  \
    activebench explain AB302\n  \
    sudo activebench ceiling /mnt/bench\n  \
    sudo activebench doctor /mnt/bench\n\n\
    Exit codes: 0 verified or qualified, 1 discrepancy, 2 wrong usage, 3 inconclusive,\n\
    4 the benchmark failed, 5 observation not possible, 6 a bundle does not verify,\n\
    70 a bug of activebench, 130 interrupted.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a benchmark, observe it, judge its figures, report.
    Verify(Box<Verify>),
    /// Judge a stored run again: no root needed, any machine.
    Recheck(Recheck),
    /// Render a stored run.
    Report(Render),
    /// Hold stored runs side by side: what each claimed, the honest figures, and their ratios.
    #[command(long_about = COMPARE_ABOUT)]
    Compare(CompareRuns),
    /// Test a disk against limits that were agreed on beforehand.
    #[command(long_about = accept::ABOUT)]
    Accept(Accept),
    /// Measure what a target and this machine give at most: later reports show figures as shares of it.
    #[command(long_about = ceiling::ABOUT)]
    Ceiling(ceiling::Ceiling),
    /// Follow figures over many stored runs: trend, baseline, disks side by side.
    #[command(long_about = history::ABOUT)]
    History(history::History),
    /// Replay a stored run's I/O through an independent engine: claimed, observed and replicated side by side.
    #[command(long_about = replicate::ABOUT)]
    Replicate(replicate::Replicate),
    /// Print a stage's values of a stored run.
    Show(Show),
    /// Pack a stored run into one file that somebody else can check.
    #[command(long_about = BUNDLE_ABOUT)]
    Bundle(Bundle),
    /// Check a bundle, and judge the run in it again.
    #[command(long_about = VERIFY_BUNDLE_ABOUT)]
    VerifyBundle(VerifyBundle),
    /// Turn a tool's stored output into claims as JSON.
    Parse(Parse),
    /// List the detectors, or their thresholds.
    Detectors(Detectors),
    /// One detector's manual page.
    Explain {
        /// Code or name: `AB302` or `sync-outside-clock`.
        detector: String,
    },
    /// Say what this host lets us observe, and the command that mends each gap.
    #[command(long_about = DOCTOR_ABOUT)]
    Doctor(Doctor),
    /// Internal: a small workload of our own.
    #[command(name = "__workload", hide = true)]
    Workload {
        #[command(subcommand)]
        workload: Workload,
    },
    /// Internal: run a command while programs that do nothing sit on every system call.
    #[command(name = "__floor", hide = true)]
    Floor {
        /// On the exit of calls alone.
        #[arg(long)]
        exit_only: bool,
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Internal: write a run directory of reads that nobody made.
    #[command(name = "__recorded", hide = true)]
    Recorded(Recorded),
    /// Internal: list the BPF programs that trace this machine, one name a line.
    #[command(name = "__tracers", hide = true)]
    Tracers,
    /// Internal: write every detector's page into a folder.
    #[command(name = "__detector-pages", hide = true)]
    DetectorPages { folder: PathBuf },
}

const COMPARE_ABOUT: &str = "\
Hold stored runs side by side: what each claimed, the honest figures, and their ratios to the first run.

Only honest figures are compared: a claim that is confirmed, or the figure that stands for one that does not hold. \
A figure without one is shown as such. The verdict stands beside each number, and what else differs between the \
runs (tool, command, storage, host, kernel, rules) is said.

A RUN is a run's directory, that of a series (`verify --repeat`) or a bundle of either: of a series the medians are \
compared, and of two series of at least 7 runs the ratio has a 95 % interval.

Exit code: 0 when the runs could be read and compared, whatever their verdicts; 2 when not.

Examples:
  activebench compare runs/disk-a runs/disk-b
  activebench compare before after --format markdown=ticket.md";

/// Runs side by side.
#[derive(Args, Debug)]
pub(crate) struct CompareRuns {
    /// Directories of runs or of series; the others are held against the first.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// `text`, `json` or `markdown`, with a file to write it to: `markdown=ticket.md`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    pub(crate) formats: Vec<FormatRequest>,
}

/// What is listed of the detectors.
#[derive(Args, Debug)]
pub(crate) struct Detectors {
    /// Show the thresholds of this profile, as a file that `verify --thresholds` takes.
    #[arg(long, value_name = "NAME", value_parser = known_profile())]
    pub(crate) profile: Option<String>,
}

/// Profiles with their help.
fn known_profile() -> PossibleValuesParser {
    let profiles = activebench_detect::thresholds::profiles::PROFILES.iter();
    PossibleValuesParser::new(profiles.map(|profile| PossibleValue::new(profile.name).help(profile.about)))
}

const DOCTOR_ABOUT: &str = "\
Say what this host lets us observe, and the command that mends each gap.

Loads and attaches the kernel programs as `verify` would, and takes them off again; nothing is run and \
nothing is changed, except that installed benchmarks are asked for their version.

Each line has a state:
  ok       it is there
  gap      it is missing; a line with `$` gives the command that mends it
  never    it cannot be had on this kernel, machine or file system
  unknown  it could not be read

and says what that means for the verdicts. The storage is that below PATH: give the directory in which \
the benchmark will work.

Exit code: 0 when `verify` could observe here, 5 when it could not. Gaps that cost only a part of the \
evidence do not change it.

Examples:
  sudo activebench doctor /mnt/bench
  activebench doctor --format json | jq '.checks[] | select(.state == \"gap\")'";

const BUNDLE_ABOUT: &str = "\
Pack a stored run into one file that somebody else can check.

The bundle is a tar in zstd: bundle.json with the verdict, the exit code and the SHA-256 of every file, then the \
files. The run is judged again for it; its reports are those of this activebench. The same run gives the same bytes.

RUN is the directory of a run, of a series (verify --repeat), or of two runs side by side (verify --and-corrected).

With --sign KEY the bundle gets a statement of what was tested with which result (in-toto, in a DSSE envelope), \
signed with an ed25519 key:
  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out key.pub.pem

With --redact it is a copy without names: of hosts and users, serial numbers, models, addresses and paths. Ordinary \
words stay (`data`, `test`), as do figures, times, device names and the kernel's version. Look through it before you \
publish it, and name with --redact-word what else must not be in it.

Exit code: 0 when the bundle was written, whatever the verdict of the run in it; 2 when it could not be.";

const VERIFY_BUNDLE_ABOUT: &str = "\
Check a bundle, and judge the run in it again. No root needed, any machine.

Everything is checked before anything is used: with --key the signature, which then must be there and right; the sums \
of all files; that there are no others, and no links or names that lead elsewhere; that what is unpacked stays within \
--max-size. Then the run is judged anew, and verdict, exit code and reports must be those that the bundle claims. \
What is not right is named, file by file.

Exit code: that of the run in the bundle (0 verified or qualified, 1 discrepancy, 3 inconclusive, 4 the benchmark \
failed), as `recheck` of it gives. 6 when the bundle does not verify: then nothing is said about the run. 2 when there \
is no such file or key.";

/// Packs a run.
#[derive(Args, Debug)]
pub(crate) struct Bundle {
    /// The run's directory, that of a series, or of two runs side by side.
    pub(crate) run: PathBuf,
    /// The bundle [default: ./RUN.activebench.tar.zst].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file when it is there already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Sign it with this ed25519 key (PEM, as openssl makes it).
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    /// Replace names of hosts and users, serial numbers, models, addresses and paths, the same word by the same
    /// replacement of the same length everywhere. The copy is judged, too: it is written only when it is judged alike.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Replace this word, too, wherever it stands; may be given several times.
    #[arg(long, value_name = "WORD", requires = "redact")]
    pub(crate) redact_word: Vec<String>,
}

/// Checks a bundle.
#[derive(Args, Debug)]
pub(crate) struct VerifyBundle {
    /// The bundle.
    #[arg(value_name = "FILE")]
    pub(crate) bundle: PathBuf,
    /// Require its signature to be that of this public key (PEM, as openssl makes it).
    #[arg(long, value_name = "PUB")]
    pub(crate) key: Option<PathBuf>,
    /// Most bytes that are unpacked of it.
    #[arg(long, value_name = "SIZE", default_value = "8GiB", value_parser = parse_size)]
    pub(crate) max_size: u64,
}

/// What this host lets us observe.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// A directory, file or block device that a benchmark will use.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For people.
    Text,
    /// For programs: schema `activebench.doctor/1`.
    Json,
}

/// How a judged run is shown.
#[derive(Args, Debug, Clone)]
pub(crate) struct Output {
    // The help text is made from the formats that there are.
    #[arg(long = "format", value_name = "FORMAT[=FILE]", help = formats::HELP.as_str())]
    pub(crate) formats: Vec<FormatRequest>,
    /// From which severity on the exit code is 1.
    #[arg(long, value_enum, default_value_t = FailOnArgument::Fail)]
    pub(crate) fail_on: FailOnArgument,
    /// Say nothing but the report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug, Clone)]
pub(crate) struct Verify {
    /// What the figures are taken to describe, instead of what the command line suggests.
    #[arg(long, value_enum)]
    pub(crate) subject: Option<SubjectArgument>,
    /// Set of thresholds.
    #[arg(long, default_value = "default", value_name = "NAME", value_parser = known_profile())]
    pub(crate) profile: String,
    /// Replace thresholds of the profile: lines like `ab302_late_sync_fail_ratio = 0.1`. The file is kept with the
    /// run; `activebench detectors --profile default` prints all of them.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) thresholds: Option<PathBuf>,
    /// What the figures are for, in your words: the report answers with it whether they matter.
    #[arg(long, value_name = "TEXT")]
    pub(crate) purpose: Option<String>,
    /// The figure that they are for: `>= 200 MB/s`, `write >= 1.5 GiB/s`, `p99 <= 5 ms`. The report says whether the
    /// honest figures reach it; verdict and exit code stay those of the figures.
    #[arg(long, value_name = "FIGURE", value_parser = parse_target)]
    pub(crate) target: Option<String>,
    /// Do not count a detector, and say why: `AB601=shared test host`.
    #[arg(long, value_name = "CODE=REASON", value_parser = parse_suppression)]
    pub(crate) suppress: Vec<(String, String)>,
    /// Run nothing: say what would be run, claimed, observed and checked, and what is wrong with the command
    /// line already. `--format json` gives it to a program.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Run it this often, each time under observation and into a directory of its own (OUT/1, OUT/2, ...), and
    /// say whether the figures reproduce.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "plan")]
    pub(crate) repeat: Option<u32>,
    /// Run it until the 95 % interval of the median of each phase's rate is at most so wide (`5%`: a twentieth of the
    /// median), or until the last five runs are in steady state (`steady`: SNIA PTS 2.0.2). Either is asked after
    /// each run; --max-runs ends it in any case, and the report then says "target not reached" (exit code 3).
    #[arg(long, value_name = "PERCENT|steady", value_parser = parse_until, conflicts_with_all = ["plan", "repeat"])]
    pub(crate) until: Option<Until>,
    /// Most runs of --until [default: 30; with `steady` 25, as SNIA PTS has it].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), requires = "until")]
    pub(crate) max_runs: Option<u32>,
    /// The raw device that may be written, by its exact path. With `--profile pts` it is purged (discarded), written
    /// twice over, and then measured until it is in steady state. Refused where the command measures another one, and
    /// where the device is mounted, swap, part of a stack, held open, or holds a file system or a partition table.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["plan", "and_corrected"])]
    pub(crate) destroy: Option<PathBuf>,
    /// Run it a second time with the advice of the report applied (the options that mend what was found), and show
    /// both side by side: OUT/as-given and OUT/with-advice. The second run finds the files and caches that the
    /// first one left. The exit code is that of the command as given.
    #[arg(long, conflicts_with_all = ["plan", "repeat", "until"])]
    pub(crate) and_corrected: bool,
    /// Directory of the run's record, or of the series' [default: ./activebench-runs/UTC-TOOL].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// End the benchmark after this time: `90s`, `10min`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// The benchmark's identity [default: under sudo the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Which calls are timed from their entry to their exit.
    #[arg(long, value_enum, default_value_t = LatencyArgument::Sampled)]
    pub(crate) latency: LatencyArgument,
    /// Find the thread of every call the longer way: to try what machines pay where the cheap one does not apply.
    #[arg(long, hide = true)]
    pub(crate) look_every_caller_up: bool,
    /// Stack samples a second and processor, which tell in which functions the time goes; 0 takes none.
    #[arg(long, value_name = "HZ", default_value_t = activebench_probe::ProbeOptions::SAMPLE_HZ)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(crate) sample_hz: u32,
    /// What becomes of what the tool writes: the first 4 KiB of a write now and then (at most 256 a
    /// second and processor) tell how much of it is zeros, can be compressed or was written before.
    #[arg(long, value_enum, default_value_t = PayloadArgument::Figures)]
    pub(crate) payload: PayloadArgument,
    /// Most bytes of the log that holds each single I/O, packed (2 to 7 bytes a call): `500M`,
    /// `2GiB`. Past it I/O is only counted, and what needs the log is left undecided.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = parse_size)]
    pub(crate) events_limit: u64,

    /// Size of the cache inside of the device, or of the array behind it: a working set that fits it is said.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) device_cache: Option<u64>,
    /// Show the figures as shares of this ceiling, a file that `activebench ceiling --out` wrote [default: those that
    /// are kept with this host and fit the storage of the run].
    #[arg(long, value_name = "FILE", conflicts_with = "no_ceiling")]
    pub(crate) ceiling: Option<PathBuf>,
    /// Leave ceilings out.
    #[arg(long)]
    pub(crate) no_ceiling: bool,
    /// Size of the ring that carries records out of the kernel, in KiB: a power of two of at least 4.
    #[arg(long, default_value_t = 32_768, hide = true)]
    pub(crate) ring_kib: u32,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The benchmark and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Which calls are timed from their entry to their exit. Counts, bytes, offsets and results are exact either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LatencyArgument {
    /// All but fast ones in quick succession (less than 8 us from end to end, on one file), of
    /// which one in sixteen is, and the end of every fifth of the others: the cheapest for the benchmark.
    Sampled,
    /// Every one.
    Full,
}

/// What becomes of samples of what the tool writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PayloadArgument {
    /// Only figures of each are kept: lengths, zeros, and which of them are equal. Nothing of what
    /// was written gets into the run directory.
    Figures,
    /// Their bytes are kept too, in `payload.bin` of the run directory, up to 32 MiB (not of files
    /// that are registered with an io_uring). Whoever reads that directory reads what the tool wrote:
    /// think before you pass it on.
    Keep,
    /// Nothing that the tool writes is looked at.
    Off,
}

impl From<PayloadArgument> for activebench_probe::Payload {
    fn from(argument: PayloadArgument) -> Self {
        match argument {
            PayloadArgument::Figures => Self::Figures,
            PayloadArgument::Keep => Self::Keep,
            PayloadArgument::Off => Self::Off,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Recheck {
    /// The run's directory, that of a series, or a bundle of either.
    pub(crate) run: PathBuf,
    /// Judge with another profile than the run's own.
    #[arg(long, value_name = "NAME", value_parser = known_profile())]
    pub(crate) profile: Option<String>,
    /// Judge with the thresholds of this file instead of the run's own file.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) thresholds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Render {
    /// The run's directory, that of a series, or a bundle of either.
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The run's directory, or a bundle of it.
    pub(crate) run: PathBuf,
    /// Which stage.
    #[arg(long, value_enum)]
    pub(crate) stage: Stage,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    pub(crate) format: ShowFormat,
}

#[derive(Args, Debug)]
pub(crate) struct Parse {
    /// The tool: `iozone`, `bonnie++`.
    pub(crate) tool: String,
    /// Its standard output as stored; standard input when absent or `-`.
    pub(crate) file: Option<PathBuf>,
    /// The tool's arguments, after `--`, where the output does not name them.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Stages of a run, from the observation to the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// Observed system calls, one row each.
    Calls,
    /// Observed names.
    Names,
    /// Births, executions and ends of tasks.
    Tasks,
    /// Bios queued and requests completed.
    Block,
    /// Pages that entered the page cache.
    Cache,
    /// How often the blocks of each file were hit, over the whole run: one row a file and direction.
    Offsets,
    /// The threads' processor times, whenever one came back to a processor.
    Cpu,
    /// Stack samples.
    Samples,
    /// Stacks of the samples, with symbols.
    Stacks,
    /// The host's steal time.
    Steal,
    /// Figures of sampled writes.
    Payload,
    /// Calls folded to passes.
    Activity,
    /// What the tool printed.
    Claims,
    /// The tool's passes and their windows.
    Phases,
    /// Observed figures of each phase.
    Facts,
    /// What the detectors say.
    Findings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    Table,
    Json,
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SubjectArgument {
    /// The storage itself.
    Device,
    /// The file system with its cache.
    CachedFilesystem,
    /// Data that survives a power cut.
    DurableWrite,
    /// Files per second.
    Metadata,
    /// The processor.
    Cpu,
}

impl From<SubjectArgument> for Subject {
    fn from(argument: SubjectArgument) -> Self {
        match argument {
            SubjectArgument::Device => Subject::Device,
            SubjectArgument::CachedFilesystem => Subject::CachedFilesystem,
            SubjectArgument::DurableWrite => Subject::DurableWrite,
            SubjectArgument::Metadata => Subject::Metadata,
            SubjectArgument::Cpu => Subject::Cpu,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArgument {
    Warn,
    Fail,
    Never,
}

impl From<FailOnArgument> for FailOn {
    fn from(argument: FailOnArgument) -> Self {
        match argument {
            FailOnArgument::Warn => FailOn::Warn,
            FailOnArgument::Fail => FailOn::Fail,
            FailOnArgument::Never => FailOn::Never,
        }
    }
}

/// `FORMAT` or `FORMAT=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormatRequest {
    pub(crate) format: String,
    pub(crate) file: Option<PathBuf>,
}

impl std::str::FromStr for FormatRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, &formats::names(), formats::is_binary)
    }
}

impl FormatRequest {
    /// One of the formats that are known; `is_binary` says which of them nobody could read at a terminal.
    fn parse(text: &str, known: &[impl Borrow<str>], is_binary: impl Fn(&str) -> bool) -> Result<Self, String> {
        let (format, file) = match text.split_once('=') {
            Some((format, file)) => (format, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if !known.iter().any(|known| known.borrow() == format) {
            return Err(format!("no format `{format}` (hint: one of {})", known.join(", ")));
        }
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            return Err(format!("no file after `{format}=`"));
        }
        // Reported before anything runs.
        if file.is_none() && is_binary(format) && std::io::stdout().is_terminal() {
            return Err(format!("{format} is not for a terminal (hint: `{format}=FILE`, or pipe it to a program)"));
        }
        Ok(Self { format: format.to_owned(), file })
    }
}

/// Bytes: a whole number, with `K`, `M`, `G`, `T` (or `KiB`, ...) for powers of 1024, `kB`,
/// `MB`, ... for powers of 1000.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let (base, prefix) = match unit.strip_suffix("iB").or(unit.strip_suffix('B')) {
        Some(prefix) => (if unit.ends_with("iB") { 1024_u64 } else { 1000 }, prefix),
        None => (1024, unit),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|known| prefix.eq_ignore_ascii_case(known));
    let bytes = power.and_then(|power| number.parse::<u64>().ok()?.checked_mul(base.pow(power as u32)));
    bytes.ok_or_else(|| format!("no size in bytes: `{text}` (hint: 500M, 2GiB)"))
}

/// `5%`, `5 %`, `5`: 5.
fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("no percentage from 0 to 100: `{text}`"))
}

/// A percentage of the median; or `steady`.
fn parse_until(text: &str) -> Result<Until, String> {
    if text == "steady" {
        return Ok(Until::SteadyState);
    }
    match parse_percent(text) {
        Ok(percent) if percent > 0.0 => Ok(Until::MedianWithin { ratio: percent / 100.0 }),
        _ => Err(format!("no share of the median: `{text}` (hint: `5%`, or `steady`)")),
    }
}

/// A target figure that can be read; the user's own words are kept.
fn parse_target(text: &str) -> Result<String, String> {
    activebench_detect::judge::target_figure::Goal::parse(text).map(|_| text.to_owned())
}

fn parse_suppression(text: &str) -> Result<(String, String), String> {
    let (code, reason) = text.split_once('=').ok_or("a suppression needs its reason (hint: AB601=shared test host)")?;
    if activebench_detect::registry::find(code).is_none() {
        return Err(format!("no detector {code} (hint: `activebench detectors` lists them)"));
    }
    if reason.trim().is_empty() {
        return Err(format!("the suppression of {code} needs a reason"));
    }
    Ok((code.to_owned(), reason.to_owned()))
}

impl Verify {
    /// What of the choices bears on the judgement.
    ///
    /// # Errors
    /// When the file of thresholds cannot be read.
    pub(crate) fn choices(&self) -> anyhow::Result<Choices> {
        Ok(Choices {
            subject: self.subject.map(Into::into),
            device_cache_bytes: self.device_cache,
            profile: self.profile.clone(),
            thresholds: self.thresholds.as_deref().map(thresholds::read).transpose()?,
            purpose: self.purpose.clone(),
            target: self.target.clone(),
            acceptance: None,
            suppressed: self.suppressed(),
            fail_on: self.output.fail_on.into(),
        })
    }

    fn suppressed(&self) -> BTreeMap<String, String> {
        self.suppress.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64K", Some(64 << 10)),
            ("64k", Some(64 << 10)),
            ("2GiB", Some(2 << 30)),
            ("2 GiB", Some(2 << 30)),
            ("5MB", Some(5_000_000)),
            ("7B", Some(7)),
            ("3T", Some(3 << 40)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("1.5G", None),
            ("1X", None),
            ("99999999999T", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn what_ends_a_series_is_read() {
        let within = |ratio| Some(Until::MedianWithin { ratio });
        for (text, expected) in [
            ("5%", within(0.05)),
            ("5 %", within(0.05)),
            ("2.5", within(0.025)),
            ("100", within(1.0)),
            ("steady", Some(Until::SteadyState)),
            ("0", None),
            ("-5%", None),
            ("101%", None),
            ("NaN", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(parse_until(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
