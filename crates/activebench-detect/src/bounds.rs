//! Figures that are known to within a bound, where the bound is a fact of its own: a limit that lies outside of it is
//! decided, however blurred the figure is.

use activebench_model::fact::{Completeness, FactName};
use activebench_model::phase::Phase;

/// A figure and by how much it can be wrong, in the figure's unit.
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

/// A figure that is complete, or partial for no other reason than its bound, which is then complete.
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
