//! `activebench prune`: deletes old runs.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use activebench_engine::failure::{ExitCode, Failure};
use activebench_engine::prune::{Pruning, Stays};
use activebench_engine::runs_folder::RUNS;
use activebench_engine::say;
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use anyhow::anyhow;
use clap::Args;
use time::OffsetDateTime;

use super::{Rights, Subcommand};
use crate::output::print;

const ABOUT: &str = "\
Delete old runs, after listing them with their sizes.

Only what lies directly in DIR and is a finished run is deleted: a run, or a series, acceptance, replication or pair of \
runs as a whole. Runs that are recorded at the moment, were never finished, or cannot be read stay, and are listed. \
Other files and folders are not touched, and no link is followed.

The age of a run is that of its name (20261121T040506Z-...), or the time when it was last written. With both --keep and \
--older-than a run is deleted only if neither keeps it.

Exit code: 0 if everything was deleted, or nothing was to be; 2 if a run could not be deleted, or deletion was declined.

Examples:
  activebench prune --keep 20 --dry-run
  activebench prune --older-than 30d
  activebench prune /srv/runs --keep 5 --older-than 90d --yes";

/// Delete old runs.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Prune {
    /// The folder of runs.
    #[arg(value_name = "DIR", default_value = RUNS, env = "ACTIVEBENCH_RUNS_FOLDER", hide_env_values = true)]
    folder: PathBuf,
    /// Number of the newest runs that stay.
    #[arg(long, value_name = "N", required_unless_present = "older_than")]
    keep: Option<usize>,
    /// Delete only runs that are at least this old: `30d`, `12h`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    older_than: Option<Duration>,
    /// Delete nothing: only list what would be deleted.
    #[arg(long)]
    dry_run: bool,
    /// Delete without asking. Needed where nobody can be asked: without a terminal.
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
}

impl Subcommand for Prune {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let stays = Stays { newest: self.keep, younger_than: self.older_than };
        let pruning = Pruning::of(&self.folder, stays, OffsetDateTime::now_utc().unix_timestamp())?;
        for (name, why) in &pruning.others {
            say!("{} stays: {}", terminal(name), terminal(why));
        }
        let folder = terminal(&self.folder.display().to_string());
        if pruning.old.is_empty() {
            print(&format!("Nothing to delete in {folder}: {}.\n", staying(pruning.stay)))?;
            return Ok(0);
        }
        let rows = pruning.old.iter().map(|old| format!("  {:>9}  {}\n", size(old.bytes), terminal(old.name())));
        let sum = format!("{}, {}; {}", runs(pruning.old.len()), size(pruning.bytes()), staying(pruning.stay));
        let verb = if self.dry_run { "Would delete from" } else { "To delete from" };
        print(&format!("{verb} {folder}:\n{}{sum}.\n", rows.collect::<String>()))?;
        if self.dry_run {
            return Ok(0);
        }
        if !self.yes && !confirmed()? {
            say!("nothing was deleted");
            return Ok(ExitCode::Usage as i32);
        }
        let (mut deleted, mut bytes) = (0, 0);
        let ended = pruning.remove(|_, freed| {
            deleted += 1;
            bytes += freed;
        });
        print(&format!("Deleted {}, {}.\n", runs(deleted), size(bytes)))?;
        ended.map(|()| 0)
    }
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

fn staying(count: usize) -> String {
    format!("{} stay{}", runs(count), if count == 1 { "s" } else { "" })
}

fn size(bytes: u64) -> String {
    Quantity::bytes(bytes).to_string()
}

/// Asks at the terminal.
///
/// # Errors
/// Returns an error if there is none.
fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let error =
            anyhow!("nobody can be asked without a terminal (hint: --yes deletes these, --dry-run only lists them)");
        return Err(Failure::new(ExitCode::Usage, error));
    }
    say!("delete them? Type yes to go on:");
    let mut typed = String::new();
    Ok(std::io::stdin().read_line(&mut typed).is_ok() && matches!(typed.trim(), "y" | "yes"))
}
