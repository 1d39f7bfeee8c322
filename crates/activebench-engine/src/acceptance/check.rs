//! Checks of an acceptance file before anything runs: that its target exists, what its commands would run and claim,
//! and that the limits name figures that the commands will state.

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Benchmark, Fault, Faults, Sizes, Target, alike, identities, listed};
use activebench_host::{Pin, Process, Roots, Survey};
use activebench_model::acceptance::{ConditionState, DeviceIdentity};
use activebench_model::command::CommandLine;
use activebench_model::host;
use activebench_model::phase::{Direction, Phase};
use activebench_runner::Confinement;
use activebench_tools::Adapter;
use anyhow::{Context, anyhow};

use super::vetting::{installed_program, is_in_target, way_out};
use super::{Agreed, unusable};
use crate::benchmarks::install_hint;
use crate::device_guard;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::named_devices::{Devices, named, number_of};
use crate::plan;

/// A benchmark as it will be run.
#[derive(Debug)]
pub struct Ready {
    pub(super) name: String,
    pub(super) command: CommandLine,
    /// The file that is executed.
    pub(super) program: PathBuf,
    /// What the benchmark may write, whatever its words say.
    pub(super) confinement: Confinement,
    pub(super) tool: &'static dyn Adapter,
    /// Empty if the phases are known only when the benchmark runs.
    pub(super) phases: Vec<Phase>,
}

impl Ready {
    fn writing_phase(&self) -> Option<&Phase> {
        let writes =
            |phase: &&Phase| matches!(phase.direction, Direction::Write | Direction::Mixed | Direction::Discard);
        self.phases.iter().find(writes)
    }

    /// Returns the raw devices that the benchmark may write. If its phases are not known, these are all devices that
    /// the command names.
    fn may_write(&self) -> Devices {
        let named = named(&self.command);
        if self.phases.is_empty() { named.all } else { named.written }
    }

    /// Returns those of them that the file does not permit to be written.
    fn not_permitted(&self, target: &Target) -> Vec<PathBuf> {
        let own = Path::new(&target.path.value);
        let own_number = number_of(own).ok().flatten();
        let mut others = self.may_write();
        let names_own = own_number.is_some_and(|number| others.remove(&number).is_some());
        // A command that measures a device names it, in whatever form.
        let writes = names_own || self.phases.is_empty() || self.writing_phase().is_some();
        let mut others: Vec<PathBuf> = others.into_values().collect();
        if target.is_device && !target.destroy && writes {
            others.push(own.to_owned());
        }
        others
    }
}

/// An acceptance file that can be used on this machine.
#[derive(Debug)]
pub struct Checked {
    /// In the order of the file.
    pub(super) benchmarks: Vec<Ready>,
    /// Size of the device below the unit; `None` if it is not known.
    pub(super) device_bytes: Option<u64>,
    /// What the device says of itself; `None` if nothing is known of it.
    pub(super) device: Option<DeviceIdentity>,
}

/// A path for the commands of an agreement that is checked without a unit.
const STAND_IN: &str = "/unit";

/// Checks the agreement without a unit: what can be known of it on any machine.
///
/// # Errors
/// Returns all faults of the file.
pub fn check_agreement(agreed: &Agreed) -> Result<Checked, Failure> {
    let terms = &agreed.file.terms;
    let is_device = terms.destroy || agreed.file.benchmarks.iter().all(Benchmark::names_target);
    let stand_in = Target::named(STAND_IN, is_device, terms);
    let sizes = sizes(STAND_IN, None);
    let mut faults = agreed.file.unfinished.clone();
    let mut benchmarks = Vec::new();
    for benchmark in &agreed.file.benchmarks {
        // Without a device its size is not known.
        let sizes = Sizes { device_bytes: sizes.device_bytes.or(Some(STAND_IN_BYTES)), ..sizes.clone() };
        match ready(benchmark, &stand_in, None, &sizes, STAND_IN) {
            Ok(ready) => {
                limits(agreed, &ready, &mut faults);
                benchmarks.push(ready);
            }
            Err(fault) => faults.push(fault),
        }
    }
    match faults.is_empty() {
        true => Ok(Checked { benchmarks, device_bytes: None, device: None }),
        false => Err(unusable(Faults::new(&agreed.name(), &agreed.text, faults))),
    }
}

/// Size of the device of an agreement that is checked without a unit, in bytes. It is shown nowhere.
const STAND_IN_BYTES: u64 = 1 << 40;

