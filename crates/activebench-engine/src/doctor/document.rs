//! The diagnosis as a document: whether activebench can observe, then one section per group.

use activebench_report::document::{Block, Content, Document, Line, Room, Section};
use activebench_report::page::Tone;
use serde::Serialize;

use super::Diagnosis;
use super::checks::{Check, Group, State};

impl Document for Diagnosis {
    const NOUN: &'static str = "a diagnosis";
    const SCHEMA: &'static str = "activebench.doctor/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, _room: Room) -> Content {
        let (words, tone) = match self.can_observe {
            true => ("activebench can observe here", Tone::Good),
            false => ("activebench cannot observe here", Tone::Bad),
        };
        let rest = match (self.can_observe, attention(&self.checks)) {
            (false, _) | (true, 0) => String::new(),
            (true, 1) => "1 line below needs attention.".to_owned(),
            (true, lines) => format!("{lines} lines below need attention."),
        };
        let mut sections = Vec::new();
        let mut left = self.checks.as_slice();
        while let Some(first) = left.first() {
            let (of_group, others) = left.split_at(left.iter().take_while(|check| check.group == first.group).count());
            sections.push(section(first.group, of_group));
            left = others;
        }
        Content {
            title: "Diagnosis".to_owned(),
            head: Line::new(words, tone, rest),
            sections,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

fn section(group: Group, checks: &[Check]) -> Section {
    let mut blocks = vec![Block::Heading(Line::new(title(group), Tone::Head, ""))];
    let mut left = checks;
    while let Some(check) = left.first() {
        // Tracepoints that differ only in name share one line.
        let alike = left.iter().take_while(|other| check.is_like(other)).count();
        let (same, others) = left.split_at(alike.max(1));
        let names: Vec<&str> = same.iter().map(|check| check.name.as_str()).collect();
        let sentence = format!("{}: {}; {}", names.join(", "), check.found, check.meaning);
        let (word, tone) = match check.state {
            State::Ok => ("ok", Tone::Good),
            State::Gap => ("gap", Tone::Bad),
            State::Never => ("never", Tone::Doubtful),
            State::Unknown => ("unknown", Tone::Doubtful),
        };
        blocks.push(Block::State(Line::new(word, tone, sentence.trim_end_matches("; "))));
        let command = |command: &String| Block::Verbatim { label: "", text: format!("$ {command}") };
        blocks.extend(check.command.iter().map(command));
        blocks.extend(check.advice.iter().map(|advice| Block::Facts(vec![("", format!("→ {advice}"))])));
        left = others;
    }
    Section::new(title(group), "lines", blocks)
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
        Group::Settings => "settings",
    }
}

impl Check {
    /// True if two tracepoints differ only in their names.
    fn is_like(&self, other: &Check) -> bool {
        self.group == Group::Tracepoints && Check { name: self.name.clone(), ..other.clone() } == *self
    }
}
