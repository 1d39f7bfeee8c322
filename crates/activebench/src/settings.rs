//! Settings that a user repeats: read from a file, and given to the options as their defaults. The environment and the
//! command line are stronger.
//!
//! The options that can be set are those that have an environment variable `ACTIVEBENCH_...`: the file's key is the
//! rest of its name, `fail-on` for `ACTIVEBENCH_FAIL_ON`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::{recording, say};
use activebench_report::escape::terminal;
use activebench_runner::Identity;
use anyhow::{Context, anyhow, bail, ensure};
use clap::{Arg, Command};
use toml::{Table, Value};

/// The file in the working directory.
const HERE: &str = "activebench.toml";
/// The file below the user's folder of configurations.
const OF_USER: &str = "activebench/config.toml";
/// Beginning of the environment variables.
const VARIABLE: &str = "ACTIVEBENCH_";
/// Maximum bytes of the file.
const MOST_BYTES: u64 = 64 << 10;
/// Similarity from which a known key is proposed for an unknown one.
const ALIKE: f64 = 0.8;

/// The file of settings, and what it sets.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The file that was read; `None`: there is none.
    pub(crate) file: Option<PathBuf>,
    /// Why a file was not used.
    pub(crate) refused: Option<String>,
    /// Values by key: several only where an option may be given several times.
    values: BTreeMap<String, Vec<String>>,
}

impl Settings {
    /// Reads the first of the two files that exists, with the rights of the user for whom this process works.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, has an unknown key or a value that its option does not take.
    pub(crate) fn read(command: &Command) -> Result<Self, Failure> {
        let identity = recording::identity(None)?;
        let own = || Self::first_of(&places(identity.as_ref()), identity.as_ref());
        let read = match &identity {
            Some(identity) => {
                identity.with_files(own).context("cannot take the files of the user").or_exit(ExitCode::Bug)?
            }
            None => own(),
        };
        read.and_then(|(settings, text)| settings.filled(&text, command)).or_exit(ExitCode::Usage)
    }

    /// Returns the first file that exists, with its text.
    fn first_of(places: &[PathBuf], identity: Option<&Identity>) -> anyhow::Result<(Self, String)> {
        for place in places {
            let cannot = || format!("cannot read the settings in {}", place.display());
            let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(place) {
                Ok(file) => file,
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    continue;
                }
                // Not every folder that a user may work in is one of theirs.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error).with_context(cannot),
            };
            let about = file.metadata().with_context(cannot)?;
            ensure!(about.is_file(), "{}: it is not a regular file", cannot());
            if let Some(why) = distrusted(about.uid(), about.mode(), identity) {
                let refused = Some(format!("{} is not used: {why}", place.display()));
                return Ok((Self { refused, ..Self::default() }, String::new()));
            }
            ensure!(about.len() <= MOST_BYTES, "{}: it has more than {MOST_BYTES} bytes", cannot());
            let mut text = String::new();
            file.take(MOST_BYTES).read_to_string(&mut text).with_context(cannot)?;
            return Ok((Self { file: Some(place.clone()), ..Self::default() }, text));
        }
        Ok((Self::default(), String::new()))
    }

    /// Adds the values of a file's text, each checked by the option that it is for.
    fn filled(mut self, text: &str, command: &Command) -> anyhow::Result<Self> {
        let file = self.file.as_deref().unwrap_or(Path::new(HERE)).display().to_string();
        let table: Table = text.parse().map_err(|error: toml::de::Error| anyhow!("{file}: {error}"))?;
        let options = options(command);
        for (key, value) in table {
            let Some(option) = options.get(&key) else {
                let known: Vec<&str> = options.keys().map(String::as_str).collect();
                bail!("{file}: unknown key `{}` (hint: {})", terminal(&key), similar(&key, &known));
            };
            let values =
                words(&value).with_context(|| format!("{file}: `{key}` is neither a text nor a list of texts"))?;
            ensure!(
                values.len() == 1 || option.get_action().takes_values() && is_repeated(option),
                "{file}: `{key}` takes one value"
            );
            for value in &values {
                check(option, value).map_err(|why| anyhow!("{file}: `{key}`: {why}"))?;
            }
            self.values.insert(key, values);
        }
        Ok(self)
    }

    /// Returns the command with the settings as defaults of its options.
    pub(crate) fn applied(&self, command: Command) -> Command {
        let with_defaults = |command: Command| {
            let set: Vec<_> = command
                .get_arguments()
                .filter_map(|option| Some((option.get_id().to_string(), self.values.get(&key(option)?)?.clone())))
                .collect();
            set.into_iter()
                .fold(command, |command, (id, values)| command.mut_arg(id, |option| option.default_values(values)))
        };
        with_defaults(command.mut_subcommands(with_defaults))
    }

    /// Describes where the settings come from, for a person: a fragment.
    pub(crate) fn words(&self) -> String {
        match (&self.file, &self.refused) {
            (Some(file), _) if self.values.is_empty() => format!("{} sets nothing", file.display()),
            (Some(file), _) => {
                let keys: Vec<&str> = self.values.keys().map(String::as_str).collect();
                format!("{} sets {}", file.display(), keys.join(", "))
            }
            (None, Some(why)) => why.clone(),
            (None, None) => "no file".to_owned(),
        }
    }

    /// Says that a file was not used.
    pub(crate) fn say_refused(&self) {
        if let Some(why) = &self.refused {
            say!("{}", terminal(why));
        }
    }
}

