//! Ceilings: measures the parts that make up a figure on a target, and stores them on the host.
//!
//! `activebench_model::ceiling` defines the parts and the file; `activebench_detect::bound` applies them to a run.
//! `docs/ceiling.md` describes both.

mod counters;
mod memory;
mod network;
mod storage;
pub mod store;
mod tested_storage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use activebench_host::{Process, Roots, StorageRef, Survey, device_number};
use activebench_model::call::DeviceNumber;
use activebench_model::ceiling::{Ceiling, Machine, Part, PartKind};
use activebench_model::host::{Host, Target, Tier};
use activebench_model::phase::Direction;
use activebench_model::units::{Quantity, Unit};
use activebench_report::document::Shown;
use activebench_tools::ENGINE;
use anyhow::{Context, anyhow};
use time::OffsetDateTime;

use crate::benchmarks;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::Stop;
use counters::Counters;
use tested_storage::{Kind, Place};

/// Least number of measurements of a part.
const REPETITIONS: u32 = 3;
/// Most measurements of a part. Whatever disturbs one makes it worse: another one may be undisturbed.
const MOST_REPETITIONS: usize = 2 * REPETITIONS as usize;
/// Number of best repetitions that must agree within [`STEADY`].
const AGREEING: usize = 2;
/// Time of a memory part, as a share of the time of a storage part.
const MEMORY_SHARE: f64 = 0.25;
/// Spread of the best repetitions above which a part is not known. Our own default: beyond it, the best repetition says
/// little about the next measurement.
const STEADY: f64 = 0.25;
/// Time limit for laying the file out, as a multiple of the time of a part.
const LAYOUT_SHARE: f64 = 10.0;

/// The unit of a part's figure.
type UnitOf = fn(f64) -> Quantity;

/// Repeats a measurement until its best [`AGREEING`] agree: [`REPETITIONS`] to [`MOST_REPETITIONS`] times.
fn repeat<E>(unit: UnitOf, mut once: impl FnMut() -> Result<f64, E>) -> Result<Vec<f64>, E> {
    let mut repetitions = Vec::new();
    while repetitions.len() < MOST_REPETITIONS
        && !best_of(&repetitions, unit).is_some_and(|(_, spread)| spread <= STEADY)
    {
        repetitions.push(once()?);
    }
    Ok(repetitions)
}

/// Returns the best repetition, and the difference between the best [`AGREEING`] as a share of it; `None` of fewer than
/// [`REPETITIONS`], and where they gave no figure.
fn best_of(repetitions: &[f64], unit: UnitOf) -> Option<(f64, f64)> {
    let mut sorted = repetitions.to_vec();
    if sorted.len() < REPETITIONS as usize {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    if unit(0.0).unit != Unit::Ns {
        sorted.reverse();
    }
    let (best, last) = (*sorted.first()?, *sorted.get(AGREEING - 1)?);
    (best.is_finite() && best > 0.0).then(|| (best, (best - last).abs() / best))
}

/// Completes a part from its repetitions: with the best of them and their spread. A part that scatters has no value.
fn measured(base: Part, repetitions: Vec<f64>, unit: UnitOf) -> Part {
    let Some((best, spread)) = best_of(&repetitions, unit) else {
        return Part { missing: Some("no repetition gave a figure".to_owned()), ..base };
    };
    let missing = (spread > STEADY).then(|| {
        format!(
            "the best {AGREEING} of {} repetitions differ by {:.0} %: something else used the machine, or the storage \
             is not steady (hint: measure again while nothing else runs, with --seconds 10)",
            repetitions.len(),
            spread * 100.0
        )
    });
    let value = missing.is_none().then(|| unit(best));
    Part { value, missing, spread_ratio: Some(spread), repetitions, ..base }
}

/// The storage to measure, and for how long.
#[derive(Debug)]
pub struct Request<'a> {
    /// A directory, a file or a block device.
    pub target: &'a Path,
    /// Seconds for each part of the storage; a part of the memory takes a quarter.
    pub seconds: f64,
    /// Bytes of the file that is laid out in a directory.
    pub size_bytes: u64,
    /// False to leave the writes out. Only a file that was laid out in a directory is ever written.
    pub write: bool,
    /// A file for the result, besides the one that this host keeps.
    pub out: Option<&'a Path>,
}

