//! Arguments that several subcommands share.

use std::path::{Path, PathBuf};

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::runs_folder::{LATEST, RUNS};
use activebench_engine::say;
use activebench_model::run::FailOn;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};

use crate::formats::{self, FormatRequest};

/// Profiles with their help.
pub(crate) fn known_profile() -> PossibleValuesParser {
    let profiles = activebench_detect::thresholds::profiles::PROFILES.iter();
    PossibleValuesParser::new(profiles.map(|profile| PossibleValue::new(profile.name).help(profile.about)))
}

/// Heading of the options that decide what is written where.
pub(crate) const OUTPUT: &str = "Output";

/// How a judged run is shown.
#[derive(Args, Debug, Clone)]
pub(crate) struct Output {
    // The help text is made from the existing formats.
    #[arg(long = "format", value_name = "FORMAT[=FILE]", help = "Report format, with a file to write it to: `json`, `markdown=ticket.md`", long_help = formats::HELP.as_str())]
    #[arg(env = "ACTIVEBENCH_FORMAT", hide_env_values = true, help_heading = OUTPUT, value_delimiter = ',')]
    pub(crate) formats: Vec<FormatRequest>,
    /// Lowest severity that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOnArgument::Fail)]
    #[arg(env = "ACTIVEBENCH_FAIL_ON", hide_env_values = true, help_heading = OUTPUT)]
    pub(crate) fail_on: FailOnArgument,
    /// Print the long report: evidence of each finding, bottlenecks, and the seven questions.
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Print nothing but the report.
    #[arg(long, short, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) quiet: bool,
}

/// What is shown while the benchmark runs.
#[derive(Args, Debug, Clone)]
pub(crate) struct Live {
    /// While the benchmark runs, show calls, device, queue depth, latency and cache hits once a second, below its output.
    /// Without a terminal this is a line per second on standard error.
    #[arg(long = "live", conflicts_with = "quiet", help_heading = OUTPUT)]
    pub(crate) is_wanted: bool,
}

/// When standard output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// At a terminal, unless NO_COLOR is set or TERM is `dumb`; CLICOLOR_FORCE asks for them elsewhere too.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The folder of the runs that are given no directory of their own.
#[derive(Args, Debug, Clone)]
pub(crate) struct RunsFolder {
    /// Folder of the runs that are given no directory of their own. `latest` in it is a link to the run that was
    /// finished last.
    #[arg(long = "runs-folder", value_name = "DIR", default_value = RUNS, hide_short_help = true)]
    #[arg(env = "ACTIVEBENCH_RUNS_FOLDER", hide_env_values = true, help_heading = OUTPUT)]
    pub(crate) path: PathBuf,
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

/// The run that a subcommand is about.
#[derive(Args, Debug, Clone)]
pub(crate) struct StoredRun {
    /// The directory of a run or a series, or a bundle of either [default: the latest one in the folder of runs].
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    #[command(flatten)]
    runs_folder: RunsFolder,
}

impl StoredRun {
    /// Returns what was named, or the latest run of this folder, and says which one.
    ///
    /// # Errors
    /// Returns an error if nothing was named and no run is there.
    pub(crate) fn path(&self) -> Result<PathBuf, Failure> {
        if let Some(named) = &self.run {
            return Ok(named.clone());
        }
        let runs = &self.runs_folder.path;
        let latest = latest(runs)
            .with_context(|| format!("no run was named, and none is in {} (hint: name its directory)", runs.display()));
        let latest = latest.or_exit(ExitCode::Usage)?;
        say!("the latest run: {}", latest.display());
        Ok(latest)
    }
}

/// Returns the run that was finished last, to which `latest` in the folder points; without that link the one with the
/// latest time in its name. No link leads out of the folder.
fn latest(folder: &Path) -> Option<PathBuf> {
    let pointed = std::fs::read_link(folder.join(LATEST)).ok().map(|name| name.into_os_string());
    let is_run = |path: &Path| {
        ["run.json", "series.json", "as-given/run.json"].into_iter().any(|file| path.join(file).is_file())
    };
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let runs: Vec<PathBuf> = directories.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    let is_pointed = |run: &&PathBuf| pointed.is_some() && run.file_name() == pointed.as_deref();
    runs.iter().find(is_pointed).or_else(|| runs.iter().max()).cloned()
}

/// Bytes: a whole number, with `K`, `M`, `G`, `T` (or `KiB`, ...) for powers of 1024, `kB`,
/// `MB`, ... for powers of 1000.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
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
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("no percentage from 0 to 100: `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_run_is_a_directory_with_a_run_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(latest(folder.path()), None);
        assert_eq!(latest(&folder.path().join("none")), None);
        for (name, file) in [("20260101T000000Z-fio", "run.json"), ("20260301T000000Z-fio", "series.json")] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            std::fs::write(folder.path().join(name).join(file), "{}").expect("a file");
        }
        std::fs::create_dir(folder.path().join("20260501T000000Z-empty")).expect("a folder");
        let first = folder.path().join("20260101T000000Z-fio");
        std::os::unix::fs::symlink(first, folder.path().join("20260601T000000Z-link")).expect("a link");
        let newest = Some(folder.path().join("20260301T000000Z-fio"));
        assert_eq!(latest(folder.path()), newest);
        // The run that was finished last, if it is one of this folder.
        let link = folder.path().join(LATEST);
        for (target, expected) in [
            ("20260101T000000Z-fio", Some(folder.path().join("20260101T000000Z-fio"))),
            ("gone", newest.clone()),
            ("../elsewhere", newest),
        ] {
            std::os::unix::fs::symlink(target, &link).expect("a link");
            assert_eq!(latest(folder.path()), expected, "{target}");
            std::fs::remove_file(&link).expect("it goes");
        }
    }

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
}
