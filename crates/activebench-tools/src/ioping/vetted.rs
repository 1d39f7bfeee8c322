//! The options of ioping: all ask for I/O on its target alone.

use super::options::{LONG, given};
use crate::vetted::Vetted;

/// Reads `argv`, whose first word is ioping itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let given = given(argv);
    let is_listed = |name: &str| LONG.iter().any(|(_, letter)| name == format!("-{letter}"));
    let mut vetted = Vetted { leaves_files: given.has(&["-k"]), ..Vetted::default() };
    given.options.iter().filter(|(name, _)| !is_listed(name)).for_each(|(name, _)| vetted.refuse_unlisted(name));
    vetted.files = given.operands;
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_on_its_target_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("ioping -qi0 -direct --count=3 /mnt/x");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        assert!(!told("ioping -Z x").refused.is_empty() && !told("ioping --exec=x y").refused.is_empty());
    }
}
