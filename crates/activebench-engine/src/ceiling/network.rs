//! One round trip to a file server: the look-up of a name that nobody has asked for.
//!
//! The client cannot answer it from its cache, and the server answers it from memory. It takes the path of every call
//! that the client does not answer itself.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use activebench_model::ceiling::{Part, PartKind};
use activebench_model::phase::Direction;
use activebench_model::units::Quantity;

use super::{REPETITIONS, UnitOf, measured, repeat};
use crate::interruption::Stop;

/// Measures the mean time to look up a name that does not exist.
pub(super) fn round_trip(folder: &Path, time: Duration, stop: &Stop) -> Part {
    let base = Part {
        kind: PartKind::RoundTrip,
        direction: Direction::None,
        request_bytes: None,
        depth: 1,
        threads: 1,
        region_bytes: None,
        value: None,
        missing: None,
        how: "stat of names that are not there and were never asked for, one after the other; the mean".to_owned(),
        repetitions: Vec::new(),
        spread_ratio: None,
        served: None,
    };
    // Names that no earlier run asked for.
    let stamp = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let mut number = 0_u64;
    let unit: UnitOf = |value| Quantity { value, ..Quantity::ns(0) };
    let times: io::Result<Vec<f64>> = repeat(unit, || {
        let begin = Instant::now();
        let mut asked = 0_u32;
        while asked == 0 || (begin.elapsed() < time / REPETITIONS && !stop.is_set()) {
            number += 1;
            let name = format!(".activebench-{stamp:x}-{number}");
            match std::fs::symlink_metadata(folder.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => asked += 1,
                Err(error) => return Err(error),
                Ok(_) => return Err(io::Error::other(format!("{name} is there"))),
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(asked))
    });
    match times {
        Ok(times) => measured(base, times, unit),
        Err(error) => Part { missing: Some(format!("cannot look names up in {}: {error}", folder.display())), ..base },
    }
}
