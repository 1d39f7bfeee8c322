//! `activebench ceiling`: measures the parts that make up a figure on a target, and stores them on the host.
//!
//! `activebench_model::ceiling` defines the parts and the file; `activebench_detect::bound` applies them to a run.
//! `docs/ceiling.md` describes both.

mod counters;
mod memory;
mod network;
mod place;
mod storage;
pub(crate) mod store;
mod text;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use activebench_host::{Process, Roots, StorageRef, Survey};
use activebench_model::call::DeviceNumber;
use activebench_model::ceiling::{Ceiling, Machine, Part, PartKind, SCHEMA};
use activebench_model::host::{Host, Target, Tier};
use activebench_model::phase::Direction;
use activebench_model::units::{Quantity, Unit};
use activebench_report::escape;
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use time::OffsetDateTime;

use crate::arguments::DoctorFormat;
use crate::arguments::ceiling as arguments;
use crate::exit::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::stop::Stop;
use crate::{benchmarks, print};
use counters::Counters;
use place::{Kind, Place};

/// Number of measurements of each part.
const REPETITIONS: u32 = 3;
/// Time of a memory part, as a share of the time of a storage part.
const MEMORY_SHARE: f64 = 0.25;
/// Spread of the repetitions above which the user is warned. Our own default: beyond it, the best repetition says
/// little about the next measurement.
const STEADY: f64 = 0.25;
/// Time limit for laying the file out, as a multiple of the time of a part.
const LAYOUT_SHARE: f64 = 10.0;
/// Exit code if a part could not be measured: that of an inconclusive run.
const INCOMPLETE: i32 = 3;

/// Completes a part from its repetitions: with the best of them and their spread.
fn measured(base: Part, repetitions: Vec<f64>, unit: impl Fn(f64) -> Quantity) -> Part {
    let is_time = unit(0.0).unit == Unit::Ns;
    let (least, most) =
        repetitions.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(*value), most.max(*value)));
    let best = if is_time { least } else { most };
    if !best.is_finite() || best <= 0.0 {
        return Part { missing: Some("no repetition gave a figure".to_owned()), ..base };
    }
    Part { value: Some(unit(best)), spread_ratio: Some((most - least) / best), repetitions, ..base }
}

/// Runs the whole command; returns the exit code.
pub(crate) fn main(arguments: &arguments::Ceiling) -> Result<i32, Failure> {
    let (kind, number) = place::kind(&arguments.target).or_exit(ExitCode::Usage)?;
    if arguments.write && kind != Kind::Directory {
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!(
                "{} is only read, and --write is for a directory alone (hint: name the directory in which a file may \
                 be laid out)",
                arguments.target.display()
            ),
        ));
    }
    let (target, host, mut survey) = below(&arguments.target, kind, number)?;
    let identity = survey.identity_of(&target);
    if identity.is_empty() && arguments.out.is_none() {
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!(
                "nothing tells what {} lies on from other storage, so the result cannot be found again (hint: --out FILE)",
                arguments.target.display()
            ),
        ));
    }
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let mut screen = Screen::new(arguments.quiet);
    let fio = benchmarks::find("fio").context("cannot start the event loop").or_exit(ExitCode::Bug)?;
    let mut ceiling = Ceiling {
        schema: SCHEMA.to_owned(),
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: 0,
        // Absolute, because hints that quote it are read in other directories.
        place: std::path::absolute(&arguments.target)
            .unwrap_or_else(|_| arguments.target.clone())
            .display()
            .to_string(),
        identity,
        machine: machine(&host),
        seconds_per_part: arguments.seconds,
        fio: fio.as_ref().and_then(|fio| fio.version.clone()),
        parts: Vec::new(),
        links: host.hardware.map(|hardware| hardware.links).unwrap_or_default(),
        notes: notes(&target),
        target,
    };
    let counters = Counters::of(&ceiling.target);
    // The storage first: a lack of room is reported before anything is measured.
    let fio_path = fio.and_then(|fio| fio.path);
    storage(arguments, kind, &counters, fio_path.as_deref(), &mut ceiling, &stop, &mut screen)?;
    if stop.is_set() {
        return Ok(interrupted(screen));
    }
    let memory_time = Duration::from_secs_f64(arguments.seconds * MEMORY_SHARE);
    let threads = if ceiling.machine.cpus > 1 { vec![1, ceiling.machine.cpus] } else { vec![1] };
    for threads in threads {
        screen.says(&format!("memory, {threads} at once"));
        let memory_bytes = ceiling.machine.memory_bytes;
        let parts = memory::measure(threads, memory_bytes, memory_time, &stop, |part| screen.measured(part));
        ceiling.parts.extend(parts);
    }
    if ceiling.target.tier == Tier::Network {
        let folder = if kind == Kind::Directory { Some(arguments.target.as_path()) } else { arguments.target.parent() };
        screen.says("round trip");
        let part = network::round_trip(folder.unwrap_or(Path::new(".")), memory_time, &stop);
        screen.measured(&part);
        ceiling.parts.push(part);
    }
    if stop.is_set() {
        return Ok(interrupted(screen));
    }
    ceiling.notes.extend(unsteady(&ceiling.parts));
    screen.finish();
    ceiling.measured_unix_s = OffsetDateTime::now_utc().unix_timestamp();
    finish(arguments, &ceiling)
}

