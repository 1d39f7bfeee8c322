//! `fio-iolog`: the run's reads, writes and syncs as a log that fio replays (`--read_iolog`).
//!
//! The format is described in fio's manual, *Trace file format*. Details missing there were tested with fio 3.33: times
//! are in microseconds, names end at the first blank, lengths have 32 bits, `trim` is refused (later versions accept
//! it). Version 3 has a time before each action and needs fio 3.31; version 2 has no times.
//!
//! The log has the calls of the whole run, inside and outside the tool's clocks, on the files that a phase names. For a
//! run without phases, it has the calls on files that the run wrote, or read at least 1 MiB of. Programs, libraries and
//! the tool's own reports are not part of the load, and a replay must not overwrite them. A request has the position of
//! its submission.

mod left_out;
pub mod passes;
mod replay;
mod shape;
mod step;
mod writer;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::report::JudgedRun;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::units::Quantity;

use self::left_out::LeftOut;
use self::replay::Replay;
use self::step::{Action, Step};
use self::writer::Writer;
use super::in_order::Late;
use super::names::FileNames;
use super::{Export, ExportError, gaps_of_the_record};
use crate::wording::{count, list};

/// In a run without phases, a file with fewer read bytes and no writes is taken for a library or a configuration file.
const LEAST_READ_BYTES: u64 = 1 << 20;
/// Maximum files named in one note.
const FILES_NAMED: usize = 4;

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Without times; since fio 1.17.
    Two,
    /// With times; since fio 3.31.
    Three,
}

/// A log for `fio --read_iolog`.
pub(super) struct FioIolog(pub(super) Version);

impl Export for FioIolog {
    fn name(&self) -> &'static str {
        match self.0 {
            Version::Two => "fio-iolog-v2",
            Version::Three => "fio-iolog",
        }
    }

    fn shows_timelines(&self) -> bool {
        false
    }

    fn write(
        &self,
        run: &JudgedRun,
        events: &dyn EventSource,
        file: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> Result<Vec<String>, ExportError> {
        let names = FileNames::read(events)?;
        let files = Files::of(run, events)?;
        let mut left_out = LeftOut::default();
        let mut late = Late::new();
        let mut operations = 0_u64;
        for batch in events.calls() {
            for call in &batch? {
                match files.step(call, &names) {
                    Ok(Some(step)) => {
                        operations += u64::from(step.action.moves_data());
                        late.look(step.at_ns, step);
                    }
                    Ok(None) => {}
                    Err(why) => left_out.add(call, why),
                }
            }
        }
        let mut missing = left_out.sentences(&names);
        missing.extend(gaps_of_the_record(run));
        // fio refuses a log that has only syncs.
        if operations == 0 {
            missing.insert(0, "the run has no read, write or discard that an iolog can say".to_owned());
            return Err(ExportError::Nothing(missing.join("; ")));
        }
        let mut writer = Writer::new(self.0, run.manifest.clocks.started_ns, &names, out);
        let mut replay = Replay::new(run);
        let mut take = |_, step: Step| {
            replay.look(&step);
            writer.step(&step)
        };
        let mut in_order = late.again();
        for batch in events.calls() {
            for call in &batch? {
                if let Ok(Some(step)) = files.step(call, &names) {
                    in_order.push(step.at_ns, step, &mut take)?;
                }
            }
        }
        in_order.finish(&mut take)?;
        let written = writer.finish()?;
        let mut notes = replay.sentences(run, self.0, file, &written);
        notes.extend(missing);
        notes.extend(files.unnamed(&names));
        Ok(notes)
    }
}

/// The files of the load.
struct Files {
    load: HashSet<FileId>,
    /// Other files that moved a relevant amount of data, with their calls and bytes.
    others: HashMap<FileId, Moved>,
}

/// Calls and bytes of one file.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    calls: u64,
    read_bytes: u64,
    written_bytes: u64,
}

impl Moved {
    fn is_load(self) -> bool {
        self.written_bytes > 0 || self.read_bytes >= LEAST_READ_BYTES
    }
}

impl Files {
    fn of(run: &JudgedRun, events: &dyn EventSource) -> Result<Self, Unreadable> {
        let mut moved: HashMap<FileId, Moved> = HashMap::new();
        for batch in events.calls() {
            for call in &batch? {
                let (Some(file), Ok(bytes)) = (call.file, u64::try_from(call.returned)) else { continue };
                if call.kind == FileKind::Other || !call.op.is_data() {
                    continue;
                }
                let of_file = moved.entry(file).or_default();
                of_file.calls += 1;
                match call.op.is_read() {
                    true => of_file.read_bytes += bytes,
                    false => of_file.written_bytes += bytes,
                }
            }
        }
        moved.retain(|_, of_file| of_file.is_load());
        let parts = run.phases.iter().flat_map(|phase| &phase.parts);
        let load: HashSet<FileId> = parts.map(|part| part.file).collect();
        if load.is_empty() {
            return Ok(Self { load: moved.into_keys().collect(), others: HashMap::new() });
        }
        moved.retain(|file, _| !load.contains(file));
        Ok(Self { load, others: moved })
    }

    /// Converts a call to an action. Returns `None` for a call outside the load, or the reason why the call is missing
    /// from the log.
    fn step(&self, call: &Call, names: &FileNames) -> Result<Option<Step>, left_out::Why> {
        // These calls name no file, so they can belong to the load.
        if matches!(call.op, Op::Sync | Op::Syncfs) {
            return Err(left_out::Why::NoWord);
        }
        let Some(file) = call.file.filter(|file| self.load.contains(file)) else { return Ok(None) };
        let step = Step::of(call, file)?;
        if let Some(step) = &step
            && !matches!(step.action, Action::Open | Action::Close | Action::Dup)
            && let Some(why) = step::unwritable(names.at(file, step.at_ns))
        {
            return Err(left_out::Why::Name(why));
        }
        Ok(step)
    }

    /// Returns a sentence about files with data that are not in the log because no phase names them.
    fn unnamed(&self, names: &FileNames) -> Option<String> {
        if self.others.is_empty() {
            return None;
        }
        let mut others: Vec<(u64, String)> = self
            .others
            .iter()
            .map(|(file, moved)| {
                let bytes = moved.read_bytes + moved.written_bytes;
                let name = names.at(*file, u64::MAX).unwrap_or("a file without a name");
                let calls = count(usize::try_from(moved.calls).unwrap_or(usize::MAX), "call");
                (bytes, format!("{name} ({calls}, {})", Quantity::bytes(bytes)))
            })
            .collect();
        others.sort_by(|one, two| two.cmp(one));
        let others: Vec<String> = others.into_iter().map(|(_, words)| words).collect();
        Some(format!("not in the log, because no phase of the run names them: {}", list(&others, FILES_NAMED)))
    }
}
