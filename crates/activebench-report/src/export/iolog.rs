//! `fio-iolog`: the run's reads, writes and syncs as a log that fio replays (`--read_iolog`).
//!
//! fio's own description is in its manual, *Trace file format*; where that is silent, what fio 3.33 does was tried:
//! times are in microseconds, names end at the first blank, lengths have 32 bits, `trim` is refused (later versions
//! take it). Version 3 has a time before each action and needs fio 3.31, version 2 has none.
//!
//! Written are the calls of the whole run, inside the tool's clocks and outside, on the files that a phase names; of
//! a run without phases on those that it wrote, and read a mebibyte of. Programs, libraries and what the tool writes
//! about itself are no load, and replaying must not overwrite them. A request stands where it was submitted.

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

/// Of a run without phases: a file that was only read, and less than this, is a library or a configuration.
const LEAST_READ_BYTES: u64 = 1 << 20;
/// Files named in one note.
const FILES_NAMED: usize = 4;

/// The format's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Without times, since fio 1.17.
    Two,
    /// With times, since fio 3.31.
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
        // fio refuses a log of syncs alone.
        if operations == 0 {
            missing.insert(0, "the run holds no read, write or discard that an iolog can say".to_owned());
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

/// Which files carry the load.
struct Files {
    load: HashSet<FileId>,
    /// Other files that moved data worth saying, with the calls and bytes.
    others: HashMap<FileId, Moved>,
}

/// What a file's calls moved.
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

    /// What becomes of a call: an action, nothing because it is none of the load's, or the reason why it is missing.
    fn step(&self, call: &Call, names: &FileNames) -> Result<Option<Step>, left_out::Why> {
        // These name no file: they are the load's as much as anyone's.
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

    /// Says which files with data are not in the log because no phase names them.
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
