//! Measurements that used a device at the same time: the figure of each is the rate that the others left it, and what
//! they reached together is the device's.

use activebench_model::host::Layer;
use activebench_model::phase::{Phase, Window};
use activebench_model::report::Together;
use activebench_model::units::{Quantity, Unit};

use crate::run::Run;

/// A pass of a measurement, with its window and the layers below its file.
struct Pass<'a> {
    /// Place of its measurement.
    of: usize,
    number: u32,
    phase: &'a Phase,
    window: Window,
    layers: &'a [Layer],
}

impl Pass<'_> {
    /// Returns the topmost device that both used, if they did so at the same time.
    fn shared_with(&self, other: &Self) -> Option<&Layer> {
        let overlap = self.window.start_ns < other.window.end_ns && other.window.start_ns < self.window.end_ns;
        let is_below_other = |layer: &&Layer| other.layers.iter().any(|below| below.device == layer.device);
        self.layers.iter().find(is_below_other).filter(|_| overlap && self.number != other.number)
    }
}

/// Finds the groups of measurements whose passes overlapped at a device, in the order of their first pass.
pub(crate) fn together(measurements: &[Run<'_>]) -> Vec<Together> {
    let mut passes: Vec<Pass<'_>> = Vec::new();
    for (of, run) in measurements.iter().enumerate() {
        let Some(part) = run.part else { continue };
        passes.extend(run.phases.iter().filter_map(|phase| {
            let (window, target) = (phase.window?, run.target_of(phase)?);
            let (number, layers) = (part.measurement.number, target.layers.as_slice());
            Some(Pass { of, number, phase, window, layers })
        }));
    }
    passes.sort_by_key(|pass| pass.window.start_ns);
    let mut groups: Vec<(&Layer, Vec<usize>)> = Vec::new();
    let mut running: Vec<usize> = Vec::new();
    for (place, pass) in passes.iter().enumerate() {
        running.retain(|earlier| passes[*earlier].window.end_ns > pass.window.start_ns);
        for &earlier in &running {
            let Some(device) = passes[earlier].shared_with(pass) else { continue };
            let known =
                groups.iter().position(|(known, members)| known.device == device.device && members.contains(&earlier));
            let group = known.unwrap_or_else(|| {
                groups.push((device, vec![earlier]));
                groups.len() - 1
            });
            if !groups[group].1.contains(&place) {
                groups[group].1.push(place);
            }
        }
        running.push(place);
    }
    groups
        .iter()
        .map(|(device, members)| of_group(device, members.iter().map(|place| &passes[*place]), measurements))
        .collect()
}

fn of_group<'a>(
    device: &Layer,
    members: impl Iterator<Item = &'a Pass<'a>> + Clone,
    measurements: &[Run<'_>],
) -> Together {
    let mut numbers: Vec<u32> = members.clone().map(|pass| pass.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let moved = members.clone().map(|pass| measurements[pass.of].moved(pass.phase).ok()).sum::<Option<f64>>();
    let begin_ns = members.clone().map(|pass| pass.window.start_ns).min();
    let end_ns = members.map(|pass| pass.window.end_ns).max();
    let span_ns = begin_ns.zip(end_ns).map_or(0, |(begin, end)| end.saturating_sub(begin));
    let rate = moved.filter(|_| span_ns > 0).map(|bytes| bytes * 1e9 / span_ns as f64);
    Together {
        numbers,
        device: device.name.clone(),
        rate: rate.map(|value| Quantity { value, unit: Unit::BytesPerSec }),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::{DeviceNumber, FileId};
    use activebench_model::claim::Parsed;
    use activebench_model::fact::{Fact, FactName, Facts, Scope};
    use activebench_model::host::{Target, Tier};
    use activebench_model::measurement::Measurement;
    use activebench_model::phase::{Direction, Part, PartEnd};
    use activebench_model::run::Manifest;
    use activebench_model::thread_stacks::Profiles;
    use activebench_tools::advisor_of;

    use super::*;
    use crate::run::{PartOfRun, RunIndex};
    use crate::thresholds::Thresholds;

    /// A pass of a measurement: its number, the device of its file, its window in seconds, its bytes.
    type Given = (u32, u32, [u64; 2], Option<u64>);

    fn target(device: u32) -> Target {
        let layer = Layer { name: format!("vd{device}"), device: DeviceNumber(device), ..Layer::default() };
        Target {
            s_dev: DeviceNumber(device),
            mount_point: String::new(),
            fs_type: "ext4".to_owned(),
            options: String::new(),
            layers: vec![layer],
            tier: Tier::Block,
        }
    }

    fn check(given: &[Given], expected: &[(&[u32], &str, Option<f64>)]) {
        let mut manifest = Manifest::default();
        manifest.host.targets = vec![target(1), target(2)];
        let phase = |(_, device, seconds, bytes): &Given| {
            let mut phase = Phase::planned("p".to_owned(), "p".to_owned(), Direction::Write);
            phase.window = Some(Window { start_ns: seconds[0] * 1_000_000_000, end_ns: seconds[1] * 1_000_000_000 });
            phase.parts = vec![Part {
                tgid: 1,
                tids: Vec::new(),
                fd: 3,
                file: FileId { s_dev: *device, ino: 1 },
                start_ns: 0,
                end: PartEnd::At(0),
                last_data_ns: 0,
                sync_inside: None,
                sync_after: None,
                close_ns: None,
            }];
            let moved = bytes.map(|bytes| Fact::complete(Quantity::bytes(bytes), Scope::Tree, ""));
            let moved = moved.unwrap_or_else(|| Fact::missing("it was lost", Scope::Tree, ""));
            phase.facts.insert(FactName::WriteBytes, moved);
            vec![phase]
        };
        let phases: Vec<Vec<Phase>> = given.iter().map(phase).collect();
        let measurement = |given: &Given| Measurement { number: given.0, ..Measurement::default() };
        let measurements: Vec<Measurement> = given.iter().map(measurement).collect();
        let (parsed, facts, profiles) = (Parsed::default(), Facts::default(), Profiles::default());
        let thresholds = Thresholds::profile("default").expect("there is one");
        let index = RunIndex::default();
        let run = |(phases, measurement)| Run {
            manifest: &manifest,
            parsed: &parsed,
            phases,
            facts: &facts,
            profiles: &profiles,
            thresholds: &thresholds,
            advisor: advisor_of(""),
            index: &index,
            part: Some(PartOfRun { measurement, missing: &[], is_about_no_storage: false }),
        };
        let runs: Vec<Run<'_>> = phases.iter().map(Vec::as_slice).zip(&measurements).map(run).collect();
        let found = together(&runs);
        let rows: Vec<(&[u32], &str, Option<f64>)> = found
            .iter()
            .map(|one| (one.numbers.as_slice(), one.device.as_str(), one.rate.map(|rate| rate.value)))
            .collect();
        assert_eq!(rows, expected, "{given:?}");
    }

    #[test]
    fn measurements_are_together_where_their_passes_share_a_device_and_time() {
        check(&[(1, 1, [0, 2], Some(100)), (2, 1, [2, 3], Some(100))], &[]);
        check(&[(1, 1, [0, 2], Some(100)), (2, 2, [1, 3], Some(100))], &[]);
        check(&[(1, 1, [0, 2], Some(100)), (1, 1, [1, 3], Some(100))], &[]);
        check(&[(1, 1, [0, 2], Some(100)), (2, 1, [1, 4], Some(300))], &[(&[1, 2], "vd1", Some(100.0))]);
        check(&[(1, 1, [0, 2], None), (2, 1, [1, 4], Some(300))], &[(&[1, 2], "vd1", None)]);
        check(
            &[
                (1, 1, [0, 2], Some(100)),
                (2, 1, [1, 4], Some(200)),
                (3, 1, [3, 5], Some(200)),
                (4, 2, [0, 9], Some(1)),
                (5, 1, [5, 6], Some(1)),
            ],
            &[(&[1, 2, 3], "vd1", Some(100.0))],
        );
    }
}
