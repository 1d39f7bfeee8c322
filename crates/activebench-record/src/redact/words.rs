//! Words of a text, the ordinary ones among them, and their replacements.

use std::collections::HashSet;
use std::sync::LazyLock;

use activebench_model::fact::FactName;

/// Minimum bytes of a word: shorter words name too little and occur everywhere.
pub(super) const LEAST: usize = 3;

/// Words that name nobody: those of the benchmarks' outputs, of our own documents, of common directories. A test
/// compares it with the fixtures and the schemas; a missing word of a new output is added there. The words of the facts
/// need no line there.
static ORDINARY: LazyLock<HashSet<&'static [u8]>> = LazyLock::new(|| {
    let of_facts = FactName::ALL.iter().flat_map(|name| all(name.as_str().as_bytes()));
    include_str!("ordinary.txt").lines().map(str::as_bytes).chain(of_facts).collect()
});

/// Users and hosts that every system has.
const SYSTEM: &[&str] = &["root", "localhost", "localdomain", "nobody", "daemon", "none", "local", "unknown"];

/// True if a byte belongs to a word: letters, digits, and every byte of a character beyond ASCII.
pub(super) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Returns the start and end of the first word from a place on.
pub(super) fn next(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.iter().position(|byte| is_part(*byte))?;
    let length = text[start..].iter().position(|byte| !is_part(*byte)).unwrap_or(text.len() - start);
    Some((start, start + length))
}

/// Returns the words of a text.
pub(super) fn all(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (start, end) = next(text, at)?;
        at = end;
        Some(&text[start..end])
    })
}

/// Returns the start and end of the last word of a text.
pub(super) fn last(text: &[u8]) -> Option<(usize, usize)> {
    let end = text.iter().rposition(|byte| is_part(*byte))? + 1;
    let start = text[..end].iter().rposition(|byte| !is_part(*byte)).map_or(0, |place| place + 1);
    Some((start, end))
}

/// Returns the first word of a text; the text itself when it has none.
pub(super) fn first(text: &[u8]) -> &[u8] {
    next(text, 0).map_or(text, |(start, end)| &text[start..end])
}

/// True if a word names nobody.
pub(super) fn is_ordinary(word: &[u8]) -> bool {
    ORDINARY.contains(word.to_ascii_lowercase().as_slice())
}

/// True if it is the name of a user or host that every system has.
pub(super) fn is_of_every_system(word: &[u8]) -> bool {
    SYSTEM.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

/// True if a word of a path can name something. Numbers cannot, nor can the kernel's names of devices, sizes (`64k`,
/// `10gbe`) and versions: parsers read them.
pub(super) fn can_name(word: &[u8]) -> bool {
    word.len() >= LEAST && !is_figure(word) && !is_ordinary(word) && !is_kernel_device(word) && !is_option(word)
}

/// Most letters behind the digits of a figure.
const MOST_OF_UNIT: usize = 3;

/// True for a number, also with a unit or a version's letter behind it, and for one with the base 16: nothing else may
/// follow, as it does in a name that somebody drew (`98s7vh`).
fn is_figure(word: &[u8]) -> bool {
    let is_hexadecimal = |rest: &[u8]| rest.iter().all(u8::is_ascii_hexdigit);
    if word.strip_prefix(b"0x").is_some_and(is_hexadecimal) {
        return true;
    }
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && word.len() - digits <= MOST_OF_UNIT && word[digits..].iter().all(u8::is_ascii_alphabetic)
}

/// Units behind the figures of options.
const UNITS: &[&str] =
    &["", "b", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib", "t", "tb", "tib", "s", "ms", "us", "ns", "h", "d"];

/// True for an option with its figure, as iozone accepts them, or the name of a CPU: `s32m`, `r64k`, `i0`, `x86`.
fn is_option(word: &[u8]) -> bool {
    let figure = word.strip_prefix(word.get(..1).unwrap_or_default()).unwrap_or_default();
    let digits = figure.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && UNITS.iter().any(|unit| unit.as_bytes() == &figure[digits..])
}

/// True for the kernel's names of devices: `sda1`, `nvme0n1p2`, `loop7`, `dm`, `md127`.
fn is_kernel_device(word: &[u8]) -> bool {
    const PREFIXES: &[&[u8]] = &[
        b"nvme", b"loop", b"zram", b"ram", b"md", b"dm", b"nbd", b"rbd", b"mmcblk", b"pmem", b"bcache", b"drbd",
        b"cpu", b"tty", b"eth",
    ];
    let numbered = |rest: &[u8]| {
        !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'n' | b'p' | b'c'))
    };
    if PREFIXES.iter().any(|prefix| word.strip_prefix(*prefix).is_some_and(numbered)) {
        return true;
    }
    let of_disk = |rest: &[u8]| {
        let letters = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        (1..=2).contains(&letters) && rest[letters..].iter().all(u8::is_ascii_digit)
    };
    [&b"sd"[..], b"vd", b"hd", b"xvd"].iter().any(|prefix| word.strip_prefix(*prefix).is_some_and(of_disk))
}

