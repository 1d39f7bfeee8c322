//! `html`: a document as one self-contained page. It runs no script and fetches nothing.

use std::io;

use maud::{Markup, html};

use super::{Format, Rendering};
use crate::Style;
use crate::document::{Block, Content, Line, Room, Section, Shown};
use crate::escape::terminal as shown;
use crate::html::{fold, page, part, prose, table, visible};
use crate::page::Tone;

/// Format `html`.
pub(crate) static FORMAT: Format = Format {
    name: "html",
    extension: "html",
    is_unasked: false,
    shows_timelines: true,
    rendering: Rendering::OfDocuments(write),
};

fn write(document: &dyn Shown, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    to.write_all(render(document, style).as_bytes())
}

fn render(document: &dyn Shown, _style: Style) -> String {
    let Content { title, head, sections, version } = &document.content(Room::Page);
    let name = if head.words == *title { title.clone() } else { format!("{}: {title}", head.words) };
    let first = sections.first().filter(|section| section.title.is_empty());
    let header = html! {
        h1 { (toned(head)) @if head.words != *title { " " (shown(title)) } }
        @if !head.rest.is_empty() { p.why { (prose(&head.rest)) } }
        @if let Some(first) = first { (pieces(&first.blocks)) }
    };
    // A section without content is left out.
    let titled: Vec<(&Section, Markup)> = sections
        .iter()
        .filter(|section| !section.title.is_empty())
        .map(|section| (section, pieces(&section.blocks)))
        .filter(|(_, content)| !content.0.is_empty())
        .collect();
    let contents = html! {
        ol { @for (section, _) in &titled { li { a href={ "#" (slug(&section.title)) } { (shown(&section.title)) } } } }
    };
    let main = html! {
        @for (section, content) in &titled {
            @let (id, title) = (slug(&section.title), shown(&section.title));
            @if section.is_folded { (fold(&id, &title, content)) } @else { (part(&id, &title, content)) }
        }
    };
    visible(&page(&shown(&name), header, contents, main, version).into_string())
}

fn pieces(blocks: &[Block]) -> Markup {
    html! {
        @for (place, block) in blocks.iter().enumerate() {
            @if let Block::List { label, items } = block {
                @if place > 0 && !items.is_empty() { p { b { (label) ":" } } }
            }
            (piece(block))
        }
    }
}

/// Returns a title as the id of its section.
fn slug(title: &str) -> String {
    title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn toned(line: &Line) -> Markup {
    match class(line.tone) {
        Some(class) => html! { span.verdict.(class) { (shown(&line.words)) } },
        None => html! { (shown(&line.words)) },
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Good => Some("good"),
        Tone::Doubtful => Some("doubtful"),
        Tone::Bad => Some("bad"),
        Tone::Plain | Tone::Head | Tone::Aside => None,
    }
}

fn piece(block: &Block) -> Markup {
    match block {
        Block::Paragraph(text) => html! { p { (prose(text)) } },
        Block::Notice(text) => html! { p.notice.doubtful { b { "Note: " } (prose(text)) } },
        Block::Alert(line) => html! {
            p.notice.(class(line.tone).unwrap_or("doubtful")) { b { (shown(&line.words)) ": " } (prose(&line.rest)) }
        },
        Block::Remark(text) => html! { p.remark { (prose(text)) } },
        Block::Together(blocks) => pieces(blocks),
        Block::Advice(text) => html! { p.advice { b { "What to do: " } (prose(text)) } },
        Block::Heading(line) => html! { h3 { (shown(&line.words)) (prose(&line.rest)) } },
        Block::Lines(lines) => html! { ol { @for line in lines { li { (toned(line)) " " (prose(&line.rest)) } } } },
        Block::State(line) => html! { p { (toned(line)) " " (prose(&line.rest)) } },
        Block::List { items, .. } if items.is_empty() => html! {},
        Block::List { items, .. } => html! { ul { @for item in items { li { (prose(item)) } } } },
        Block::Facts(facts) if facts.is_empty() => html! {},
        Block::Facts(facts) => html! {
            ul {
                @for (label, text) in facts {
                    li { @if !label.is_empty() { b { (label) ": " } } (prose(text)) }
                }
            }
        },
        Block::Table(of) if of.rows.is_empty() => html! {},
        Block::Table(of) => {
            let heads: Vec<&str> = of.heads.iter().map(String::as_str).collect();
            table(of.name, &heads, &of.rows)
        }
        Block::Verbatim { label, text } => {
            html! { p.command { @if !label.is_empty() { (label) ": " } code { (shown(text)) } } }
        }
        Block::Chart(chart) => chart.clone(),
    }
}
