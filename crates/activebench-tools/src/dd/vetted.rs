//! The operands of dd that ask for I/O on the files that it names alone.

use super::options::{Options, Side};
use crate::vetted::Vetted;

/// Operands whose values name no file.
const LISTED: &[&str] =
    &["bs", "ibs", "obs", "cbs", "count", "skip", "seek", "iseek", "oseek", "conv", "iflag", "oflag", "status"];

/// Reads `argv`, whose first word is dd itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted::default();
    for word in argv.iter().skip(1) {
        match word.split_once('=').map(|(name, _)| name) {
            Some("if" | "of") => {}
            Some(name) if LISTED.contains(&name) => {}
            _ => vetted.refuse_unlisted(word),
        }
    }
    let options = Options::parse(argv);
    if options.output() == Side::Standard {
        vetted.refuse("dd", "without of= it copies to standard output");
    }
    if options.input() == Side::Standard {
        vetted.refuse("dd", "without if= it copies from standard input");
    }
    vetted.files.extend(options.input_name().into_iter().chain(options.output_name()).map(str::to_owned));
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_on_the_named_files_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("dd if=/dev/zero of=/dev/sdx bs=1M count=4 oflag=direct conv=fsync status=progress");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/dev/sdx".to_owned()]));
        assert_eq!(told("dd if=a of=b").files, ["a", "b"]);
        for line in ["dd if=a", "dd of=b", "dd if=a of=b --help", "dd if=a of=/dev/stdout", "dd if=a of=b x=y"] {
            assert!(!told(line).refused.is_empty(), "{line}");
        }
    }
}
