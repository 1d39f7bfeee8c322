//! Documents about several runs, and the formats that render every one of them.
//!
//! A product (a series, a comparison, a history, an acceptance, a replication, a plan) implements [`Document`]: its
//! keys for programs, and its [`Content`] for people. Each format is written once, in a file of its own, and knows
//! nothing of the products. All text of a content is raw; the format escapes it.
//!
//! The report of a single run has formats of its own, see [`crate::FORMATS`].

mod html;
mod markdown;
mod text;

use maud::Markup;
use serde::Serialize;

use crate::Style;
use crate::envelope::Envelope;
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

    /// Returns the form for people.
    fn content(&self) -> Content;
}

/// A format for every document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
    /// For a ticket: shorter than [`crate::ticket::LIMIT`].
    Markdown,
    /// One self-contained page.
    Html,
}

impl DocumentFormat {
    /// Every format, in the order in which messages list them.
    pub const ALL: [Self; 4] = [Self::Text, Self::Json, Self::Markdown, Self::Html];

    /// Returns the name as given to `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// Returns the file name extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// Returns the format with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Renders a document.
    pub fn render(self, document: &impl Document, style: Style) -> String {
        match self {
            Self::Text => text::render(&document.content(), style),
            Self::Json => json(document),
            Self::Markdown => markdown::render(&document.content()),
            Self::Html => html::render(&document.content()),
        }
    }
}

fn json<D: Document>(document: &D) -> String {
    Envelope { schema: D::SCHEMA, keys: document.keys() }.json()
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
#[derive(Debug)]
pub struct Section {
    /// Heading in Markdown and HTML; empty for the part below the head.
    pub title: String,
    /// Noun for its lines, used if a ticket has no space for all: `figures`.
    pub noun: &'static str,
    /// The content.
    pub blocks: Vec<Block>,
}

impl Section {
    /// Combines title, noun and content.
    pub fn new(title: impl Into<String>, noun: &'static str, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), noun, blocks }
    }
}

/// A piece of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Paragraph(String),
    /// Something that a reader must not miss.
    Notice(String),
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
    /// A chart, which only a page can show.
    Chart(Markup),
}

/// A table. Empty tables are left out.
#[derive(Debug)]
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
    /// Column that a narrow terminal leaves out.
    pub dispensable: Option<usize>,
}

impl Table {
    /// A table without colours.
    pub fn new(name: &'static str, heads: &[&str], sets: &[Set], rows: Vec<Vec<String>>) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { name, heads, sets: sets.to_vec(), rows, tone: |_| Tone::Plain, dispensable: None }
    }
}
