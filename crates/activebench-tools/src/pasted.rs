//! Outputs as people paste them: quoted, indented, wrapped, several in one text, with words of their own between.
//!
//! What every tool's output suffers alike is undone here, once for all tools; the adapters then read what is left. A
//! number is claimed only under the name that the text gives it: where the text no longer says what a number is, it
//! is left out, and a note says so.

mod cleaned;
mod forms;
mod notes;
mod prefix;

use activebench_model::claim::{Parsed, SourceLine, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;

use crate::adapter::Adapter;
use cleaned::Line;
pub use forms::Forms;
use notes::Remark;

/// Reads a stored text; returns one entry for each of the tool's outputs in it, and at least one. `command` is the
/// tool's own command line, empty if unknown; an output that states its command is read by that one.
pub fn read_pasted(adapter: &dyn Adapter, command: &CommandLine, text: &[u8], subject: Option<Subject>) -> Vec<Parsed> {
    let cleaned = cleaned::lines(text);
    let reader = Reader { adapter, command, subject };
    let as_it_is = reader.read(&cleaned.lines, cleaned.remarks.clone());
    let mut best = as_it_is;
    for unquoted in prefix::without_prefixes(&cleaned.lines) {
        let read: Vec<Parsed> = unquoted
            .texts
            .iter()
            .flat_map(|text| {
                let remarks = cleaned.remarks.iter().chain(&text.remarks).cloned().collect();
                reader.read(&text.lines, remarks)
            })
            .collect();
        // What is no prefix of the tool's lines is part of them: without it less is read. Blanks before all lines are
        // none: with them a name would begin with blanks, or a line that says what figures mean would not be known. So
        // would the version, without which more is claimed than the text says.
        let is_better = figures(&read) > figures(&best) || versions(&read) > versions(&best);
        if is_better || (unquoted.is_unindented && figures(&read) > 0) {
            best = read;
        }
    }
    // Parts of a text without a figure say nothing beside those that have some.
    if figures(&best) > 0 {
        best.retain(|output| !output.claims.is_empty() || !output.errors.is_empty() || !output.notes.is_empty());
    } else {
        best.truncate(1);
    }
    best
}

/// Returns the number of claims.
fn figures(outputs: &[Parsed]) -> usize {
    outputs.iter().map(|output| output.claims.len()).sum()
}

/// Returns the number of outputs that state their version.
fn versions(outputs: &[Parsed]) -> usize {
    outputs.iter().filter(|output| output.version.is_some()).count()
}

struct Reader<'a> {
    adapter: &'a dyn Adapter,
    command: &'a CommandLine,
    subject: Option<Subject>,
}

impl Reader<'_> {
    /// Reads the outputs in a text, in order. The remarks are on the whole text.
    fn read(&self, lines: &[Line], remarks: Vec<Remark>) -> Vec<Parsed> {
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let mut begins = (self.adapter.forms().begins)(&texts);
        begins.retain(|begin| (1..lines.len()).contains(begin));
        begins.sort_unstable();
        begins.dedup();
        let ends = begins.iter().copied().chain([lines.len()]);
        let mut outputs: Vec<Parsed> = std::iter::once(0)
            .chain(begins.iter().copied())
            .zip(ends)
            .map(|(begin, end)| self.read_one(&lines[begin..end]))
            .collect();
        if let Some(first) = outputs.first_mut() {
            let notes = remarks.iter().map(|remark| remark.note(lines));
            first.notes.splice(0..0, notes);
        }
        outputs
    }

    fn read_one(&self, lines: &[Line]) -> Parsed {
        let mut stdout = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n").into_bytes();
        stdout.push(b'\n');
        let states_command = lines.iter().any(|line| (self.adapter.forms().states_command)(&line.text));
        let nothing = CommandLine::default();
        let command = if states_command { &nothing } else { self.command };
        let mut parsed = self.adapter.parse(command, &ToolOutput { stdout, ..ToolOutput::default() }, self.subject);
        let read = sources(&mut parsed).map(|source| source.line).collect();
        if let Some(unread) = notes::unread(&read, lines, self.adapter) {
            parsed.notes.push(unread);
        }
        sources(&mut parsed).for_each(|source| place(source, lines));
        parsed.notes = notes::grouped(std::mem::take(&mut parsed.notes));
        parsed
    }
}

/// Returns the line of everything that was read.
fn sources(parsed: &mut Parsed) -> impl Iterator<Item = &mut SourceLine> {
    let claims = parsed.claims.iter_mut().map(|claim| &mut claim.source);
    let restated = parsed.restated.iter_mut().map(|restated| &mut restated.source);
    let odd = parsed.contradictions.iter_mut().map(|odd| &mut odd.source);
    let notes = parsed.notes.iter_mut().chain(&mut parsed.errors).map(|note| &mut note.source);
    claims.chain(restated).chain(odd).chain(notes)
}

/// Moves a line of one output to its place in the stored text.
fn place(source: &mut SourceLine, lines: &[Line]) {
    let index = usize::try_from(source.line).ok().and_then(|line| line.checked_sub(1));
    if let Some(line) = index.and_then(|index| lines.get(index)) {
        (source.line, source.text) = (line.number, line.original.clone());
    }
}
