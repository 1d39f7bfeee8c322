//! The one JSON object that fio prints among its other words: taken out of a stream, byte for
//! byte, and out of a file.

use serde::Deserialize;

use crate::OutputFilter;

/// How the object begins: at column 0 (behind a line end, or a return), and its first key tells it from anybody else's.
const BEGIN: &[u8] = b"{\n  \"fio version\" :";

/// See the module. Holds back a few bytes at most: those that may begin an object.
#[derive(Debug)]
pub(super) struct JsonCutter {
    state: State,
    /// What may begin an object, carriage returns of a terminal included.
    held: Vec<u8>,
    /// How much of [`BEGIN`] it matches.
    matched: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Outside, at the start of a line or inside what may begin an object.
    LineStart,
    /// Outside, inside a line.
    Line,
    /// Inside the object.
    Object,
    /// Inside, at the start of a line.
    ObjectLineStart,
    /// Inside, behind a closing brace at column 0: its line end belongs to the object.
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
                // On a terminal the object follows the line of progress, which a return ends.
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
        // It was none: the byte stands at the start of a line where all that was held is one.
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

/// The whole of a text without the objects.
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
    /// Whether it is an object of figures, ended or not.
    pub(super) is_object: bool,
}

impl Section<'_> {
    /// Whether the object is laid out as fio does it: another program may have changed the order of keys, and left one
    /// of those that occur twice.
    pub(super) fn is_as_printed(&self) -> bool {
        let mut lines = self.text.lines();
        lines.next() == Some("{") && lines.next().is_some_and(|line| line.starts_with("  \"fio version\" :"))
    }
}

/// Objects and what stands between them, in order. Objects are fio's own, whole or cut short, and what another program
/// made of them: laid out in another way, but whole.
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
        // What stands before its brace on the line is no part of it.
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

/// Where the line behind a place ends, its line end included.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |place| at + place + 1)
}

/// The end of an object as fio lays it out: the brace alone on its line, or the end of the text where fio was killed.
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

/// Most places at which an object that another program laid out may begin.
const MOST_ATTEMPTS: usize = 64;

/// What tells fio's object from anybody else's.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "fio version")]
    _version: String,
}

/// The end of a whole object that another program laid out, its keys in any order.
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
            // Somebody else's object, a brace inside a line, an object that another one follows.
            ("{\n  \"other\" : 1\n}\n".to_owned(), "{\n  \"other\" : 1\n}\n".to_owned()),
            (format!("x{OBJECT}"), format!("x{OBJECT}")),
            (format!("{{\n{OBJECT}"), "{\n".to_owned()),
            ("Jobs: 1 (f=1)\rJobs: 1".to_owned(), "Jobs: 1 (f=1)\rJobs: 1".to_owned()),
            (format!("Jobs: 1 (f=1)\rJobs: 1 (f=1)\r{OBJECT}\nb\n"), "Jobs: 1 (f=1)\rJobs: 1 (f=1)\r\nb\n".to_owned()),
            ("{".to_owned(), "{".to_owned()),
            ("{\r\r\n".to_owned(), "{\r\r\n".to_owned()),
            // Killed in the middle of it: what there is was ours.
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
