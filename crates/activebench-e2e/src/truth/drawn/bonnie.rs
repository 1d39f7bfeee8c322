//! bonnie++'s commands.

use fastrand::Rng;

use super::draft::{Draft, one_of};
use super::volume;

/// Draws a file many times the memory of the control group, so that reads come from the device.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let mut draft = of(rng, "320:64k");
    draft.limits.memory_mib = Some(16);
    // For the same reason as in the case file of this kind.
    for code in ["AB101", "AB104", "AB111"] {
        draft.also_true(code, "bonnie++ 2.00 counts the CPU time of the seeks once for each thread");
    }
    draft
}

/// Draws a file that fits into memory.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let mut draft = of(rng, "64:64k");
    "bonnie++: reads of a file that is in the page cache.".clone_into(&mut draft.what);
    draft
}

fn of(rng: &mut Rng, size: &str) -> Draft {
    let mut words: Vec<String> =
        ["bonnie++", "-u", "{user}", "-d", "{mount}", "-r", "0", "-m", "host", "-n", "0", "-f"]
            .map(str::to_owned)
            .to_vec();
    words.extend(["-s".to_owned(), size.to_owned()]);
    words.extend(one_of(rng, &[None, Some("-q"), Some("-b")]).map(str::to_owned));
    let what = "bonnie++: a file that memory does not hold.".to_owned();
    Draft::new(what, &["bonnie++"], volume::on("ext4", 640, "noatime"), words)
}
