//! A document for a terminal. Section titles are left out: labels and headings say what follows.

use super::{Block, Content, Table};
use crate::Style;
use crate::page::{Page, Tone};

pub(super) fn render(content: &Content, style: Style) -> String {
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
    if let Some(column) = table.dispensable
        && !page.has_room(&heads, &sets, &rows)
    {
        heads.remove(column);
        sets.remove(column);
        rows.iter_mut().for_each(|row| {
            row.remove(column);
        });
    }
    page.table(&heads, &sets, &rows, table.tone);
}
