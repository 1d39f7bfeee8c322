//! `activebench verify`: runs a benchmark, observes it, judges its figures, reports.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use activebench_detect::series::stopping::least_runs;
use activebench_detect::thresholds::Thresholds;
use activebench_engine::corrected_run::{self, CorrectedRun, NoSecondRun};
use activebench_engine::failure::{ExitCode, Failure, INTERRUPTED, OrExit};
use activebench_engine::recording::{
    self, BackendChoice, CeilingChoice, ChildOutput, Observing, RING_KIB, Recorded, Recorder, RunToRecord,
};
use activebench_engine::runs_folder::{default_directory, point_latest};
use activebench_engine::say;
use activebench_engine::series::{self, RecordedSeries, SeriesToRecord};
use activebench_engine::{ceiling, device_guard, interruption, plan, thresholds};
use activebench_model::claim::Subject;
use activebench_model::command::CommandLine;
use activebench_model::remedy::SideBySide;
use activebench_model::run::Choices;
use activebench_model::series::{JudgedSeries, Until};
use activebench_probe::{Payload, ProbeOptions};
use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory, ValueEnum};

use super::{Rights, Subcommand};
use crate::arguments::{Live, OUTPUT, Output, RunsFolder, known_profile, parse_percent, parse_size};
use crate::settings::Settings;
use crate::{Cli, formats, output};

/// Headings of the options in the help, beside [`OUTPUT`].
const RUNNING: &str = "Running the benchmark";
const JUDGING: &str = "Judging its figures";
const REPEATING: &str = "Repeating it";
const OBSERVING: &str = "Observing it";

