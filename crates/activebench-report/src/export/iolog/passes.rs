//! A run split into passes. Each task of a pass has a log of the calls that its clock covered, so that each pass is
//! replayed separately. This module also reads what a replay did, to compare it with the pass.
//!
//! Phases whose windows overlap ran at the same time and form one pass. Syncs that made the data durable after the
//! clock had stopped are at the end of a task's log, because an honest figure includes them. Files have generated names
//! (`f0`, `f1`, ...), so a replay never touches the user's files; a block device keeps its name.
//!
//! A log has no `close` if requests overlap. fio 3.33 does not wait for requests in flight after it has read past the
//! last operation of a log. With the number of operations (`--number_ios`) it stops before that, and waits.

mod before;
mod item;
mod places;
mod summary;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Write};

use activebench_model::call::{FileId, FileKind, Op, open_bits};
use activebench_model::event::{NameEvent, RecordClass};
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Part, PartEnd, Phase, Window};
use activebench_model::replication::Moved;
use activebench_model::report::JudgedRun;
use activebench_model::source::EventSource;

pub use self::before::Before;
use self::before::States;
use self::item::Item;
use self::places::Places;
pub use self::summary::{Replayed, Work, replayed};
use super::left_out::LeftOut;
use super::shape::Shape;
use super::step::{Action, Step, unwritable};
use crate::export::ExportError;
use crate::export::in_order::Late;
use crate::export::names::FileNames;

/// Maximum tasks of a replayed pass. The engine starts one process per task.
const MOST_TASKS: usize = 256;
/// A phase that begins later than this share of the pass ran only partly beside the others. Default value: tasks of one
/// group begin within milliseconds of each other, and a smaller delay changes a rate by about the default tolerance at
/// most.
const LATE_SHARE: f64 = 0.1;

/// One pass with its logs.
#[derive(Debug)]
pub struct Pass {
    /// Indices of its phases in the run.
    pub phases: Vec<usize>,
    /// Union of the windows of its phases; `None` if no window was found.
    pub window: Option<Window>,
    /// `true` if the tool throttled itself. The log then has the times of the run.
    pub paced: bool,
    /// Its tasks, in the order of their first operations.
    pub tasks: Vec<Task>,
    /// Its files by number.
    pub files: BTreeMap<usize, PassFile>,
    /// `true` if files are closed while the clock runs, and therefore in the log.
    pub closes: bool,
    /// Reason why the pass cannot be replayed.
    pub obstacle: Option<String>,
    /// Data transfers that no log can represent, one sentence each. Raw text.
    pub left_out: Vec<String>,
    /// Other gaps and assumptions of the logs, one sentence each. Raw text.
    pub notes: Vec<String>,
}

/// One task of a pass.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name of its log: `pass-1-task-1.log`.
    pub log: String,
    /// Number of reads and writes in the log.
    pub operations: u64,
    /// Options with which the engine requests I/O as the task did.
    pub options: Vec<String>,
    /// The same in words: `psync, depth 1, buffered`.
    pub asked: String,
}

/// One file of a pass.
#[derive(Clone, Debug)]
pub struct PassFile {
    /// Name in the log.
    pub log_name: String,
    /// Name as the tool used it. Raw text.
    pub name: String,
    /// Identity of the file.
    pub file: FileId,
    /// `true` for a block device.
    pub is_device: bool,
    /// Required state of the file before the pass.
    pub before: Before,
    /// Highest end offset of an operation.
    pub end_bytes: u64,
    /// Operations on the file.
    pub work: Work,
}

impl Pass {
    /// Returns the operations and bytes on all its files.
    pub fn moved(&self) -> Moved {
        self.files.values().fold(Moved::default(), |sum, file| sum + file.work.moved)
    }
}

impl PassFile {
    /// Returns the largest size that the file reaches.
    pub fn bytes_on_disk(&self) -> u64 {
        self.end_bytes.max(self.before.size_bytes).max(self.before.allocated_bytes)
    }
}

/// Rules for replays on block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Devices<'a> {
    /// Name of the devices in the logs; `None` to keep the names of the run.
    pub name: Option<&'a str>,
    /// `true` if passes that write to a device are replayed, which destroys its contents.
    pub may_be_written: bool,
}