/// Checks the file on this machine, for a unit.
///
/// # Errors
/// Returns all faults of the file, or what is wrong with a unit that the file does not name.
pub fn check(agreed: &Agreed, unit: &Target) -> Result<Checked, Failure> {
    let mut faults = agreed.file.unfinished.clone();
    let file = &agreed.file;
    let place = Path::new(&unit.path.value);
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let below = below(&mut survey, place, unit.is_device);
    let wrong = match &below {
        Err(why) => Some((why.clone(), "name a directory as `path`, a block device as `device`")),
        Ok(below) => another_device(unit, below).map(|why| (why, ANOTHER_DEVICE)),
    };
    let mut objections: Vec<(String, &str)> = wrong.into_iter().collect();
    if !unit.is_device && below.is_ok() {
        let why = match way_out(place) {
            Ok(None) => None,
            Ok(Some(path)) => Some(format!("{} leads out of the target: a device, or a mount", path.display())),
            Err(why) => Some(why),
        };
        objections.extend(why.map(|why| (why, "name a directory with nothing in it but files")));
    }
    match unit.is_in_file() {
        true => faults.extend(objections.into_iter().map(|(why, hint)| Fault::new(unit.path.span.clone(), why, hint))),
        false => {
            if let Some((why, hint)) = objections.first() {
                return Err(Failure::new(ExitCode::Usage, anyhow!("{why} (hint: {hint})")));
            }
            faults.extend(file.objection(unit));
        }
    }
    let sizes = sizes(&unit.path.value, below.as_ref().ok());
    let cwd = match unit.is_device {
        true => {
            let cwd =
                std::env::current_dir().context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
            cwd.display().to_string()
        }
        false => unit.path.value.clone(),
    };
    let pin = match unit.is_device {
        true => device_guard::pinned(place).ok(),
        false => None,
    };
    let mut benchmarks = Vec::new();
    for benchmark in &file.benchmarks {
        match ready(benchmark, unit, pin.as_ref(), &sizes, &cwd) {
            Ok(ready) => {
                limits(agreed, &ready, &mut faults);
                writes(unit, benchmark, &ready, &mut faults);
                benchmarks.push(ready);
            }
            Err(fault) => faults.push(fault),
        }
    }
    let device = below.ok().and_then(|below| tested(identities(&below, &[])));
    match faults.is_empty() {
        true => Ok(Checked { benchmarks, device_bytes: sizes.device_bytes, device }),
        false => Err(unusable(Faults::new(&agreed.name(), &agreed.text, faults))),
    }
}

/// Returns what the device of a unit says of itself; `None` where nothing is known of it.
pub(super) fn identity_of(unit: &Target) -> Option<DeviceIdentity> {
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let below = below(&mut survey, Path::new(&unit.path.value), unit.is_device).ok()?;
    tested(identities(&below, &[]))
}

/// Returns the device by which people know a unit: the first below it that states a model or a serial number, or else
/// the first.
pub(super) fn tested(devices: Vec<DeviceIdentity>) -> Option<DeviceIdentity> {
    let states = |device: &&DeviceIdentity| device.model.is_some() || device.serial.is_some();
    devices.iter().find(states).or(devices.first()).cloned()
}

/// Hint for a device with another identity than the agreed one.
const ANOTHER_DEVICE: &str = "devices change their names at boot: `lsblk -o NAME,MODEL,SERIAL,REV`";

/// Returns why the device below the target cannot be taken for the agreed one. A device that is to be destroyed must be
/// known to be the agreed one.
fn another_device(target: &Target, below: &host::Target) -> Option<String> {
    let (state, why) = target.is_among(&identities(below, &[]));
    let is = match state {
        ConditionState::NotMet => "is not",
        ConditionState::NotKnown if target.destroy => "is not known to be",
        _ => return None,
    };
    let (path, words) = (&target.path.value, target.identity_words());
    Some(format!("{path} {is} what was agreed on ({words}): {why}"))
}

/// Checks again, right before a benchmark runs, that the target is the agreed device and that no other device is
/// written.
///
/// # Errors
/// Returns an error if one of these is not the case.
pub(super) fn still_permitted(target: &Target, ready: &Ready) -> Result<(), Failure> {
    let refused = |why: String, hint: &str| {
        Err(Failure::new(ExitCode::Usage, anyhow!("{why}: {} was not run (hint: {hint})", ready.name)))
    };
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    match below(&mut survey, Path::new(&target.path.value), target.is_device) {
        Err(why) => return refused(why, "it was there when the suite began"),
        Ok(below) => {
            if let Some(why) = another_device(target, &below) {
                return refused(why, ANOTHER_DEVICE);
            }
        }
    }
    if let Err(why) = ready.confinement.check() {
        return refused(why, "only the device that was looked at when the suite began is measured");
    }
    match ready.not_permitted(target).first() {
        Some(device) => refused(format!("it may write to {}", device.display()), NOT_THE_TARGET),
        None => Ok(()),
    }
}

