//! The `--` in front of the command that a subcommand runs: it may be left out.
//!
//! Options in front of the command's first word are activebench's own. That word and all behind it are the command's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{Arg, Command};

const SEPARATOR: &str = "--";

/// A command line with its `--`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Separated {
    /// All words. The first is the program's name.
    pub(crate) words: Vec<OsString>,
    /// Words of the command that are also options of activebench. Empty if the user wrote the `--`.
    pub(crate) also_own: Vec<String>,
}

/// Adds the `--` where the user left it out: in front of the first word that is neither an option of activebench, nor
/// the value of one, nor an argument of the subcommand. Changes nothing where an option is unknown or lacks its value;
/// clap reports that.
pub(crate) fn separated(root: &Command, words: Vec<OsString>) -> Separated {
    let Some((place, subcommand)) = begin_of_command(root, &words) else {
        return Separated { words, also_own: Vec::new() };
    };
    let options: Vec<&str> = root.get_arguments().chain(subcommand.get_arguments()).filter_map(Arg::get_long).collect();
    let is_own = |word: &&str| {
        let name = word.strip_prefix(SEPARATOR).map(|rest| rest.split('=').next().unwrap_or(rest));
        name.is_some_and(|name| options.contains(&name))
    };
    let also_own = words[place..].iter().filter_map(|word| word.to_str()).filter(is_own).map(str::to_owned).collect();
    let mut words = words;
    words.insert(place, OsString::from(SEPARATOR));
    Separated { words, also_own }
}

/// Returns the place of the command's first word and the subcommand that runs it. `None`: the subcommand runs none, no
/// command is there, the `--` is there already, or an option is wrong.
fn begin_of_command<'a>(root: &'a Command, words: &[OsString]) -> Option<(usize, &'a Command)> {
    let at = next_word(&[root], words, 1)?;
    let subcommand = root.find_subcommand(&words[at])?;
    if !subcommand.get_positionals().any(Arg::is_last_set) {
        return None;
    }
    let arguments = subcommand.get_positionals().filter(|argument| !argument.is_last_set()).count();
    let mut at = next_word(&[subcommand, root], words, at + 1)?;
    for _ in 0..arguments {
        at = next_word(&[subcommand, root], words, at + 1)?;
    }
    Some((at, subcommand))
}

/// Returns the place of the first word from `at` on that is not an option of these commands or the value of one; `None`
/// if there is none, or a `--` or an unknown option comes before it.
fn next_word(commands: &[&Command], words: &[OsString], mut at: usize) -> Option<usize> {
    loop {
        let word = words.get(at)?;
        if !is_option(word) {
            return Some(at);
        }
        at += 1;
        if takes_next(commands, word)? {
            // A value that looks like an option is refused by clap.
            words.get(at).filter(|value| !is_option(value))?;
            at += 1;
        }
    }
}

/// A single `-` is not an option: it often stands for standard input.
fn is_option(word: &OsStr) -> bool {
    word.len() > 1 && word.as_bytes()[0] == b'-'
}

