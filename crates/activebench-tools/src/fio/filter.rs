//! Removes the one JSON object that fio prints among its other output, from a stream byte by byte and from a file.

use serde::Deserialize;

use crate::adapter::OutputFilter;

/// Start of the object: at column 0 (after a line end, or a return). Its first key distinguishes it from other objects.
const BEGIN: &[u8] = b"{\n  \"fio version\" :";

/// See the module. Holds back only the few bytes that may begin an object.
#[derive(Debug)]
pub(super) struct JsonCutter {
    state: State,
    /// Bytes that may begin an object, carriage returns of a terminal included.
    held: Vec<u8>,
    /// Number of bytes of [`BEGIN`] that match.
    matched: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Outside, at the start of a line or inside bytes that may begin an object.
    LineStart,
    /// Outside, inside a line.
    Line,
    /// Inside the object.
    Object,
    /// Inside, at the start of a line.
    ObjectLineStart,
    /// Inside, after a closing brace at column 0: its line end belongs to the object.
    ObjectEnd,
}

impl JsonCutter {
    pub(super) fn new() -> Self {
        Self { state: State::LineStart, held: Vec::new(), matched: 0 }
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            State::LineStart => self.take_at_line_start(byte, out),
            State::Line => {
                out.push(byte);
                // On a terminal the object follows the progress line, which ends with a return.
                if matches!(byte, b'\n' | b'\r') {
                    self.state = State::LineStart;
                }
            }
            State::Object if byte == b'\n' => self.state = State::ObjectLineStart,
            State::Object => {}
            State::ObjectLineStart => {
                self.state = match byte {
                    b'}' => State::ObjectEnd,
                    b'\n' => State::ObjectLineStart,
                    _ => State::Object,
                };
            }
            State::ObjectEnd => match byte {
                b'\r' => {}
                b'\n' => self.state = State::LineStart,
                // The object ends at its brace, whatever follows.
                _ => {
                    self.state = State::Line;
                    self.take(byte, out);
                }
            },
        }
    }

    fn take_at_line_start(&mut self, byte: u8, out: &mut Vec<u8>) {
        let return_before_newline = byte == b'\r' && self.matched == 1 && self.held.last() == Some(&b'{');
        if return_before_newline {
            self.held.push(byte);
            return;
        }
        if byte == BEGIN[self.matched] {
            self.held.push(byte);
            self.matched += 1;
            if self.matched == BEGIN.len() {
                self.held.clear();
                self.matched = 0;
                self.state = State::Object;
            }
            return;
        }
        if self.held.is_empty() {
            self.state = if matches!(byte, b'\n' | b'\r') { State::LineStart } else { State::Line };
            out.push(byte);
            return;
        }
        // It was not an object: the byte is at the start of a line if the held bytes end a line.
        let held = std::mem::take(&mut self.held);
        self.matched = 0;
        self.state = if held.ends_with(b"\n") || held.ends_with(b"\r") { State::LineStart } else { State::Line };
        out.extend_from_slice(&held);
        self.take(byte, out);
    }
}

impl OutputFilter for JsonCutter {
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        bytes.iter().for_each(|byte| self.take(*byte, &mut out));
        out
    }

    fn finish(&mut self) -> Vec<u8> {
        self.matched = 0;
        std::mem::take(&mut self.held)
    }
}

/// Returns a text without its objects.
pub(super) fn without_objects(bytes: &[u8]) -> Vec<u8> {
    let mut cutter = JsonCutter::new();
    let mut out = cutter.pass(bytes);
    out.append(&mut cutter.finish());
    out
}

/// A part of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section<'t> {
    pub(super) text: &'t str,
    /// Number of its first line, from 1.
    pub(super) first_line: u64,
    /// True for an object of figures, complete or not.
    pub(super) is_object: bool,
}

impl Section<'_> {
    /// Returns true if the object has fio's own layout: another program may have changed the order of keys, and dropped
    /// one of those that occur twice.
    pub(super) fn is_as_printed(&self) -> bool {
        // Not by its lines: the object may be one line of many MiB.
        let second_line = self.text.strip_prefix("{\n").or_else(|| self.text.strip_prefix("{\r\n"));
        second_line.is_some_and(|line| line.starts_with("  \"fio version\" :"))
    }
}

/// Returns objects and the text between them, in order. Objects have fio's layout, complete or cut short, or are
/// complete objects that another program laid out differently.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let (mut begin, mut begin_line) = (0, 1);
    let (mut at, mut number, mut attempts) = (0, 1, 0);
    let mut push = |from: usize, to: usize, first_line: u64, is_object: bool| {
        if from < to {
            sections.push(Section { text: &text[from..to], first_line, is_object });
        }
    };
    while at < text.len() {
        let end = line_end(text, at);
        let line = text[at..end].trim_end_matches(['\n', '\r']);
        // Text before the brace on its line does not belong to the object.
        let brace = at + line.rfind('\r').map_or(0, |place| place + 1);
        let object_end = match text[brace..].starts_with('{') {
            true => own_object_end(text, brace, end).or_else(|| {
                attempts += 1;
                (attempts <= MOST_ATTEMPTS).then(|| rewritten_object_end(text, brace)).flatten()
            }),
            false => None,
        };
        let Some(object_end) = object_end else {
            (at, number) = (end, number + 1);
            continue;
        };
        push(begin, brace, begin_line, false);
        push(brace, object_end, number, true);
        number += text[at..object_end].matches('\n').count() as u64;
        (at, begin, begin_line) = (object_end, object_end, number);
    }
    push(begin, text.len(), begin_line, false);
    sections
}

