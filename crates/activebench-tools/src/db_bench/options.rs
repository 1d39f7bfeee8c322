//! db_bench's command line: `--name=value`, `-name=value`, `--name` and `--noname`.

use crate::getopt::Given;

/// Options with a value, which may be a word of its own.
const LONG: &[&str] = &[
    "batch_size",
    "benchmarks",
    "block_size",
    "cache_size",
    "compression_ratio",
    "compression_type",
    "db",
    "duration",
    "histogram_interval",
    "key_size",
    "num",
    "reads",
    "seed",
    "stats_interval_seconds",
    "threads",
    "value_size",
    "wal_dir",
    "write_buffer_size",
    "writes",
];
/// Options that do not change which call an operation is.
const HARMLESS: &[&str] = &[
    "benchmarks",
    "block_size",
    "cache_size",
    "compression_ratio",
    "compression_type",
    "db",
    "duration",
    "histogram",
    "key_size",
    "num",
    "perf_level",
    "reads",
    "seed",
    "statistics",
    "stats_interval",
    "stats_interval_seconds",
    "use_direct_io_for_flush_and_compaction",
    "use_direct_reads",
    "use_existing_db",
    "value_size",
    "write_buffer_size",
    "writes",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// True if the command is not known.
    pub(super) is_unknown: bool,
    /// `--benchmarks`; empty where the command does not state them.
    pub(super) benchmarks: Vec<String>,
    pub(super) folder: Option<String>,
    /// `--sync`.
    pub(super) sync: bool,
    pub(super) threads: u32,
    /// Operations of one call.
    pub(super) batch: u64,
    pub(super) disable_wal: bool,
    /// Options that this adapter does not know.
    pub(super) unread: Vec<String>,
}

/// Returns the options with two dashes, by their names.
pub(super) fn given(argv: &[String]) -> Given {
    let twice = |word: &String| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_alphabetic()) => format!("--{rest}"),
        _ => word.clone(),
    };
    Given::parse(&argv.iter().map(twice).collect::<Vec<_>>(), "", LONG)
}

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = given(argv);
        let value = |name: &str| given.value(&[name]);
        let is_on = |name: &str| {
            let own = given
                .options
                .iter()
                .rev()
                .find(|(option, _)| option.trim_start_matches("--no") == name || option == &format!("--{name}"));
            own.is_some_and(|(option, value)| {
                !option.starts_with("--no")
                    && value.as_deref().is_none_or(|value| !matches!(value, "0" | "false" | "f" | "n" | "no"))
            })
        };
        let known = ["sync", "threads", "batch_size", "disable_wal"];
        let is_known = |name: &str| {
            HARMLESS.contains(&name) || known.contains(&name) || known.contains(&name.trim_start_matches("no"))
        };
        let unread = given.options.iter().filter(|(name, _)| !is_known(name.trim_start_matches('-')));
        Self {
            is_unknown: argv.is_empty(),
            benchmarks: value("--benchmarks")
                .map_or_else(Vec::new, |list| list.split(',').map(str::to_owned).collect()),
            folder: value("--db").map(str::to_owned),
            sync: is_on("sync"),
            threads: value("--threads").map_or(Some(1), |text| text.parse().ok()).unwrap_or(0),
            batch: value("--batch_size").map_or(Some(1), |text| text.parse().ok()).unwrap_or(0),
            disable_wal: is_on("disable_wal"),
            unread: unread.map(|(name, _)| name.clone()).chain(given.operands.iter().cloned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_defaults_are_read() {
        let options = |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let plain = options("db_bench --benchmarks=fillseq,readrandom --db /mnt/x");
        assert_eq!(plain.benchmarks, ["fillseq", "readrandom"]);
        assert_eq!((plain.folder.as_deref(), plain.sync, plain.threads, plain.batch), (Some("/mnt/x"), false, 1, 1));
        for words in ["--sync", "--sync=1", "-sync=true", "--nosync --sync"] {
            assert!(options(&format!("db_bench {words}")).sync, "{words}");
        }
        for words in ["", "--sync=0", "--sync=false", "--sync --nosync"] {
            assert!(!options(&format!("db_bench {words}")).sync, "{words}");
        }
        let other = options("db_bench --threads=4 --batch_size=100 --disable_wal=1 --manual_wal_flush");
        assert_eq!((other.threads, other.batch, other.disable_wal), (4, 100, true));
        assert_eq!(other.unread, ["--manual_wal_flush"]);
    }
}
