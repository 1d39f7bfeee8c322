//! pg_test_fsync's commands. It has two options, and sixteen tests of at least a second each.

use fastrand::Rng;

use super::draft::{Draft, one_of, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

fn draft(what: &str, volume: VolumeSpec, file: &str) -> Draft {
    let line = format!("pg_test_fsync -s 1 -f {file}");
    Draft::new(format!("pg_test_fsync: {what}."), &["pg_test_fsync"], volume, words(&line))
}

/// Draws the ways to sync on a file system that flushes.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 128, false, true);
    draft("ways to sync", volume, one_of(rng, &["x", "./x", "{mount}/x"]))
}

/// Draws the same where no sync is a flush.
pub(super) fn without_flush(rng: &mut Rng) -> Draft {
    let mut volume = volume::on("ext4", 128, "noatime,nobarrier");
    if rng.bool() {
        volume.kind = Medium::Tmpfs;
    }
    draft("syncs that make nothing durable", volume, "./x")
}