/// Returns the places of the file, the strongest first.
fn places(identity: Option<&Identity>) -> Vec<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = match identity {
        Some(identity) => Some(identity.home.clone()),
        None => absolute("HOME"),
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    std::iter::once(PathBuf::from(HERE)).chain(folder.map(|folder| folder.join(OF_USER))).collect()
}

/// Returns why a file of this owner and mode is not used: who can write it could have reports written over the user's
/// files, or failures ignored.
fn distrusted(owner: u32, mode: u32, identity: Option<&Identity>) -> Option<String> {
    let own = identity.map_or_else(|| rustix::process::getuid().as_raw(), |identity| identity.uid);
    if owner != 0 && owner != own {
        return Some(format!("it belongs to another user (uid {owner})"));
    }
    (mode & 0o022 != 0).then(|| "other users may write it (hint: `chmod go-w` on it)".to_owned())
}

/// Returns the key of an option that can be set.
fn key(option: &Arg) -> Option<String> {
    let variable = option.get_env().and_then(OsStr::to_str)?.strip_prefix(VARIABLE)?;
    Some(variable.to_ascii_lowercase().replace('_', "-"))
}

/// Returns the options that can be set, by key.
fn options(command: &Command) -> BTreeMap<String, Arg> {
    let all = command.get_arguments().chain(command.get_subcommands().flat_map(Command::get_arguments));
    all.filter_map(|option| Some((key(option)?, option.clone()))).collect()
}

fn is_repeated(option: &Arg) -> bool {
    matches!(option.get_action(), clap::ArgAction::Append)
}

fn words(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(values) if !values.is_empty() => {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}

/// Checks a value by the option itself; returns why it does not take it.
fn check(option: &Arg, value: &str) -> Result<(), String> {
    let alone = option.clone().env("").required(false).index(None).long("value").global(false).hide(false);
    let word = format!("--value={value}");
    match Command::new("settings").no_binary_name(true).arg(alone).try_get_matches_from([word]) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            // The option is known by its key.
            let said = match first.split_once(" for '--value") {
                Some((before, after)) => format!("{before}{}", after.split_once('\'').map_or("", |(_, rest)| rest)),
                None => first.to_owned(),
            };
            let possible = text.lines().map(str::trim).find(|line| line.starts_with("[possible values"));
            Err(possible.map_or_else(|| said.clone(), |possible| format!("{said} {possible}")))
        }
    }
}

