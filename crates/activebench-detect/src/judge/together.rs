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
