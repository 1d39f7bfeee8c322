//! The options of db_bench that ask for a database in its folder alone.

use super::options::{Options, given};
use crate::vetted::Vetted;

/// Options that name other files, load settings or start servers are not among them.
const LISTED: &[&str] = &[
    "--batch_size",
    "--benchmarks",
    "--block_size",
    "--cache_size",
    "--compression_ratio",
    "--compression_type",
    "--db",
    "--disable_wal",
    "--duration",
    "--histogram",
    "--key_size",
    "--num",
    "--reads",
    "--seed",
    "--statistics",
    "--sync",
    "--threads",
    "--use_direct_io_for_flush_and_compaction",
    "--use_direct_reads",
    "--use_existing_db",
    "--value_size",
    "--write_buffer_size",
    "--writes",
];

/// Reads `argv`, whose first word is the tool itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let options = Options::parse(argv);
    let mut vetted = Vetted::default();
    match options.folder {
        Some(folder) => vetted.files.push(folder),
        None => vetted.refuse("db_bench", "without --db its database is in a folder of its own choice"),
    }
    let given = given(argv);
    given.options.iter().filter(|(name, _)| !LISTED.contains(&name.as_str())).for_each(|(name, _)| {
        vetted.refuse_unlisted(name);
    });
    given.operands.iter().for_each(|word| vetted.refuse_unlisted(word));
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_in_its_folder_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("db_bench --db=/mnt/x --benchmarks=fillseq --sync");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["--wal_dir=/etc", "--options_file=x", "--trace_file=y", "x"] {
            assert_eq!(told(&format!("db_bench --db=y {word}")).refused.len(), 1, "{word}");
        }
        assert_eq!(told("db_bench").refused.len(), 1);
    }
}
