//! A stored text as lines, without what its way through terminals, mails and web pages added to every line.

use super::notes::Remark;

/// A line as an adapter reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Number in the stored text, from 1.
    pub(super) number: u64,
    /// The line as stored, lossily decoded, without its line end.
    pub(super) original: String,
    /// The line as read.
    pub(super) text: String,
}

/// A text as lines, and what was done to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaned {
    pub(super) lines: Vec<Line>,
    pub(super) remarks: Vec<Remark>,
}

/// Splits a text into lines. A last line without a line feed is a line.
pub(super) fn lines(text: &[u8]) -> Cleaned {
    let decoded = match utf16(text) {
        Some(decoded) => decoded.into(),
        None => String::from_utf8_lossy(text),
    };
    let decoded = decoded.strip_prefix('\u{feff}').unwrap_or(&decoded);
    let ended = decoded.strip_suffix('\n').unwrap_or(decoded);
    let mut cleaned = Cleaned::default();
    for (line, number) in ended.split('\n').zip(1..) {
        let original = line.strip_suffix('\r').unwrap_or(line).to_owned();
        let text = without_escapes(&original).replace('\u{a0}', " ");
        cleaned.lines.push(Line { number, original, text });
    }
    if !decoded.is_empty() && ended.len() == decoded.len() {
        let message = "the last line has no line feed and is taken to be whole".to_owned();
        cleaned.remarks.push(Remark { index: cleaned.lines.len().saturating_sub(1), message });
    }
    join_encoded(&mut cleaned);
    leave_out_wrapped_numbers(&mut cleaned);
    cleaned
}

/// Decodes a text that begins with a byte order mark of UTF-16: what PowerShell writes behind `>`.
fn utf16(text: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match text {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Removes the sequences that set colours and move the cursor.
fn without_escapes(line: &str) -> String {
    let mut rest = line;
    let mut text = String::with_capacity(line.len());
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = behind.find(|letter: char| ('@'..='~').contains(&letter));
        rest = end.map_or("", |end| behind.split_at(end + 1).1);
    }
    text.push_str(rest);
    text
}

/// A mail whose lines end with `=` is encoded as quoted-printable, which allows no longer line than this.
const LONGEST_ENCODED: usize = 76;

/// Joins the lines of an encoded mail, and decodes them.
fn join_encoded(cleaned: &mut Cleaned) {
    let is_open = |line: &Line| line.text.ends_with('=') && (60..=LONGEST_ENCODED).contains(&line.text.len());
    let Some(index) = cleaned.lines.iter().position(is_open) else { return };
    let longest = cleaned.lines.iter().map(|line| line.text.len()).max().unwrap_or(0);
    if longest > LONGEST_ENCODED {
        return;
    }
    let mut joined: Vec<Line> = Vec::with_capacity(cleaned.lines.len());
    let mut open = false;
    for mut line in std::mem::take(&mut cleaned.lines) {
        let goes_on = line.text.ends_with('=');
        if goes_on {
            line.text.pop();
        }
        match joined.last_mut().filter(|_| open) {
            Some(before) => before.text.push_str(&line.text),
            None => joined.push(line),
        }
        open = goes_on;
    }
    for line in &mut joined {
        line.text = decoded(&line.text);
    }
    cleaned.lines = joined;
    let message = "lines that end with = are encoded, as in mails: they are joined".to_owned();
    cleaned.remarks.push(Remark { index, message });
}

/// Decodes `=3D`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.filter(|_| first == b'=').and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).replace('\u{a0}', " ")
}

/// Takes the number off the end of a line if the next line is nothing but digits: it may be the rest of that number.
fn leave_out_wrapped_numbers(cleaned: &mut Cleaned) {
    let of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '+');
    let mut first = None;
    for index in 1..cleaned.lines.len() {
        let next = cleaned.lines[index].text.trim_end();
        if next.is_empty() || !next.chars().all(of_number) {
            continue;
        }
        let text = &mut cleaned.lines[index - 1].text;
        let kept = text.trim_end_matches(of_number).len();
        if kept < text.len() && kept > 0 {
            text.truncate(kept);
            text.push('?');
            first.get_or_insert(index - 1);
        }
    }
    if let Some(index) = first {
        let message = "a number at the end of a line may go on in the next: it is not read".to_owned();
        cleaned.remarks.push(Remark { index, message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text.as_bytes()).lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn line_ends_and_what_a_page_adds_are_undone() {
        assert_eq!(texts("\u{feff}a\r\nb\u{a0}c\n"), ["a", "b c"]);
        assert_eq!(texts("\u{1b}[32mbw=1\u{1b}[0m, x\n\nlast"), ["bw=1, x", "", "last"]);
        assert_eq!(lines(b"a\nb").remarks.len(), 1);
        assert!(lines(b"a\nb\n").remarks.is_empty());
    }

    #[test]
    fn utf16_is_decoded_by_its_byte_order_mark() {
        let text = "\u{feff}a\r\n1 ü \u{1f600}\n";
        let (mut little, mut big) = (Vec::new(), Vec::new());
        for unit in text.encode_utf16() {
            little.extend(unit.to_le_bytes());
            big.extend(unit.to_be_bytes());
        }
        for encoded in [little, big] {
            let read: Vec<String> = lines(&encoded).lines.into_iter().map(|line| line.text).collect();
            assert_eq!(read, ["a", "1 ü \u{1f600}"]);
            // A half of the last letter is left out.
            assert_eq!(lines(&encoded[..encoded.len() - 1]).lines.len(), 2);
        }
    }

    #[test]
    fn an_encoded_mail_is_joined() {
        let long = "x".repeat(74);
        assert_eq!(texts(&format!("{long}=\n io=3D4096\nb\n")), [format!("{long} io=4096"), "b".to_owned()]);
        assert_eq!(texts("a=\nb\n"), ["a=", "b"]);
    }

    #[test]
    fn a_number_that_goes_on_in_the_next_line_is_left_out() {
        assert_eq!(texts("iops=12\n345\n"), ["iops=?", "345"]);
        assert_eq!(texts("iops=12\n345 x\n"), ["iops=12", "345 x"]);
        assert_eq!(texts("12\n345\n"), ["12", "345"]);
    }
}
