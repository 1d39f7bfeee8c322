//! The `activebench` command: arguments, output, exit codes.
//!
//! `activebench-engine` records and judges; the files in `commands` parse arguments, call it, and print.

// They panic when the terminal or pipe is closed; `say!` and `output::print` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod commands;
mod formats;
mod output;
mod separator;
mod settings;

use activebench_engine::{interruption, recording, say};
use activebench_probe::service;
use activebench_report::escape::terminal;
use activebench_runner::stub;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::arguments::Colour;
use crate::commands::{Command, Rights, Subcommand};
use crate::separator::{Separated, separated};
use crate::settings::Settings;

/// Run a disk benchmark, observe with eBPF what the kernel really did for it, and report whether its figures are true.
///
/// For every figure that the benchmark printed, the report says whether it is true, what it really measures, and what
/// the honest figure is.
#[derive(Parser, Debug)]
#[command(name = "activebench", version, max_term_width = 100)]
#[command(after_help = "Examples:\n  \
    activebench verify iozone -i0 -s1g\n  \
    activebench verify --format markdown=ticket.md iozone -i0 -i1 -e -c -s4g\n  \
    activebench verify --plan fio --name=a --rw=randread --size=1g --iodepth=32\n  \
    activebench recheck activebench-runs/20261121T040506Z-iozone\n  \
    activebench compare runs/disk-a runs/disk-b\n  \
    activebench replicate runs/disk-a --target /mnt/disk-b\n  \
    activebench explain AB302\n  \
    sudo activebench ceiling /mnt/bench\n  \
    sudo activebench doctor /mnt/bench\n\n\
    Exit codes: 0 verified or qualified, 1 discrepancy, 2 wrong usage, 3 inconclusive,\n\
    4 the benchmark failed, 5 observation not possible, 6 a bundle does not verify,\n\
    70 a bug of activebench, 130 interrupted.")]
struct Cli {
    /// Colours on standard output.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto, hide_short_help = true)]
    #[arg(env = "ACTIVEBENCH_COLOR", hide_env_values = true)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

fn main() {
    // These are checked before anything is parsed: a tool's own arguments follow the stub.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == stub::SUBCOMMAND) {
        std::process::exit(stub::main(&words[1..]).into());
    }
    if words.first().is_some_and(|word| word == service::SUBCOMMAND) {
        std::process::exit(service::main(&words[1..]).into());
    }
    if let Err(error) = interruption::report_large_files() {
        say!("{error:#}");
    }
    if words.first().is_some_and(|word| word == recording::SALVAGE) {
        std::process::exit(recording::salvage(&words[1..]));
    }
    let Cli { color, command } = parsed();
    output::choose_colour(color);
    let prepared = match command.rights() {
        Rights::User => recording::give_up_root(None),
        Rights::Root => recording::take_users_files(None),
        Rights::Own => Ok(()),
    };
    let code = prepared.and_then(|()| command.run()).unwrap_or_else(|failure| {
        say!("{}", failure.shown());
        failure.code as i32
    });
    std::process::exit(code);
}

/// Returns the command line, completed by the environment and the file of settings. Ends the process if there is none:
/// with the help, the version, or what is wrong.
fn parsed() -> Cli {
    let command = Cli::command();
    let settings = Settings::read(&command).unwrap_or_else(|failure| {
        // Whoever asks for help gets it, whatever the file says.
        if let Err(error) = command.clone().try_get_matches()
            && matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
        {
            error.exit();
        }
        say!("{}", failure.shown());
        std::process::exit(failure.code as i32);
    });
    settings.say_refused();
    let Separated { words, also_own } = separated(&command, std::env::args_os().collect());
    let matches = settings.applied(command).get_matches_from(words);
    for word in also_own {
        say!("{} belongs to the benchmark (hint: options of activebench go before its name)", terminal(&word));
    }
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The long help of every subcommand, the hidden ones excepted.
    #[test]
    fn the_help_of_every_subcommand() {
        let mut whole = Cli::command().term_width(100);
        whole.build();
        insta::assert_snapshot!("help", whole.render_long_help());
        let names: Vec<String> = whole
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help")
            .map(|command| command.get_name().to_owned())
            .collect();
        for name in names {
            let command = whole.find_subcommand_mut(&name).expect("it was just listed");
            insta::assert_snapshot!(format!("help-{name}"), command.render_long_help());
        }
    }
}