const NOT_THE_TARGET: &str = "only a device that is the target and may be destroyed is written";

/// Returns the storage below a target.
///
/// # Errors
/// Returns the reason why the path is not a target.
pub(super) fn below(survey: &mut Survey, path: &Path, is_device: bool) -> Result<host::Target, String> {
    let cannot = |error: std::io::Error| format!("cannot look at the target {}: {error}", path.display());
    if is_device {
        let number = number_of(path).map_err(cannot)?;
        return number
            .map(|number| survey.target_for_device(number))
            .ok_or_else(|| format!("{} is not a block device", path.display()));
    }
    if !std::fs::metadata(path).map_err(cannot)?.is_dir() {
        return Err(format!("{} is not a directory", path.display()));
    }
    survey.target_of_path(path).ok_or_else(|| format!("the storage of {} is unknown", path.display()))
}

/// Returns the values of the placeholders on this machine.
fn sizes(path: &str, below: Option<&host::Target>) -> Sizes {
    let host = activebench_host::read_host(&Roots::default(), Process::Own, &[]);
    Sizes {
        target: path.to_owned(),
        memory_bytes: host.usable_memory_bytes(),
        device_bytes: below.and_then(host::Target::device_bytes),
    }
}

fn ready(benchmark: &Benchmark, target: &Target, pin: Option<&Pin>, sizes: &Sizes, cwd: &str) -> Result<Ready, Fault> {
    let fault = |message: String, hint: &str| Fault::new(benchmark.command_span.clone(), message, hint);
    let known: Vec<&str> = activebench_tools::ADAPTERS.iter().map(|adapter| adapter.name()).collect();
    let unknown_size = |why| fault(why, "give the size itself: `{10 GiB}`");
    let sizes = &Sizes { target: target_as_written(benchmark, &sizes.target), ..sizes.clone() };
    let command = CommandLine { argv: benchmark.resolved(sizes).map_err(unknown_size)?, cwd: cwd.to_owned() };
    let name = command.argv.first().map_or("", String::as_str);
    let Some(adapter) = activebench_tools::adapter_for_program(name) else {
        let message = format!("{name} is not a benchmark whose figures are known");
        let hint = format!("the first word is one of {}: no shell and no other program starts it", listed(&known));
        return Err(fault(message, &hint));
    };
    let from_package = || match name.contains('/') {
        true => "write its name alone".to_owned(),
        false => install_hint(name),
    };
    let program = installed_program(name).map_err(|why| fault(why, &from_package()))?;
    let vetted = adapter.vetted(&command.argv);
    if let Some(word) = vetted.refused.first() {
        return Err(fault(format!("{} may do more than I/O on the target: {word}", adapter.name()), VETTED));
    }
    if let Some(file) = vetted.files.iter().find(|file| !is_in_target(file, target)) {
        return Err(fault(format!("{file} is not in the target"), "name files of the target: `{target}/file`"));
    }
    let place = Path::new(&target.path.value);
    let mut confinement = Confinement::default();
    match (pin, target.destroy) {
        (Some(pin), true) => confinement.devices.push(pin.clone()),
        (Some(pin), false) => confinement.read_devices.push(pin.clone()),
        (None, _) if !target.is_device => confinement.folders.push(place.to_owned()),
        (None, _) => {}
    }
    if target.is_device && vetted.leaves_files {
        confinement.folders.push(PathBuf::from(cwd));
    }
    let phases = adapter.plan(&command, &plan::input_files(adapter, &command).0).phases;
    let name = benchmark.name.value.clone();
    Ok(Ready { name, command, program, confinement, tool: adapter, phases })
}

/// Returns what a device says of itself, for the question whether it may be written.
pub(super) fn identity_words(device: &Path) -> String {
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let devices = below(&mut survey, device, true).map(|below| identities(&below, &[])).unwrap_or_default();
    let said = |device: &DeviceIdentity| {
        let parts = [("model", &device.model), ("serial number", &device.serial), ("firmware", &device.firmware)];
        let parts = parts.map(|(name, value)| match value {
            Some(value) => format!("{name} {value}"),
            None => format!("{name} not stated"),
        });
        format!("{} ({})", device.kind, parts.join(", "))
    };
    devices.first().map_or_else(|| "identity not known".to_owned(), said)
}

/// Returns the path of the target as an option of the benchmark's tool takes it.
pub(super) fn target_as_written(benchmark: &Benchmark, target: &str) -> String {
    let plain = Sizes { target: target.to_owned(), ..Sizes::default() };
    let name = benchmark.command.first().and_then(|word| word.resolved(&plain).ok());
    let adapter = name.as_deref().and_then(activebench_tools::adapter_for_program);
    adapter.map_or_else(|| target.to_owned(), |adapter| adapter.path_in_option(target))
}