/// Receives the progress of a measurement.
pub trait Screen {
    /// Shows the current activity.
    fn says(&mut self, what: &str);
    /// Shows a part that was measured.
    fn measured(&mut self, part: &Part);
    /// Shows a warning.
    fn warns(&mut self, what: &str);
}

/// Measures the parts of a target; `None` if a signal ended it.
///
/// # Errors
/// Returns an error if the target cannot be measured, or the result could not be found again.
pub fn measure(request: &Request<'_>, screen: &mut dyn Screen) -> Result<Option<Ceiling>, Failure> {
    let target = request.target;
    let (kind, number) = tested_storage::kind(target).or_exit(ExitCode::Usage)?;
    let (below, host, mut survey) = below(target, kind, number)?;
    let identity = survey.identity_of(&below);
    if identity.is_empty() && request.out.is_none() {
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!(
                "nothing distinguishes the storage of {} from other storage, so the result cannot be found again (hint: --out FILE)",
                target.display()
            ),
        ));
    }
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let fio = benchmarks::find(ENGINE).context("cannot start the event loop").or_exit(ExitCode::Bug)?;
    let mut ceiling = Ceiling {
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: 0,
        // Absolute, because hints that quote it are read in other directories.
        place: std::path::absolute(target).unwrap_or_else(|_| target.to_owned()).display().to_string(),
        identity,
        machine: machine(&host),
        seconds_per_part: request.seconds,
        fio: fio.version,
        parts: Vec::new(),
        links: host.hardware.map(|hardware| hardware.links).unwrap_or_default(),
        notes: notes(&below),
        target: below,
    };
    let counters = Counters::of(&ceiling.target);
    // The storage first: a lack of space is reported before anything is measured.
    storage(request, kind, &counters, fio.path.as_deref(), &mut ceiling, &stop, screen)?;
    if stop.is_set() {
        return Ok(None);
    }
    let memory_time = Duration::from_secs_f64(request.seconds * MEMORY_SHARE);
    let threads = if ceiling.machine.cpus > 1 { vec![1, ceiling.machine.cpus] } else { vec![1] };
    for threads in threads {
        screen.says(&format!("memory, {threads} at once"));
        let memory_bytes = ceiling.machine.memory_bytes;
        let parts = memory::measure(threads, memory_bytes, memory_time, &stop, |part| screen.measured(part));
        ceiling.parts.extend(parts);
    }
    if ceiling.target.tier == Tier::Network {
        let folder = if kind == Kind::Directory { Some(target) } else { target.parent() };
        screen.says("round trip");
        let part = network::round_trip(folder.unwrap_or(Path::new(".")), memory_time, &stop);
        screen.measured(&part);
        ceiling.parts.push(part);
    }
    if stop.is_set() {
        return Ok(None);
    }
    ceiling.measured_unix_s = OffsetDateTime::now_utc().unix_timestamp();
    Ok(Some(ceiling))
}

/// Measures the storage; a part that cannot be measured states why. Ends early when `stop` is set.
fn storage(
    request: &Request<'_>,
    kind: Kind,
    counters: &Counters,
    fio: Option<&Path>,
    ceiling: &mut Ceiling,
    stop: &Stop,
    screen: &mut dyn Screen,
) -> Result<(), Failure> {
    let wanted = storage::wanted(request.write && kind == Kind::Directory);
    let mut none = |why: String| {
        ceiling.parts.extend(wanted.iter().map(|wanted| Part { missing: Some(why.clone()), ..wanted.part() }));
    };
    if let Counters::None(why) = counters {
        none(why.clone());
        return Ok(());
    }
    let Some(fio) = fio else {
        let hint = benchmarks::install_hint(ENGINE.name);
        screen.warns(&format!("fio is not installed: the parts of the storage are not measured (hint: {hint})"));
        none(format!("fio is not installed (hint: {hint})"));
        return Ok(());
    };
    let place = match kind {
        Kind::Directory => {
            screen.says("laying out a file");
            let patience = Duration::from_secs_f64(request.seconds * LAYOUT_SHARE);
            let progress = |written| screen.says(&format!("laying out a file: {}", Quantity::bytes(written)));
            match Place::lay_out(request.target, request.size_bytes, patience, stop, progress)
                .or_exit(ExitCode::Usage)?
            {
                Some(place) => place,
                None => return Ok(()),
            }
        }
        Kind::File | Kind::Device => Place::existing(request.target).or_exit(ExitCode::Usage)?,
    };
    for wanted in wanted {
        // Only a file of our own is written.
        if wanted.direction == Direction::Write && !place.own {
            continue;
        }
        screen.says(&wanted.part().words());
        let (part, note) = storage::measure(fio, wanted, &place, counters, request.seconds, stop);
        if stop.is_set() {
            break;
        }
        screen.measured(&part);
        ceiling.parts.push(part);
        ceiling.notes.extend(note);
    }
    Ok(())
}

