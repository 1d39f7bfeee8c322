//! What a mail, a comment or a program that runs commands on several hosts puts before every line.

use std::collections::BTreeMap;

use super::cleaned::Line;
use super::notes::Remark;

/// A text without a prefix.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) lines: Vec<Line>,
    pub(super) remarks: Vec<Remark>,
}

/// One way to take prefixes off a text; lines of several hosts make several texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Unquoted {
    pub(super) texts: Vec<Text>,
    /// True if the last thing taken off were blanks, which are no part of a name.
    pub(super) is_unindented: bool,
}

/// The remark on blanks.
const INDENTED: &str = "all lines are indented: the blanks are taken off";

/// Most prefixes before each other: a quotation of a quotation.
const MOST_PREFIXES: usize = 6;
/// Most hosts of one text.
const MOST_HOSTS: usize = 256;
/// A longer name is no host's.
const LONGEST_NAME: usize = 80;
/// A host of which fewer lines are there is a word of the text.
const FEWEST_LINES: usize = 2;

/// Returns the text without the prefixes that most of its lines share, after each prefix that is taken off.
pub(super) fn without_prefixes(lines: &[Line]) -> Vec<Unquoted> {
    let mut ways: Vec<Unquoted> = Vec::new();
    let mut texts = vec![Text { lines: lines.to_vec(), remarks: Vec::new() }];
    for _ in 0..MOST_PREFIXES {
        let next: Vec<Text> =
            texts.iter().flat_map(|text| unquoted(text).unwrap_or_else(|| vec![text.clone()])).collect();
        let remarks = |texts: &[Text]| texts.iter().map(|text| text.remarks.len()).sum::<usize>();
        if next.len() == texts.len() && remarks(&next) == remarks(&texts) {
            break;
        }
        texts = next;
        let blanks = |text: &Text| text.remarks.last().is_some_and(|remark| remark.message == INDENTED);
        ways.push(Unquoted { texts: texts.clone(), is_unindented: texts.iter().all(blanks) });
    }
    ways
}

/// Takes one prefix off; `None` if most lines share none.
fn unquoted(text: &Text) -> Option<Vec<Text>> {
    let written = text.lines.iter().filter(|line| !line.text.trim().is_empty()).count();
    let mut marks: BTreeMap<String, usize> = BTreeMap::new();
    let mut hosts: BTreeMap<String, usize> = BTreeMap::new();
    for line in &text.lines {
        if let Some(mark) = mark(&line.text) {
            *marks.entry(mark.to_owned()).or_default() += 1;
        }
        if let Some(host) = host(&line.text) {
            *hosts.entry(shape(host)).or_default() += 1;
        }
    }
    hosts.retain(|_, count| *count >= FEWEST_LINES);
    let mark = marks.iter().max_by_key(|(_, count)| **count).filter(|(_, count)| 2 * **count > written);
    if let Some((mark, count)) = mark {
        return Some(vec![without_mark(text, mark, *count, written)]);
    }
    let of_hosts: usize = hosts.values().sum();
    if !hosts.is_empty() && hosts.len() <= MOST_HOSTS && 2 * of_hosts > written {
        return Some(hosts.iter().map(|(host, count)| of_host(text, host, *count, written)).collect());
    }
    indented(text).map(|text| vec![text])
}

/// Returns the sign of a quotation or a comment at the start of a line.
fn mark(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|first| ">#|*;%!+/-".contains(*first))?;
    let length = line.len() - line.trim_start_matches(first).len();
    // A rule of dashes is none, and two signs are two quotations.
    let length = match first {
        '>' | '|' => 1,
        _ if length <= 2 => length,
        _ => return None,
    };
    // Without a blank only a quotation is sure, or an empty line.
    let sure = line[length..].starts_with([' ', '\t']) || matches!(first, '>' | '|' | '#') || line.len() == length;
    sure.then(|| &line[..length])
}

/// Returns the length of the time before a line of a log, `2026-11-27T10:00:00.123Z`, if a blank or nothing follows.
fn time(line: &str) -> Option<usize> {
    let mut bytes = line.bytes();
    let is_date = "dddd-dd-ddTdd:dd:dd".bytes().all(|form| match (form, bytes.next()) {
        (b'd', Some(byte)) => byte.is_ascii_digit(),
        (b'T', Some(byte)) => matches!(byte, b'T' | b' '),
        (form, byte) => byte == Some(form),
    });
    if !is_date {
        return None;
    }
    let rest = line[19..].trim_start_matches(|sign: char| sign.is_ascii_digit() || ".,:+-Z".contains(sign));
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| line.len() - rest.len())
}

/// Returns the name of a host, of a file or of a container before a line, with what separates them: `node1:`,
/// `log.txt:12:`, `fio_1  |`, `[12:00:01]`, `2026-11-27T10:00:00Z`.
fn host(line: &str) -> Option<&str> {
    if let Some(end) = time(line) {
        return Some(&line[..end]);
    }
    let mut end = match line.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => {
            let end = line.find([':', ' ', '\t', '|'])?;
            let behind = line[end..].trim_start_matches([' ', '\t']);
            match line[end..].chars().next()? {
                ':' => end + 1,
                _ if behind.starts_with('|') => line.len() - behind.len() + 1,
                _ => return None,
            }
        }
    };
    // Number of the line, as grep prints it.
    let digits = line[end..].len() - line[end..].trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    if digits > 0 && line[end + digits..].starts_with([':', '-']) {
        end += digits + 1;
    }
    (end > 1 && end <= LONGEST_NAME).then(|| &line[..end])
}

