//! What the lines around a number say of it: by their indentation, as YAML and JSON that is printed over several lines,
//! and by headings that are marked as such.
//!
//! ```text
//! randread:              {                          Random read
//!   iops: 11109.9          "test": "randread",      -----------
//!                          "iops": 11109.9          IOPS: 11109.9
//! ```

use std::collections::HashMap;

use activebench_model::claim::SourceLine;
use activebench_model::output::ToolOutput;

use crate::printed_numbers::each_line;

/// Members that name the object that they are in.
const NAMES: &[&str] = &[
    "name",
    "test",
    "job",
    "jobname",
    "workload",
    "mode",
    "rw",
    "op",
    "operation",
    "type",
    "pattern",
    "phase",
    "direction",
    "access",
];

/// Members that state the load of the object that they are in.
const LOADS: &[&str] = &[
    "bs",
    "block_size",
    "blocksize",
    "record_size",
    "iodepth",
    "io_depth",
    "depth",
    "queue_depth",
    "qd",
    "threads",
    "jobs",
    "numjobs",
    "workers",
];

/// Deepest nesting that is followed.
const MOST_LEVELS: usize = 16;

/// The words over each line of an output, the nearest first.
#[derive(Debug, Default)]
pub(super) struct Sections(HashMap<(String, u64), Vec<String>>);

/// What is open at a line.
struct Level {
    /// Blanks before it.
    indent: usize,
    /// The key, or the name that a member states; empty for an object without a name.
    words: String,
}

impl Sections {
    pub(super) fn of(output: &ToolOutput) -> Self {
        let mut over: HashMap<(String, u64), Vec<String>> = HashMap::new();
        let mut open: Vec<Level> = Vec::new();
        let mut heading = Heading::default();
        let mut of_stream = String::new();
        each_line(output, |stream, line, text, _| {
            if of_stream != stream {
                (of_stream, open, heading) = (stream.to_owned(), Vec::new(), Heading::default());
            }
            heading.read(text);
            let body = text.trim_start();
            let item = body.strip_prefix("- ").map(str::trim_start);
            // `- name: x` opens an object, whose members stand below its first one.
            let indent = text.len() - item.unwrap_or(body).len();
            let body = item.unwrap_or(body).trim_end();
            if body.is_empty() {
                return;
            }
            let dash = text.len() - text.trim_start().len();
            while open.last().is_some_and(|level| level.indent >= indent || item.is_some() && level.indent >= dash) {
                open.pop();
            }
            let nested = open.iter().rev().map(|level| level.words.clone()).filter(|words| !words.is_empty());
            let words: Vec<String> = nested.chain(heading.over(text).map(str::to_owned)).collect();
            if !words.is_empty() {
                over.insert((stream.to_owned(), line), words);
            }
            if open.len() >= MOST_LEVELS {
                return;
            }
            if let Some(key) = opened(body) {
                open.push(Level { indent, words: key.to_owned() });
            } else if let Some(name) = name_stated(body) {
                // Of the members that follow: they stand as far to the right.
                open.push(Level { indent: indent.saturating_sub(1), words: name });
            }
        });
        Self(over)
    }

    /// Returns the words over a line, the nearest first.
    pub(super) fn over(&self, source: &SourceLine) -> &[String] {
        self.0.get(&(source.stream.clone(), source.line)).map_or(&[], Vec::as_slice)
    }
}

/// The heading of a part of a text: `# Random read`, `== Random read ==`, `[randread]`, one with a line of dashes below it,
/// and one that ends with a colon.
#[derive(Debug, Default)]
struct Heading {
    words: Option<String>,
    /// It ends with the block of lines, as what ends with a colon does.
    ends_with_block: bool,
    /// The line before, and its indentation.
    before: (String, usize),
}

