//! The time axis of a timeline.

use std::ops::Range;

use activebench_model::phase::Window;

/// A time axis with steps of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) start_ns: u64,
    /// Above 0.
    pub(super) step_ns: u64,
    /// Above 0.
    pub(super) steps: usize,
}

impl Axis {
    /// Creates an axis over a span and a little before and after it.
    pub(super) fn around(span: Window, steps: usize) -> Self {
        let margin_ns = span.duration_ns() / 40;
        let start_ns = span.start_ns.saturating_sub(margin_ns);
        let length_ns = (span.end_ns.saturating_add(margin_ns) - start_ns).max(1);
        Self { start_ns, step_ns: length_ns.div_ceil(steps as u64), steps }
    }

    /// Returns the end of the last step.
    pub(super) fn end_ns(self) -> u64 {
        self.start_ns.saturating_add(self.step_ns.saturating_mul(self.steps as u64))
    }

    /// Returns the step of a time; `None` outside the axis.
    pub(super) fn step_of(self, at_ns: u64) -> Option<usize> {
        let step = usize::try_from(at_ns.checked_sub(self.start_ns)? / self.step_ns).ok()?;
        (step < self.steps).then_some(step)
    }

    /// Returns the start and the end of a step.
    pub(super) fn bounds(self, step: usize) -> (u64, u64) {
        let start_ns = self.start_ns + step as u64 * self.step_ns;
        (start_ns, start_ns + self.step_ns)
    }

    /// Returns the steps that share time with a span.
    pub(super) fn steps_between(self, start_ns: u64, end_ns: u64) -> Range<usize> {
        let step = |ns: u64| usize::try_from(ns / self.step_ns).map_or(self.steps, |step| step.min(self.steps));
        let first = step(start_ns.saturating_sub(self.start_ns));
        let after = end_ns.checked_sub(self.start_ns).map_or(0, |ns| step(ns.saturating_add(self.step_ns - 1)));
        first..after
    }

    /// Adds an amount, spread evenly over a time; the part outside the axis is left out.
    pub(super) fn spread(self, sums: &mut [f64], start_ns: u64, end_ns: u64, amount: f64) {
        let Some(length_ns) = end_ns.checked_sub(start_ns).filter(|length_ns| *length_ns > 0) else {
            if let Some(step) = self.step_of(end_ns) {
                sums[step] += amount;
            }
            return;
        };
        let (from_ns, to_ns) = (start_ns.max(self.start_ns), end_ns.min(self.end_ns()));
        let (Some(first), Some(last)) =
            (self.step_of(from_ns), to_ns.checked_sub(1).and_then(|last| self.step_of(last)))
        else {
            return;
        };
        for (step, sum) in sums.iter_mut().enumerate().take(last + 1).skip(first) {
            let (step_start_ns, step_end_ns) = self.bounds(step);
            let inside_ns = step_end_ns.min(to_ns).saturating_sub(step_start_ns.max(from_ns));
            *sum += amount * inside_ns as f64 / length_ns as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis { start_ns: 100, step_ns: 10, steps: 4 };

    #[test]
    fn an_axis_covers_the_span_and_a_little_more() {
        for (start_ns, end_ns) in [(1_000, 1_400), (0, 7), (5, 5), (10, 1_000_000_007)] {
            let axis = Axis::around(Window { start_ns, end_ns }, 120);
            assert!(axis.start_ns <= start_ns && axis.end_ns() > end_ns, "{axis:?}");
            assert!(axis.step_of(start_ns).is_some() && axis.step_of(end_ns).is_some(), "{axis:?}");
            assert_eq!(axis.step_of(axis.end_ns()), None);
        }
    }

    #[test]
    fn the_steps_of_a_span_are_those_that_share_time_with_it() {
        for (start_ns, end_ns, expected) in
            [(0, 50, 0..0), (0, 101, 0..1), (100, 110, 0..1), (109, 111, 0..2), (120, 500, 2..4), (139, 140, 3..4)]
        {
            assert_eq!(AXIS.steps_between(start_ns, end_ns), expected, "{start_ns}..{end_ns}");
        }
    }

    #[test]
    fn an_amount_is_spread_over_its_time() {
        for (what, (start_ns, end_ns), expected) in [
            ("inside one step", (102, 108), [8.0, 0.0, 0.0, 0.0]),
            ("over two steps", (105, 115), [4.0, 4.0, 0.0, 0.0]),
            ("over all and more", (90, 150), [8.0 / 6.0; 4]),
            ("an instant", (125, 125), [0.0, 0.0, 8.0, 0.0]),
            ("before", (10, 100), [0.0; 4]),
            ("after", (140, 150), [0.0; 4]),
            ("to the border", (130, 140), [0.0, 0.0, 0.0, 8.0]),
        ] {
            let mut sums = [0.0; 4];
            AXIS.spread(&mut sums, start_ns, end_ns, 8.0);
            for (sum, expected) in sums.iter().zip(expected) {
                assert!((sum - expected).abs() < 1e-9, "{what}: {sums:?}");
            }
        }
    }
}
