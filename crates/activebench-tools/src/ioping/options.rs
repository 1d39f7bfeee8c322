//! ioping's command line. Long options may have one dash, as in `-direct`.

use crate::getopt::Given;

/// Letters of the options that take a value.
pub(super) const SHORT: &str = "abceisSowlrtTpP";
/// The long options, each with its letter.
pub(super) const LONG: &[(&str, char)] = &[
    ("async", 'A'),
    ("cached", 'C'),
    ("direct", 'D'),
    ("read-write", 'G'),
    ("linear", 'L'),
    ("nowait", 'N'),
    ("hipri", 'H'),
    ("write", 'W'),
    ("sync", 'Y'),
    ("dsync", 'y'),
    ("rapid", 'R'),
    ("keep", 'k'),
    ("warmup", 'a'),
    ("burst", 'b'),
    ("count", 'c'),
    ("entropy", 'e'),
    ("interval", 'i'),
    ("size", 's'),
    ("work-size", 'S'),
    ("work-offset", 'o'),
    ("work-time", 'w'),
    ("speed-limit", 'l'),
    ("rate-limit", 'r'),
    ("min-time", 't'),
    ("max-time", 'T'),
    ("batch", 'B'),
    ("json", 'J'),
    ("print-count", 'p'),
    ("print-interval", 'P'),
    ("quiet", 'q'),
];

const KIB: u64 = 1024;
/// Time of `-R`.
const RAPID_NS: u64 = 3_000_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) target: Option<String>,
    /// `-W`.
    pub(super) write: bool,
    /// `-G`: reads and writes by turns.
    pub(super) both: bool,
    /// `-C`.
    pub(super) cached: bool,
    /// `-D`.
    pub(super) direct: bool,
    /// `-Y`.
    pub(super) sync: bool,
    /// `-y`.
    pub(super) data_sync: bool,
    /// `-A`.
    pub(super) asynchronous: bool,
    /// `-L`, or a request size that implies nothing else.
    pub(super) linear: bool,
    /// Requests that are left out at the begin.
    pub(super) warmup: u64,
    /// Bytes of a request; `None` where the value cannot be read.
    pub(super) size: Option<u64>,
    /// `-S`.
    pub(super) working_set: Option<u64>,
    /// `-c`.
    pub(super) count: Option<u64>,
    /// `-w`, in ns.
    pub(super) time_ns: Option<u64>,
    /// The option that makes it wait between requests: the default interval has no word.
    pub(super) pause: Option<String>,
    /// True if it waits between requests.
    pub(super) waits: bool,
    /// True if `-t` or `-T` leave requests out.
    pub(super) filters: bool,
    /// True if `-p` or `-P` make a line for each period.
    pub(super) periods: bool,
}

/// Returns the words with long options as letters, which `getopt` reads.
fn lettered(argv: &[String]) -> Vec<String> {
    let mut words = Vec::with_capacity(argv.len());
    for word in argv {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or("");
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        match LONG.iter().find(|(long, _)| *long == name) {
            Some((_, letter)) => {
                words.push(format!("-{letter}"));
                words.extend(value.map(str::to_owned));
            }
            None => words.push(word.clone()),
        }
    }
    words
}

/// Reads the words of a command line.
pub(super) fn given(argv: &[String]) -> Given {
    Given::parse(&lettered(argv), SHORT, &[])
}

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = given(argv);
        let value = |name: &str| given.value(&[name]);
        let rapid = given.has(&["-R"]);
        let linear = given.has(&["-L"]);
        let interval = value("-i");
        let waits = match interval {
            Some(text) => time_ns(text) != Some(0),
            None => !rapid,
        };
        let spelled = |name: &str| value(name).map(|value| format!("{name} {value}"));
        let limited = spelled("-l").or_else(|| spelled("-r"));
        Self {
            write: given.has(&["-W"]),
            both: given.has(&["-G"]),
            cached: given.has(&["-C"]),
            direct: given.has(&["-D"]),
            sync: given.has(&["-Y"]),
            data_sync: given.has(&["-y"]),
            asynchronous: given.has(&["-A"]),
            linear,
            warmup: value("-a").map_or(Some(1), count).unwrap_or(u64::MAX),
            size: match value("-s") {
                Some(text) => bytes(text),
                None => Some(if linear { 256 * KIB } else { 4 * KIB }),
            },
            working_set: value("-S").and_then(bytes),
            count: value("-c").and_then(count),
            time_ns: value("-w").map_or(rapid.then_some(RAPID_NS), time_ns),
            waits: waits || limited.is_some(),
            pause: limited.or_else(|| spelled("-i").filter(|_| waits)),
            filters: given.has(&["-t", "-T"]),
            periods: given.has(&["-p", "-P"]),
            target: given.operands.into_iter().next(),
        }
    }
}

/// Splits `100us` into its number and its suffix.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

/// Reads a size: `4k`, `1m`, `2gib`.
fn bytes(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "s" => 512,
        "k" | "kb" | "kib" => KIB,
        "p" => 4 * KIB,
        "m" | "mb" | "mib" => KIB.pow(2),
        "g" | "gb" | "gib" => KIB.pow(3),
        "t" | "tb" | "tib" => KIB.pow(4),
        _ => return None,
    };
    Some((number * factor as f64) as u64)
}

fn count(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let factor = match suffix {
        "" => 1.0,
        "k" => 1e3,
        "m" | "M" => 1e6,
        _ => return None,
    };
    Some((number * factor) as u64)
}

/// Reads a time, in seconds without a suffix.
fn time_ns(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let factor = match suffix {
        "ns" | "nsec" => 1.0,
        "us" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "" | "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" | "hour" => 3600e9,
        _ => return None,
    };
    Some((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &str) -> Options {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_in_every_spelling() {
        for words in [
            "ioping -q -i 0 -c 20 -D -s 8k -w 100ms big",
            "ioping -Dqi0 -c20 -s8KiB -w 0.1 big",
            "ioping -quiet -interval 0 --count=20 -direct -size 8kb --work-time 100msec big",
        ] {
            let found = options(words);
            assert_eq!((found.count, found.size, found.time_ns), (Some(20), Some(8192), Some(100_000_000)), "{words}");
            assert!(found.direct && !found.waits && found.target.as_deref() == Some("big"), "{words}: {found:?}");
        }
        let rapid = options("ioping -RL .");
        assert!(!rapid.waits && rapid.linear && rapid.size == Some(262_144) && rapid.time_ns == Some(3_000_000_000));
        let paced = options("ioping -i 0.1 -WWW big");
        assert!(paced.waits && paced.write && paced.pause.as_deref() == Some("-i 0.1"));
        assert!(options("ioping .").waits && options("ioping .").pause.is_none());
    }
}