/// Returns a replacement: `host` and 12 in six bytes give `host12`. With less room the label is shortened, then the
/// number is written in base 36. `None` if the number does not fit at all.
pub(super) fn replacement(label: &str, length: usize, number: u64) -> Option<Vec<u8>> {
    let digits = number.to_string().into_bytes();
    let most = label.len().min(length.saturating_sub(1));
    // Longer names of a few words are easier to read than full labels of many.
    let decimal = (1..=most).rev().find(|kept| length - kept >= digits.len());
    let (kept, number) = match decimal {
        Some(kept) => (kept, digits),
        None => {
            let digits = base_36(number);
            let kept = (0..=1).rev().find(|kept| length >= kept + digits.len())?;
            (kept, digits)
        }
    };
    let mut word = label.as_bytes()[..kept].to_vec();
    word.resize(length - number.len(), b'0');
    word.extend_from_slice(&number);
    Some(word)
}

fn base_36(mut number: u64) -> Vec<u8> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            digits.reverse();
            return digits;
        }
    }
}

/// Returns a phrase with its words' bytes replaced by a number that runs through all of them: `10.1.2.33` and 7 give
/// `00.0.0.07`.
pub(super) fn in_phrase(phrase: &[u8], number: u64) -> Vec<u8> {
    let mut out = phrase.to_vec();
    let mut digits = base_36(number).into_iter().rev();
    for byte in out.iter_mut().rev().filter(|byte| is_part(**byte)) {
        *byte = digits.next().unwrap_or(b'0');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_name_something() {
        for (word, expected) in [
            ("falcon", true),
            ("acme", true),
            ("db01", true),
            ("2024falcon", true),
            ("4f2a9c01be77aa", true),
            ("jürgen", true),
            ("ab", false),
            ("4711", false),
            ("64k", false),
            ("s32m", false),
            ("x86", false),
            ("x86secret", true),
            // Names that somebody drew.
            ("y13mvv", true),
            ("e54mbq", true),
            ("98s7vh", true),
            ("r64kib", false),
            // A file of f3 is known by it.
            ("h2w", false),
            ("0x7ffd12a0", false),
            ("10gbe", false),
            ("data", false),
            ("Data", false),
            ("iozone", false),
            ("nvme0n1p2", false),
            ("sda1", false),
            ("vda", false),
            ("loop7", false),
            ("md127", false),
            ("sdaemon", true),
        ] {
            assert_eq!(can_name(word.as_bytes()), expected, "{word}");
        }
    }

    /// Returns the words of a text that are neither ordinary nor figures.
    fn uncommon(text: &[u8]) -> Vec<String> {
        let letters = |word: &&[u8]| word.len() >= LEAST && word.iter().all(u8::is_ascii_alphabetic);
        let uncommon = all(text).filter(letters).filter(|word| !is_ordinary(word));
        uncommon.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn what_the_tools_print_and_our_schemas_say_is_ordinary() {
        // A directory of such a name must not change a word that a parser looks for.
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut checked = 0;
        let mut wrong = std::collections::BTreeMap::new();
        for folder in std::fs::read_dir(root.join("fixtures")).unwrap() {
            for fixture in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let fixture = fixture.unwrap().path();
                let Ok(text) = std::fs::read(fixture.join("stdout.txt")) else { continue };
                // iozone lists who wrote it: people.
                let text = String::from_utf8_lossy(&text).into_owned();
                let banner = text.find("Contributors:").zip(text.find("Run began"));
                let text = banner.map_or(text.clone(), |(start, end)| text[..start].to_owned() + &text[end..]);
                // The last two wrote dbench.
                let names = ["testhost", "deep", "mytest", "nvbench", "nosuch", "wal", "Andrew", "Tridgell"];
                let missing: Vec<String> =
                    uncommon(text.as_bytes()).into_iter().filter(|word| !names.contains(&word.as_str())).collect();
                wrong.extend(missing.into_iter().map(|word| (word, fixture.display().to_string())));
                checked += 1;
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(checked > 100, "{checked}");
        for schema in ["report", "series", "bundle", "ceiling"] {
            let text = std::fs::read(root.join(format!("docs/{schema}.schema.json"))).unwrap();
            assert_eq!(uncommon(&text), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn replacements_have_the_length_and_differ() {
        for (label, length, number, expected) in [
            ("host", 6, 12, Some("host12")),
            ("host", 5, 12, Some("hos12")),
            ("path", 13, 1, Some("path000000001")),
            ("user", 3, 1, Some("us1")),
            ("user", 2, 9, Some("u9")),
            ("path", 3, 100, Some("p2s")),
            ("path", 3, 2_000, Some("1jk")),
            ("path", 3, 50_000, None),
            ("user", 1, 7, Some("7")),
        ] {
            let found = replacement(label, length, number).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{label} {length} {number}");
        }
    }
}