/// Returns a note if the repetitions of parts differ widely.
fn unsteady(parts: &[Part]) -> Option<String> {
    let measured = parts.iter().filter(|part| part.value.is_some()).count();
    let differ = parts.iter().filter(|part| part.spread_ratio.is_some_and(|spread| spread > STEADY)).count();
    (differ > 0).then(|| {
        format!(
            "the repetitions of {differ} of {measured} parts differ by more than {:.0} %: something else used the \
             machine, or the storage is not steady (hint: measure again while nothing else runs, with --seconds 10)",
            STEADY * 100.0
        )
    })
}

/// Measures the storage; a part that cannot be measured states why. Ends early when `stop` is set.
fn storage(
    arguments: &arguments::Ceiling,
    kind: Kind,
    counters: &Counters,
    fio: Option<&Path>,
    ceiling: &mut Ceiling,
    stop: &Stop,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let wanted = storage::wanted(arguments.write);
    let mut none = |why: String| {
        ceiling.parts.extend(wanted.iter().map(|wanted| Part { missing: Some(why.clone()), ..wanted.part() }));
    };
    if let Counters::None(why) = counters {
        none(why.clone());
        return Ok(());
    }
    let Some(fio) = fio else {
        let hint = benchmarks::install_hint("fio");
        screen.warns(&format!("fio is not installed: the parts of the storage are not measured (hint: {hint})"));
        none(format!("fio is not installed (hint: {hint})"));
        return Ok(());
    };
    let place = match kind {
        Kind::Directory => {
            screen.says("laying out a file");
            let patience = Duration::from_secs_f64(arguments.seconds * LAYOUT_SHARE);
            let progress = |written| screen.says(&format!("laying out a file: {}", Quantity::bytes(written)));
            match Place::lay_out(&arguments.target, arguments.size, patience, stop, progress)
                .or_exit(ExitCode::Usage)?
            {
                Some(place) => place,
                None => return Ok(()),
            }
        }
        Kind::File | Kind::Device => Place::existing(&arguments.target).or_exit(ExitCode::Usage)?,
    };
    for wanted in wanted {
        // Only a file of our own is written.
        if wanted.direction == Direction::Write && !place.own {
            continue;
        }
        screen.says(&wanted.part().words());
        let (part, note) = storage::measure(fio, wanted, &place, counters, arguments.seconds, stop);
        if stop.is_set() {
            break;
        }
        screen.measured(&part);
        ceiling.parts.push(part);
        ceiling.notes.extend(note);
    }
    Ok(())
}

fn interrupted(screen: Screen) -> i32 {
    screen.finish();
    eprintln!("activebench: interrupted: nothing is kept");
    INTERRUPTED
}

