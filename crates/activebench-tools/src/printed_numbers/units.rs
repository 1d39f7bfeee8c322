//! Units as programs print them.

use std::sync::LazyLock;

use activebench_model::direction::Direction;
use activebench_model::units::Unit;
use regex::Regex;

/// What a count, a rate or a time is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// Bytes, or a time as such.
    Amount,
    /// Operations without further words.
    Operations,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Syncs.
    Syncs,
    /// Files.
    Files,
    /// Files that are made.
    Creates,
    /// Files that are deleted.
    Deletes,
    /// The time of one operation: `usecs/op`.
    PerOperation,
}

impl Counted {
    /// Returns the direction that the counted thing has.
    pub(crate) fn direction(self) -> Option<Direction> {
        match self {
            Counted::Reads => Some(Direction::Read),
            Counted::Writes => Some(Direction::Write),
            _ => None,
        }
    }
}

/// A unit that was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) unit: Unit,
    /// What one of it is in the normalised unit: all that it may mean.
    pub(crate) factors: Vec<f64>,
    pub(crate) counted: Counted,
    /// As printed.
    pub(crate) text: String,
    /// Bytes of the text that it takes, blanks before it included.
    pub(crate) length: usize,
}

/// Reads the unit at the start of a text: `MB/s`, ` k IOPS`, ` megabytes per second`, ` usecs/op`, `(MiB/s)`.
pub(crate) fn unit_at(text: &str) -> Option<Found> {
    let blank = text.len() - text.trim_start_matches([' ', '\t']).len();
    // In a table, the next column is further away.
    if blank > 2 {
        return None;
    }
    let bracket = usize::from(text[blank..].starts_with(['(', '[']));
    let before = blank + bracket;
    let body = &text[before..];
    let first = word(body);
    if first.is_empty() {
        return None;
    }
    if let Some(found) = phrase(body, first) {
        return Some(Found { length: before + found.length, ..found });
    }
    // `12.3 k IOPS`, `12.3kIOPS`: a prefix and a counted thing.
    let factor = prefix(first.chars().next()?)?;
    let rest = &body[first.chars().next()?.len_utf8()..];
    let gap = rest.len() - rest.trim_start_matches(' ').len();
    let rest = &rest[gap..];
    let found = phrase(rest, word(rest)).filter(|found| matches!(found.unit, Unit::OpsPerSec | Unit::Count))?;
    let length = body.len() - rest.len() + found.length;
    let factors = found.factors.iter().map(|one| one * factor).collect();
    Some(Found { factors, text: body[..length].to_owned(), length: before + length, ..found })
}

/// Reads `/s` or ` per second` behind a number whose label or text names what is counted: `fsyncs: 1727.66/s`. A letter
/// before it scales the number, and makes it bytes where the label names nothing else: `495 M/s`.
pub(super) fn per_second_of(rest: &str, label: &str) -> Option<Found> {
    let blank = usize::from(rest.starts_with(' '));
    let scale = rest[blank..].strip_prefix(['k', 'K', 'M', 'G', 'T']).and_then(|_| scale_at(&rest[blank..]));
    let before = scale.map_or(0, |scale| blank + scale.length);
    let (what, length) = per(&rest[before..])?;
    let length = before + length;
    let of_label = || unit_of_label(label).filter(|found| found.unit == Unit::OpsPerSec).map(|found| found.counted);
    let named = label.split(|c: char| !c.is_alphabetic()).filter_map(noun).next_back().or_else(of_label);
    let (unit, counted) = match (scale, named) {
        (Some(_), None) => (Unit::BytesPerSec, Counted::Amount),
        _ => (Unit::OpsPerSec, named.unwrap_or(Counted::Operations)),
    };
    let text = rest[..length].trim_start().to_owned();
    let found = is_second(what).then_some(Found { unit, factors: vec![1.0], counted, text, length: 0 })?;
    Some(Found { length, ..scaled(found, scale)? })
}

/// A letter directly behind a number that scales it: what it is a power of, and as which power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    power: i32,
    pub(super) length: usize,
}

/// Reads the letter behind a number: `7.5k`, `1.2M`; behind a blank only where the cell ends with it, `7.5 k`.
pub(super) fn scale_at(rest: &str) -> Option<Scale> {
    let behind = rest.strip_prefix(' ').unwrap_or(rest);
    let blank = rest.len() - behind.len();
    let letter = behind.chars().next()?;
    let power = "kmgt".find(letter.to_ascii_lowercase()).and_then(|place| i32::try_from(place + 1).ok())?;
    let next = &behind[1..];
    let ends = match blank {
        0 => !next.starts_with(|next: char| next.is_alphanumeric()),
        _ => next.trim().is_empty() || next.starts_with([',', ';', '|', '\t', ')']) || next.starts_with("  "),
    };
    ends.then_some(Scale { power, length: blank + 1 })
}

