//! The command of a benchmark in an acceptance file: words with placeholders.
//!
//! `{target}` is the target's path. `{2 x ram}`, `{1 x device}` and `{10 GiB}` are sizes, as bytes in whole MiB, or with
//! ` in KiB` (`in MiB`, `in GiB`, `in B`) as the number that the tool takes in that unit. Sizes relative to memory are
//! rounded up, so that they hold at least so much; those relative to the device down, so that they fit.

use activebench_model::acceptance::WrittenUnit;
use activebench_model::units::{Quantity, Unit};

use super::document::{alike, listed};
use crate::judge::target_figure;

/// The possible placeholders, for messages.
const HOW: &str = "`{target}`, `{2 x ram in MiB}`, `{1 x device in KiB}`, `{10 GiB}`; a brace itself is `{{` or `}}`";
/// Sizes without ` in UNIT` are a multiple of this.
const STEP: u64 = 1 << 20;

/// Units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A word of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// As written.
    pub text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(String),
    Target,
    Size { amount: Amount, unit: Option<u64> },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Bytes(u64),
    /// So many times the memory.
    OfMemory(f64),
    /// So many times the device.
    OfDevice(f64),
}

/// The values of placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The target's path.
    pub target: String,
    /// Memory that the tool can use; `None` when it is not known.
    pub memory_bytes: Option<u64>,
    /// Size of the device below the target; `None` when it is not known.
    pub device_bytes: Option<u64>,
}

impl Word {
    /// Reads one.
    ///
    /// # Errors
    /// Returns what is wrong, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{");
            let Some(end) = end else {
                return Err((format!("an unpaired brace in {text:?}"), format!("write {HOW}")));
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::parse(rest[..end].trim())?);
            rest = &rest[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }

    /// Returns `true` if it names the target.
    pub fn names_target(&self) -> bool {
        self.pieces.contains(&Piece::Target)
    }

    /// The word as it is run.
    ///
    /// # Errors
    /// Returns the reason if a size is unknown.
    pub fn resolved(&self, sizes: &Sizes) -> Result<String, String> {
        self.pieces.iter().map(|piece| piece.resolved(sizes)).collect()
    }
}

impl Piece {
    fn parse(text: &str) -> Result<Self, (String, String)> {
        if text == "target" {
            return Ok(Piece::Target);
        }
        let fault = |what: String| Err((what, format!("write {HOW}")));
        let (size, unit) = match text.split_once(" in ") {
            Some((size, unit)) => (size.trim(), Some(unit_of(unit.trim())?)),
            None => (text, None),
        };
        let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
        let Ok(number) = size[..digits].parse::<f64>() else {
            return fault(format!("`{{{text}}}` is not a placeholder"));
        };
        let of = size[digits..].trim();
        let amount = match of.strip_prefix(['x', '×']).map(str::trim) {
            Some("ram") => Amount::OfMemory(number),
            Some("device") => Amount::OfDevice(number),
            Some(other) => return fault(format!("`{other}` is not a size that another can be relative to")),
            None => {
                let bytes = number * unit_of(of)? as f64;
                if bytes.fract() != 0.0 || bytes >= 2.0_f64.powi(53) {
                    return fault(format!("`{{{text}}}` is not a whole number of bytes"));
                }
                Amount::Bytes(bytes as u64)
            }
        };
        if number <= 0.0 {
            return fault(format!("`{{{text}}}` is not a size above 0"));
        }
        if let (Amount::Bytes(bytes), Some(unit)) = (amount, unit)
            && !bytes.is_multiple_of(unit)
        {
            return fault(format!("`{{{text}}}` is not a whole number of that unit"));
        }
        Ok(Piece::Size { amount, unit })
    }

