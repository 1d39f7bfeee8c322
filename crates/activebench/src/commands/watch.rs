//! `activebench watch`: observes processes that run already.

use std::path::{Path, PathBuf};
use std::time::Duration;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::interruption;
use activebench_engine::recording::{self, ChildOutput, EVENTS_LIMIT_BYTES, Observing, Recorder, WatchToRecord};
use activebench_engine::runs_folder::{default_directory, point_latest};
use activebench_engine::watched_processes::Places;
use activebench_model::run::Choices;
use activebench_model::watch::WatchTarget;
use activebench_probe::ProbeOptions;
use clap::{ArgGroup, Args};

use super::{Rights, Subcommand};
use crate::arguments::{Live, OUTPUT, Output, RunsFolder, known_profile, parse_size};
use crate::{formats, output};

const ABOUT: &str = "\
Observe processes that run already: a database, a service, a container, a benchmark that somebody else started.

Reports what they read and write, where it goes, how long it takes and what is wrong with it. Nothing is claimed, so \
nothing is verified: the exit code is 3. What happened before the watch is not known. Files that were open then are read \
at its beginning, so that later I/O on them has their names. Questions that need the whole run are undecided.

The watch ends when the process ends, after --for, or with Ctrl-C. It ends no process, and the run directory is always \
written: `report`, `recheck` and `show` work on it.";

const EXAMPLES: &str = "Examples:\n  \
    activebench watch --pid 4711 --for 30s\n  \
    activebench watch --pid $(pgrep -o postgres) --user postgres\n  \
    activebench watch --cgroup /system.slice/docker-0123.scope --for 1min\n  \
    activebench watch --unit postgresql.service --for 1min --format html=db.html\n\n\
    A process of another user needs root's rights: `sudo activebench watch --user root`, or `--user` with its user.\n\
    More: docs/watch.md";

/// Observe processes that run already: no claims, only what they do.
#[derive(Args, Debug)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
#[command(group = ArgGroup::new("target").required(true).args(["pid", "cgroup", "unit"]))]
pub(crate) struct Watch {
    /// Process to watch, with its threads and descendants, also those that it starts later.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Control group to watch, of version 1 or 2: its folder, or its path as in /proc/PID/cgroup. All processes in it and
    /// below it are watched. Ten times per second those that entered it are added.
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// Unit of systemd to watch: its control group.
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,
    /// End the watch after this time: `30s`, `10min` [default: when what is watched ends].
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// User whose processes may be watched, and who gets the run directory; with `root` every process [default: under sudo
    /// the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Set of thresholds.
    #[arg(long, default_value = "default", value_name = "NAME", value_parser = known_profile())]
    #[arg(env = "ACTIVEBENCH_PROFILE", hide_env_values = true, hide_short_help = true)]
    profile: String,
    /// Directory of the run [default: a new one in the folder of runs, UTC-watch-PROGRAM].
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Stack samples per second and CPU, which show the functions that use the time; 0 takes none.
    #[arg(long, value_name = "HZ", default_value_t = ProbeOptions::SAMPLE_HZ, hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    sample_hz: u32,
    /// Maximum size of the log of every single I/O, packed: `500M`, `2GiB`. Beyond it I/O is only counted.
    #[arg(long, value_name = "SIZE", default_value_t = EVENTS_LIMIT_BYTES, value_parser = parse_size)]
    #[arg(hide_short_help = true)]
    events_limit: u64,
    #[command(flatten)]
    live: Live,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    runs_folder: RunsFolder,
}

impl Subcommand for Watch {
    fn rights(&self) -> Rights {
        // It starts the observer before.
        Rights::Own
    }

    fn run(&self) -> Result<i32, Failure> {
        let target = self.target();
        let mut recorder = Recorder::start()?;
        recorder.give_up_root(self.user.as_deref())?;
        output::destinations_can_be_written(&self.output.formats)?;
        let found = Places::default().find(&target).or_exit(ExitCode::Usage)?;
        let observing = self.observing();
        let choices =
            Choices { profile: self.profile.clone(), fail_on: self.output.fail_on.into(), ..Choices::default() };
        let program = match &target {
            WatchTarget::Pid(_) => found.command.program(),
            WatchTarget::Cgroup(name) | WatchTarget::Unit(name) => name,
        };
        let program = Path::new(program).file_name().map_or("", |name| name.to_str().unwrap_or(""));
        let name = format!("watch-{program}");
        let directory =
            self.out.clone().unwrap_or_else(|| default_directory(&self.runs_folder.path, name.trim_end_matches('-')));
        let watch = WatchToRecord {
            observing: &observing,
            target,
            watched: found.watched,
            command: &found.command,
            duration: self.duration,
            choices: &choices,
            directory: &directory,
        };
        let kept = recording::keep_watch(watch, &mut recorder)?;
        interruption::end_on_signals(&format!("activebench recheck {}", directory.display())).or_exit(ExitCode::Bug)?;
        let recorded = kept.judged()?;
        point_latest(&self.runs_folder.path, &directory);
        output::render(&recorded.judged, &recorded.reader, &self.output, output::Beside::Answer)?;
        Ok(recorded.judged.exit_code)
    }
}

impl Watch {
    /// Returns what is named; clap asks for exactly one.
    fn target(&self) -> WatchTarget {
        match (&self.cgroup, &self.unit) {
            (Some(path), _) => WatchTarget::Cgroup(path.clone()),
            (None, Some(name)) => WatchTarget::Unit(name.clone()),
            (None, None) => WatchTarget::Pid(self.pid.unwrap_or_default()),
        }
    }

    fn observing(&self) -> Observing {
        Observing {
            user: self.user.clone(),
            sample_hz: self.sample_hz,
            events_limit_bytes: self.events_limit,
            child_output: match output::report_owns_stdout(&self.output.formats) {
                true => ChildOutput::Stderr,
                false => ChildOutput::Stdout,
            },
            quiet: self.output.quiet,
            live: self.live.is_wanted,
            timelines: formats::timelines_of(&self.output.formats),
            ..Observing::default()
        }
    }
}
