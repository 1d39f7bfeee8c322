//! Project tasks: `cargo xtask demo`, `test`, `truth`, `any-program`, `new`, `bpf`, `docs`, `overhead`,
//! `judging`, `buildtime`, `kernels`, `fuzz`, `deny`, `attack`,
//! `dist`.
//!
//! Contains the arguments and the exit code; each task is a module of its own. Nothing here is part of the product, and
//! `cargo build` does not need it.

mod any_program;
mod apt_sources;
mod attack;
mod bpf;
mod buildtime;
mod demo;
mod deny;
mod detector_pages;
mod dist;
mod fuzz;
mod judging;
mod kernels;
mod libtest;
mod loop_device;
mod mounts;
mod new;
mod overhead;
mod packages;
mod process;
mod provenance;
mod sha256_list;
mod source_once;
mod suite;
mod tools;
mod truth;
mod word_list;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project tasks of activebench.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build the product and show it at work on iozone's default options
    Demo(demo::Options),
    /// Run every test of the workspace, those that need root and BPF included
    Test(suite::Options),
    /// Begin a detector or an adapter: its files, its lines in the lists, tests that fail until it is filled in
    New(new::Options),
    /// Compile the kernel programs to the committed object
    Bpf(bpf::Options),
    /// Generate the detectors' manual pages
    Docs(detector_pages::Options),
    /// Run the planted lies and their honest twins, and count what was found
    Truth(truth::Options),
    /// Measure how many printed rates are read right without an adapter
    AnyProgram(any_program::Options),
    /// Measure what observing costs, beside doing nothing and beside other tracers
    Overhead(overhead::Options),
    /// Measure what judging costs by the shape of the run, and what the shortest run takes
    Judging(judging::Options),
    /// Measure what building and testing cost, from an empty target folder and an empty registry
    Buildtime(buildtime::Options),
    /// Try the committed kernel object and the product on other kernels, in an emulated machine
    Kernels(kernels::Options),
    /// Feed every reader of foreign bytes what nobody ever wrote
    Fuzz(fuzz::Options),
    /// Check licences, known weaknesses, versions and origins of the crates of others
    Deny,
    /// Play the attacks that SECURITY.md names, as root and an ordinary user
    Attack(attack::Options),
    /// Make the archive and the Debian package that users install
    Dist(dist::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Demo(options) => demo::run(&options),
        Task::Test(options) => suite::run(&options),
        Task::New(options) => new::run(&options),
        Task::Bpf(options) => bpf::run(&options),
        Task::Docs(options) => detector_pages::run(&options),
        Task::Truth(options) => truth::run(&options),
        Task::AnyProgram(options) => any_program::run(&options),
        Task::Overhead(options) => overhead::run(&options),
        Task::Judging(options) => judging::run(&options),
        Task::Buildtime(options) => buildtime::run(&options),
        Task::Kernels(options) => kernels::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Deny => deny::check(),
        Task::Attack(options) => attack::run(&options),
        Task::Dist(options) => dist::run(&options),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
