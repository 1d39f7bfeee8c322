//! A ceiling as a document: the parts that make up a figure on a target.

use activebench_model::ceiling::{Ceiling, Part, PartKind, SCHEMA};
use activebench_model::units::Quantity;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::page::{Set, Tone};
use crate::target_line;

impl Document for Ceiling {
    const NOUN: &'static str = "a ceiling";
    const SCHEMA: &'static str = SCHEMA;

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, _room: Room) -> Content {
        let machine = &self.machine;
        let memory = machine.memory_bytes.map_or("not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string());
        let mut facts = vec![
            ("target", target_line(&self.target)),
            (
                "machine",
                format!("kernel {}, {} {} CPUs, memory {memory}", machine.kernel, machine.cpus, machine.architecture),
            ),
        ];
        facts.extend(
            self.links.iter().map(|link| {
                ("link", format!("{}: {}", link.name, Quantity::bytes_per_sec(link.payload_bytes_per_sec)))
            }),
        );
        let mut said = None;
        let mut row = |part: &Part| {
            // The same reason for several parts is given once.
            let is_said = part.missing.is_some() && said == part.missing;
            if part.missing.is_some() {
                said.clone_from(&part.missing);
            }
            vec![part.words(), if is_said { "missing".to_owned() } else { figure(part) }]
        };
        let rows = self.parts.iter().map(&mut row).collect();
        let parts = Table::new("Parts", &["part", "maximum"], &[Set::Left, Set::Left], rows);
        let notes = Block::List { label: "notes", items: self.notes.clone() };
        Content {
            title: "Ceiling".to_owned(),
            head: Line::new("Ceiling", Tone::Head, self.place.clone()),
            sections: vec![
                Section::new("", "lines", vec![Block::Facts(facts)]),
                Section::new("Parts", "parts", vec![Block::Table(parts), notes]),
            ],
            version: self.activebench.clone(),
        }
    }
}

/// Returns a part's value and spread, or the reason why it has none.
pub fn figure(part: &Part) -> String {
    // Calls that reach no storage are not I/O operations.
    let value = part.value.map(|value| match part.kind {
        PartKind::Calls => value.to_string().replace("IOPS", "calls/s"),
        _ => value.to_string(),
    });
    match (value, part.spread_ratio, &part.missing) {
        (Some(value), Some(spread), _) => format!("{value}, spread {:.1} %", spread * 100.0),
        (Some(value), None, _) => value,
        (None, _, Some(why)) => format!("missing: {why}"),
        (None, _, None) => "missing".to_owned(),
    }
}
