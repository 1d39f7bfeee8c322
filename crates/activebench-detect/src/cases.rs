//! The subjects of a detector: a phase or the whole run, a figure of a series, a planned pass. Findings are
//! made from here, so that every outcome carries code, name, phase and facts.

pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod series;