/// Returns a prefix with one sign for each run of digits that counts lines or seconds.
fn shape(prefix: &str) -> String {
    if time(prefix).is_some() {
        return "\u{0}-\u{0}-\u{0}".to_owned();
    }
    let counted = prefix.starts_with('[') && !prefix.chars().any(char::is_alphabetic);
    let (name, number) = match prefix.split_once(':') {
        Some((name, number)) if !counted && !number.is_empty() => (name, number),
        _ if counted => ("", prefix),
        _ => return prefix.to_owned(),
    };
    let mut shape = name.to_owned();
    for sign in number.chars() {
        match sign {
            '0'..='9' if shape.ends_with('\u{0}') => {}
            '0'..='9' => shape.push('\u{0}'),
            other => shape.push(other),
        }
    }
    shape
}

/// Returns a line, and what is left of it without blanks, and without each prefix that it may have.
pub(super) fn rests(line: &str) -> impl Iterator<Item = &str> {
    fn shorter<'a>(line: &&'a str) -> Option<&'a str> {
        let blanks = line.len() - line.trim_start().len();
        let taken = if blanks > 0 { blanks } else { mark(line).or_else(|| host(line))?.len() };
        Some(&line[taken..])
    }
    std::iter::successors(Some(line), shorter).take(2 * MOST_PREFIXES)
}

fn without_mark(text: &Text, prefix: &str, count: usize, written: usize) -> Text {
    without(text, (count, written), |line| mark(line).filter(|found| *found == prefix), false)
}

/// Keeps the lines of one host.
fn of_host(text: &Text, wanted: &str, count: usize, written: usize) -> Text {
    without(text, (count, written), |line| host(line).filter(|found| shape(found) == wanted), true)
}

/// Takes a prefix off the lines that have it, with the blank behind it where all of them have one. Lines without it
/// are left empty if they are somebody else's.
fn without(text: &Text, (count, written): (usize, usize), of: impl Fn(&str) -> Option<&str>, alone: bool) -> Text {
    let rests = || text.lines.iter().filter_map(|line| Some(&line.text[of(&line.text)?.len()..]));
    let blank = usize::from(rests().all(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])));
    let mut first = None;
    let mut without = text.clone();
    for (index, line) in without.lines.iter_mut().enumerate() {
        let Some(found) = of(&line.text).map(str::to_owned) else {
            if alone {
                line.text.clear();
            }
            continue;
        };
        line.text = line.text.get(found.len() + blank..).unwrap_or_default().to_owned();
        first.get_or_insert((index, found));
    }
    let (index, prefix) = first.unwrap_or_default();
    let message = format!("{count} of {written} lines begin with {prefix:?}, which is taken off");
    without.remarks.push(Remark { index, message });
    without
}

/// Takes off the blanks that all lines share.
fn indented(text: &Text) -> Option<Text> {
    let mut written = text.lines.iter().filter(|line| !line.text.trim().is_empty());
    let indentation = |line: &str| line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned();
    let mut shared = indentation(&written.next()?.text);
    for line in written {
        let same = shared.bytes().zip(line.text.bytes()).take_while(|(a, b)| a == b).count();
        shared.truncate(same);
    }
    if shared.is_empty() {
        return None;
    }
    let mut without = text.clone();
    for line in &mut without.lines {
        line.text = line.text.strip_prefix(&shared).unwrap_or("").to_owned();
    }
    without.remarks.push(Remark { index: 0, message: INDENTED.to_owned() });
    Some(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let lines: Vec<Line> = text
            .split('\n')
            .zip(1..)
            .map(|(text, number)| Line { number, original: text.to_owned(), text: text.to_owned() })
            .collect();
        let Some(last) = without_prefixes(&lines).pop() else { return vec![text.to_owned()] };
        let joined = |text: &Text| text.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        last.texts.iter().map(joined).collect()
    }

    #[test]
    fn a_prefix_that_most_lines_share_is_taken_off() {
        for (text, expected) in [
            ("> a\n>\n>  b\nwords", "a\n\n b\nwords"),
            ("> > a\n> > b\n> c", "a\nb\nc"),
            ("# a\n#\n# b", "a\n\nb"),
            (">a\n>b", "a\nb"),
            ("node1: a\nnode1:\nnode1:  b", "a\n\n b"),
            ("out.txt:7:a\nout.txt:12:  b", "a\n  b"),
            ("fio_1  | a\nfio_1  |  b", "a\n b"),
            ("[10:00:01] a\n[10:00:12]  b", "a\n b"),
            ("2026-11-27T10:00:00Z a\n2026-11-27T10:00:09.1234567Z  b\n2026-11-27T10:00:10Z", "a\n b\n"),
            ("2026-11-27 10:00:00+01:00 a\n2026-11-27 10:00:01+01:00 b", "a\nb"),
            ("    a\n      b\n\n    c", "a\n  b\n\nc"),
            ("    > a\n    > b", "a\nb"),
        ] {
            assert_eq!(read(text), [expected], "{text}");
        }
    }

    #[test]
    fn lines_of_several_hosts_are_several_texts() {
        assert_eq!(read("n1: a\nn2: c\nn1: b\nn2: d"), ["a\n\nb\n", "\nc\n\nd"]);
    }

    #[test]
    fn what_few_lines_share_stays() {
        for text in ["a\n> b\nc", "a: 1\nb: 2\nc d\ne f\ng h", "a\n  b"] {
            assert_eq!(read(text), [text]);
        }
    }
}