/// Run a benchmark, observe it, judge its figures, report.
#[derive(Args, Debug)]
#[command(override_usage = "activebench verify [OPTIONS] [--] <COMMAND>...")]
pub(crate) struct Verify {
    /// Subject that the figures describe, if it is not the one that the command line suggests.
    #[arg(long, value_enum)]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    subject: Option<SubjectArgument>,
    /// Set of thresholds.
    #[arg(long, default_value = "default", value_name = "NAME", value_parser = known_profile())]
    #[arg(help_heading = JUDGING)]
    #[arg(env = "ACTIVEBENCH_PROFILE", hide_env_values = true)]
    profile: String,
    /// Replace thresholds of the profile with lines such as `ab302_late_sync_fail_ratio = 0.1`. The file is stored with
    /// the run; `activebench detectors --profile default` prints all thresholds.
    #[arg(long, value_name = "FILE.toml")]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    #[arg(env = "ACTIVEBENCH_THRESHOLDS", hide_env_values = true)]
    thresholds: Option<PathBuf>,
    /// Purpose of the figures, in your words: the report says whether they are relevant for it.
    #[arg(long, value_name = "TEXT")]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    purpose: Option<String>,
    /// Figure that is needed: `>= 200 MB/s`, `write >= 1.5 GiB/s`, `p99 <= 5 ms`. The report says
    /// whether the honest figures reach it. A word that is not the name of a phase may be `read` or `write`. Exit code 1:
    /// missed; 3: not known.
    #[arg(long, value_name = "FIGURE", value_parser = parse_target)]
    #[arg(help_heading = JUDGING)]
    target: Option<String>,
    /// What a number means in the output of a program that activebench does not know: `write=wrote (\d+) MB/s`. NAME is
    /// read, write, randread, randwrite, seqread, seqwrite, rw or randrw; for a latency with mean, p50, p95, p99, p99.9
    /// or max behind it (`read p99=p99: (\d+) us`). The regular expression has one group, the number, and the unit
    /// behind it. Can be repeated.
    #[arg(long = "claim", value_name = "NAME=REGEX", value_parser = parse_claim)]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    claims: Vec<String>,
    /// Judge as if no adapter knew the tool.
    #[arg(long, hide = true)]
    without_adapters: bool,
    /// Ignore a detector, with the reason: `AB601=shared test host`.
    #[arg(long, value_name = "CODE=REASON", value_parser = parse_suppression)]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    suppress: Vec<(String, String)>,
    /// Run nothing: print what would be run, claimed, observed and checked, and problems of the command line that are
    /// visible already. `--format json` prints it for programs.
    #[arg(long)]
    #[arg(help_heading = RUNNING)]
    plan: bool,
    /// Run the command N times, each time under observation and into a directory of its own (OUT/1, OUT/2, ...), and
    /// report whether the figures are reproducible.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "plan")]
    #[arg(help_heading = REPEATING)]
    repeat: Option<u32>,
    /// Repeat until the 95 % confidence interval of the median of each phase is at most this wide (`5%` of the median),
    /// or until the last five runs are in steady state (`steady`: SNIA PTS 2.0.2). This is checked after each run.
    /// --max-runs ends the series in any case; the report then says "target not reached" (exit code 3).
    #[arg(long, value_name = "PERCENT|steady", value_parser = parse_until, conflicts_with_all = ["plan", "repeat"])]
    #[arg(help_heading = REPEATING)]
    until: Option<Until>,
    /// Maximum number of runs of --until [default: 30; with `steady` 25, as in SNIA PTS].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), requires = "until")]
    #[arg(help_heading = REPEATING, hide_short_help = true)]
    max_runs: Option<u32>,
    /// Raw device that may be overwritten, by its exact path. With `--profile pts` it is purged (discarded), written
    /// twice, and then measured until it is in steady state. Refused if the command measures another device, or if the
    /// device is mounted, swap, part of a stack, open elsewhere, or contains a file system or a partition table.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["plan", "and_corrected"])]
    #[arg(help_heading = REPEATING, hide_short_help = true)]
    destroy: Option<PathBuf>,
    /// Run the command a second time with the advice of the report applied (the options that fix what was found), and
    /// show both runs side by side: OUT/as-given and OUT/with-advice. The second run starts with the files and caches
    /// that the first one left. The exit code is that of the command as given.
    #[arg(long, conflicts_with_all = ["plan", "repeat", "until"])]
    #[arg(help_heading = REPEATING)]
    and_corrected: bool,
    /// Directory of the run or series [default: a new one in the folder of runs, UTC-TOOL].
    #[arg(long, value_name = "DIR")]
    #[arg(help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// End the benchmark after this time: `90s`, `10min`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    #[arg(help_heading = RUNNING, hide_short_help = true)]
    timeout: Option<Duration>,
    /// User that runs the benchmark [default: under sudo the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = RUNNING, hide_short_help = true)]
    user: Option<String>,
    /// Let set-user-ID programs such as sudo give the benchmark more rights. Root has them anyway.
    #[arg(long)]
    #[arg(help_heading = RUNNING, hide_short_help = true)]
    allow_new_privileges: bool,
    /// Calls that are timed from their entry to their exit.
    #[arg(long, value_enum, default_value_t = LatencyArgument::Sampled)]
    #[arg(help_heading = OBSERVING, hide_short_help = true)]
    #[arg(env = "ACTIVEBENCH_LATENCY", hide_env_values = true)]
    latency: LatencyArgument,
    /// Who observes the benchmark.
    #[arg(long, value_enum, default_value_t = BackendArgument::Auto)]
    #[arg(help_heading = OBSERVING)]
    #[arg(env = "ACTIVEBENCH_BACKEND", hide_env_values = true)]
    backend: BackendArgument,
    /// Load no library into a benchmark that a tracer observes: each of its calls stops then.
    #[arg(long)]
    #[arg(help_heading = OBSERVING, hide_short_help = true)]
    no_preload: bool,
    /// Look up the thread of every call by the slow path, to measure the cost on machines that need it.
    #[arg(long, hide = true)]
    look_every_caller_up: bool,
    /// Stack samples per second and CPU, which show the functions that use the time; 0 takes none.
    #[arg(long, value_name = "HZ", default_value_t = ProbeOptions::SAMPLE_HZ)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    #[arg(help_heading = OBSERVING, hide_short_help = true)]
    sample_hz: u32,
    /// Count the calls of the C library's `fwrite`, `putc`, `fread`, `getc` and their like, of libaio and of liburing, by
    /// phase. Every process on this machine that calls one of them takes about a microsecond longer for it meanwhile.
    #[arg(long)]
    #[arg(help_heading = OBSERVING)]
    library: bool,
    /// Treatment of the data that the tool writes: samples of the first 4 KiB of a write (at most 256 per second and
    /// CPU) show how much of it is zeros, compressible or written before.
    #[arg(long, value_enum, default_value_t = PayloadArgument::Figures)]
    #[arg(help_heading = OBSERVING, hide_short_help = true)]
    payload: PayloadArgument,
    /// Maximum size of the log of every single I/O, packed (2 to 7 bytes per call): `500M`, `2GiB`. Beyond it I/O is
    /// only counted, and questions that need the log are undecided.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = parse_size)]
    #[arg(help_heading = OBSERVING, hide_short_help = true)]
    events_limit: u64,

