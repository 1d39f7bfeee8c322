//! Arguments that several subcommands share.

use activebench_model::run::FailOn;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};

use crate::formats::{self, FormatRequest};

/// Profiles with their help.
pub(crate) fn known_profile() -> PossibleValuesParser {
    let profiles = activebench_detect::thresholds::profiles::PROFILES.iter();
    PossibleValuesParser::new(profiles.map(|profile| PossibleValue::new(profile.name).help(profile.about)))
}

/// How a judged run is shown.
#[derive(Args, Debug, Clone)]
pub(crate) struct Output {
    // The help text is made from the existing formats.
    #[arg(long = "format", value_name = "FORMAT[=FILE]", help = formats::HELP.as_str())]
    pub(crate) formats: Vec<FormatRequest>,
    /// Lowest severity that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOnArgument::Fail)]
    pub(crate) fail_on: FailOnArgument,
    /// Print nothing but the report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArgument {
    Warn,
    Fail,
    Never,
}

impl From<FailOnArgument> for FailOn {
    fn from(argument: FailOnArgument) -> Self {
        match argument {
            FailOnArgument::Warn => FailOn::Warn,
            FailOnArgument::Fail => FailOn::Fail,
            FailOnArgument::Never => FailOn::Never,
        }
    }
}

/// Bytes: a whole number, with `K`, `M`, `G`, `T` (or `KiB`, ...) for powers of 1024, `kB`,
/// `MB`, ... for powers of 1000.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let (base, prefix) = match unit.strip_suffix("iB").or(unit.strip_suffix('B')) {
        Some(prefix) => (if unit.ends_with("iB") { 1024_u64 } else { 1000 }, prefix),
        None => (1024, unit),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|known| prefix.eq_ignore_ascii_case(known));
    let bytes = power.and_then(|power| number.parse::<u64>().ok()?.checked_mul(base.pow(power as u32)));
    bytes.ok_or_else(|| format!("no size in bytes: `{text}` (hint: 500M, 2GiB)"))
}

/// `5%`, `5 %`, `5`: 5.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("no percentage from 0 to 100: `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("64K", Some(64 << 10)),
            ("64k", Some(64 << 10)),
            ("2GiB", Some(2 << 30)),
            ("2 GiB", Some(2 << 30)),
            ("5MB", Some(5_000_000)),
            ("7B", Some(7)),
            ("3T", Some(3 << 40)),
            ("", None),
            ("G", None),
            ("-1", None),
            ("1.5G", None),
            ("1X", None),
            ("99999999999T", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
    }
}
