//! dd's commands.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of, script, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

/// Ways to make the copy durable inside the clock: each write, or all of them behind the last one.
const DURABLE: &[&str] = &[
    "conv=fsync",
    "conv=fdatasync",
    "oflag=direct",
    "oflag=dsync",
    "oflag=sync",
    "oflag=direct conv=fsync",
    "oflag=direct conv=fdatasync",
    "oflag=direct,dsync",
    "oflag=direct,sync",
    "oflag=nocache conv=fsync",
];
/// Most blocks of a copy whose writes are durable one by one.
const MOST_SYNCED: u64 = 200;

/// Draws a copy that reaches the storage inside its clock, in either direction.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    match rng.u32(0..100) {
        0..50 => writes(rng),
        50..75 => reads(rng),
        75..85 => copies(rng),
        _ => scripts(rng),
    }
}

fn draft(what: &str, volume: VolumeSpec, line: &str) -> Draft {
    Draft::new(format!("dd: {what}."), &["dd"], volume, words(line))
}

/// A number of bytes in one of dd's notations.
fn size(rng: &mut Rng, kib: u64) -> String {
    match rng.u32(0..6) {
        0 if kib.is_multiple_of(1024) => format!("{}M", kib / 1024),
        1 if kib.is_multiple_of(1024) => format!("{}MiB", kib / 1024),
        2 => format!("{}", kib * 1024),
        3 => format!("{kib}KiB"),
        4 => format!("{}b", kib * 2),
        5 => format!("{kib}x1024"),
        _ => format!("{kib}K"),
    }
}

/// Shuffles the operands: dd takes them in any order.
fn line(rng: &mut Rng, mut operands: Vec<String>) -> String {
    operands.retain(|operand| !operand.is_empty());
    rng.shuffle(&mut operands);
    format!("dd {}", operands.join(" "))
}

fn status(rng: &mut Rng) -> String {
    one_of(rng, &["", "", "", "status=progress"]).to_owned()
}

/// Makes the file that is read.
fn data(mib: u64) -> String {
    format!("dd if=/dev/urandom of=data bs=1M count={mib} conv=fsync status=none")
}

fn writes(rng: &mut Rng) -> Draft {
    let durable = one_of(rng, DURABLE);
    let direct = durable.contains("direct");
    let volume = volume::draw(rng, 256, false, direct);
    let block_kib = one_of(rng, &[4_u64, 16, 64, 256, 1024, 4096]);
    let one_by_one = durable.contains("sync") && durable.contains("oflag") && !durable.contains("conv");
    let most = if one_by_one { MOST_SYNCED } else { 4000 };
    let blocks = (rng.u64(24..=96) * 1024 / block_kib).clamp(2, most);
    let mut operands = vec![format!("if={}", one_of(rng, &["/dev/zero", "/dev/zero", "/dev/urandom"]))];
    operands.push(format!("of={}", one_of(rng, &["x", "./x", "{mount}/x"])));
    let mut prepare = Vec::new();
    match rng.u32(0..8) {
        // dd gathers small reads to the blocks that it writes.
        0 if block_kib >= 64 => {
            operands.push(format!("ibs={}", size(rng, block_kib / 4)));
            operands.push(format!("obs={}", size(rng, block_kib)));
            operands.push(format!("count={}", blocks * 4));
        }
        1 => {
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={}", size(rng, blocks * block_kib)));
            operands.push("iflag=count_bytes".to_owned());
        }
        // The only block is short.
        2 if block_kib >= 1024 && in_percent(rng, 50) => {
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={}B", block_kib * 512));
        }
        // The last block is short.
        2 => {
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={}B", blocks * block_kib * 1024 - 1000));
        }
        3 => {
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={blocks}"));
            operands.push(format!("{}={}", one_of(rng, &["seek", "oseek"]), rng.u64(1..=16)));
        }
        // In place.
        4 => {
            prepare.push(data(96).replace("of=data", "of=x"));
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={blocks}"));
            operands.push("conv=notrunc".to_owned());
        }
        _ => {
            operands.push(format!("bs={}", size(rng, block_kib)));
            operands.push(format!("count={blocks}"));
        }
    }
    operands.extend(words(durable));
    operands.push(status(rng));
    let line = line(rng, operands);
    let mut draft = draft(&format!("writes ({durable})"), volume, &line);
    draft.prepare = prepare;
    draft
}

fn reads(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, true, false);
    let raw = volume.kind == Medium::RawLoop;
    let mib = if raw { volume.mib } else { rng.u64(32..=96) };
    let flag = one_of(rng, &["iflag=direct", "iflag=direct", "iflag=direct,fullblock", "", "iflag=nocache"]);
    let block_kib = one_of(rng, &[4_u64, 64, 256, 1024, 4096]);
    let blocks = mib * 1024 / block_kib;
    let mut operands = vec![format!("bs={}", size(rng, block_kib)), flag.to_owned(), status(rng)];
    operands.push(format!("if={}", if raw { "{device}" } else { "data" }));
    operands.push("of=/dev/null".to_owned());
    let skipped = if in_percent(rng, 30) { rng.u64(1..=blocks / 4) } else { 0 };
    if skipped > 0 {
        operands.push(format!("{}={skipped}", one_of(rng, &["skip", "iseek"])));
    }
    if block_kib == 4 || in_percent(rng, 40) {
        operands.push(format!("count={}", rng.u64(blocks / 4..=blocks / 2).min(6000)));
    }
    let line = line(rng, operands);
    let mut draft = draft(if flag.contains("direct") { "direct reads" } else { "reads of a cold file" }, volume, &line);
    draft.prepare = vec![match raw {
        true => format!("dd if=/dev/urandom of={{device}} bs=1M count={mib} oflag=direct status=none"),
        false => data(mib),
    }];
    draft
}