/// Applies the letter behind a number to its unit. A count has powers of 1000, an amount of data those of 1024, too. A
/// time has none.
pub(super) fn scaled(found: Found, scale: Option<Scale>) -> Option<Found> {
    let Some(scale) = scale else { return Some(found) };
    let bases: &[f64] = match found.unit {
        Unit::OpsPerSec | Unit::Count => &[1000.0],
        Unit::Bytes | Unit::BytesPerSec => &[1000.0, 1024.0],
        _ => return None,
    };
    let factors = bases.iter().flat_map(|base| found.factors.iter().map(|one| one * base.powi(scale.power)));
    Some(Found { factors: factors.collect(), length: found.length + scale.length, ..found })
}

/// Reads the unit of a column. `/sec` alone is a rate of operations, or of bytes where the number has a letter behind it:
/// `/sec` over `1330k`.
pub(super) fn unit_of_head(head: &str, own: &str, scale: Option<Scale>) -> Option<Found> {
    let own = own.trim().trim_matches(['(', ')']);
    let is_bare = per(own).is_some_and(|(what, length)| is_second(what) && length == own.len());
    if !is_bare {
        return scaled(unit_of_label(head)?, scale);
    }
    let text = own.to_owned();
    if scale.is_some() {
        let bytes = Found { unit: Unit::BytesPerSec, factors: vec![1.0], counted: Counted::Amount, text, length: 0 };
        return scaled(bytes, scale);
    }
    let counted = head.split(|c: char| !c.is_alphabetic()).filter_map(thing_of_head).next_back();
    Some(Found {
        unit: Unit::OpsPerSec,
        factors: vec![1.0],
        counted: counted.unwrap_or(Counted::Operations),
        text,
        length: 0,
    })
}

/// Returns true for rates and times per operation.
pub(super) fn is_rate(found: &Found) -> bool {
    matches!(found.unit, Unit::BytesPerSec | Unit::OpsPerSec) || found.counted == Counted::PerOperation
}

/// Reads the unit that a label names: of a rate, or bytes, anywhere in it; of a time or count only at its end.
pub(super) fn unit_of_label(label: &str) -> Option<Found> {
    // Names of variables: `bytes_per_sec`, `write_mb_s`.
    let spaced: String = label.chars().map(|c| if c == '_' { ' ' } else { c }).collect();
    let starts: Vec<usize> = spaced
        .char_indices()
        .filter(|(at, c)| c.is_alphabetic() && !spaced[..*at].ends_with(|before: char| before.is_alphanumeric()))
        .map(|(at, _)| at)
        .collect();
    let is_rate = label.split(|c: char| !c.is_ascii_alphanumeric()).any(is_throughput);
    // A label is a few words; a line of text is not a label.
    let at_each = starts.iter().rev().take(12).filter_map(|at| {
        let body = &spaced[*at..];
        let found = of_variable(body).or_else(|| phrase(body, word(body))).or_else(|| bytes_of_rate(body, is_rate))?;
        (!spaced[..*at].ends_with('/')).then_some((body, found))
    });
    let mut last = None;
    for (body, found) in at_each {
        if matches!(found.unit, Unit::BytesPerSec | Unit::OpsPerSec) {
            return Some(found);
        }
        // `"bw_bytes": 5000`.
        if is_rate && found.unit == Unit::Bytes {
            return Some(Found { unit: Unit::BytesPerSec, ..found });
        }
        let is_last = !body[found.length..].contains(|c: char| c.is_alphanumeric());
        if last.is_none() && (is_last || is_bytes(word(body))) {
            last = Some(found);
        }
    }
    last
}

/// Returns the rate or time in brackets before the first number of a line, which is that of all without their own:
/// `lat (usec): min=12, avg=31`.
pub(super) fn in_brackets_before_numbers(line: &str) -> Option<Found> {
    let before = line.split(|c: char| c.is_ascii_digit()).next().unwrap_or(line);
    let (_, behind) = before.split_once('(')?;
    let (inside, _) = behind.split_once(')')?;
    let found = unit_at(inside).filter(|found| found.length == inside.len())?;
    (is_rate(&found) || found.unit == Unit::Ns).then_some(found)
}