/// Returns `true` if the next word is the value of this option; `None` if the option is unknown.
fn takes_next(commands: &[&Command], word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    let find = |is_it: &dyn Fn(&Arg) -> bool| {
        commands.iter().flat_map(|command| command.get_arguments()).find(|argument| is_it(argument))
    };
    if let Some(rest) = word.strip_prefix(SEPARATOR) {
        let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
        let option = find(&|option| option.get_long() == Some(name))?;
        return Some(option.get_action().takes_values() && value.is_none());
    }
    // Several short options in one word: the first that takes a value takes the rest.
    let mut letters = word.chars().skip(1).peekable();
    while let Some(letter) = letters.next() {
        let option = find(&|option| option.get_short() == Some(letter))?;
        if option.get_action().takes_values() {
            return Some(letters.peek().is_none());
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::Cli;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("activebench")
            .chain(line.split(' '))
            .filter(|word| !word.is_empty())
            .map(OsString::from)
            .collect()
    }

    fn separated_line(line: &str) -> String {
        let words = separated(&Cli::command(), words(line)).words;
        let words: Vec<&str> = words[1..].iter().map(|word| word.to_str().expect("text")).collect();
        words.join(" ")
    }

    fn parsed(line: Vec<OsString>) -> Result<String, String> {
        let matches = Cli::command().try_get_matches_from(line).map_err(|error| error.to_string())?;
        Ok(format!("{:?}", Cli::from_arg_matches(&matches).map_err(|error| error.to_string())?))
    }

    #[test]
    fn the_command_begins_with_the_first_word_that_is_not_ours() {
        for (line, expected) in [
            ("verify fio --name=x", "verify -- fio --name=x"),
            ("verify fio", "verify -- fio"),
            ("verify --plan iozone -a", "verify --plan -- iozone -a"),
            ("verify --out DIR fio job.fio", "verify --out DIR -- fio job.fio"),
            ("verify --out=DIR fio job.fio", "verify --out=DIR -- fio job.fio"),
            ("verify --repeat 3 iozone -i0 -s1g", "verify --repeat 3 -- iozone -i0 -s1g"),
            ("verify --until steady --max-runs 5 fio -", "verify --until steady --max-runs 5 -- fio -"),
            ("verify -v fio", "verify -v -- fio"),
            ("verify -vq fio --quiet", "verify -vq -- fio --quiet"),
            ("--color never verify fio", "--color never verify -- fio"),
            ("verify --color never --color=auto fio", "verify --color never --color=auto -- fio"),
            ("verify sh -c x -- y", "verify -- sh -c x -- y"),
            ("verify taskset -c 0 -- fio", "verify -- taskset -c 0 -- fio"),
            ("verify --format json=a,text fio", "verify --format json=a,text -- fio"),
            ("verify --out verify fio", "verify --out verify -- fio"),
            ("verify verify", "verify -- verify"),
            ("verify - x", "verify -- - x"),
            ("parse fio out.txt fio --name=a", "parse fio out.txt -- fio --name=a"),
            ("__floor --exit-only dd if=x", "__floor --exit-only -- dd if=x"),
        ] {
            assert_eq!(separated_line(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_complete_or_wrong_stays_as_it_is() {
        for line in [
            "",
            "verify",
            "verify --",
            "verify -- fio --name=x",
            "verify --plan -- fio",
            "verify -- --odd fio",
            "verify --outt DIR fio",
            "verify --plna fio",
            "verify -x fio",
            "verify --out -- fio",
            "verify --out --plan fio",
            "verify --repeat",
            "verify --help fio",
            "verify -V fio",
            "parse fio out.txt",
            "parse fio out.txt -- fio -a",
            "parse fio",
            "recheck RUN",
            "compare a b c",
            "help verify",
            "unknown fio",
            "--colour never verify fio",
        ] {
            assert_eq!(separated_line(line), line);
        }
    }

    #[test]
    fn a_misspelled_option_is_named_with_the_likely_one() {
        for (line, parts) in [
            ("verify --outt DIR fio", ["'--outt'", "'--out'"]),
            ("verify --plna iozone -a", ["'--plna'", "'--plan'"]),
            ("verify --repaet 3 fio", ["'--repaet'", "'--repeat'"]),
        ] {
            let said = parsed(separated(&Cli::command(), words(line)).words).expect_err(line);
            assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
        }
    }

    #[test]
    fn words_of_the_command_that_are_also_ours_are_named() {
        let also_own = |line: &str| separated(&Cli::command(), words(line)).also_own;
        assert_eq!(also_own("verify fio job.fio --plan --out=x --name=a"), ["--plan", "--out=x"]);
        assert_eq!(also_own("verify --plan fio job.fio"), [""; 0]);
        assert_eq!(also_own("verify -- fio job.fio --plan"), [""; 0]);
    }

    /// With and without `--`, thousands of drawn command lines mean the same.
    #[test]
    fn the_separator_changes_nothing() {
        const OWN: &[&[&str]] = &[
            &["--plan"],
            &["-v"],
            &["-q"],
            &["-vq"],
            &["--out", "DIR"],
            &["--out=--plan"],
            &["--repeat", "3"],
            &["--format", "json=x"],
            &["--color=never"],
            &["--color", "auto"],
            &["--profile", "strict"],
            &["--target", ">=200MB/s"],
            &["--suppress", "AB601=shared"],
            &["--fail-on", "warn"],
            &["--ring-kib", "64"],
            &["--no-ceiling"],
            &["--runs-folder", "fio"],
            &["--events-limit=1G"],
        ];
        const COMMAND: &[&str] = &[
            "fio", "-a", "--", "--plan", "--out", "--out=x", "verify", "-", "", "--name=a", "-s1g", "--help", "-V", "ä",
        ];
        let mut random = fastrand::Rng::with_seed(7);
        let root = Cli::command();
        let mut agreed = 0;
        for _ in 0..5000 {
            let mut line = vec!["activebench"];
            if random.bool() {
                line.extend(["--color", "always"]);
            }
            line.push("verify");
            for _ in 0..random.usize(0..5) {
                line.extend(OWN[random.usize(0..OWN.len())]);
            }
            let place = line.len();
            line.push(["fio", "iozone", "./a b", "verify", "-", "ä"][random.usize(0..6)]);
            for _ in 0..random.usize(0..6) {
                line.push(COMMAND[random.usize(0..COMMAND.len())]);
            }
            let bare: Vec<OsString> = line.iter().map(OsString::from).collect();
            let mut given = bare.clone();
            given.insert(place, OsString::from(SEPARATOR));
            assert_eq!(separated(&root, bare).words, given, "{line:?}");
            assert_eq!(separated(&root, given.clone()).words, given, "{line:?}");
            agreed += usize::from(parsed(given).is_ok());
        }
        // The others repeat an option that is given once.
        assert!(agreed > 1000, "{agreed}");
    }
}
