//! `activebench completions`: the completion script of a shell.

use activebench_engine::failure::Failure;
use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::{Rights, Subcommand};
use crate::{Cli, output};

const ABOUT: &str = "\
Print the completion script of a shell.

The Debian package installs the scripts of all three shells. Otherwise, put the script where your shell looks for it:

  activebench completions bash > ~/.local/share/bash-completion/completions/activebench
  activebench completions zsh > ~/.zfunc/_activebench        (with ~/.zfunc in $fpath before compinit)
  activebench completions fish > ~/.config/fish/completions/activebench.fish

Only new shells have it; `source <(activebench completions bash)` loads it into a running bash.";

/// Print the completion script of a shell.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: CompletedShell,
}

/// Shells with a tested script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

impl From<CompletedShell> for Shell {
    fn from(shell: CompletedShell) -> Self {
        match shell {
            CompletedShell::Bash => Shell::Bash,
            CompletedShell::Zsh => Shell::Zsh,
            CompletedShell::Fish => Shell::Fish,
        }
    }
}

impl Subcommand for Completions {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        output::print(&script(self.shell.into()))?;
        Ok(0)
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(&Cli::command()), "activebench", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the command without its hidden subcommands and options, which the generators would offer.
fn visible(command: &Command) -> Command {
    let mut copy = Command::new(command.get_name().to_owned());
    if let Some(about) = command.get_about() {
        copy = copy.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    copy.args(command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(visible))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_offer_every_subcommand_and_none_that_is_hidden() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for command in Cli::command().get_subcommands() {
                let name = command.get_name();
                assert_eq!(script.contains(name), !command.is_hide_set(), "{shell}: {name}");
            }
            for hidden in ["ring-kib", "look-every-caller-up"] {
                assert!(!script.contains(hidden), "{shell}: {hidden}");
            }
            assert!(script.contains("and-corrected"), "{shell}");
        }
    }
}