/// Returns the end of the line after a position, its line end included.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |place| at + place + 1)
}

/// Returns the end of an object in fio's layout: a brace alone on its line, or the end of the text if fio was killed.
fn own_object_end(text: &str, brace: usize, first_end: usize) -> Option<usize> {
    let alone = text[brace..first_end].trim_end_matches(['\n', '\r']) == "{";
    if !alone || !text[first_end..].starts_with("  \"fio version\" :") {
        return None;
    }
    let mut at = first_end;
    while at < text.len() {
        let end = line_end(text, at);
        if text[at..end].trim_end_matches(['\n', '\r']) == "}" {
            return Some(end);
        }
        at = end;
    }
    Some(text.len())
}

/// Maximum number of places at which an object laid out by another program is looked for.
const MOST_ATTEMPTS: usize = 64;

/// The keys that distinguish fio's object from other objects.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "fio version")]
    _version: String,
}

/// Returns the end of a complete object that another program laid out, with keys in any order.
fn rewritten_object_end(text: &str, brace: usize) -> Option<usize> {
    if !text[brace..].contains("\"fio version\"") {
        return None;
    }
    let mut objects = serde_json::Deserializer::from_str(&text[brace..]).into_iter::<Versioned>();
    objects.next()?.ok()?;
    let end = brace + objects.byte_offset();
    let rest = &text[end..];
    let line_break = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    Some(end + line_break)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OBJECT: &str = "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : [\n    {\n    }\n  ]\n}\n";

    fn cut(text: &str, chunk: usize) -> String {
        let mut cutter = JsonCutter::new();
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(chunk.max(1)) {
            out.extend(cutter.pass(piece));
        }
        out.extend(cutter.finish());
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn objects_are_cut_and_nothing_else_whatever_the_chunks() {
        let terminal = OBJECT.replace('\n', "\r\n");
        for (text, expected) in [
            (format!("a\n{OBJECT}\nb\n"), "a\n\nb\n".to_owned()),
            (format!("{OBJECT}a\n{OBJECT}"), "a\n".to_owned()),
            (format!("a\r\n{terminal}b\r\n"), "a\r\nb\r\n".to_owned()),
            // Another program's object, a brace inside a line, an object followed by another one.
            ("{\n  \"other\" : 1\n}\n".to_owned(), "{\n  \"other\" : 1\n}\n".to_owned()),
            (format!("x{OBJECT}"), format!("x{OBJECT}")),
            (format!("{{\n{OBJECT}"), "{\n".to_owned()),
            ("Jobs: 1 (f=1)\rJobs: 1".to_owned(), "Jobs: 1 (f=1)\rJobs: 1".to_owned()),
            (format!("Jobs: 1 (f=1)\rJobs: 1 (f=1)\r{OBJECT}\nb\n"), "Jobs: 1 (f=1)\rJobs: 1 (f=1)\r\nb\n".to_owned()),
            ("{".to_owned(), "{".to_owned()),
            ("{\r\r\n".to_owned(), "{\r\r\n".to_owned()),
            // Killed in the middle of an object: the part present is removed.
            (format!("a\n{}", &OBJECT[..40]), "a\n".to_owned()),
        ] {
            for chunk in 1..=text.len() {
                assert_eq!(cut(&text, chunk), expected, "{text:?} in pieces of {chunk}");
            }
        }
    }

    #[test]
    fn sections_are_the_whole_text() {
        let progress = format!("Jobs: 1\r{OBJECT}b\n");
        let found: Vec<_> = sections(&progress).iter().map(|part| (part.first_line, part.is_object)).collect();
        assert_eq!(found, [(1, false), (1, true), (8, false)]);
        let text = format!("a\n{OBJECT}b\n{}", &OBJECT[..40]);
        let found: Vec<_> = sections(&text).iter().map(|part| (part.first_line, part.is_object)).collect();
        assert_eq!(found, [(1, false), (2, true), (9, false), (10, true)]);
    }

    #[test]
    fn an_object_that_another_program_laid_out_is_one() {
        for (text, expected) in [
            ("{\n    \"fio version\": \"fio-3.33\",\n    \"jobs\": []\n}\n", vec![(1, true)]),
            ("a\n{\"fio version\":\"fio-3.33\",\"jobs\":[]}\nb\n", vec![(1, false), (2, true), (3, false)]),
            ("{\"fio version\":\"fio-3.33\"", vec![(1, false)]),
            ("{\"a\": [{}],\n\"fio version\": \"fio-3.33\"}", vec![(1, true)]),
            ("{\"other\": {\"fio version\": 1}}\n", vec![(1, false)]),
        ] {
            let found: Vec<_> = sections(text).iter().map(|part| (part.first_line, part.is_object)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_without_fios_objects_passes_unchanged(
            pieces in prop::collection::vec("[{}\\r\\n a\"]{0,6}|\\{\\n  \"fio|\\n", 0..20),
            chunk in 1_usize..20,
        ) {
            let text = pieces.concat();
            prop_assert_eq!(cut(&text, chunk), text);
        }

        #[test]
        fn any_text_around_objects_is_kept(
            before in "([a-z ]{0,9}\n){0,4}",
            after in "([a-z {}]{0,9}\n){0,4}",
            chunk in 1_usize..40,
        ) {
            let text = format!("{before}{OBJECT}{after}");
            prop_assert_eq!(cut(&text, chunk), format!("{before}{after}"));
            let whole: String = sections(&text).iter().map(|part| part.text).collect();
            prop_assert_eq!(whole, text);
        }
    }
}
