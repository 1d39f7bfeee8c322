//! The diagnosis as text: a verdict, one block per group, then the commands to run.
//!
//! Names that others chose (mount points, process names) are escaped.

use activebench_report::{Style, escape};

use super::Diagnosis;
use super::checks::{Check, Group, State};

/// Width in columns if there is no terminal, as in reports.
const WIDTH: usize = 100;
/// Indent of a line's text, as wide as the state.
const INDENT: &str = "           ";

const BOLD: &str = "\x1b[1m";
const RESET: &str = "\x1b[0m";

/// Renders the whole text, with a newline at its end.
pub(super) fn render(diagnosis: &Diagnosis, style: Style) -> String {
    let width = style.width.map_or(WIDTH, usize::from).max(INDENT.len() + 20);
    let mut page = Page { text: String::new(), width, colour: style.colour };
    let head = match (&diagnosis.why_not, attention(&diagnosis.checks)) {
        (None, 0) => "activebench can observe here.".to_owned(),
        (None, 1) => "activebench can observe here; 1 line below wants attention.".to_owned(),
        (None, count) => format!("activebench can observe here; {count} lines below want attention."),
        (Some(_), _) => "activebench cannot observe here.".to_owned(),
    };
    page.filled("", "", &head);
    let mut group = None;
    let mut rest = diagnosis.checks.as_slice();
    while let Some(check) = rest.first() {
        if group != Some(check.group) {
            group = Some(check.group);
            page.heading(title(check.group));
        }
        // Tracepoints that differ only in name share one line.
        let alike = rest.iter().take_while(|other| check.is_like(other)).count();
        let (same, others) = rest.split_at(alike.max(1));
        page.checks(same);
        rest = others;
    }
    page.text
}

/// Counts the lines that are not ok, except missing benchmarks.
fn attention(checks: &[Check]) -> usize {
    checks.iter().filter(|check| check.state != State::Ok && check.group != Group::Benchmarks).count()
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Rights => "rights",
        Group::Kernel => "kernel",
        Group::Tracepoints => "tracepoints",
        Group::OtherTracers => "other tracers",
        Group::Storage => "storage",
        Group::Benchmarks => "benchmarks",
    }
}

impl Check {
    /// True if two tracepoints differ only in their names.
    fn is_like(&self, other: &Check) -> bool {
        self.group == Group::Tracepoints && Check { name: self.name.clone(), ..other.clone() } == *self
    }
}

struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    fn heading(&mut self, title: &str) {
        let (bold, reset) = if self.colour { (BOLD, RESET) } else { ("", "") };
        self.text.push_str(&format!("\n{bold}{title}{reset}\n"));
    }

    /// Adds checks that share one line.
    fn checks(&mut self, same: &[Check]) {
        let Some(check) = same.first() else { return };
        let names: Vec<&str> = same.iter().map(|check| check.name.as_str()).collect();
        let (word, colour) = match check.state {
            State::Ok => ("ok", "\x1b[1;32m"),
            State::Gap => ("gap", "\x1b[1;31m"),
            State::Never => ("never", "\x1b[1;33m"),
            State::Unknown => ("unknown", "\x1b[1;33m"),
        };
        let line = format!("{}: {}; {}", names.join(", "), check.found, check.meaning);
        let begin = self.text.len();
        self.filled(&format!("  {word:8} "), INDENT, line.trim_end_matches("; "));
        if self.colour {
            let place = begin + 2;
            self.text.replace_range(place..place + word.len(), &format!("{colour}{word}{RESET}"));
        }
        if let Some(command) = &check.command {
            // Not wrapped, so that it can be copied.
            self.text.push_str(&format!("{INDENT}$ {}\n", escape::terminal(command)));
        }
        if let Some(advice) = &check.advice {
            self.filled(&format!("{INDENT}→ "), &format!("{INDENT}  "), advice);
        }
    }

    fn filled(&mut self, first: &str, indent: &str, text: &str) {
        let options = textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(indent)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        self.text.push_str(&textwrap::fill(&escape::terminal(text), options));
        self.text.push('\n');
    }
}
