//! What the lines around a number say of it by their indentation, as YAML and JSON that is printed over several lines:
//!
//! ```text
//! randread:              {
//!   iops: 11109.9          "test": "randread",
//!                          "iops": 11109.9
//! ```

use std::collections::HashMap;

use activebench_model::claim::SourceLine;
use activebench_model::output::ToolOutput;

use crate::printed_numbers::each_line;

/// Members that name the object that they are in.
const NAMES: &[&str] =
    &["name", "test", "job", "jobname", "workload", "mode", "rw", "op", "operation", "type", "pattern", "phase"];

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
        let mut of_stream = String::new();
        each_line(output, |stream, line, text, _| {
            if of_stream != stream {
                (of_stream, open) = (stream.to_owned(), Vec::new());
            }
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
            let words: Vec<String> =
                open.iter().rev().map(|level| level.words.clone()).filter(|words| !words.is_empty()).collect();
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
                open.push(Level { indent: indent.saturating_sub(1), words: name.to_owned() });
            }
        });
        Self(over)
    }

    /// Returns the words over a line, the nearest first.
    pub(super) fn over(&self, source: &SourceLine) -> &[String] {
        self.0.get(&(source.stream.clone(), source.line)).map_or(&[], Vec::as_slice)
    }
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

/// Returns the name that a member states: `"test": "randread",`.
fn name_stated(body: &str) -> Option<&str> {
    let (key, value) = body.split_once(':')?;
    let key = key.trim_matches(['"', ' ', '\'']);
    let value = value.trim_matches([' ', ',', '"', '\'']);
    let is_name = NAMES.iter().any(|name| name.eq_ignore_ascii_case(key));
    (is_name && !value.is_empty() && !value.contains(['{', '['])).then_some(value)
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
        // A heading that is not further to the left says nothing here.
        assert_eq!(over("Reads:\n12 MB/s\n", 2), [""; 0]);
    }

    #[test]
    fn an_object_has_the_name_that_a_member_states() {
        let json = "[\n {\n  \"test\": \"randread\",\n  \"iops\": 12\n },\n {\n  \"test\": \"randwrite\",\n  \"iops\": 13\n }\n]\n";
        assert_eq!(over(json, 4), ["randread"]);
        assert_eq!(over(json, 8), ["randwrite"]);
        let yaml = "- name: seq\n  iops: 12\n- name: rand\n  iops: 13\n";
        assert_eq!(over(yaml, 2), ["seq"]);
        assert_eq!(over(yaml, 4), ["rand"]);
        assert_eq!(over("{\n  \"filename\": \"/mnt/write\",\n  \"iops\": 12\n}\n", 3), [""; 0]);
    }
}
