//! hdparm's commands. It sleeps for three seconds before its clock, and reads for as long.

use fastrand::Rng;

use super::draft::{Draft, one_of, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

/// Writes all of the device, so that no block is a hole.
const FILL: &str = "dd if=/dev/urandom of={device} bs=1M oflag=direct status=none || true";

fn draft(what: &str, volume: VolumeSpec, options: &str) -> Draft {
    Draft::new(format!("hdparm: {what}."), &["hdparm"], volume, words(&format!("hdparm {options} {{device}}")))
}

fn device(rng: &mut Rng) -> VolumeSpec {
    VolumeSpec { kind: Medium::RawLoop, ..volume::on("ext4", rng.u64(64..=192), "noatime") }
}

/// Draws reads of a device that was written, and that nobody else holds open.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let volume = device(rng);
    let options = one_of(rng, &["-t", "-t --direct", "-tT", "--direct -t", "-T -t --direct"]);
    let mut draft = draft("reads of a device", volume, options);
    draft.prepare.push(FILL.to_owned());
    draft
}

/// Draws reads of a device that a mounted file system holds open, and that is in the page cache.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", rng.u64(96..=192), "noatime");
    let mut draft = draft("reads of a device that is in the page cache", volume, "-t");
    draft.prepare = vec![
        "dd if=/dev/urandom of=data bs=1M status=none || true".to_owned(),
        "sync; cat {device} >/dev/null".to_owned(),
    ];
    draft.keep_cache = true;
    draft
}

/// Draws reads of a device that nothing was ever written to.
pub(super) fn holes(rng: &mut Rng) -> Draft {
    let volume = device(rng);
    draft("reads of holes", volume, one_of(rng, &["-t", "-t --direct"]))
}
