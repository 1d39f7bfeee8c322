//! The options of stress-ng that ask for the I/O of the stressor `hdd` alone. Its other stressors load or break much
//! else.

use super::options::{LONG, Options, SHORT};
use crate::getopt::Given;
use crate::vetted::Vetted;

const LISTED: &[&str] = &[
    "--hdd",
    "-d",
    "--hdd-ops",
    "--hdd-bytes",
    "--hdd-write-size",
    "--hdd-opts",
    "--timeout",
    "-t",
    "--temp-path",
    "--metrics",
    "--metrics-brief",
];

/// Reads `argv`, whose first word is the tool itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let folder = Options::parse(argv).folder.unwrap_or_else(|| ".".to_owned());
    let mut vetted = Vetted { files: vec![folder], ..Vetted::default() };
    let given = Given::parse(argv, SHORT, LONG);
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
    fn its_disk_stressor_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("stress-ng --hdd 1 --hdd-opts direct --temp-path /mnt/x -t 5 --metrics");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["--vm 1", "--class io", "--yaml x", "--exec 3"] {
            assert!(!told(&format!("stress-ng --hdd 1 {word}")).refused.is_empty(), "{word}");
        }
    }
}
