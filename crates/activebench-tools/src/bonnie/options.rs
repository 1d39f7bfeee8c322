//! bonnie++'s command line, as far as it affects the work and its timing.

use std::iter::Peekable;

/// The options that take a value, over all versions. `-f` takes one only within the same word.
pub(super) const WITH_VALUE: &str = "cdglmnprsuxzZ";
/// Maximum number of runs of `-x` that are distinguished.
const MOST_RUNS: u32 = 1024;

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// True if there is a command line: without one, nothing is assumed to be the default.
    pub(super) known: bool,
    /// `-s`: size of the file in MiB; `None` when not given (bonnie++ takes twice the memory).
    pub(super) size_mib: Option<u64>,
    /// `-s SIZE:CHUNK` in bytes.
    pub(super) chunk_bytes: Option<u64>,
    /// `-s SIZE:CHUNK:SEEKS`.
    pub(super) seeks: Option<u64>,
    /// `-s SIZE:CHUNK:SEEKS:SEEKERS`.
    pub(super) seekers: Option<u32>,
    /// `-f`: MiB that the per-character tests move, 0 for none; `None` when not given.
    pub(super) char_mib: Option<u64>,
    /// `-n`: files in units of 1024; `None` when not given.
    pub(super) files: Option<u64>,
    /// `-n N:MAX`: the largest size of a file in bytes; -1 makes hard links and -2 symbolic ones.
    pub(super) max_file_bytes: Option<i64>,
    /// `-b`: no write buffering, an fsync after each write of the small tests.
    pub(super) sync_each: bool,
    /// `-D`.
    pub(super) direct: bool,
    /// `-x`: number of runs.
    pub(super) runs: Option<u32>,
}

impl Options {
    /// Parses the words after the program. Never fails: unreadable options keep their default.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut options = Options { known: !argv.is_empty(), ..Options::default() };
        let mut words = argv.iter().skip(1).map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let Some(letters) = word.strip_prefix('-') else { continue };
            if letters == "-" {
                break;
            }
            options.take_word(letters, &mut words);
        }
        options
    }

    fn take_word<'a>(&mut self, letters: &'a str, words: &mut Peekable<impl Iterator<Item = &'a str>>) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            match letter {
                'b' => self.sync_each = true,
                'D' => self.direct = true,
                'f' => {
                    self.char_mib = Some(leading_number(rest.as_str()).unwrap_or(0));
                    return;
                }
                // 1.03 takes no value here, later versions `s` or `p`.
                'y' => {
                    if rest.as_str().is_empty() && matches!(words.peek(), Some(&("s" | "p"))) {
                        words.next();
                    }
                    return;
                }
                letter if WITH_VALUE.contains(letter) => {
                    let value = match rest.as_str() {
                        "" => words.next().unwrap_or(""),
                        attached => attached,
                    };
                    self.take_value(letter, value);
                    return;
                }
                _ => {}
            }
        }
    }

    fn take_value(&mut self, letter: char, value: &str) {
        let mut fields = value.split(':');
        match letter {
            's' => {
                self.size_mib = fields.next().and_then(|size| scaled(size, "gt"));
                self.chunk_bytes = fields.next().and_then(|chunk| scaled(chunk, "km"));
                self.seeks = fields.next().and_then(|seeks| scaled(seeks, "km"));
                self.seekers = fields.next().and_then(leading_number).and_then(|seekers| u32::try_from(seekers).ok());
            }
            'n' => {
                self.files = fields.next().and_then(|files| scaled(files, "m"));
                self.max_file_bytes = fields.next().and_then(|size| match size.strip_prefix('-') {
                    Some(links) => i64::try_from(leading_number(links)?).ok()?.checked_neg(),
                    None => i64::try_from(scaled(size, "kmg")?).ok(),
                });
            }
            'x' => {
                let runs = leading_number(value).and_then(|runs| u32::try_from(runs).ok());
                self.runs = runs.map(|runs| runs.min(MOST_RUNS));
            }
            _ => {}
        }
    }

    /// Returns true if the tests of the large file run.
    pub(super) fn has_data_tests(&self) -> bool {
        self.size_mib != Some(0)
    }

    /// Returns true if the per-character tests run.
    pub(super) fn has_character_tests(&self) -> bool {
        self.has_data_tests() && self.char_mib != Some(0)
    }

    /// Returns true if the tests of many files run; without `-n` they do.
    pub(super) fn has_file_tests(&self) -> bool {
        self.files != Some(0)
    }
}

/// Parses the leading digits like `atoi`; `None` if there are none or too many.
fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Parses a number with one of these letters after it: the first is a factor of 1024, the next of 1024², ...
fn scaled(text: &str, letters: &str) -> Option<u64> {
    let number = leading_number(text)?;
    let last = text.chars().last()?.to_ascii_lowercase();
    match letters.chars().position(|letter| letter == last) {
        Some(place) => number.checked_mul(1024_u64.checked_pow(u32::try_from(place).ok()? + 1)?),
        None => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_are_read_as_bonnie_reads_them() {
        let given = options;
        assert_eq!(
            given("bonnie++ -u root -d . -s 1g:64k:20000:2 -r 0 -n 0 -f"),
            Options {
                known: true,
                size_mib: Some(1024),
                chunk_bytes: Some(65536),
                seeks: Some(20000),
                seekers: Some(2),
                char_mib: Some(0),
                files: Some(0),
                ..Options::default()
            }
        );
        assert_eq!(given("bonnie++ -qbDf8 -x3").char_mib, Some(8));
        assert!(given("bonnie++ -qbDf8 -x3").sync_each && given("bonnie++ -qbDf8 -x3").direct);
        assert_eq!(given("bonnie++ -qbD -x3").runs, Some(3));
        // -f does not take a separate word.
        assert_eq!((given("bonnie++ -f -s 32").size_mib, given("bonnie++ -f -s 32").char_mib), (Some(32), Some(0)));
        assert!(!given("bonnie++ -m -D -s 4").direct);
        assert!(given("bonnie++ -y s -D").direct);
        assert!(given("bonnie -y -D").direct);
        let files = given("bonnie++ -n 4:4k:512:2");
        assert_eq!((files.files, files.max_file_bytes), (Some(4), Some(4096)));
        assert!(given("bonnie++ -n 1:-1").max_file_bytes == Some(-1));
        assert_eq!(given("bonnie++ -s 2t").size_mib, Some(2 << 20));
        assert_eq!(given("bonnie++ -s 99999999999999999999t"), Options { known: true, ..Options::default() });
        assert_eq!(given(""), Options::default());
        assert_eq!(given("bonnie++ -x 99999999").runs, Some(MOST_RUNS));
    }
}
