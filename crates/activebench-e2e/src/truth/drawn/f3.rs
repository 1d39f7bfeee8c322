//! The commands of f3write and f3read. They fill a file system, so that they run on a small one of their own.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

fn draft(what: &str, volume: VolumeSpec, line: &str) -> Draft {
    Draft { fills: true, ..Draft::new(format!("f3: {what}."), &["f3write", "f3read"], volume, words(line)) }
}

/// Draws writes that are synced chunk by chunk, or reads of cold files.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", rng.u64(64..=160), "noatime");
    if in_percent(rng, 50) {
        return draft("writes that are synced chunk by chunk", volume, one_of(rng, &["f3write {mount}", "f3write ."]));
    }
    let mut draft = draft("reads of cold files", volume, one_of(rng, &["f3read {mount}", "f3read ."]));
    draft.prepare.push("f3write . >/dev/null".to_owned());
    draft
}

/// Draws reads of files on a device that keeps its data in memory.
pub(super) fn cache_below(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", rng.u64(96..=160), "noatime");
    let mut draft = draft("reads of a device that keeps its data in memory", volume, "f3read {mount}");
    draft.volume.kind = Medium::CachedLoop;
    draft.prepare = vec!["f3write . >/dev/null".to_owned(), "sync; cat {device} >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}