impl Heading {
    /// Reads the next line.
    fn read(&mut self, text: &str) {
        let body = text.trim();
        let indent = text.len() - text.trim_start().len();
        let is_rule =
            body.len() > 2 && (body.bytes().all(|byte| byte == b'-') || body.bytes().all(|byte| byte == b'='));
        let (title, of_before) = std::mem::replace(&mut self.before, (body.to_owned(), indent));
        if body.is_empty() {
            if self.ends_with_block {
                self.words = None;
            }
            return;
        }
        // What stands further to the right is inside: see `Sections`.
        if let Some(title) = title.strip_suffix(':').filter(|title| !title.contains([':', '"']) && indent == of_before)
        {
            (self.words, self.ends_with_block) = (Some(title.to_owned()), true);
        }
        let has_figure = |title: &str| title.contains([':', '|', ',']) || title.is_empty();
        if is_rule && !has_figure(&title) {
            (self.words, self.ends_with_block) = (Some(title), false);
        } else if let Some(title) = marked(body) {
            (self.words, self.ends_with_block) = (Some(title.to_owned()), false);
        }
    }

    /// Returns it for a line that is none itself.
    fn over(&self, text: &str) -> Option<&str> {
        self.words.as_deref().filter(|_| marked(text.trim()).is_none())
    }
}

/// Returns the title of a line that is marked as a heading.
fn marked(body: &str) -> Option<&str> {
    let framed = |sign: char| {
        let title = body.trim_matches(sign);
        (body.len() >= title.len() + 4 && body.ends_with(sign)).then_some(title)
    };
    let of_hashes =
        || body.strip_prefix('#').map(|rest| rest.trim_start_matches('#')).filter(|rest| rest.starts_with(' '));
    let in_brackets =
        || body.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|title| !title.contains('['));
    let title = of_hashes().or_else(|| framed('=')).or_else(|| framed('-')).or_else(in_brackets)?.trim();
    (title.contains(char::is_alphabetic) && !title.contains('|')).then_some(title)
}

/// Returns the keys of the objects of a line that a place is in, and the names that their members before it state, the
/// innermost first: `{"read": {"bs": "4k", "iops": 12`.
pub(super) fn keys_around(line: &str, place: usize) -> Vec<String> {
    let mut open: Vec<Vec<String>> = Vec::new();
    let (mut key, mut since, mut member) = ("", None, 0);
    for (at, sign) in line.char_indices().take_while(|(at, _)| *at < place) {
        match (sign, since) {
            ('"', None) => since = Some(at + 1),
            ('"', Some(from)) => (key, since) = (&line[from..at], None),
            ('{', None) => {
                open.push(vec![std::mem::take(&mut key).to_owned()]);
                member = at + 1;
            }
            ('}', None) => {
                open.pop();
            }
            (',', None) => {
                let stated = name_stated(&line[member..at]);
                open.last_mut().into_iter().for_each(|names| names.extend(stated.clone()));
                (key, member) = ("", at + 1);
            }
            _ => {}
        }
    }
    open.into_iter().rev().flat_map(|names| names.into_iter().rev()).filter(|name| !name.is_empty()).collect()
}

/// Returns the key of a line that only opens something: `"read": {`, `randread:`, `{`.
fn opened(body: &str) -> Option<&str> {
    let (key, bracket) = match body.strip_suffix(['{', '[']) {
        Some(key) => (key.trim_end(), true),
        None => (body, false),
    };
    match key.strip_suffix([':', '=']) {
        Some(key) => Some(key.trim_matches(['"', ' ', '\''])).filter(|key| !key.contains([':', '=', ','])),
        None => bracket.then_some(key).filter(|key| key.is_empty()),
    }
}

