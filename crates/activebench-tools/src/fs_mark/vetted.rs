//! The options of fs_mark that ask for files in its folders alone.

use super::options::{Options, SHORT};
use crate::getopt::Given;
use crate::vetted::Vetted;

/// `-l`, which names the log, is not among them.
const LISTED: &[&str] = &["-d", "-D", "-F", "-k", "-L", "-n", "-N", "-p", "-r", "-s", "-S", "-t", "-v", "-w"];

/// Reads `argv`, whose first word is the tool itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let files = Options::parse(argv).folders;
    let mut vetted = Vetted { files, leaves_files: true, ..Vetted::default() };
    let given = Given::parse(argv, SHORT, &[]);
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
    fn files_in_its_folders_are_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("fs_mark -d /mnt/x -n 10 -S0 -kv");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["-l /etc/x", "x", "--log"] {
            assert_eq!(told(&format!("fs_mark -d y {word}")).refused.len(), 1, "{word}");
        }
    }
}
