//! The final object of ioping's JSON (`-J`).

use serde_json::Value;

use super::figures::Figure;
use super::output::{All, Of, Statistics};
use crate::printed::Number;

/// Returns the statistics; `None` where the text ends before them.
pub(super) fn statistics(text: &[u8]) -> Option<Statistics> {
    let document: Value = serde_json::from_slice(text).ok()?;
    let last = document.as_array()?.last()?;
    let (own, all) = (last.get("stat")?, last.get("load")?);
    let figure = |value: &Value, key: &str, unit: &str| {
        let number = Number::parse(&value.get(key)?.to_string())?;
        Some(Figure { number, scale: 1.0, unit: unit.to_owned() })
    };
    Some(Statistics {
        counted: figure(own, "count", "")?,
        mean: figure(own, "avg", "ns")?,
        longest: figure(own, "max", "ns")?,
        of_mean: vec![(figure(own, "iops", "iops")?, Of::Requests), (figure(own, "bps", "B/s")?, Of::Bytes)],
        all: All {
            requests: figure(all, "count", "")?,
            bytes: figure(all, "size", "B"),
            rate: figure(all, "iops", "iops"),
            throughput: figure(all, "bps", "B/s"),
        },
    })
}