    fn resolved(&self, sizes: &Sizes) -> Result<String, String> {
        let (amount, unit) = match self {
            Piece::Literal(text) => return Ok(text.clone()),
            Piece::Target => return Ok(sizes.target.clone()),
            Piece::Size { amount, unit } => (*amount, *unit),
        };
        let step = unit.unwrap_or(STEP) as f64;
        let steps = match amount {
            // In bytes as they were written.
            Amount::Bytes(bytes) => return Ok((bytes / unit.unwrap_or(1)).to_string()),
            Amount::OfMemory(times) => {
                let memory = sizes.memory_bytes.ok_or("the size of memory is not known")?;
                (times * memory as f64 / step).ceil()
            }
            Amount::OfDevice(times) => {
                let device = sizes.device_bytes.ok_or("the size of the device below the target is not known")?;
                (times * device as f64 / step).floor()
            }
        };
        let number = if unit.is_some() { steps } else { steps * step };
        Ok(format!("{number:.0}"))
    }
}

fn unit_of(text: &str) -> Result<u64, (String, String)> {
    let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    UNITS.iter().find(|(name, _)| *name == text).map(|(_, bytes)| *bytes).ok_or_else(|| {
        let hint = match alike(text, &names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("one of {}", listed(&names)),
        };
        (format!("{text:?} is not a unit of a size"), hint)
    })
}

/// A figure with its unit as people write it: `200 MB/s`, `5 ms`, `30000 IOPS`, `2 %`, `10 GiB`.
///
/// # Errors
/// Returns what is wrong with it.
pub(super) fn quantity(text: &str) -> Result<Quantity, String> {
    written_quantity(text).map(|(quantity, _)| quantity)
}

/// The same, with the unit that it is written in.
pub(super) fn written_quantity(text: &str) -> Result<(Quantity, WrittenUnit), String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| format!("{text:?} begins with no number"))?;
    let name = text[digits..].trim();
    let of_size = || UNITS.iter().find(|(known, _)| *known == name).map(|(_, bytes)| (Unit::Bytes, *bytes as f64));
    let found = match name {
        "%" => Some((Unit::Ratio, 0.01)),
        "" => Some((Unit::Count, 1.0)),
        name => target_figure::unit_of(name).or_else(of_size),
    };
    let (unit, factor) = found.ok_or_else(|| format!("{name:?} is not a unit"))?;
    // A hundredth is not exact in binary, a division by 100 is right to the last digit.
    let value = if unit == Unit::Ratio { number / 100.0 } else { number * factor };
    Ok((Quantity { value, unit }, WrittenUnit { name: name.to_owned(), factor }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn sizes() -> Sizes {
        Sizes { target: "/mnt/bench".to_owned(), memory_bytes: Some(3 * GIB + 5), device_bytes: Some(10 * GIB + 5) }
    }

    #[test]
    fn placeholders_stand_for_what_the_tool_takes() {
        for (text, expected) in [
            ("fio", "fio"),
            ("", ""),
            ("--directory={target}", "--directory=/mnt/bench"),
            ("{target}/x", "/mnt/bench/x"),
            ("--size={10 GiB}", "--size=10737418240"),
            ("-s{10 GiB in KiB}k", "-s10485760k"),
            // Memory up, the device down.
            ("{1 x ram in GiB}", "4"),
            ("{1 x ram}", "3222274048"),
            ("{2 x ram in MiB}m", "6145m"),
            ("{0.5 × ram in GiB}", "2"),
            ("{1 x device in GiB}", "10"),
            ("{1 x device}", "10737418240"),
            ("{2 x device in MiB}", "20480"),
            ("a{{b}}c", "a{b}c"),
        ] {
            let word = Word::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
            assert_eq!(word.resolved(&sizes()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_size_that_is_not_known_is_no_word() {
        let word = Word::parse("{2 x ram}").expect("a word");
        assert_eq!(word.resolved(&Sizes::default()), Err("the size of memory is not known".to_owned()));
    }

    #[test]
    fn what_is_no_placeholder_is_told() {
        for (text, part) in [
            ("{", "unpaired"),
            ("}", "unpaired"),
            ("{targt}", "not a placeholder"),
            ("{2 x memory}", "`memory` is not a size"),
            ("{2 GIB}", "not a unit of a size"),
            ("{0 x ram}", "not a size above 0"),
            ("{1.5 B}", "whole number of bytes"),
            ("{1 MB in MiB}", "whole number of that unit"),
        ] {
            let (message, hint) = Word::parse(text).expect_err(text);
            assert!(message.contains(part) && !hint.is_empty(), "{text}: {message}");
        }
    }
}