    /// Size of the cache in the device or in the array behind it: the report says if a working set fits into it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    device_cache: Option<u64>,
    /// Show the figures as shares of this ceiling, a file written by `activebench ceiling --out` [default: the ceilings
    /// stored on this host that match the storage of the run].
    #[arg(long, value_name = "FILE", conflicts_with = "no_ceiling")]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    ceiling: Option<PathBuf>,
    /// Ignore ceilings.
    #[arg(long)]
    #[arg(help_heading = JUDGING, hide_short_help = true)]
    no_ceiling: bool,
    /// Size of the ring buffer that carries records out of the kernel, in KiB: a power of two, at least 4.
    #[arg(long, default_value_t = RING_KIB, hide = true)]
    ring_kib: u32,
    #[command(flatten)]
    live: Live,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    runs_folder: RunsFolder,
    /// The benchmark and its arguments. Options of activebench go before its name. `--` in front of it is needed only
    /// where that name begins with `-`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Which calls are timed from their entry to their exit. Counts, bytes, offsets and results are exact either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LatencyArgument {
    /// All calls, except fast ones in quick succession (less than 8 us from end to end, on one file): of these one in
    /// sixteen is timed, and the end of every fifth of the others. This costs the benchmark least.
    Sampled,
    /// Every call.
    Full,
}

/// Who observes the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendArgument {
    /// Kernel programs; a tracer where the kernel permits none.
    Auto,
    /// Kernel programs (eBPF), which need CAP_BPF and CAP_PERFMON.
    Bpf,
    /// A tracer (ptrace), which needs no rights. It sees calls, files and processes, and what /proc says of storage. It
    /// sees no device, page cache or CPU time. A library in the benchmark (LD_PRELOAD) notes calls of the C library on
    /// files; each other call takes some 25 us more.
    Trace,
}

impl From<BackendArgument> for BackendChoice {
    fn from(argument: BackendArgument) -> Self {
        match argument {
            BackendArgument::Auto => Self::Automatic,
            BackendArgument::Bpf => Self::Bpf,
            BackendArgument::Trace => Self::Trace,
        }
    }
}

/// Treatment of the data that the tool writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PayloadArgument {
    /// Store only figures of each sample: lengths, zeros, and which samples are equal. No written data gets into the run
    /// directory.
    Figures,
    /// Store the sampled bytes too, in `payload.bin` of the run directory, up to 32 MiB (not of files that are
    /// registered with an io_uring). Everyone who reads that directory can read this data: consider this before you
    /// share it.
    Keep,
    /// Do not look at the data.
    Off,
}

