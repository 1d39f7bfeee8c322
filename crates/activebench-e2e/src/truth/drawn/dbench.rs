//! dbench's commands. Its load reads what it has written, so that it is honest as a figure of a file system with its cache.

use fastrand::Rng;

use super::draft::{Draft, one_of, words};
use super::volume;
use crate::truth::case::VolumeSpec;

fn draft(rng: &mut Rng, what: &str, volume: VolumeSpec, options: &str) -> Draft {
    let line = format!("dbench -t 3 {options} {}", one_of(rng, &[1, 2]));
    Draft::new(format!("dbench: {what}."), &["dbench"], volume, words(&line))
}

/// Draws a load that is taken for the file system with its cache.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 512, false, false);
    let options = one_of(rng, &["", "-s", "-F", "-S", "-D {mount}"]);
    let mut draft = draft(rng, "a load taken for the file system with its cache", volume, options);
    draft.options = ["--subject", "cached-filesystem"].map(str::to_owned).to_vec();
    draft
}

/// Draws a load that is taken for the storage.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 512, false, false);
    draft(rng, "a load taken for the storage", volume, "")
}
