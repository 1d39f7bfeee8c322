//! The detectors on whose findings of single runs the conditions rest.

use activebench_model::finding::Finding;

use crate::detector::Detector;
use crate::detectors::{blind_path, cliff_or_throttling, evidence_lost, foreign_io, throttled_by_policy};

/// A limit that somebody set, and a rate that fell.
pub(super) static THROTTLING: [&Detector; 2] = [&throttled_by_policy::DETECTOR, &cliff_or_throttling::DETECTOR];
/// Without their consent nothing is judged: the evidence is not whole.
pub(super) static WHOLE: [&Detector; 2] = [&blind_path::DETECTOR, &evidence_lost::DETECTOR];
/// Others at the device.
pub(super) static FOREIGN: [&Detector; 1] = [&foreign_io::DETECTOR];

/// Returns `true` when a condition rests on this finding of a single run.
pub(super) fn rests_on(finding: &Finding) -> bool {
    [&THROTTLING[..], &WHOLE, &FOREIGN].concat().iter().any(|detector| detector.made(finding))
}
