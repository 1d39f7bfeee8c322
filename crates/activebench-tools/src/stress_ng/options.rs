//! stress-ng's command line, as far as it is about the stressor `hdd`.

use super::stressors::asked;
use crate::getopt::Given;

/// Letters of the options that take a value: `-d` (`--hdd`), `-t` (`--timeout`), and those of other stressors.
pub(super) const SHORT: &str = "aBbCcDdFfHhIijJkKlLmnNoOpPQrRsSTtUuwxXyYzZ";
/// Long options that take a value.
pub(super) const LONG: &[&str] =
    &["hdd", "hdd-ops", "hdd-bytes", "hdd-write-size", "hdd-opts", "timeout", "temp-path", "yaml", "log-file"];
const KIB: u64 = 1024;
/// Bytes of one call, if the command states none.
const WRITE_BYTES: u64 = 64 * KIB;
const HDD_BYTES: u64 = KIB.pow(3);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Instances of the stressor `hdd`; `None` without it. 0 means one for each CPU.
    pub(super) instances: Option<u32>,
    /// Bytes of one call.
    pub(super) write_bytes: u64,
    /// Bytes of a file.
    pub(super) size_bytes: Option<u64>,
    pub(super) timeout_ns: Option<u64>,
    /// `--hdd-opts`.
    pub(super) modes: Vec<String>,
    pub(super) folder: Option<String>,
    /// Names of other stressors of storage.
    pub(super) others: Vec<&'static str>,
}

/// Modes of `--hdd-opts` that make each write durable.
const SYNCS: [&str; 5] = ["sync", "dsync", "fsync", "fdatasync", "syncfs"];

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, SHORT, LONG);
        let value = |names: &[&str]| given.value(names);
        let modes = value(&["--hdd-opts"]).unwrap_or("").split(',').filter(|mode| !mode.is_empty());
        Self {
            instances: value(&["--hdd", "-d"]).map(|text| text.parse().unwrap_or(0)),
            write_bytes: value(&["--hdd-write-size"]).map_or(Some(WRITE_BYTES), bytes).unwrap_or(0),
            size_bytes: value(&["--hdd-bytes"]).map_or(Some(HDD_BYTES), bytes),
            timeout_ns: value(&["--timeout", "-t"]).and_then(time_ns),
            modes: modes.map(str::to_owned).collect(),
            folder: value(&["--temp-path"]).map(str::to_owned),
            others: asked(&given.options).into_iter().map(|other| other.name).collect(),
        }
    }

    pub(super) fn has(&self, mode: &str) -> bool {
        self.modes.iter().any(|given| given == mode)
    }

    /// Returns the mode that makes each write durable.
    pub(super) fn sync(&self) -> Option<&'static str> {
        SYNCS.into_iter().find(|mode| self.has(mode))
    }
}

fn scaled(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    match text[end..].chars().next() {
        None => Some(number),
        Some(unit) => number.checked_mul(units.iter().find(|(known, _)| *known == unit)?.1),
    }
}

fn bytes(text: &str) -> Option<u64> {
    scaled(text, &[('b', 1), ('k', KIB), ('m', KIB.pow(2)), ('g', KIB.pow(3)), ('t', KIB.pow(4))])
}

fn time_ns(text: &str) -> Option<u64> {
    scaled(text, &[('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)])?.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_stressor_are_read() {
        let options = |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let direct = options("stress-ng --hdd 1 --hdd-bytes 64m --hdd-opts direct,fsync --timeout 3s --metrics");
        assert_eq!(
            (direct.instances, direct.size_bytes, direct.timeout_ns),
            (Some(1), Some(64 << 20), Some(3_000_000_000))
        );
        assert!(direct.has("direct") && direct.sync() == Some("fsync") && direct.write_bytes == 65_536);
        let short = options("stress-ng -d 2 -t 1m");
        assert_eq!((short.instances, short.timeout_ns, short.sync()), (Some(2), Some(60_000_000_000), None));
        assert_eq!(options("stress-ng --iomix 1").instances, None);
    }
}