/// Splits a run into its passes and writes their logs. `open` returns the destination of the log with a given name.
///
/// # Errors
/// Returns an error if the events cannot be read or a log cannot be written.
pub fn write_passes(
    run: &JudgedRun,
    events: &dyn EventSource,
    devices: Devices<'_>,
    open: &mut dyn FnMut(&str) -> io::Result<Box<dyn Write>>,
) -> Result<Vec<Pass>, ExportError> {
    let names = FileNames::read(events)?;
    let mut unlinks: Vec<NameEvent> = Vec::new();
    for batch in events.names() {
        unlinks.extend(batch?.into_iter().filter(|event| event.op == Op::Unlink && event.returned >= 0));
    }
    unlinks.sort_by_key(|event| event.at_ns);
    let mut passes = grouped(run);
    let places = Places::of(run, &passes);
    let mut gathered: Vec<Gathered> = passes.iter().map(|_| Gathered::default()).collect();
    let mut late = Late::new();
    for batch in events.calls() {
        for call in &batch? {
            if let Some(item) = places.item(call, &mut gathered) {
                late.look(item.at_ns, item);
            }
        }
    }
    let mut writer =
        Writer { names: &names, states: States::new(unlinks, &names), numbers: HashMap::new(), open, devices, run };
    let mut in_order = late.again();
    let mut again: Vec<Gathered> = passes.iter().map(|_| Gathered::default()).collect();
    let mut take = |_, item: Item| writer.take(&mut passes, &mut gathered, item);
    for batch in events.calls() {
        for call in &batch? {
            if let Some(item) = places.item(call, &mut again) {
                in_order.push(item.at_ns, item, &mut take)?;
            }
        }
    }
    in_order.finish(&mut take)?;
    for (pass, gathered) in passes.iter_mut().zip(gathered) {
        finish(run, pass, gathered, &names)?;
    }
    Ok(passes)
}

/// Groups the phases that ran at the same time. The groups are in the order of their starts; phases that were not found
/// come last.
fn grouped(run: &JudgedRun) -> Vec<Pass> {
    let empty = |phases, window| Pass {
        phases,
        window,
        paced: false,
        tasks: Vec::new(),
        files: BTreeMap::new(),
        closes: false,
        obstacle: None,
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    let mut windows: Vec<(Window, usize)> =
        run.phases.iter().enumerate().filter_map(|(place, phase)| Some((phase.window?, place))).collect();
    windows.sort_by_key(|(window, place)| (window.start_ns, *place));
    let mut passes: Vec<Pass> = Vec::new();
    for (window, place) in windows {
        if let Some(last) = passes.last_mut()
            && let Some(whole) = last.window.as_mut().filter(|whole| window.start_ns < whole.end_ns)
        {
            whole.end_ns = whole.end_ns.max(window.end_ns);
            last.phases.push(place);
            continue;
        }
        passes.push(empty(vec![place], Some(window)));
    }
    let lost = run.phases.iter().enumerate().filter(|(_, phase)| phase.window.is_none());
    passes.extend(lost.map(|(place, _)| empty(vec![place], None)));
    for pass in &mut passes {
        let phases = || pass.phases.iter().filter_map(|place| run.phases.get(*place));
        pass.paced = phases().any(|phase| !phase.own_limits.is_empty());
        pass.closes = pass.window.is_some_and(|window| closes_inside(phases(), window));
        pass.obstacle = obstacle(run, &phases().collect::<Vec<_>>());
        if let Some(window) = pass.window {
            let late = |phase: &Phase| {
                let begin = phase.window.map_or(0, |own| own.start_ns - window.start_ns);
                begin as f64 > LATE_SHARE * window.duration_ns() as f64
            };
            if phases().any(late) {
                pass.notes
                    .push("its phases ran beside each other in part: they are replayed from one start".to_owned());
            }
        }
    }
    passes
}

/// Returns `true` if the clock of every task included the close of its file.
fn closes_inside<'a>(phases: impl Iterator<Item = &'a Phase>, window: Window) -> bool {
    let mut parts = phases.flat_map(|phase| &phase.parts).peekable();
    parts.peek().is_some()
        && parts.all(|part| part.close_ns.is_some_and(|close_ns| close_ns <= end_of(part) && window.contains(close_ns)))
}

