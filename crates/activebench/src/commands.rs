//! The subcommands. Each has a file of its own: its arguments, its help and its work; this is their registry.

mod accept;
mod bundle;
mod ceiling;
mod check;
mod compare;
mod completions;
mod detectors;
mod doctor;
mod explain;
mod hidden;
mod history;
mod parse;
mod prune;
mod recheck;
mod replicate;
mod report;
mod show;
mod verify;
mod verify_bundle;
mod watch;

use activebench_engine::failure::Failure;

/// A subcommand with its parsed arguments.
pub(crate) trait Subcommand {
    /// Returns whose rights it works with.
    fn rights(&self) -> Rights;

    /// Runs it; returns the exit code.
    ///
    /// # Errors
    /// Returns an error, with its exit code, if the work could not be done.
    fn run(&self) -> Result<i32, Failure>;
}

/// The rights with which a subcommand works under sudo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Those of the user who called sudo, from the start: it needs no others, and the files that it reads and writes
    /// are that user's.
    User,
    /// Those of root to devices and processes. The files that it reads and writes by name are the user's.
    Root,
    /// Those that it has; it gives them up itself.
    Own,
}

/// Declares every subcommand once: its name in the enumeration, which clap turns into the word of the command line, and
/// the type of its arguments, whose doc comment is its help.
macro_rules! subcommands {
    ($($name:ident($arguments:ty),)*) => {
        /// The subcommand of a command line.
        #[derive(clap::Subcommand, Debug)]
        pub(crate) enum Command {
            $(#[allow(missing_docs, reason = "the help is that of the arguments")] $name(Box<$arguments>),)*
            #[command(flatten)]
            Hidden(hidden::Hidden),
        }

        impl Subcommand for Command {
            fn rights(&self) -> Rights {
                match self {
                    $(Command::$name(arguments) => arguments.rights(),)*
                    Command::Hidden(hidden) => hidden.rights(),
                }
            }

            fn run(&self) -> Result<i32, Failure> {
                match self {
                    $(Command::$name(arguments) => arguments.run(),)*
                    Command::Hidden(hidden) => hidden.run(),
                }
            }
        }
    };
}

// In the order of the help.
subcommands! {
    Verify(verify::Verify),
    Watch(watch::Watch),
    Check(check::CheckFolder),
    Recheck(recheck::Recheck),
    Report(report::Report),
    Compare(compare::CompareRuns),
    Accept(accept::Accept),
    Ceiling(ceiling::MeasureCeiling),
    History(history::History),
    Replicate(replicate::Replicate),
    Show(show::Show),
    Prune(prune::Prune),
    Bundle(bundle::Bundle),
    VerifyBundle(verify_bundle::VerifyBundle),
    Parse(parse::Parse),
    Detectors(detectors::Detectors),
    Explain(explain::Explain),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}
