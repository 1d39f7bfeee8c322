//! Figures with bounds, where the bound is a fact of its own: a threshold outside of the bounds is
//! decided, however imprecise the figure is.

use activebench_model::fact::{Completeness, FactName};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

/// A figure and its largest error, in the figure's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounded {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Bounded {
    /// The same as a share of a whole.
    pub(crate) fn of(self, whole: f64) -> Self {
        Self { value: self.value / whole, error: self.error / whole }
    }

    pub(crate) fn is_above(self, limit: f64) -> bool {
        self.value - self.error > limit
    }

    pub(crate) fn is_within(self, limit: f64) -> bool {
        self.value + self.error <= limit
    }
}

/// Returns a figure that is complete, or partial only because of its error, which is then complete.
///
/// # Errors
/// When it is missing, or partial for another reason.
pub(crate) fn bounded(phase: &Phase, figure: FactName, bound: FactName) -> Result<Bounded, String> {
    let why = match phase.facts.complete(figure) {
        Ok(value) => return Ok(Bounded { value, error: 0.0 }),
        Err(why) => why,
    };
    let fact = phase.facts.get(figure).filter(|fact| matches!(fact.completeness, Completeness::Partial(_)));
    match (fact.and_then(|fact| fact.value), phase.facts.complete(bound)) {
        (Some(value), Ok(error)) => Ok(Bounded { value: value.value, error }),
        _ => Err(why),
    }
}

/// Share of a phase's window in which its device was busy.
pub(crate) struct Busy {
    /// The observed share.
    pub(crate) at_least: f64,
    /// The share including requests whose end was not observed; `Err` has the reason why it can be larger still.
    at_most: Result<f64, String>,
}

impl Busy {
    /// # Errors
    /// When nothing is known of it.
    pub(crate) fn of(phase: &Phase) -> Result<Self, String> {
        let window = phase.facts.complete(FactName::Window)?;
        let why = match phase.facts.complete(FactName::DeviceBusy) {
            Ok(busy) => return Ok(Self { at_least: busy / window, at_most: Ok(busy / window) }),
            Err(why) => why,
        };
        let Some(seen) = phase.facts.get(FactName::DeviceBusy).and_then(|fact| fact.value) else { return Err(why) };
        let most = phase.facts.complete(FactName::DeviceBusyError).map(|error| (seen.value + error) / window);
        Ok(Self { at_least: seen.value / window, at_most: most.map_err(|_| why) })
    }

    /// Returns `true` if it was less than a limit.
    ///
    /// # Errors
    /// When that is not known.
    pub(crate) fn is_below(&self, limit: f64) -> Result<bool, String> {
        if self.at_least >= limit {
            return Ok(false);
        }
        match &self.at_most {
            Ok(most) if *most < limit => Ok(true),
            Ok(most) => Err(format!(
                "the device was busy for {} to {} of the time, because completions were not observed",
                Quantity::ratio(self.at_least),
                Quantity::ratio(*most)
            )),
            Err(why) => Err(why.clone()),
        }
    }
}