/// Returns the reason why phases cannot be replayed, as far as the recording shows.
fn obstacle(run: &JudgedRun, phases: &[&Phase]) -> Option<String> {
    for phase in phases {
        let name = &phase.id;
        if !phase.is_found() {
            let why = phase.incomplete.clone().unwrap_or_else(|| "it was not found in the observed calls".to_owned());
            return Some(format!("{name}: {why}"));
        }
        if phase.names.is_some() {
            return Some(format!("{name} works on names and moves no data: a log of I/O has no word for that"));
        }
        if phase.direction == Direction::Discard {
            return Some(format!("{name} discards: fio 3.33 refuses `trim` in a log"));
        }
    }
    let coverage = &run.manifest.coverage;
    if let Some(account) = coverage.records.get(&RecordClass::Calls).filter(|account| !account.is_whole()) {
        let lost = account.made.saturating_sub(account.received);
        return Some(format!(
            "{lost} of {} records of calls were lost: which operations it made is not known",
            account.made
        ));
    }
    let cut = coverage.log.as_ref().and_then(|log| log.cut.as_ref())?;
    let end_ns = phases.iter().map(|phase| phase.window.map_or(u64::MAX, |window| window.end_ns)).max()?;
    (cut.at_ns < end_ns).then(|| format!("the event log was cut before its end: {}", cut.why))
}

/// Returns the time at which the clock of a part stopped.
fn end_of(part: &Part) -> u64 {
    match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    }
}

/// State of a pass while its calls are read.
#[derive(Default)]
struct Gathered {
    tasks: Vec<((u32, u32), Log)>,
    /// Calls that moved data and that no log can represent.
    lost: LeftOut,
    /// Other calls that no log can represent.
    unsaid: LeftOut,
    /// `true` if more tasks worked in the pass than are replayed.
    too_many: bool,
}

/// The log of a task.
struct Log {
    out: Box<dyn Write>,
    name: String,
    shape: Shape,
    operations: u64,
    /// Numbers of the files that the log has opened.
    opened: BTreeSet<usize>,
}

/// Writes the logs, in the order of starts.
struct Writer<'a> {
    names: &'a FileNames,
    states: States<'a>,
    /// Numbers of the files of all passes, in the order of first use.
    numbers: HashMap<FileId, usize>,
    open: &'a mut dyn FnMut(&str) -> io::Result<Box<dyn Write>>,
    devices: Devices<'a>,
    run: &'a JudgedRun,
}