/// Returns the unit that a member beside a number states, in an object of one line: `{"value": 291.6, "unit": "MB/s"}`.
pub(super) fn unit_member(line: &str, place: usize) -> Option<Found> {
    static UNIT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""units?"\s*:\s*"([^"]{1,32})""#).expect("the expression is right"));
    let begin = line[..place].rfind(['{', '}']).filter(|at| line[*at..].starts_with('{'))?;
    // Only of the number in its member `value`: an object may have others, without a unit.
    let key = line[begin..place].trim_end().strip_suffix(':')?.trim_end();
    if !["\"value\"", "\"result\"", "\"rate\"", "\"speed\""].iter().any(|name| key.ends_with(name)) {
        return None;
    }
    let end = line[place..].find(['{', '}']).map_or(line.len(), |at| place + at);
    let text = UNIT.captures(&line[begin..end])?.get(1)?.as_str();
    unit_at(text).filter(|found| found.length == text.len()).map(|found| Found { length: 0, ..found })
}

/// `mb s`, of a variable `write_mb_s`.
fn of_variable(body: &str) -> Option<Found> {
    let first = word(body);
    let rest = body[first.len()..].strip_prefix(' ')?;
    let second = word(rest);
    let joined = format!("{first}/{second}");
    let is_rate = matches!(second, "s" | "sec") && (size(first).is_some() || noun(first).is_some());
    let found = is_rate.then(|| phrase(&joined, first)).flatten()?;
    Some(Found { text: body[..joined.len()].to_owned(), ..found })
}

/// `mb` at the end of `bw_mb`, where the words are about a rate. Elsewhere it may be bits, or the size of nothing.
fn bytes_of_rate(body: &str, is_rate: bool) -> Option<Found> {
    let is_size = |word: &&str| {
        is_rate && word.len() == 2 && word.ends_with('b') && *word == body.trim_end_matches(['"', ':', ' '])
    };
    let text = Some(word(body)).filter(is_size)?;
    let factors = size(text)?;
    Some(Found {
        unit: Unit::BytesPerSec,
        factors,
        counted: Counted::Amount,
        text: text.to_owned(),
        length: text.len(),
    })
}

/// Returns true for a word for bytes per second.
fn is_throughput(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "bw" | "bandwidth" | "throughput" | "speed")
}

fn is_bytes(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "bytes" | "kib" | "mib" | "gib" | "kb" | "mb" | "gb")
}

/// Reads a unit of one to three words whose first one is known.
fn phrase(body: &str, first: &str) -> Option<Found> {
    let found = |unit, factors: Vec<f64>, counted, length: usize| {
        let ends = body[length..].chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '_');
        ends.then(|| Found { unit, factors, counted, text: body[..length].to_owned(), length })
    };
    let per = per(&body[first.len()..]);
    let per_second = per.filter(|(what, _)| is_second(what)).map(|(_, length)| first.len() + length);
    if let Some(factors) = size(first) {
        return match per_second {
            Some(length) => found(Unit::BytesPerSec, factors, Counted::Amount, length),
            // `bytes/op` and the like are not sizes of what was moved.
            None if per.is_some() => None,
            // A bit or a single `b` is a size of nothing here.
            None if is_bit(first) => None,
            None => found(Unit::Bytes, factors, Counted::Amount, first.len()),
        };
    }
    if let Some(base) = first.strip_suffix("ps").or_else(|| first.strip_suffix("PS"))
        && base.len() > 1
        && let Some(factors) = size(base)
    {
        return found(Unit::BytesPerSec, factors, Counted::Amount, first.len());
    }
    let lower = first.to_ascii_lowercase();
    match lower.as_str() {
        "iops" | "tps" => return found(Unit::OpsPerSec, vec![1.0], Counted::Operations, first.len()),
        "kiops" => return found(Unit::OpsPerSec, vec![1e3], Counted::Operations, first.len()),
        "miops" => return found(Unit::OpsPerSec, vec![1e6], Counted::Operations, first.len()),
        _ => {}
    }
    if let Some(factor) = time(first) {
        return match per {
            Some((what, length)) if noun(what).is_some() => {
                let counted = match noun(what) {
                    Some(Counted::Syncs) => Counted::Syncs,
                    _ => Counted::PerOperation,
                };
                found(Unit::Ns, vec![factor], counted, first.len() + length)
            }
            Some(_) => None,
            None => found(Unit::Ns, vec![factor], Counted::Amount, first.len()),
        };
    }
    // `I/Os per second`, `io/s`.
    let (thing, length) = match body.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("i/os") => (Some(Counted::Operations), 4),
        _ => (noun(first), first.len()),
    };
    let thing = thing?;
    match self::per(&body[length..]) {
        Some((what, more)) if is_second(what) => found(Unit::OpsPerSec, vec![1.0], thing, length + more),
        Some(_) => None,
        None => found(Unit::Count, vec![1.0], thing, length),
    }
}

/// Returns the letters at the start of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ' && c != 'μ').unwrap_or(text.len());
    &text[..end]
}