/// Writes the result to every place and prints it; the exit code says whether it is complete. If one place fails, the
/// others are still written: the measurement was made.
fn finish(arguments: &arguments::Ceiling, ceiling: &Ceiling) -> Result<i32, Failure> {
    let json = store::json(ceiling).or_exit(ExitCode::Bug)?;
    let kept = (!ceiling.identity.is_empty()).then(|| store::keep(ceiling, &json));
    let written = arguments.out.as_ref().map(|out| {
        // Writes to exactly what the user named, even through a symlink or to a device.
        std::fs::write(out, &json).with_context(|| format!("cannot write {}", out.display()))?;
        Ok(out.clone())
    });
    let mut files: Vec<PathBuf> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for place in kept.into_iter().chain(written) {
        match place {
            Ok(file) => files.push(file),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    match arguments.format {
        DoctorFormat::Json => print(&json)?,
        DoctorFormat::Text => print(&text::render(ceiling, &files))?,
    }
    match failed.is_empty() {
        true => Ok(if is_whole(&ceiling.target, &ceiling.parts) { 0 } else { INCOMPLETE }),
        false => Err(Failure::new(ExitCode::Usage, anyhow!(failed.join("\n")))),
    }
}

/// True if every part that applies to the target was measured: there is no device below memory.
fn is_whole(target: &Target, parts: &[Part]) -> bool {
    let has_device = target.tier != Tier::Memory || target.device().is_some();
    let applies = |part: &&Part| has_device || !matches!(part.kind, PartKind::Random | PartKind::Sequential);
    parts.iter().filter(applies).all(|part| part.missing.is_none())
}

/// Returns the storage below the target, and the machine.
fn below(path: &Path, kind: Kind, number: u64) -> Result<(Target, Host, Survey), Failure> {
    let roots = Roots::default();
    let mut survey = Survey::of(&roots, Process::Own);
    let (target, used) = if kind == Kind::Device {
        let device = DeviceNumber::new(libc::major(number), libc::minor(number));
        let used = StorageRef::Device(device);
        (survey.targets_of(std::slice::from_ref(&used)).pop(), used)
    } else {
        let target = survey.target_of_path(path);
        let s_dev = target.as_ref().map_or(DeviceNumber(0), |target| target.s_dev);
        (target, StorageRef::FileSystem { s_dev, path: Some(path.to_owned()) })
    };
    let target = target
        .ok_or_else(|| anyhow!("it is not known what {} lies on: {}", path.display(), survey.unread().join("; ")))
        .or_exit(ExitCode::Usage)?;
    Ok((target, activebench_host::read_host(&roots, Process::Own, &[used]), survey))
}

/// Returns the properties by which a ceiling recognises the machine.
pub(crate) fn machine(host: &Host) -> Machine {
    Machine {
        kernel: host.kernel.clone(),
        architecture: host.architecture.clone(),
        cpus: host.cpus,
        memory_bytes: host.memory_bytes,
    }
}

/// Returns notes on the storage that are known before it is measured.
fn notes(target: &Target) -> Vec<String> {
    let cached = target.layers.iter().filter(|layer| layer.loop_direct_io == Some(false));
    cached
        .map(|layer| {
            format!(
                "{} reads its backing file through the page cache: memory can answer for it (hint: losetup \
                 --direct-io=on)",
                layer.name
            )
        })
        .collect()
}

/// Progress on standard error.
struct Screen {
    bar: ProgressBar,
    quiet: bool,
    is_terminal: bool,
}

impl Screen {
    fn new(quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if quiet || !is_terminal { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, quiet, is_terminal }
    }

    /// Shows the current activity.
    fn says(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Shows a part that was measured.
    fn measured(&mut self, part: &Part) {
        let line = format!("{}: {}", part.words(), text::figure(part));
        if !self.quiet {
            self.line(&escape::terminal(&line));
        }
    }

    /// Prints a warning, even when quiet.
    fn warns(&mut self, what: &str) {
        self.line(&format!("activebench: {}", escape::terminal(what)));
    }

    fn line(&mut self, line: &str) {
        if self.is_terminal && !self.quiet { self.bar.println(line) } else { eprintln!("{line}") }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_repetition_counts() {
        let base = || storage::wanted(false)[0].part();
        let rates = measured(base(), vec![90.0, 100.0, 95.0], Quantity::ops_per_sec);
        assert_eq!((rates.value, rates.spread_ratio), (Some(Quantity::ops_per_sec(100.0)), Some(0.1)));
        let times = measured(base(), vec![50.0, 40.0, 60.0], |value| Quantity { value, ..Quantity::ns(0) });
        assert_eq!((times.value, times.spread_ratio), (Some(Quantity::ns(40)), Some(0.5)));
        let none = measured(base(), vec![0.0], Quantity::ops_per_sec);
        assert_eq!((none.value, none.missing.as_deref()), (None, Some("no repetition gave a figure")));
        assert_eq!(unsteady(&[rates.clone(), none.clone()]), None);
        assert!(
            unsteady(&[rates, times, none])
                .is_some_and(|note| note.contains("of 1 of 2 parts differ by more than 25 %"))
        );
    }

    #[test]
    fn on_memory_only_a_device_is_no_part() {
        let target = |tier| Target {
            s_dev: DeviceNumber(1),
            mount_point: "/tmp".to_owned(),
            fs_type: "tmpfs".to_owned(),
            options: String::new(),
            layers: Vec::new(),
            tier,
        };
        let part = |kind, missing: bool| Part {
            kind,
            missing: missing.then(|| "cannot make a file in memory".to_owned()),
            ..storage::wanted(false)[0].part()
        };
        let (random, sequential, calls) = (PartKind::Random, PartKind::Sequential, PartKind::Calls);
        for (tier, parts, whole) in [
            (Tier::Memory, vec![part(random, true), part(sequential, true), part(calls, false)], true),
            (Tier::Memory, vec![part(random, true), part(sequential, true), part(calls, true)], false),
            (Tier::Block, vec![part(random, true), part(calls, false)], false),
            (Tier::Block, vec![part(random, false), part(calls, false)], true),
        ] {
            assert_eq!(is_whole(&target(tier), &parts), whole, "{tier:?} {parts:?}");
        }
    }
}