impl Writer<'_> {
    fn take(&mut self, passes: &mut [Pass], gathered: &mut [Gathered], item: Item) -> io::Result<()> {
        self.states.until(item.at_ns);
        if let Some((number, task)) = item.place
            && let Some(step) = item.step
            && let (Some(pass), Some(gathered)) = (passes.get_mut(number), gathered.get_mut(number))
            && pass.obstacle.is_none()
        {
            self.step(number, pass, gathered, task, &item, &step)?;
        }
        self.states.look(&item);
        Ok(())
    }

    fn step(
        &mut self,
        number: usize,
        pass: &mut Pass,
        gathered: &mut Gathered,
        task: (u32, u32),
        item: &Item,
        step: &Step,
    ) -> io::Result<()> {
        let next = self.numbers.len();
        let file_number = *self.numbers.entry(item.file).or_insert(next);
        let name = self.names.at(item.file, item.at_ns);
        let device = self.devices.name.or(name);
        let is_device = item.kind == FileKind::BlockDevice;
        if is_device && let Some(why) = unwritable(device) {
            pass.obstacle = Some(format!("it is on a device that a log cannot name: {why}"));
            return Ok(());
        }
        if is_device && step.action == Action::Write && !self.devices.may_be_written {
            pass.obstacle = Some(format!(
                "it writes to the block device {}: without --destroy only reads of a device are replayed",
                name.unwrap_or("without a name")
            ));
            return Ok(());
        }
        let state = self.states.before(item.file);
        let file = pass.files.entry(file_number).or_insert_with(|| PassFile {
            log_name: if is_device { device.unwrap_or_default().to_owned() } else { format!("f{file_number}") },
            name: name.unwrap_or("a file without a name").to_owned(),
            file: item.file,
            is_device,
            before: state,
            end_bytes: 0,
            work: Work::default(),
        });
        if step.action == Action::Write {
            file.before.first_write(step.offset, step.open_flags);
        }
        if step.action == Action::Read {
            file.before.must_have(step.offset + u64::from(step.bytes), self.states.written_to(item.file));
        }
        if step.action.moves_data() {
            file.end_bytes = file.end_bytes.max(step.offset + u64::from(step.bytes));
        }
        file.work.add(file_number, step);
        let place = match gathered.tasks.iter().position(|(known, _)| *known == task) {
            Some(place) => place,
            None if gathered.tasks.len() == MOST_TASKS => {
                gathered.too_many = true;
                return Ok(());
            }
            None => {
                let name = format!("pass-{}-task-{}.log", number + 1, gathered.tasks.len() + 1);
                let mut out = (self.open)(&name)?;
                writeln!(out, "fio version {} iolog", if pass.paced { 3 } else { 2 })?;
                let log = Log { out, name, shape: Shape::default(), operations: 0, opened: BTreeSet::new() };
                gathered.tasks.push((task, log));
                gathered.tasks.len() - 1
            }
        };
        let Some((_, log)) = gathered.tasks.get_mut(place) else { return Ok(()) };
        let started_ns = pass.window.map_or(self.run.manifest.clocks.started_ns, |window| window.start_ns);
        // fio ignores a time of 0.
        let at_us = pass.paced.then(|| (step.at_ns.saturating_sub(started_ns) / 1000).max(1));
        if log.opened.insert(file_number) {
            log.line(at_us, &file.log_name, "add", None)?;
            log.line(at_us, &file.log_name, "open", None)?;
        }
        if matches!(step.action, Action::Read | Action::Write) {
            log.shape.look(step);
        }
        log.operations += u64::from(step.action.moves_data());
        log.line(at_us, &file.log_name, word(step.action), Some((step.offset, step.bytes)))
    }
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Datasync => "datasync",
        _ => "sync",
    }
}

impl Log {
    fn line(&mut self, at_us: Option<u64>, name: &str, action: &str, place: Option<(u64, u32)>) -> io::Result<()> {
        if let Some(at_us) = at_us {
            write!(self.out, "{at_us} ")?;
        }
        match place {
            Some((offset, bytes)) => writeln!(self.out, "{name} {action} {offset} {bytes}"),
            None => writeln!(self.out, "{name} {action}"),
        }
    }
}

/// Writes the syncs after the clock and the ends of the logs, and collects the notes on the pass.
fn finish(run: &JudgedRun, pass: &mut Pass, mut gathered: Gathered, names: &FileNames) -> Result<(), ExportError> {
    let phases: Vec<&Phase> = pass.phases.iter().filter_map(|place| run.phases.get(*place)).collect();
    let at_us = pass.window.filter(|_| pass.paced).map(|window| (window.duration_ns() / 1000).max(1));
    let mut files: HashMap<FileId, (usize, &mut PassFile)> =
        pass.files.iter_mut().map(|(number, file)| (file.file, (*number, file))).collect();
    for (part, sync) in syncs_after(&phases) {
        let Some((file_number, file)) = files.get_mut(&part.file) else { continue };
        let is_of = |(tgid, tid): &(u32, u32)| *tgid == part.tgid && (part.tids.is_empty() || part.tids.contains(tid));
        let Some((_, log)) =
            gathered.tasks.iter_mut().find(|(task, log)| is_of(task) && log.opened.contains(file_number))
        else {
            continue;
        };
        let action = match sync {
            Op::Fdatasync | Op::AioFdatasync | Op::UringFdatasync => Action::Datasync,
            Op::Fsync | Op::AioFsync | Op::UringFsync => Action::Sync,
            other => {
                pass.notes.push(format!("{} made its data durable: the replay calls fsync instead", other.name()));
                Action::Sync
            }
        };
        file.work.sync_after(*file_number, action);
        log.line(at_us, &file.log_name, word(action), Some((0, 0)))?;
    }
    let overlaps = gathered.tasks.iter().any(|(_, log)| log.shape.most_in_flight > 1);
    pass.closes &= !overlaps;
    for (_, mut log) in gathered.tasks {
        if pass.closes {
            for file in std::mem::take(&mut log.opened) {
                let name = pass.files.get(&file).map(|file| file.log_name.clone()).unwrap_or_default();
                log.line(at_us, &name, "close", None)?;
            }
        }
        log.out.flush()?;
        if log.operations == 0 {
            // fio refuses a log that has only syncs.
            pass.notes.push("a task of it made syncs alone, which fio does not replay".to_owned());
            continue;
        }
        pass.notes.extend(log.shape.mixtures());
        pass.tasks.push(Task {
            log: log.name,
            operations: log.operations,
            options: log.shape.options(),
            asked: log.shape.words(),
        });
    }
    pass.left_out.extend(gathered.lost.sentences(names));
    pass.notes.extend(gathered.unsaid.sentences(names));
    if pass.obstacle.is_some() {
        return Ok(());
    }
    for file in pass.files.values_mut() {
        file.before.settle(file.end_bytes);
    }
    let whole = pass.moved();
    if gathered.too_many {
        pass.obstacle = Some(format!("more than {MOST_TASKS} tasks worked in it"));
    } else if pass.tasks.is_empty() {
        let blind: Vec<&str> = run.manifest.coverage.blind_paths.iter().map(|blind| blind.path.as_str()).collect();
        let path = if blind.is_empty() { String::new() } else { format!(" (data moved through {})", blind.join(", ")) };
        pass.obstacle = Some(format!("no read or write of it was recorded{path}"));
    } else {
        pass.left_out.extend(short_of_facts(&phases, whole));
    }
    let assumed = pass.files.values().filter_map(|file| Some(format!("{}: {}", file.name, file.before.assumed()?)));
    let assumed: Vec<String> = assumed.collect();
    pass.notes.extend(assumed);
    if pass.paced {
        pass.notes.push("the tool limited its own pace: the log keeps the times of the run".to_owned());
    }
    Ok(())
}

