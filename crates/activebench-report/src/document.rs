//! Documents, which every format for documents can render.
//!
//! A product (a run, two runs side by side, a series, a comparison, a history, an acceptance, a replication, a plan, a
//! diagnosis, a ceiling) implements [`Document`]: its keys for programs, and its [`Content`] for people. Each format is
//! written once, in a file of its own, and knows nothing of the products. All text of a content is raw; the format
//! escapes it.

use std::io;

use maud::Markup;
use serde::Serialize;
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

use crate::envelope::Envelope;
use crate::format::text;
use crate::page::{Set, Tone};

/// A product that people and programs read.
pub trait Document {
    /// Noun for messages, with its article: `a series`.
    const NOUN: &'static str;
    /// Name and version of the form for programs, such as `activebench.series/1`. A consumer refuses a value that it
    /// does not know.
    const SCHEMA: &'static str;

    /// Returns the keys of the form for programs, besides `schema`.
    fn keys(&self) -> impl Serialize;

    /// Returns the form for people. It holds as much as a reader with this room wants to see.
    fn content(&self, room: Room) -> Content;
}

/// Room of a reader, which decides how much a document shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A terminal: the answer, and where the rest is.
    Glance(Glance),
    /// A terminal that was asked for more, and the file of the run directory.
    Screen,
    /// A ticket: also the evidence, in at most [`crate::ticket::LIMIT`] characters.
    Ticket,
    /// A page: everything, with charts.
    Page,
}

/// A terminal's room for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Columns of the terminal.
    pub columns: usize,
    /// How little of everything is shown, up to [`Glance::TIGHTEST`].
    pub tightness: usize,
}

impl Glance {
    /// Most lines of an answer.
    pub const LINES: usize = 24;
    /// Largest tightness.
    pub const TIGHTEST: usize = 4;

    /// Returns the text, escaped, and cut so that it takes at most this many lines. Its first line begins after `first`
    /// columns, the others after `further`.
    pub(crate) fn in_lines(self, lines: usize, first: usize, further: usize, text: &str) -> String {
        let indent = |columns: usize| " ".repeat(columns.min(self.columns.saturating_sub(20)));
        let (first, further) = (indent(first), indent(further));
        let options = Options::new(self.columns)
            .initial_indent(&first)
            .subsequent_indent(&further)
            .word_splitter(WordSplitter::NoHyphenation);
        let escaped = crate::escape::terminal(text);
        let wrapped = textwrap::wrap(&escaped, options);
        let is_whole = wrapped.len() <= lines;
        let mut kept: Vec<String> = wrapped.iter().take(lines).map(|line| line.trim().to_owned()).collect();
        if let Some(last) = kept.last_mut().filter(|_| !is_whole) {
            let room = self.columns - if lines == 1 { first.len() } else { further.len() };
            while display_width(last) >= room && last.pop().is_some() {}
            last.truncate(last.trim_end().len());
            last.push('…');
        }
        // The page breaks the lines at the same places.
        kept.join(" ")
    }

    /// Returns the text, escaped, and cut to this many columns.
    pub(crate) fn cell(text: &str, columns: usize) -> String {
        crate::escape::clipped(&crate::escape::terminal(text), columns)
    }
}

/// A document of any kind, as a format sees it.
pub trait Shown {
    /// Returns the form for people, see [`Document::content`].
    fn content(&self, room: Room) -> Content;

    /// Writes the form for programs as JSON.
    ///
    /// # Errors
    /// Only those of `to`.
    fn write_json(&self, to: &mut dyn io::Write) -> io::Result<()>;

    /// Returns the form for programs as JSON.
    fn json(&self) -> String {
        text(|to| self.write_json(to))
    }
}

impl<D: Document> Shown for D {
    fn content(&self, room: Room) -> Content {
        Document::content(self, room)
    }

    fn write_json(&self, to: &mut dyn io::Write) -> io::Result<()> {
        Envelope { schema: D::SCHEMA, keys: self.keys() }.write_json(to)
    }
}

/// The form for people: a head and sections, the most important first.
#[derive(Debug)]
pub struct Content {
    /// Title of a page: `Runs side by side`.
    pub title: String,
    /// The outcome, and what it is about.
    pub head: Line,
    /// The sections. The first one may have no title: it belongs to the head.
    pub sections: Vec<Section>,
    /// Version of the activebench that recorded what the document is about.
    pub version: String,
}

/// Words in a tone, and the rest of the sentence.
#[derive(Clone, Debug)]
pub struct Line {
    /// The words.
    pub words: String,
    /// Their colour.
    pub tone: Tone,
    /// The rest.
    pub rest: String,
}

impl Line {
    /// Combines words, tone and rest.
    pub fn new(words: impl Into<String>, tone: Tone, rest: impl Into<String>) -> Self {
        Self { words: words.into(), tone, rest: rest.into() }
    }
}

/// A part of a document.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading in Markdown and HTML; empty for the part below the head.
    pub title: String,
    /// Noun for its lines, used if a ticket has no space for all: `figures`.
    pub noun: &'static str,
    /// The content.
    pub blocks: Vec<Block>,
    /// `true` if a page shows only the title until the reader opens the section.
    pub is_folded: bool,
}

impl Section {
    /// Combines title, noun and content.
    pub fn new(title: impl Into<String>, noun: &'static str, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), noun, blocks, is_folded: false }
    }
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Paragraph(String),
    /// Something that a reader must not miss.
    Notice(String),
    /// The same, with its own words and tone.
    Alert(Line),
    /// Background information.
    Remark(String),
    /// Advice on the paragraphs before it.
    Advice(String),
    /// A heading below that of the section.
    Heading(Line),
    /// Lines that begin with words in a tone.
    Lines(Vec<Line>),
    /// A word for a state, in the column of the labels, and a sentence.
    State(Line),
    /// Sentences of one kind.
    List {
        /// Label before the first sentence on a terminal, at most eleven characters; a heading elsewhere if other
        /// blocks come before it in its section.
        label: &'static str,
        /// The sentences.
        items: Vec<String>,
    },
    /// Pairs of label and text.
    Facts(Vec<(&'static str, String)>),
    /// A table.
    Table(Table),
    /// A text that people copy: it is never wrapped.
    Verbatim {
        /// Its label.
        label: &'static str,
        /// The text.
        text: String,
    },
    /// Blocks that a ticket does not separate.
    Together(Vec<Block>),
    /// A chart, which only a page can show.
    Chart(Markup),
}

/// A table. Empty tables are left out.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name for readers who do not see the page.
    pub name: &'static str,
    /// Column heads.
    pub heads: Vec<String>,
    /// Layout of the columns on a terminal.
    pub sets: Vec<Set>,
    /// The rows, with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// Tone of the first word in the column of unbroken words.
    pub tone: fn(&str) -> Tone,
    /// Column that a narrow terminal shortens or leaves out.
    pub dispensable: Option<Dispensable>,
}

/// A column that a narrow terminal shortens or leaves out.
#[derive(Clone, Debug)]
pub struct Dispensable {
    /// Its place.
    pub column: usize,
    /// Shorter cells, shown if they fit. Empty if there are none.
    pub shorter: Vec<String>,
}

impl Table {
    /// A table without colours.
    pub fn new(name: &'static str, heads: &[&str], sets: &[Set], rows: Vec<Vec<String>>) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { name, heads, sets: sets.to_vec(), rows, tone: |_| Tone::Plain, dispensable: None }
    }
}
