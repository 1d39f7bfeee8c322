//! The command lines of f3write and f3read, which have the same form.

use crate::getopt::Given;

/// Letters of the options that take a value: `-s`, `-e`, `-w` or `-r`, `-p`.
pub(super) const SHORT: &str = "sewrp";
/// Long options that take a value.
pub(super) const LONG: &[&str] = &["start-at", "end-at", "max-write-rate", "max-read-rate", "show-progress"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// The folder of the files; `None` if the command names none.
    pub(super) folder: Option<String>,
    /// The limit of the rate as it was given, in KiB per second.
    pub(super) limit: Option<String>,
}

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, SHORT, LONG);
        let limits = ["--max-write-rate", "-w", "--max-read-rate", "-r"];
        let mut limit = given.options.iter().rev().filter(|(name, _)| limits.contains(&name.as_str()));
        let limit = limit.find_map(|(name, value)| {
            let kib: u64 = value.as_ref()?.parse().ok()?;
            let joint = if name.starts_with("--") { "=" } else { " " };
            (kib > 0).then(|| format!("{name}{joint}{kib}"))
        });
        Self { folder: given.operands.first().cloned(), limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_limit_are_read() {
        let options = |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let limited = options("f3write --end-at=1 --max-write-rate=20480 fs");
        assert_eq!((limited.folder.as_deref(), limited.limit.as_deref()), (Some("fs"), Some("--max-write-rate=20480")));
        assert_eq!(options("f3read -s 2 -r 0 fs"), Options { folder: Some("fs".to_owned()), limit: None });
        assert_eq!(options("f3read"), Options::default());
    }
}
