//! `markdown`: a document for a ticket, in plain Markdown without HTML. Each section keeps an equal share of the limit
//! and is cut between its lines.

use std::io;

use super::{Format, Rendering};
use crate::Style;
use crate::document::{Block, Line, Room, Shown, Table};
use crate::escape::{markdown as text, markdown_code as code};
use crate::page::Set;
use crate::ticket::{LIMIT, Section, assembled};

/// Share of a ticket that all sections together are guaranteed, in thousandths.
const GUARANTEED: usize = 900;

/// Format `markdown`.
pub(crate) static FORMAT: Format = Format {
    name: "markdown",
    extension: "md",
    is_unasked: true,
    shows_timelines: false,
    rendering: Rendering::OfDocuments(write),
};

fn write(document: &dyn Shown, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    to.write_all(render(document, style).as_bytes())
}

fn render(document: &dyn Shown, _style: Style) -> String {
    let content = document.content(Room::Ticket);
    let share = GUARANTEED / content.sections.len().max(1);
    let Line { words, rest, .. } = &content.head;
    let head = match rest.is_empty() {
        true => format!("# {}\n", text(words)),
        false => format!("# {}: {}\n", text(words), text(rest)),
    };
    let mut sections = vec![Section { lead: head, items: Vec::new(), noun: "", share: 50 }];
    for section in &content.sections {
        let mut pieces = Vec::new();
        let mut pending = String::new();
        for block in &section.blocks {
            if let Block::List { label, items } = block
                && !items.is_empty()
                && !pieces.is_empty()
            {
                pending.push_str(&format!("\n**{}:**\n", text(label)));
            }
            add(block, &mut pending, &mut pieces);
        }
        if pieces.is_empty() && pending.is_empty() {
            continue;
        }
        if !pending.is_empty() {
            pieces.push(pending);
        }
        let lead = match section.title.as_str() {
            "" => {
                pieces[0] = pieces[0].trim_start_matches('\n').to_owned();
                String::new()
            }
            title => format!("## {}\n", text(title)),
        };
        sections.push(Section { lead, items: pieces, noun: section.noun, share });
    }
    assembled(&sections, LIMIT)
}

/// Adds the pieces of a block, between which a ticket may be cut. `pending` is kept with the next piece: a heading, the
/// head of a table.
fn add(block: &Block, pending: &mut String, pieces: &mut Vec<String>) {
    let mut lines: Vec<String> = match block {
        Block::Paragraph(words) => vec![format!("{}\n", text(words))],
        Block::Notice(words) => vec![format!("**Note:** {}\n", text(words))],
        Block::Alert(Line { words, rest, .. }) => vec![format!("**{}**: {}\n", text(words), text(rest))],
        Block::Remark(words) => vec![format!("- {}\n", text(words))],
        Block::Together(blocks) => {
            let mut inner = Vec::new();
            blocks.iter().for_each(|block| add(block, pending, &mut inner));
            pieces.push(inner.concat());
            return;
        }
        Block::Advice(words) => vec![format!("**What to do:** {}\n", text(words))],
        Block::Heading(Line { words, rest, .. }) => {
            pending.push_str(&format!("\n### {}\n", text(&format!("{words}{rest}"))));
            return;
        }
        Block::Lines(lines) => {
            lines.iter().map(|line| format!("- {}: {}\n", text(&line.words), text(&line.rest))).collect()
        }
        Block::State(line) => vec![format!("- {}: {}\n", text(&line.words), text(&line.rest))],
        Block::List { items, .. } => items.iter().map(|item| format!("- {}\n", text(item))).collect(),
        Block::Facts(facts) => facts.iter().map(|(label, words)| fact(label, words)).collect(),
        Block::Table(table) => rows(table),
        Block::Verbatim { label: "", text: words } => vec![format!("{}\n", code(words))],
        Block::Verbatim { label, text: words } => vec![format!("{}: {}\n", text(label), code(words))],
        Block::Chart(_) => return,
    };
    let Some(first) = lines.first_mut() else { return };
    *first = format!("{}\n{first}", std::mem::take(pending));
    pieces.append(&mut lines);
}

fn fact(label: &str, words: &str) -> String {
    match label {
        "" => format!("- {}\n", text(words)),
        label => format!("- {}: {}\n", text(label), text(words)),
    }
}

/// The rows of a table, its head before the first one.
fn rows(table: &Table) -> Vec<String> {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| text(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut rows: Vec<String> = table.rows.iter().map(|row| line(row)).collect();
    if let Some(first) = rows.first_mut() {
        let rule = |set: &Set| if *set == Set::Right { "---:" } else { "---" };
        let rule = table.sets.iter().map(rule).collect::<Vec<_>>().join(" | ");
        *first = format!("{}| {rule} |\n{first}", line(&table.heads));
    }
    rows
}
