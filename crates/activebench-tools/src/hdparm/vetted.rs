//! The options of hdparm that read devices and change nothing: its timings. All others are refused; many destroy data.

use super::options::LONG;
use crate::getopt::Given;
use crate::vetted::Vetted;

const LISTED: &[&str] = &["-t", "-T", "--direct", "--offset"];

/// Reads `argv`, whose first word is hdparm itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let given = Given::parse(argv, "", LONG);
    let mut vetted = Vetted { files: given.operands, ..Vetted::default() };
    given.options.iter().filter(|(name, _)| !LISTED.contains(&name.as_str())).for_each(|(name, _)| {
        vetted.refuse_unlisted(name);
    });
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("hdparm -tT --direct --offset 1 /dev/x");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/dev/x".to_owned()]));
        for word in ["-W0", "--security-erase", "--trim-sector-ranges"] {
            assert!(!told(&format!("hdparm {word} /dev/x")).refused.is_empty(), "{word}");
        }
    }
}
