//! The `activebench` command: arguments, output, exit codes.
//!
//! `activebench-engine` records and judges; the files in `commands` parse arguments, call it, and print.

// They panic when the terminal or pipe is closed; `say!` and `output::print` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod commands;
mod formats;
mod output;

use activebench_engine::{interruption, recording, say};
use activebench_probe::service;
use activebench_runner::stub;
use clap::Parser;

use crate::commands::{Command, Rights, Subcommand};

/// Runs a disk benchmark, observes with eBPF what the kernel really did for it, and reports
/// for every figure that the benchmark printed whether it is true, what it really
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
struct Cli {
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
    let command = Cli::parse().command;
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
