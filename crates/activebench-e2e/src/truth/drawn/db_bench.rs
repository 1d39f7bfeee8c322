//! db_bench's commands.

use fastrand::Rng;

use super::draft::{Draft, one_of, words};
use super::volume;
use crate::truth::case::VolumeSpec;

fn draft(what: &str, volume: VolumeSpec, options: &str) -> Draft {
    let line = format!("db_bench --db=db {options}");
    Draft::new(format!("db_bench: {what}."), &["db_bench"], volume, words(&line))
}

/// Draws writes whose log is synced behind each of them. Calls show no operations of reads, of several threads, of
/// batches, or of benchmarks one behind the other.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let options = format!(
        "--benchmarks={} --num={} --sync=1 {} {}",
        one_of(rng, &["fillseq", "fillrandom", "overwrite"]),
        rng.u32(300..=1500),
        one_of(rng, &["", "--value_size=1000", "--value_size=4000"]),
        one_of(rng, &["", "", "--histogram=1", "--seed=7"]),
    );
    draft("writes that are synced one by one", volume, &options)
}

/// Draws writes into a log that nothing syncs.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let options =
        format!("--benchmarks={} --num={}", one_of(rng, &["fillseq", "fillrandom"]), one_of(rng, &[100_000, 200_000]));
    draft("writes without a sync", volume, &options)
}