/// Returns the name that a member states: `"test": "randread",`; with its key, the load.
fn name_stated(body: &str) -> Option<String> {
    let (key, value) = body.split_once(':')?;
    let key = key.trim_matches(['"', ' ', '\'']);
    let value = value.trim_matches([' ', ',', '"', '\'']);
    if value.is_empty() || value.contains(['{', '[']) {
        return None;
    }
    let has = |keys: &[&str]| keys.iter().any(|one| one.eq_ignore_ascii_case(key));
    if has(LOADS) {
        return Some(format!("{key} {value}"));
    }
    has(NAMES).then(|| value.to_owned())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn over(text: &str, line: u64) -> Vec<String> {
        let output = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let source = SourceLine { stream: "stdout".to_owned(), line, text: String::new() };
        Sections::of(&output).over(&source).to_vec()
    }

    #[test]
    fn a_line_stands_below_the_keys_that_are_further_to_the_left() {
        let json = "{\n \"disk\": {\n  \"read\": {\n   \"iops\": 12\n  },\n  \"write\": {\n   \"iops\": 13\n  }\n },\n \"iops\": 25\n}\n";
        assert_eq!(over(json, 4), ["read", "disk"]);
        assert_eq!(over(json, 7), ["write", "disk"]);
        assert_eq!(over(json, 10), [""; 0]);
        let yaml = "randread:\n  iops: 12\n  latency:\n    p99_us: 3\nrandwrite:\n  iops: 13\ntotal: 25\n";
        assert_eq!(over(yaml, 2), ["randread"]);
        assert_eq!(over(yaml, 4), ["latency", "randread"]);
        assert_eq!(over(yaml, 6), ["randwrite"]);
        assert_eq!(over(yaml, 7), [""; 0]);
        // A flat heading ends with its block, what stands further to the right is not below one.
        assert_eq!(over("Reads:\n12 MB/s\n\n13 MB/s\n", 2), ["Reads"]);
        assert_eq!(over("Reads:\n12 MB/s\n\n13 MB/s\n", 4), [""; 0]);
        assert_eq!(over("write:\n  iops: 12\niops: 25\n", 3), [""; 0]);
    }

    #[test]
    fn a_marked_heading_is_over_the_lines_up_to_the_next() {
        for text in [
            "Random read\n-----------\nIOPS: 12\n\nRandom write\n============\nIOPS: 13\n",
            "## Random read\n\nIOPS: 12\n\n## Random write\nIOPS: 13\n\n",
            "== Random read ==\n\nIOPS: 12\n\n--- Random write ---\nIOPS: 13\n\n",
            "[Random read]\n\nIOPS: 12\n\n[Random write]\nIOPS: 13\n\n",
        ] {
            let lines: Vec<&str> = text.lines().collect();
            let of = |number: &str| {
                let line = lines.iter().position(|line| *line == format!("IOPS: {number}")).expect("a line") as u64 + 1;
                over(text, line)
            };
            assert_eq!(
                (of("12"), of("13")),
                (vec!["Random read".to_owned()], vec!["Random write".to_owned()]),
                "{text}"
            );
        }
        // The head of a table is none.
        assert_eq!(over("| read | write |\n|---|---|\n| 12 | 13 |\n", 3), [""; 0]);
        assert_eq!(over("a,b\n---\n1,2\n", 3), [""; 0]);
    }

    #[test]
    fn an_object_in_a_line_has_its_keys() {
        let line = r#"{"read": {"iops": 12, "lat": {"p99_us": 3}}, "write": {"iops": 13}, "total": 25}"#;
        let of = |number: &str| keys_around(line, line.find(number).expect("a number"));
        assert_eq!(of("12"), ["read"]);
        assert_eq!(of("3}}"), ["lat", "read"]);
        assert_eq!(of("13"), ["write"]);
        assert_eq!(of("25"), [""; 0]);
        assert_eq!(keys_around("a {b} \"c", 8), [""; 0]);
        // Members before it name the object, those of other objects do not.
        let line = r#"[{"rw": "randread", "bs": "4k", "n": 3, "iops": 12}, {"rw": "write", "iops": 13, "bs": "1m"}]"#;
        let of = |number: &str| keys_around(line, line.find(number).expect("a number"));
        assert_eq!(of("12"), ["bs 4k", "randread"]);
        assert_eq!(of("13"), ["write"]);
    }

    #[test]
    fn an_object_has_the_name_that_a_member_states() {
        let json = "[\n {\n  \"test\": \"randread\",\n  \"iops\": 12\n },\n {\n  \"test\": \"randwrite\",\n  \"iops\": 13\n }\n]\n";
        assert_eq!(over(json, 4), ["randread"]);
        assert_eq!(over(json, 8), ["randwrite"]);
        let yaml = "- name: seq\n  iops: 12\n- name: rand\n  iops: 13\n";
        assert_eq!(over(yaml, 2), ["seq"]);
        assert_eq!(over(yaml, 4), ["rand"]);
        assert_eq!(over("- iodepth: 8\n  iops: 12\n", 2), ["iodepth 8"]);
        assert_eq!(over("{\n  \"filename\": \"/mnt/write\",\n  \"iops\": 12\n}\n", 3), [""; 0]);
    }
}