impl From<PayloadArgument> for Payload {
    fn from(argument: PayloadArgument) -> Self {
        match argument {
            PayloadArgument::Figures => Self::Figures,
            PayloadArgument::Keep => Self::Keep,
            PayloadArgument::Off => Self::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SubjectArgument {
    /// The storage itself.
    Device,
    /// The file system with its cache.
    CachedFilesystem,
    /// Data that survives a power cut.
    DurableWrite,
    /// Files per second.
    Metadata,
    /// The CPU.
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

impl Subcommand for Verify {
    fn rights(&self) -> Rights {
        // It starts the observer before.
        Rights::Own
    }

    fn run(&self) -> Result<i32, Failure> {
        // Before anything runs: a typing error should not cost a run.
        let choices = self.choices().or_exit(ExitCode::Usage)?;
        let thresholds = thresholds::of(&choices).or_exit(ExitCode::Usage)?;
        let cwd = std::env::current_dir().context("cannot find the working directory").or_exit(ExitCode::Usage)?;
        let command = CommandLine {
            argv: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: cwd.display().to_string(),
        };
        if let Some(target) = &self.target {
            let possible = plan::target_is_possible(target, &command);
            possible.map_err(|why| anyhow!("--target: {why}")).or_exit(ExitCode::Usage)?;
        }
        if !self.claims.is_empty() && !self.without_adapters {
            plan::output_has_no_reader(&command).map_err(|why| anyhow!("--claim: {why}")).or_exit(ExitCode::Usage)?;
        }
        if self.plan {
            let settings = Settings::read(&Cli::command())?.words();
            let (report, exit_code) = plan::plan(choices, command, &thresholds, settings);
            output::deliver_document(&self.output.formats, &report)?;
            return Ok(exit_code);
        }
        let prepares = self.destroy.is_some() && thresholds.requires_preconditioning;
        let repetition = self.repetition(prepares, &thresholds)?;
        recording::find_program(&self.command[0])?;
        if let Some(file) = &self.ceiling {
            // Before anything runs, like the choices.
            ceiling::store::read(file).or_exit(ExitCode::Usage)?;
        }
        let device = self.destroy.as_deref().map(device_guard::blank).transpose()?;
        if let Some(device) = &device {
            device_guard::is_repeated(device, &command)?;
            if !prepares && !self.output.quiet {
                say!(
                    "nothing is purged or preconditioned: the profile {} asks for neither (hint: \
                     `--profile pts` does)",
                    choices.profile
                );
            }
        }
        device_guard::guard_own(&command)?;
        let directory =
            self.out.clone().unwrap_or_else(|| default_directory(&self.runs_folder.path, command.program()));
        let mut recorder = Recorder::start()?;
        // A device is purged and preconditioned with the rights of root.
        match prepares {
            true => recording::take_users_files(self.user.as_deref())?,
            false => recorder.give_up_root(self.user.as_deref())?,
        }
        output::destinations_can_be_written(&self.output.formats)?;
        let observing = &self.observing();
        let argv = &self.command;
        if let (Some((planned, until)), false) = (repetition, self.and_corrected) {
            output::document_formats_exist::<JudgedSeries>(&self.output.formats)?;
            let prepared = device.filter(|_| prepares);
            let series =
                SeriesToRecord { observing, argv, command, choices, directory: &directory, planned, until, prepared };
            let RecordedSeries { judged, interrupted } = series::record(series, &mut recorder)?;
            point_latest(&self.runs_folder.path, &directory);
            output::deliver_answer(&self.output.formats, &judged)?;
            return Ok(if interrupted { INTERRUPTED } else { judged.exit_code });
        }
        let (command, choices, directory) = (&command, &choices, &directory);
        let run = RunToRecord { observing, argv, command, choices, directory, preparation: None };
        if self.and_corrected {
            output::document_formats_exist::<SideBySide>(&self.output.formats)?;
            let corrected = corrected_run::record(run, &mut recorder)?;
            point_latest(&self.runs_folder.path, directory);
            return self.corrected(corrected);
        }
        let kept = recording::keep(run, &mut recorder)?;
        let again = format!("activebench recheck {}", directory.display());
        interruption::end_on_signals(&again).or_exit(ExitCode::Bug)?;
        let recorded = kept.judged()?;
        point_latest(&self.runs_folder.path, directory);
        self.reported(&recorded)
    }
}

/// Maximum runs of `--until` for an interval.
const MOST_RUNS: u32 = 30;
/// Maximum rounds until steady state (SNIA PTS 2.0.2).
const MOST_ROUNDS: u32 = 25;

impl Verify {
    /// Returns the choices that affect the judgement.
    ///
    /// # Errors
    /// Returns an error if the file of thresholds cannot be read.
    fn choices(&self) -> anyhow::Result<Choices> {
        Ok(Choices {
            subject: self.subject.map(Into::into),
            device_cache_bytes: self.device_cache,
            profile: self.profile.clone(),
            thresholds: self.thresholds.as_deref().map(thresholds::read).transpose()?,
            purpose: self.purpose.clone(),
            target: self.target.clone(),
            claims: self.claims.clone(),
            without_adapters: self.without_adapters,
            acceptance: None,
            suppressed: BTreeMap::from_iter(self.suppress.iter().cloned()),
            fail_on: self.output.fail_on.into(),
        })
    }

    fn observing(&self) -> Observing {
        Observing {
            // The command is the user's own.
            confinement: None,
            program: None,
            timeout: self.timeout,
            user: self.user.clone(),
            allow_new_privileges: self.allow_new_privileges,
            backend: self.backend.into(),
            time_every_call: self.latency == LatencyArgument::Full,
            preload: !self.no_preload,
            look_every_caller_up: self.look_every_caller_up,
            sample_hz: self.sample_hz,
            library: self.library,
            payload: self.payload.into(),
            events_limit_bytes: self.events_limit,
            ring_bytes: self.ring_kib << 10,
            ceiling: match (&self.ceiling, self.no_ceiling) {
                (Some(file), _) => CeilingChoice::File(file.clone()),
                (None, true) => CeilingChoice::Omitted,
                (None, false) => CeilingChoice::Kept,
            },
            child_output: match output::report_owns_stdout(&self.output.formats) {
                true => ChildOutput::Stderr,
                false => ChildOutput::Stdout,
            },
            quiet: self.output.quiet,
            live: self.live.is_wanted,
            timelines: formats::timelines_of(&self.output.formats),
        }
    }

    /// Reports a single run; returns the exit code.
    fn reported(&self, recorded: &Recorded) -> Result<i32, Failure> {
        output::render(&recorded.judged, &recorded.reader, &self.output, output::Beside::Answer)?;
        Ok(if recorded.interrupted { INTERRUPTED } else { recorded.judged.exit_code })
    }

    /// Reports a run and the one with its advice; returns the exit code of the command as given.
    fn corrected(&self, corrected: CorrectedRun) -> Result<i32, Failure> {
        match corrected {
            CorrectedRun::Both { sides, exit_code, interrupted } => {
                output::deliver_answer(&self.output.formats, &*sides)?;
                Ok(if interrupted { INTERRUPTED } else { exit_code })
            }
            CorrectedRun::Once(recorded, NoSecondRun::NotNeeded(why)) => {
                if !self.output.quiet {
                    say!("{why}");
                }
                self.reported(&recorded)
            }
            CorrectedRun::Once(recorded, NoSecondRun::Failed(failure)) => {
                self.reported(&recorded)?;
                Err(failure)
            }
        }
    }

    /// Returns how often the command is run, and what ends that earlier; `None` for a single run. A prepared device is
    /// measured until it is steady, unless something else is asked for.
    ///
    /// # Errors
    /// Returns an error if the permitted runs cannot give what is asked for.
    fn repetition(&self, prepared: bool, thresholds: &Thresholds) -> Result<Option<(u32, Option<Until>)>, Failure> {
        if let Some(runs) = self.repeat {
            return Ok(Some((runs, None)));
        }
        let Some(until) = self.until.or(prepared.then_some(Until::SteadyState)) else { return Ok(None) };
        let (most, target) = match until {
            Until::MedianWithin { .. } => (MOST_RUNS, "an interval of the median"),
            Until::SteadyState => (MOST_ROUNDS, "steady state"),
        };
        let most = self.max_runs.unwrap_or(most);
        let least = least_runs(until, thresholds);
        if most < least {
            return Err(Failure::new(
                ExitCode::Usage,
                anyhow!(
                    "{target} takes {least} runs, and at most {most} are allowed (hint: `--max-runs {least}` or more)"
                ),
            ));
        }
        Ok(Some((most, Some(until))))
    }
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

/// A statement on a number that can be read; the user's own words are kept.
fn parse_claim(text: &str) -> Result<String, String> {
    activebench_tools::stated_claims::StatedClaim::parse(text).map(|_| text.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