/// Returns a hint that names the known key most like an unknown one, or all.
fn similar(text: &str, known: &[&str]) -> String {
    let likeness = |name: &&&str| strsim::jaro_winkler(text, name);
    let best = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    match best.filter(|best| likeness(best) >= ALIKE) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("the keys are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::Cli;

    fn filled(text: &str) -> Result<Settings, String> {
        let settings = Settings { file: Some(PathBuf::from("activebench.toml")), ..Settings::default() };
        settings.filled(text, &Cli::command()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_file_becomes_the_defaults_and_the_command_line_is_stronger() {
        let text = "profile = \"strict\"\nfail-on = \"warn\"\nformat = [\"json=a.json\", \"markdown\"]\n\
                    latency = \"full\"\nruns-folder = \"/srv/runs\"\ncolor = \"never\"\nthresholds = \"t.toml\"\n";
        let settings = filled(text).expect("good settings");
        assert!(settings.words().starts_with("activebench.toml sets color, fail-on, format"), "{}", settings.words());
        let parsed = |words: &[&str]| {
            let command = settings.applied(Cli::command());
            command.clone().debug_assert();
            let matches = command.try_get_matches_from(words).expect("it can be parsed");
            format!("{:?}", Cli::from_arg_matches(&matches).expect("a command"))
        };
        let of_file = parsed(&["activebench", "verify", "--", "true"]);
        for part in
            ["\"strict\"", "fail_on: Warn", "latency: Full", "\"/srv/runs\"", "color: Never", "t.toml", "a.json"]
        {
            assert!(of_file.contains(part), "{part}: {of_file}");
        }
        let stronger =
            ["verify", "--profile=default", "--fail-on=never", "--format=text", "--color=always", "--", "true"];
        let stronger = parsed(&[&["activebench"][..], &stronger].concat());
        for part in ["\"default\"", "fail_on: Never", "color: Always"] {
            assert!(stronger.contains(part), "{part}: {stronger}");
        }
        assert!(!stronger.contains("a.json"), "{stronger}");
        let several = parsed(&["activebench", "verify", "--format=text,json=b.json", "--", "true"]);
        assert!(several.contains("b.json") && !several.contains("a.json"), "{several}");
        // The profile of a stored run is its own.
        assert!(parsed(&["activebench", "recheck", "run"]).contains("profile: None"));
        assert!(parsed(&["activebench", "prune", "--keep=1"]).contains("/srv/runs"));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        for (text, parts) in [
            ("profil = \"default\"", &["activebench.toml", "unknown key `profil`", "did you mean `profile`?"][..]),
            ("zzz = 1", &["the keys are backend, color, fail-on, format"]),
            ("profile = 1", &["`profile` is neither a text nor a list of texts"]),
            ("profile = [\"default\", \"strict\"]", &["takes one value"]),
            ("profile = \"best\"", &["`profile`", "best", "possible values"]),
            ("format = \"pdf\"", &["`format`", "no format `pdf`"]),
            ("profile = ", &["activebench.toml"]),
        ] {
            let said = filled(text).expect_err(text);
            assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_not_used() {
        let own = rustix::process::getuid().as_raw();
        let other = own + 1;
        let user =
            Identity { name: "user".into(), uid: 1000, gid: 1000, groups: vec![1000], home: "/home/user".into() };
        for (owner, mode, identity, used) in [
            (own, 0o100_644, None, true),
            (0, 0o100_600, None, true),
            (other, 0o100_644, None, false),
            (own, 0o100_664, None, false),
            (own, 0o100_646, None, false),
            (1000, 0o100_644, Some(&user), true),
            (1001, 0o100_644, Some(&user), false),
            (0, 0o100_666, Some(&user), false),
        ] {
            assert_eq!(distrusted(owner, mode, identity).is_none(), used, "{owner} {mode:o} {identity:?}");
        }
    }

    #[test]
    fn the_first_file_that_exists_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (none, first, second) = (folder.path().join("none/x"), folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&second, "profile = \"b\"").expect("a file");
        let places = [none, first.clone(), second.clone()];
        let read = || Settings::first_of(&places, None).expect("it can be read");
        assert_eq!((read().0.file, read().1.as_str()), (Some(second), "profile = \"b\""));
        std::fs::write(&first, "").expect("a file");
        assert_eq!(read().0.file, Some(first.clone()));
        std::fs::remove_file(&first).expect("it goes");
        std::fs::create_dir(&first).expect("a folder");
        assert!(Settings::first_of(&places, None).is_err());
    }
}
