//! What the calls of a phase moved and what the device moved, on one axis and one time line.

use activebench_model::fact::Completeness;
use activebench_model::phase::{Direction, Phase};
use activebench_model::timeline::{Timeline, TimelineFigure};
use activebench_model::units::{Quantity, Unit};
use maud::Markup;

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::timeline::{TimeAxis, lack, steps};
use super::units::{plain, unit_for};
use crate::escape::terminal as shown;

/// Height of the axis relative to the highest value: without and with notes above the lines.
const HEADROOM: (f64, f64) = (1.12, 1.42);

/// The rates of a phase over time, in bytes per second.
pub(super) struct Flow {
    /// One value per step, `None` where it is not known; empty if nothing is known.
    calls: Vec<Option<f64>>,
    device: Vec<Option<f64>>,
    /// Why a part is missing.
    lacks: Vec<String>,
    /// Highest value of both.
    most: f64,
}

/// A moment with its explanation.
pub(super) struct Note {
    /// `CLOCK_MONOTONIC`.
    pub(super) at_ns: u64,
    pub(super) words: String,
}

impl Flow {
    pub(super) fn of(phase: &Phase, timeline: &Timeline) -> Self {
        use TimelineFigure::{CallReadRate, CallWriteRate, DeviceReadRate, DeviceWriteRate};
        let wanted: (&[_], &[_]) = match phase.direction {
            Direction::Read => (&[CallReadRate], &[DeviceReadRate]),
            Direction::Write => (&[CallWriteRate], &[DeviceWriteRate]),
            _ => (&[CallReadRate, CallWriteRate], &[DeviceReadRate, DeviceWriteRate]),
        };
        let (calls, why_no_calls) = sum(timeline, wanted.0);
        let (device, why_no_device) = sum(timeline, wanted.1);
        let lacks = [("calls", why_no_calls), ("device", why_no_device)];
        let lacks = lacks.into_iter().filter_map(|(of, why)| Some(format!("{of} {}", why?))).collect();
        let values = calls.iter().chain(&device).flatten().copied();
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self { calls, device, lacks, most }
    }

    /// Returns `true` if something moved.
    pub(super) fn moves(&self) -> bool {
        self.most > 0.0
    }

    /// Returns `true` if the device is known to have moved something.
    pub(super) fn reaches_device(&self) -> bool {
        self.device.iter().flatten().any(|value| *value > 0.0)
    }

    /// The chart in one sentence. Escaped.
    fn says(&self, axis: &TimeAxis<'_>) -> String {
        let told = [("calls moved", &self.calls), ("the device moved", &self.device)].map(|(word, values)| {
            let known = values.iter().enumerate().filter_map(|(step, value)| Some((step, (*value)?)));
            let highest =
                known.filter(|(_, v)| v.is_finite()).reduce(|most, next| if next.1 > most.1 { next } else { most });
            match highest {
                None => format!("what {word} is not known"),
                Some((_, value)) if value <= 0.0 => format!("{word} nothing"),
                Some((step, value)) => {
                    let value = Quantity { value, unit: Unit::BytesPerSec };
                    format!("{word} at most {value}, at {}", axis.told(step))
                }
            }
        });
        shown(&told.into_iter().chain(self.lacks.iter().cloned()).collect::<Vec<_>>().join("; "))
    }

    /// Draws both rates. `name` is understandable on its own and escaped.
    pub(super) fn draw(&self, id: &str, name: &str, axis: &TimeAxis<'_>, size: Size, notes: &[Note]) -> Markup {
        let unit = unit_for(Unit::BytesPerSec, self.most);
        let headroom = if notes.is_empty() { HEADROOM.0 } else { HEADROOM.1 };
        let top = self.most / unit.size * headroom;
        let mut shapes = axis.marks(0.0, top);
        let runs = |values: &[Option<f64>]| steps(axis, values, |value| value / unit.size);
        for run in runs(&self.device) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            let area = std::iter::once((first, 0.0)).chain(run).chain([(last, 0.0)]).collect();
            shapes.push(Shape::Area(Ink::Device, area));
        }
        shapes.extend(runs(&self.calls).into_iter().map(|run| Shape::Line(Ink::Calls, run)));
        for (place, note) in notes.iter().enumerate() {
            let at = axis.at(note.at_ns);
            // One below the other, so that close moments do not cover each other's words.
            let level = top * (0.95 - 0.12 * place as f64);
            shapes.push(Shape::Line(Ink::Moment, vec![(at, 0.0), (at, level)]));
            shapes.push(Shape::Words((at, level), note.words.clone()));
        }
        let says = self.says(axis);
        let label = |value: f64| plain(value);
        let is_small = notes.is_empty();
        let labels = if is_small { 5 } else { 8 };
        let chart = Chart {
            id,
            name,
            says: &says,
            size,
            x: Axis { labels, ..axis.axis() },
            y: Axis { range: 0.0..top, scale: Scale::Linear, labels: 4, label: &label },
            shapes,
        };
        let legend = [(Swatch::Line(Ink::Calls), "calls"), (Swatch::Box(Ink::Device), "device")];
        let units = format!("{} over {}", unit.name, axis.unit_name());
        figure("Throughput", &units, &legend, &says, chart.draw())
    }
}

/// Adds series step by step; a step is known if all of them are. The second value says why a part is missing.
fn sum(timeline: &Timeline, names: &[TimelineFigure]) -> (Vec<Option<f64>>, Option<String>) {
    let mut total: Vec<Option<f64>> = vec![Some(0.0); timeline.steps];
    let mut why = None;
    for name in names {
        let Some(series) = timeline.series(*name) else { return (Vec::new(), Some("not known".to_owned())) };
        why = why.or(lack(&series.completeness));
        let is_missing = matches!(series.completeness, Completeness::Missing(_));
        if is_missing || series.values.len() != timeline.steps {
            return (Vec::new(), why.or(Some("not known".to_owned())));
        }
        for (total, value) in total.iter_mut().zip(&series.values) {
            *total = total.zip(*value).map(|(total, value)| total + value);
        }
    }
    (total, why)
}