fn copies(rng: &mut Rng) -> Draft {
    let (from, durable) = (one_of(rng, &["iflag=direct", "", "iflag=fullblock"]), one_of(rng, DURABLE));
    let volume = volume::draw(rng, 256, false, durable.contains("direct"));
    let block_kib = one_of(rng, &[256_u64, 1024, 2048]);
    let mib = rng.u64(24..=64);
    let mut operands = vec!["if=data".to_owned(), "of=copy".to_owned(), format!("bs={}", size(rng, block_kib))];
    operands.extend([from.to_owned(), status(rng)]);
    operands.extend(words(durable));
    let line = line(rng, operands);
    let mut draft = draft(&format!("a copy of a cold file ({from} {durable})"), volume, &line);
    draft.prepare = vec![data(mib)];
    draft
}

fn scripts(rng: &mut Rng) -> Draft {
    let durable = one_of(rng, &["conv=fsync", "conv=fdatasync", "oflag=direct"]);
    let volume = volume::draw(rng, 256, false, true);
    let mib = rng.u64(24..=64);
    let copy = |of: &str| format!("dd if=/dev/zero of={of} bs=1M count={mib} {durable}");
    let line = match rng.u32(0..8) {
        0 => format!("dd if=/dev/zero bs=64k count={} | dd of=x bs=1M iflag=fullblock {durable}", mib * 16),
        1 => format!("cat /dev/zero | dd of=x bs=1M count={mib} iflag=fullblock {durable}"),
        2 => format!("for i in 1 2 3; do {}; done", copy("x$i")),
        3 => format!("{} & {}; wait", copy("a"), copy("b")),
        4 => format!("{} 2>&1 | tail -n 1", copy("x")),
        5 => format!("{} 2>log; cat log", copy("x")),
        6 => format!("LC_ALL=C {}; rm x", copy("x")),
        _ => format!("{}; sync; dd if=x of=/dev/null bs=1M iflag=direct", copy("x")),
    };
    let mut draft = draft("copies of a script", volume, "");
    draft.words = script(&line);
    draft
}

/// Draws copies that no sync inside the clock makes durable.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let block_kib = one_of(rng, &[16_u64, 64, 256, 1024, 4096]);
    let blocks = rng.u64(48..=96) * 1024 / block_kib;
    let operands = vec![
        "of=x".to_owned(),
        format!("if={}", one_of(rng, &["/dev/zero", "/dev/urandom"])),
        format!("bs={}", size(rng, block_kib)),
        format!("count={blocks}"),
        one_of(rng, &["", "", "oflag=nocache", "conv=notrunc", "conv=sync", "iflag=fullblock"]).to_owned(),
        status(rng),
    ];
    let line = line(rng, operands);
    let mut draft = draft("writes without a sync", volume, &line);
    if in_percent(rng, 40) {
        draft.words = script(&format!("{line}{}", one_of(rng, &["; sync", "; sync x", " && sync && rm x"])));
    }
    draft
}

/// Draws reads of a file that is in the page cache.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, false);
    let block_kib = one_of(rng, &[64_u64, 256, 1024]);
    let operands = vec!["if=data".to_owned(), "of=/dev/null".to_owned(), format!("bs={}", size(rng, block_kib))];
    let line = line(rng, operands);
    let mut draft = draft("reads of a file that is in the page cache", volume, &line);
    draft.prepare = vec![data(rng.u64(64..=96)), "cat data >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws a copy of holes, or to holes.
pub(super) fn holes(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", 256, "noatime");
    let (prepare, line) = match rng.u32(0..3) {
        0 => ("truncate -s 96M data", "dd if=data of=/dev/null bs=256k iflag=direct"),
        1 => ("fallocate -l 96M data", "dd if=data of=/dev/null bs=1M iflag=direct"),
        _ => ("true", "dd if=/dev/zero of=x bs=1M count=96 conv=sparse,fsync"),
    };
    let mut draft = draft("a copy of holes", volume, line);
    draft.prepare = vec![prepare.to_owned()];
    draft
}

/// Draws direct reads of a device that keeps its data in memory.
pub(super) fn cache_below(rng: &mut Rng) -> Draft {
    let volume = VolumeSpec { kind: Medium::CachedLoop, ..volume::on("ext4", 256, "noatime") };
    let block_kib = one_of(rng, &[64_u64, 256, 1024]);
    let line = format!("dd if=data of=/dev/null iflag=direct bs={}", size(rng, block_kib));
    let mut draft = draft("direct reads of a device that keeps its data in memory", volume, &line);
    draft.prepare = vec![data(96), "sync; cat {device} >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws an honest copy whose line is changed on the way out.
pub(super) fn cooked(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 256, false, true);
    let durable = one_of(rng, &["conv=fsync", "oflag=direct"]);
    let line = format!("dd if=/dev/zero of=x bs=1M count={} {durable} 2>&1", rng.u64(48..=96));
    let mut draft = draft("direct or synced writes, but its line is changed on the way out", volume, &line);
    let filter = one_of(
        rng,
        &[
            "sed -E 's/, ([0-9.]+) ([kMG]B.s)$/, 9\\1 \\2/'",
            "sed -E 's/, [0-9.e-]+ s,/, 0.0031 s,/'",
            "awk '/copied/{$(NF-1)=$(NF-1)*3} {print}'",
        ],
    );
    draft.filter = Some(filter.to_owned());
    draft
}
