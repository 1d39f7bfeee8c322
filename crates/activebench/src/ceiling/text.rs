//! A ceiling as text for people.

use std::path::PathBuf;

use activebench_model::ceiling::{Ceiling, Part, PartKind};
use activebench_model::units::Quantity;
use activebench_report::{escape, target_line};

/// Returns a part's value and spread, or the reason why it has none.
pub(super) fn figure(part: &Part) -> String {
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

/// Renders the whole text.
pub(super) fn render(ceiling: &Ceiling, files: &[PathBuf]) -> String {
    let mut lines =
        vec![format!("Ceiling of {}", ceiling.place), format!("  target    {}", target_line(&ceiling.target))];
    let machine = &ceiling.machine;
    let memory = machine.memory_bytes.map_or("not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string());
    lines.push(format!(
        "  machine   kernel {}, {} {} processors, memory {memory}",
        machine.kernel, machine.cpus, machine.architecture
    ));
    for link in &ceiling.links {
        lines.push(format!("  link      {}: {}", link.name, Quantity::bytes_per_sec(link.payload_bytes_per_sec)));
    }
    lines.push(String::new());
    let width = ceiling.parts.iter().map(|part| part.words().chars().count()).max().unwrap_or(0);
    let mut said = None;
    for part in &ceiling.parts {
        // The same reason for several parts is given once.
        let figure = if part.missing.is_some() && said == part.missing { "missing".to_owned() } else { figure(part) };
        lines.push(format!("  {:width$}  {figure}", part.words()));
        if part.missing.is_some() {
            said.clone_from(&part.missing);
        }
    }
    lines.push(String::new());
    lines.extend(ceiling.notes.iter().map(|note| format!("  note      {note}")));
    lines.extend(files.iter().map(|file| format!("  kept in   {}", file.display())));
    lines.iter().map(|line| escape::terminal(line) + "\n").collect()
}
