//! Orion's command line.

use std::collections::BTreeMap;

/// Options that take no value.
const FLAGS: [&str; 3] = ["hugenotneeded", "verbose", "help"];

/// The options that were given, without their dash; the last of several counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    given: BTreeMap<String, String>,
}

/// The data points that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    /// Small loads alone and large loads alone.
    Basic,
    /// Every combination, also for `max`: there up to the given loads.
    Detailed,
    /// One point.
    Point,
    /// All large loads with one small one.
    Column,
    /// All small loads with one large one.
    Row,
}

impl Options {
    /// Parses the words after the program's name.
    pub(super) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut given = BTreeMap::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            // Texts are copied from web pages, which may replace a dash by a longer one.
            let name = word.trim_start_matches(['-', '–']);
            if name.len() == word.len() || name.is_empty() {
                continue;
            }
            let takes_none = FLAGS.contains(&name);
            let value = if takes_none { None } else { words.next_if(|value| !is_option(value)) };
            given.insert(name.to_owned(), value.unwrap_or_default().to_owned());
        }
        Self { given }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.value(name)?.parse().ok()
    }

    /// Returns an option with its value, as a person would write it.
    pub(super) fn spelled(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            "" => Some(format!("-{name}")),
            value => Some(format!("-{name} {value}")),
        }
    }

    /// Returns the kind of run: `simple` ... `oltp`; empty if not given.
    pub(super) fn run(&self) -> &str {
        self.value("run").unwrap_or("")
    }

    /// Returns the matrix; `None` for an unknown word.
    pub(super) fn matrix(&self) -> Option<Matrix> {
        match (self.run(), self.value("matrix")) {
            ("simple" | "dss" | "oltp", _) => Some(Matrix::Basic),
            ("normal", _) => Some(Matrix::Detailed),
            (_, None | Some("basic")) => Some(Matrix::Basic),
            (_, Some("detailed" | "max")) => Some(Matrix::Detailed),
            (_, Some("point")) => Some(Matrix::Point),
            (_, Some("col")) => Some(Matrix::Column),
            (_, Some("row")) => Some(Matrix::Row),
            _ => None,
        }
    }
}

/// Returns true if a word is an option: values never begin with a dash.
fn is_option(word: &str) -> bool {
    word.starts_with(['-', '–'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let options =
            Options::parse("-testname t -run advanced –write 0 -hugenotneeded -matrix row -num_small".split(' '));
        assert_eq!(options.value("testname"), Some("t"));
        assert_eq!(options.number::<u8>("write"), Some(0));
        assert_eq!(options.value("hugenotneeded"), Some(""));
        assert_eq!(options.matrix(), Some(Matrix::Row));
        assert_eq!(options.number::<u32>("num_small"), None);
        assert_eq!(options.spelled("matrix").as_deref(), Some("-matrix row"));
        assert_eq!(options.spelled("type"), None);
    }

    #[test]
    fn the_kind_of_run_goes_before_the_matrix() {
        for (words, expected) in [
            ("-run simple", Some(Matrix::Basic)),
            ("-run oltp -matrix row", Some(Matrix::Basic)),
            ("-run normal", Some(Matrix::Detailed)),
            ("-run advanced", Some(Matrix::Basic)),
            ("-run advanced -matrix max", Some(Matrix::Detailed)),
            ("-run advanced -matrix nonsense", None),
        ] {
            assert_eq!(Options::parse(words.split(' ')).matrix(), expected, "{words}");
        }
    }
}
