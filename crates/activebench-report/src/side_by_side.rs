//! Two runs of one benchmark side by side: with its original command, and with the advice applied.
//!
//! The report of the first run comes first in full.

use activebench_model::remedy::{Beside, Side, SideBySide};
use activebench_model::report::JudgedRun;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::envelope::Envelope;
use crate::escape;
use crate::page::{Set, Tone};
use crate::run::tone;
use crate::wording::{self, shell_command, shell_word};

/// Figures shown to a person; the rest is counted.
const FIGURES_SHOWN: usize = 24;
/// Columns of the table.
const HEADS: [&str; 7] = ["phase", "figure", "as given", "honest", "verdict", "with the advice", "verdict then"];

impl Document for SideBySide {
    const NOUN: &'static str = "two runs";
    const SCHEMA: &'static str = "activebench.advice/1";

    fn keys(&self) -> impl Serialize {
        Keys {
            exit_code: self.as_given.exit_code,
            command: &self.as_given.manifest.command.argv,
            advised_command: &self.advised.argv,
            applied: &self.advised.applied,
            left: &self.advised.left,
            figures: &self.figures,
            holding: self.holding,
            as_given: Envelope { schema: JudgedRun::SCHEMA, keys: self.as_given.keys() },
            with_advice: Envelope { schema: JudgedRun::SCHEMA, keys: self.with_advice.keys() },
        }
    }

    fn content(&self, room: Room) -> Content {
        let mut content = self.as_given.content(room);
        content.sections.push(Section::new("With the advice", "figures", with_advice(self)));
        content
    }
}

fn with_advice(sides: &SideBySide) -> Vec<Block> {
    let advised = &sides.with_advice;
    let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Whole, Set::Right, Set::Whole];
    let verdict = advised.verdict.as_str().to_uppercase();
    let mut blocks = vec![
        Block::Heading(Line::new("With the advice", Tone::Head, "")),
        Block::Lines(vec![Line::new(verdict, tone(advised.verdict), format!("{}.", because(sides)))]),
        Block::Verbatim { label: "command", text: shell_command(&sides.advised.argv) },
        Block::List { label: "changes", items: changes(sides) },
        Block::Table(Table::new("Figures with the advice", &HEADS, &sets, rows(sides))),
    ];
    blocks.extend(left_out(sides).map(Block::Paragraph));
    blocks.push(Block::List { label: "far apart", items: far_apart(sides) });
    blocks.push(Block::Verbatim { label: "run", text: advised.directory.clone() });
    blocks.push(Block::Verbatim {
        label: "next",
        text: format!("activebench report {}", shell_word(&advised.directory)),
    });
    blocks
}

fn rows(sides: &SideBySide) -> Vec<Vec<String>> {
    let figure = |figure: &Beside| {
        let honest = |side: &Side| side.honest.map_or_else(|| "not known".to_owned(), |value| value.to_string());
        let advised = figure.with_advice.as_ref();
        vec![
            escape::clipped(&figure.phase, 100),
            wording::metric(figure.metric).to_owned(),
            figure.as_given.claimed.to_string(),
            honest(&figure.as_given),
            figure.as_given.verdict.as_str().to_owned(),
            advised.map_or_else(|| "not printed".to_owned(), |side| side.claimed.to_string()),
            advised.map_or_else(|| "-".to_owned(), |side| side.verdict.as_str().to_owned()),
        ]
    };
    sides.figures.iter().take(FIGURES_SHOWN).map(figure).collect()
}

/// Returns the applied changes, and the reasons for those not applied, one sentence each.
fn changes(sides: &SideBySide) -> Vec<String> {
    let applied =
        sides.advised.applied.iter().map(|applied| format!("{}: {}", applied.codes.join(", "), applied.change));
    let left = sides.advised.left.iter().map(|left| format!("{}: nothing changed: {}", left.code, left.why));
    applied.chain(left).collect()
}

/// Returns why the main figure of a phase is far from that of the first run: one line a phase.
fn far_apart(sides: &SideBySide) -> Vec<String> {
    let mut phases: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for figure in &sides.figures {
        let Some(why) = figure.why.as_ref().filter(|_| !phases.contains(&figure.phase.as_str())) else { continue };
        phases.push(&figure.phase);
        lines.push(format!("{}: {why}", escape::clipped(&figure.phase, 100)));
    }
    lines.truncate(FIGURES_SHOWN);
    lines
}

fn left_out(sides: &SideBySide) -> Option<String> {
    let more = sides.figures.len().saturating_sub(FIGURES_SHOWN);
    (more > 0).then(|| format!("and {more} more figures in the JSON report"))
}

fn because(sides: &SideBySide) -> String {
    format!("{} of {} figures hold with the advice applied", sides.holding, sides.figures.len())
}

#[derive(Serialize)]
struct Keys<'a, R> {
    exit_code: i32,
    command: &'a [String],
    advised_command: &'a [String],
    applied: &'a [activebench_model::remedy::Applied],
    left: &'a [activebench_model::remedy::Left],
    figures: &'a [Beside],
    holding: usize,
    as_given: Envelope<R>,
    with_advice: Envelope<R>,
}
