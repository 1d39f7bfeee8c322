//! The commands of stress-ng's disk stressor.

use fastrand::Rng;

use super::draft::{Draft, one_of, words};
use super::volume;
use crate::truth::case::VolumeSpec;

fn draft(what: &str, volume: VolumeSpec, options: &str) -> Draft {
    let line = format!("stress-ng --hdd {options} --temp-path .");
    Draft::new(format!("stress-ng: {what}."), &["stress-ng"], volume, words(&line))
}

/// Draws direct writes and reads.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, true);
    let options = format!(
        "{} --hdd-bytes {}m --hdd-opts {} {} {}",
        one_of(rng, &[1, 1, 2]),
        one_of(rng, &[16, 32, 64]),
        one_of(rng, &["direct", "direct,fsync", "direct,dsync", "direct,wr-seq", "direct,wr-rnd", "direct,rd-rnd"]),
        one_of(rng, &["--timeout 2s", "--timeout 3s", "--timeout 2"]),
        one_of(rng, &["--metrics", "--metrics-brief"]),
    );
    let mut draft = draft("direct writes and reads", volume, &options);
    if draft.volume.fs == "btrfs" && options.contains("-rnd") {
        draft.also_true("AB204", "btrfs serves reads that do not begin at a block of its own from the page cache");
    }
    draft
}

/// Draws writes that no sync makes durable.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let options = format!(
        "1 --hdd-bytes {}m --timeout 2s {} {}",
        one_of(rng, &[32, 64]),
        one_of(rng, &["--metrics", "--metrics-brief"]),
        one_of(rng, &["", "--hdd-opts wr-seq"]),
    );
    draft("writes without a sync", volume, &options)
}
