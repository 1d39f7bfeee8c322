//! `text`: a document for a terminal. Section titles are left out: labels and headings say what follows.

use std::io;

use super::{Format, Rendering};
use textwrap::core::display_width;

use crate::document::{Block, Content, Dispensable, Glance, Room, Shown, Table};
use crate::page::{LEAST_WIDTH, Page, Tone};
use crate::{Detail, Style};

/// Width of an answer in columns if the output has none.
const GLANCE_WIDTH: u16 = 80;

/// Format `text`.
pub(crate) static FORMAT: Format = Format {
    name: "text",
    extension: "txt",
    is_unasked: true,
    shows_timelines: false,
    rendering: Rendering::OfDocuments(write),
};

fn write(document: &dyn Shown, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    to.write_all(render(document, style).as_bytes())
}

fn render(document: &dyn Shown, style: Style) -> String {
    if style.detail == Detail::Long {
        return laid_out(&document.content(Room::Screen), style);
    }
    let columns = style.width.unwrap_or(GLANCE_WIDTH).max(LEAST_WIDTH);
    let style = Style { width: Some(columns), ..style };
    let mut text = String::new();
    for tightness in 0..=Glance::TIGHTEST {
        let room = Room::Glance(Glance { columns: columns.into(), tightness });
        text = laid_out(&document.content(room), style);
        let lines = |line: &str| display_width(line).div_ceil(columns.into()).max(1);
        if strip(&text).lines().map(lines).sum::<usize>() <= Glance::LINES {
            break;
        }
    }
    text
}

/// Returns the text without colours, to count its lines.
fn strip(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').map_or("", |(_, rest)| rest))
}

fn laid_out(content: &Content, style: Style) -> String {
    let mut page = Page::new(style);
    let head = &content.head;
    page.headed(&head.words, head.tone, &format!("  {}", head.rest));
    for section in &content.sections {
        // Paragraphs of the first section belong to the head.
        if !section.title.is_empty() {
            page.blank();
        }
        section.blocks.iter().for_each(|block| add(&mut page, block));
    }
    page.finish()
}

fn add(page: &mut Page, block: &Block) {
    match block {
        Block::Paragraph(text) => page.paragraph(text, Tone::Plain),
        Block::Notice(text) => page.marked("! ", text, Tone::Doubtful),
        Block::Alert(line) => page.headed(&line.words, line.tone, &format!(": {}", line.rest)),
        Block::Remark(text) => page.paragraph(text, Tone::Aside),
        Block::Together(blocks) => blocks.iter().for_each(|block| add(page, block)),
        Block::Advice(text) => page.marked("→ ", text, Tone::Head),
        Block::Heading(line) => {
            page.blank();
            page.headed(&line.words, line.tone, &line.rest);
        }
        Block::Lines(lines) => {
            lines.iter().for_each(|line| page.headed(&line.words, line.tone, &format!("  {}", line.rest)));
        }
        Block::State(line) => page.labelled_in(&line.words, line.tone, &line.rest),
        Block::List { label, items } => {
            for (index, item) in items.iter().enumerate() {
                page.labelled(if index == 0 { label } else { "" }, item);
            }
        }
        Block::Facts(facts) => facts.iter().for_each(|(label, text)| page.labelled(label, text)),
        Block::Table(table) => add_table(page, table),
        Block::Verbatim { label, text } => page.labelled_verbatim(label, text),
        Block::Chart(_) => {}
    }
}

fn add_table(page: &mut Page, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let mut heads: Vec<&str> = table.heads.iter().map(String::as_str).collect();
    let (mut sets, mut rows) = (table.sets.clone(), table.rows.clone());
    if let Some(Dispensable { column, shorter }) = &table.dispensable {
        let column = *column;
        if !page.has_room(&heads, &sets, &rows) {
            rows.iter_mut().zip(shorter).for_each(|(row, cell)| row[column].clone_from(cell));
        }
        if !page.has_room(&heads, &sets, &rows) {
            heads.remove(column);
            sets.remove(column);
            rows.iter_mut().for_each(|row| {
                row.remove(column);
            });
        }
    }
    page.table(&heads, &sets, &rows, table.tone);
}