/// The files that hold a ceiling.
#[derive(Debug)]
pub struct Kept {
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// Reasons why others were not.
    pub failed: Vec<String>,
}

/// Writes a ceiling to every place. If one fails, the others are still written: the measurement was made.
pub fn keep(ceiling: &Ceiling, out: Option<&Path>) -> Kept {
    let json = ceiling.json();
    let kept = (!ceiling.identity.is_empty()).then(|| store::keep(ceiling, &json));
    let written = out.map(|out| {
        // Writes to exactly what the user named, even through a symlink or to a device.
        std::fs::write(out, &json).with_context(|| format!("cannot write {}", out.display()))?;
        Ok(out.to_owned())
    });
    let (mut files, mut failed) = (Vec::new(), Vec::new());
    for place in kept.into_iter().chain(written) {
        match place {
            Ok(file) => files.push(file),
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    Kept { files, failed }
}

/// True if every part that applies to the target was measured.
pub fn is_complete(ceiling: &Ceiling) -> bool {
    is_whole(&ceiling.target, &ceiling.parts)
}

/// True if every part that applies to the target was measured: there is no device below memory.
fn is_whole(target: &Target, parts: &[Part]) -> bool {
    let has_device = target.tier != Tier::Memory || target.device().is_some();
    let applies =
        |part: &&Part| has_device || !matches!(part.kind, PartKind::Random | PartKind::Sequential | PartKind::Durable);
    parts.iter().filter(applies).all(|part| part.missing.is_none())
}

/// Returns the storage below the target, and the machine.
fn below(path: &Path, kind: Kind, number: u64) -> Result<(Target, Host, Survey), Failure> {
    let roots = Roots::default();
    let mut survey = Survey::of(&roots, Process::Own);
    let (target, used) = if kind == Kind::Device {
        let used = StorageRef::Device(device_number(number));
        (survey.targets_of(std::slice::from_ref(&used)).pop(), used)
    } else {
        let target = survey.target_of_path(path);
        let s_dev = target.as_ref().map_or(DeviceNumber(0), |target| target.s_dev);
        (target, StorageRef::FileSystem { s_dev, path: Some(path.to_owned()) })
    };
    let target = target
        .ok_or_else(|| anyhow!("the storage of {} is unknown: {}", path.display(), survey.unread().join("; ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_repetition_counts() {
        let base = || storage::wanted(false)[0].part();
        let ops: UnitOf = Quantity::ops_per_sec;
        let ns: UnitOf = |value| Quantity { value, ..Quantity::ns(0) };
        for (unit, repetitions, value, spread) in [
            (ops, &[20.0, 100.0, 90.0][..], Some(100.0), Some(0.1)),
            (ops, &[70.0, 20.0, 100.0], None, Some(0.3)),
            (ns, &[90.0, 40.0, 50.0], Some(40.0), Some(0.25)),
            (ns, &[80.0, 40.0, 60.0], None, Some(0.5)),
            (ops, &[0.0, 0.0, 0.0], None, None),
            (ops, &[100.0], None, None),
        ] {
            let part = measured(base(), repetitions.to_vec(), unit);
            assert_eq!((part.value.map(|value| value.value), part.spread_ratio), (value, spread), "{repetitions:?}");
            assert_eq!(part.missing.is_none(), value.is_some(), "{part:?}");
        }
    }

    #[test]
    fn a_disturbed_measurement_is_repeated_until_two_agree() {
        let check = |values: &[f64], expected: usize| {
            let mut values = values.iter();
            let repeated = repeat(Quantity::ops_per_sec, || values.next().copied().ok_or("too many"));
            assert_eq!(repeated.map(|repeated| repeated.len()), Ok(expected));
        };
        check(&[100.0, 90.0, 95.0], 3);
        check(&[10.0, 100.0, 20.0, 30.0, 95.0], 5);
        check(&[100.0, 10.0, 20.0, 30.0, 40.0, 50.0], 6);
        assert_eq!(repeat(Quantity::ops_per_sec, || Err("broken")), Err("broken"));
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