/// Returns the syncs after the clock that made data of the phases durable, each once, with the part that it follows.
fn syncs_after<'a>(phases: &[&'a Phase]) -> Vec<(&'a Part, Op)> {
    let mut found = Vec::new();
    let mut starts = HashSet::new();
    for phase in phases.iter().filter(|phase| matches!(phase.direction, Direction::Write | Direction::Mixed)) {
        let Some(window) = phase.window else { continue };
        let Ok(durable_ns) = phase.facts.complete(FactName::DurableSpan) else { continue };
        // The data was durable when the clock stopped.
        if durable_ns <= window.duration_ns() as f64 {
            continue;
        }
        for part in &phase.parts {
            let Some(sync) = &part.sync_after else { continue };
            let inside = part.sync_inside.as_ref().is_some_and(|sync| sync.start_ns >= part.last_data_ns);
            if !inside && starts.insert(sync.start_ns) {
                found.push((part, sync.op));
            }
        }
    }
    found
}

/// Returns a sentence for each direction in which the phases' facts count more bytes than the logs, and for each fact
/// without a complete count.
fn short_of_facts(phases: &[&Phase], whole: Moved) -> Vec<String> {
    // Both directions of a mix are phases over the same parts. Each phase counts only its own direction.
    let mut parts: Vec<&[Part]> = Vec::new();
    let (mut reads, mut writes) = (0.0, 0.0);
    let mut unknown = Vec::new();
    for phase in phases {
        let shares = parts.contains(&phase.parts.as_slice());
        if shares {
            continue;
        }
        parts.push(&phase.parts);
        for (name, sum) in [(FactName::ReadBytes, &mut reads), (FactName::WriteBytes, &mut writes)] {
            match phase.facts.complete(name) {
                Ok(bytes) => *sum += bytes,
                Err(why) => {
                    unknown.push(format!("whether the logs hold all that {} moved is not known: {why}", phase.id))
                }
            }
        }
    }
    let short = |counted: f64, held: u64, how: &str| {
        (counted > held as f64)
            .then(|| format!("the logs hold {held} of {counted} bytes that were {how} inside the clock"))
    };
    let short = [short(reads, whole.read_bytes, "read"), short(writes, whole.write_bytes, "written")];
    unknown.into_iter().chain(short.into_iter().flatten()).collect()
}

/// Returns `true` if an open truncated the file.
fn empties(open_flags: u32) -> bool {
    open_flags & open_bits::TRUNCATE != 0
}