/// Reads `/WORD` or ` per WORD`, and returns the word and the length of all of it.
fn per(text: &str) -> Option<(&str, usize)> {
    let rest = text.trim_start_matches(' ');
    let gap = text.len() - rest.len();
    let after = match rest.strip_prefix('/') {
        Some(after) if gap <= 1 => after,
        _ if gap == 1 => rest.strip_prefix("per ").or_else(|| rest.strip_prefix("a "))?,
        _ => return None,
    };
    let blank = after.len() - after.trim_start_matches(' ').len();
    let what = word(&after[blank..]);
    (blank <= 1 && !what.is_empty()).then(|| (what, text.len() - after.len() + blank + what.len()))
}

fn is_second(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "s" | "sec" | "secs" | "second" | "seconds")
}

/// Returns the factor of a decimal prefix of a count.
fn prefix(letter: char) -> Option<f64> {
    match letter {
        'k' | 'K' => Some(1e3),
        'M' => Some(1e6),
        'G' => Some(1e9),
        _ => None,
    }
}

fn is_bit(word: &str) -> bool {
    word.ends_with('b') || word.to_ascii_lowercase().trim_end_matches('s').ends_with("bit")
}

/// Returns what a unit of size may be in bytes. A lower-case `b` behind a prefix means a bit or a byte.
pub(super) fn size(word: &str) -> Option<Vec<f64>> {
    let lower = word.to_ascii_lowercase();
    let power = |letter: char| "kmgtp".find(letter).map(|place| i32::try_from(place).unwrap_or(0) + 1);
    let both = |letter: char| power(letter).map(|power| vec![1000_f64.powi(power), 1024_f64.powi(power)]);
    let binary = |letter: char| power(letter).map(|power| vec![1024_f64.powi(power)]);
    if matches!(word, "B" | "Bytes" | "bytes" | "byte" | "Byte" | "BYTES") {
        return Some(vec![1.0]);
    }
    for (name, letter) in [("kilo", 'k'), ("mega", 'm'), ("giga", 'g'), ("tera", 't')] {
        if matches!(lower.strip_prefix(name), Some("byte" | "bytes")) {
            return both(letter);
        }
    }
    for (name, letter) in [("kibi", 'k'), ("mebi", 'm'), ("gibi", 'g'), ("tebi", 't')] {
        if matches!(lower.strip_prefix(name), Some("byte" | "bytes")) {
            return binary(letter);
        }
    }
    let letter = lower.chars().next()?;
    let rest = &lower[letter.len_utf8()..];
    match rest {
        "byte" | "bytes" => both(letter),
        "ib" | "ibyte" | "ibytes" => binary(letter),
        "b" if word.ends_with('B') => both(letter),
        // Mb/s is used for both, and so is `mb`: mostly for bits, and for bytes.
        "b" => power(letter).map(|power| {
            let (bits, bytes) = (1000_f64.powi(power) / 8.0, [1000_f64.powi(power), 1024_f64.powi(power)]);
            match word == lower {
                true => vec![bytes[0], bytes[1], bits],
                false => vec![bits, bytes[0], bytes[1]],
            }
        }),
        "bit" | "bits" => power(letter).map(|power| vec![1000_f64.powi(power) / 8.0]),
        _ => None,
    }
}

/// Returns a unit of time in ns.
fn time(word: &str) -> Option<f64> {
    Some(match word.to_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => 1e6,
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsecond" | "microseconds" | "micros" => 1e3,
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => 1.0,
        _ => return None,
    })
}

/// Returns what a word of a head counts where the head is about a rate.
fn thing_of_head(word: &str) -> Option<Counted> {
    match word.to_ascii_lowercase().as_str() {
        "create" | "creates" | "created" => Some(Counted::Creates),
        "delete" | "deletes" | "deleted" | "unlink" | "unlinks" => Some(Counted::Deletes),
        _ => noun(word),
    }
}

/// Returns what a word counts.
fn noun(word: &str) -> Option<Counted> {
    Some(match word.to_ascii_lowercase().as_str() {
        "op" | "ops" | "operation" | "operations" | "io" | "ios" | "request" | "requests" | "req" | "reqs" => {
            Counted::Operations
        }
        "event" | "events" | "call" | "calls" | "transaction" | "transactions" | "block" | "blocks" => {
            Counted::Operations
        }
        "read" | "reads" => Counted::Reads,
        "write" | "writes" => Counted::Writes,
        "sync" | "syncs" | "fsync" | "fsyncs" | "fdatasync" | "fdatasyncs" | "flush" | "flushes" => Counted::Syncs,
        "file" | "files" => Counted::Files,
        _ => return None,
    })
}
