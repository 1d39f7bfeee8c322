//! ioping's commands.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

/// Makes the file that is read.
const DATA: &str = "dd if=/dev/urandom of=data bs=1M count=64 conv=fsync status=none";

fn draft(what: &str, volume: VolumeSpec, options: &[String], target: &str) -> Draft {
    let line = format!("ioping {} {target}", options.join(" "));
    Draft::new(format!("ioping: {what}."), &["ioping"], volume, words(&line))
}

/// Draws direct requests, or writes that are synced one by one.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let writes = in_percent(rng, 40);
    let volume = volume::draw(rng, 256, !writes, writes);
    let raw = volume.kind == Medium::RawLoop;
    let mut options = Vec::new();
    let size_kib = one_of(rng, &[4_u64, 4, 4, 8, 16, 64, 256, 1024]);
    if size_kib != 4 || in_percent(rng, 20) {
        options
            .push(format!("-s {}", one_of(rng, &[format!("{size_kib}k"), format!("{}", size_kib * 1024)].each_ref())));
    }
    let most = if writes { 300 } else { 3000 };
    let count = rng.u64(20..=most);
    match rng.u32(0..10) {
        0 => options.push("-i 0.01 -c 60".to_owned()),
        1 => options.push("-i 20ms -c 40".to_owned()),
        2 => options.push("-i 0 -w 1".to_owned()),
        3 => options.push(format!("-i 0 -c {count} -w 2")),
        4 if !writes => options.push("-R -w 2".to_owned()),
        5 => options.push(format!("-i 0.1 -b 20 -c {}", count.min(100))),
        _ => options.push(format!("-i 0 -c {count}")),
    }
    let output = one_of(rng, &["", "-q", "-q", "-B", "-J", "-p 50"]);
    // With -R it prints nothing but its periods.
    let is_rapid = options.iter().any(|option| option.starts_with("-R"));
    options.push(if is_rapid && output.starts_with("-p") { "" } else { output }.to_owned());
    options.push(one_of(rng, &["", "", "", "-a 0", "-a 5", "-L", "-A", "-e 7"]).to_owned());
    let folder = !raw && in_percent(rng, if writes { 70 } else { 20 });
    let mut is_small = folder;
    if folder && in_percent(rng, 60) {
        let mib = one_of(rng, &[4, 16, 64]);
        options.push(format!("-S {mib}m"));
        is_small = mib <= 16;
    }
    if writes {
        options.push(if folder { "-W" } else { "-WWW" }.to_owned());
        options.push(one_of(rng, &["", "", "-D", "-Y", "-y"]).to_owned());
    } else {
        options.push("-D".to_owned());
    }
    let target = match (raw, folder) {
        (true, _) => "{device}",
        (_, true) => one_of(rng, &[".", "{mount}"]),
        _ => one_of(rng, &["data", "{mount}/data"]),
    };
    options.retain(|option| !option.is_empty());
    rng.shuffle(&mut options);
    let what = if writes { "writes that are synced one by one" } else { "direct reads" };
    let mut draft = draft(what, volume, &options, target);
    if is_small {
        draft.also_true("AB206", "the working set is so small that any device's cache holds it");
    }
    if raw {
        draft.prepare.push("dd if=/dev/urandom of={device} bs=1M count=64 oflag=direct status=none".to_owned());
    } else if !folder {
        draft.prepare.push(DATA.to_owned());
    }
    draft
}

/// Draws writes into the page cache.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let options =
        [format!("-C -WWW -i 0 -c {}", one_of(rng, &[2001, 5001])), one_of(rng, &["-q", "-B", "-J"]).to_owned()];
    let mut draft = draft("writes into the page cache", volume, &options, "data");
    draft.prepare.push(DATA.to_owned());
    draft
}

/// Draws reads of a file that is in the page cache.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let options = [
        format!("-C -i 0 -c {}", one_of(rng, &[2001, 5001])),
        one_of(rng, &["-q", "-B", "-J"]).to_owned(),
        one_of(rng, &["", "-L", "-s 16k"]).to_owned(),
    ];
    let mut draft = draft("reads of a file that is in the page cache", volume, &options, "data");
    draft.prepare = vec![DATA.to_owned(), "cat data >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws direct reads of a file that nothing was ever written to.
pub(super) fn holes(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", 256, "noatime");
    let options = [format!("-D -q -i 0 -c {}", one_of(rng, &[1001, 3001]))];
    let mut draft = draft("direct reads of holes", volume, &options, "data");
    draft.prepare.push(one_of(rng, &["truncate -s 64M data", "fallocate -l 64M data"]).to_owned());
    draft
}

/// Draws direct reads of a device that keeps its data in memory.
pub(super) fn cache_below(rng: &mut Rng) -> Draft {
    let volume = VolumeSpec { kind: Medium::CachedLoop, ..volume::on("ext4", 256, "noatime") };
    let options = [format!("-D -q -i 0 -c {}", one_of(rng, &[1001, 3001]))];
    let mut draft = draft("direct reads of a device that keeps its data in memory", volume, &options, "data");
    draft.prepare = vec![DATA.to_owned(), "sync; cat {device} >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws direct reads of a few blocks.
pub(super) fn few_blocks(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let options = [format!("-D -q -i 0 -c {} -S {}", one_of(rng, &[1001, 2001]), one_of(rng, &["16k", "64k"]))];
    let mut draft = draft("direct reads of a few blocks", volume, &options, "data");
    draft.prepare.push(DATA.to_owned());
    draft
}

/// Draws direct reads whose figures are changed on the way out.
pub(super) fn cooked(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let options = ["-D -q -i 0 -c 2001".to_owned()];
    let mut draft = draft("direct reads, but its figures are changed on the way out", volume, &options, "data");
    draft.prepare.push(DATA.to_owned());
    let filter = one_of(
        rng,
        &[
            "sed -E 's/, ([0-9.]+) k iops/, 9\\1 k iops/'",
            "sed -E 's/, ([0-9.]+) ([KM])iB.s$/, 7\\1 \\2iB\\/s/'",
            "awk '/completed/{for (i = 2; i <= NF; i++) if ($i ~ /^iops/) $(i-2) = $(i-2) * 3} {print}'",
        ],
    );
    draft.filter = Some(filter.to_owned());
    draft
}