/// Hint for a word that a stranger may not use.
const VETTED: &str = "`docs/accept.md`, Commands: which options a command may have";

/// Checks that the limits of a benchmark name figures that it will state; adds a fault for each that does not.
fn limits(agreed: &Agreed, ready: &Ready, faults: &mut Vec<Fault>) {
    let adapter = ready.tool;
    let stated = metrics(ready);
    let phases: Vec<&str> = ready.phases.iter().map(|phase| phase.id.as_str()).collect();
    for limit in agreed.file.limits.iter().filter(|limit| limit.benchmark.value == ready.name) {
        // The passes of some commands are known only when they run.
        if !phases.is_empty() && !phases.contains(&limit.phase.value.as_str()) {
            let hint = match alike(&limit.phase.value, &phases) {
                Some(name) => format!("did you mean {name:?}? Its phases are {}", listed(&phases)),
                None => format!("its phases are {}", listed(&phases)),
            };
            let message = format!("the benchmark {:?} has no phase {:?}", ready.name, limit.phase.value);
            faults.push(Fault::new(limit.phase.span.clone(), message, hint));
        }
        if !stated.contains(&limit.metric.value.as_str()) {
            let of = if adapter.metrics().contains(&limit.metric.value) { "this command of " } else { "" };
            let message = format!("{of}{} states no {}", adapter.name(), limit.metric.value.as_str());
            let hint = format!("it states {}", listed(&stated));
            faults.push(Fault::new(limit.metric.span.clone(), message, hint));
        }
    }
}

/// The figures that a benchmark can state.
pub(super) fn metrics(ready: &Ready) -> Vec<&'static str> {
    plan::printed_metrics(ready.tool, &ready.command).iter().map(|metric| metric.as_str()).collect()
}

/// Adds a fault for each device that the benchmark may write without permission of the file.
fn writes(target: &Target, benchmark: &Benchmark, ready: &Ready, faults: &mut Vec<Fault>) {
    for device in ready.not_permitted(target) {
        let message = match ready.writing_phase() {
            Some(phase) => format!("the phase {:?} would write to {}", phase.id, device.display()),
            None => format!("it may write to {}: what it does is known only when it runs", device.display()),
        };
        let hint = match target.is_device && device == Path::new(&target.path.value) {
            true => "write `destroy = true` in [target] when everything on the device may be lost",
            false => NOT_THE_TARGET,
        };
        faults.push(Fault::new(benchmark.command_span.clone(), message, hint));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use activebench_detect::acceptance::Placed;
    use activebench_model::call::DeviceNumber;
    use activebench_model::host::{Layer, RAW_DEVICE, Tier};

    use super::*;

    #[test]
    fn what_is_to_be_destroyed_must_be_known_to_be_it() {
        let target = |destroy, serial: Option<&str>| Target {
            path: Placed { value: "/dev/sdb".to_owned(), span: 0..0 },
            is_device: true,
            destroy,
            model: None,
            serial: serial.map(str::to_owned),
            firmware: None,
        };
        let below = |serial: Option<&str>| host::Target {
            s_dev: DeviceNumber(0),
            mount_point: "/dev/sdb".to_owned(),
            fs_type: RAW_DEVICE.to_owned(),
            options: String::new(),
            layers: vec![Layer {
                name: "sdb".to_owned(),
                device: DeviceNumber(0),
                kind: "scsi".to_owned(),
                write_cache: None,
                rotational: None,
                logical_block_bytes: None,
                loop_direct_io: None,
                backing_file: None,
                size_bytes: None,
                attributes: serial
                    .map(|serial| ("serial".to_owned(), serial.to_owned()))
                    .into_iter()
                    .collect::<BTreeMap<_, _>>(),
            }],
            tier: Tier::Block,
        };
        for (destroy, asked, said, expected) in [
            (true, Some("S1"), Some("S1"), None),
            (true, Some("S1"), Some("S2"), Some("is not what was agreed on (serial number S1)")),
            (false, Some("S1"), Some("S2"), Some("is not what was agreed on")),
            (true, Some("S1"), None, Some("is not known to be what was agreed on")),
            // Reading destroys nothing, and the report says that the identity is not known.
            (false, Some("S1"), None, None),
            (true, None, Some("S2"), None),
        ] {
            let found = another_device(&target(destroy, asked), &below(said));
            let is_as_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_as_expected, "{destroy} {asked:?} {said:?}: {found:?}");
        }
    }
}
