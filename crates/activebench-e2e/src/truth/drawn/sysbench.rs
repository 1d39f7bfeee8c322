//! The commands of sysbench fileio.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of, script, words};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

/// Files of a command.
#[derive(Clone, Copy, Debug)]
struct Files {
    number: u64,
    mib: u64,
}

impl Files {
    fn draw(rng: &mut Rng) -> Self {
        Self { number: one_of(rng, &[1, 2, 4, 8, 16, 32]), mib: one_of(rng, &[32, 64, 100, 128]) }
    }

    fn options(self) -> String {
        format!("--file-num={} --file-total-size={}M", self.number, self.mib)
    }

    fn prepare(self) -> String {
        format!("sysbench fileio {} prepare", self.options())
    }

    /// Returns the requests that cover the files once. The last one of a file may be shorter.
    fn blocks(self, block_kib: u64) -> u64 {
        (self.mib * 1024 / self.number).div_ceil(block_kib) * self.number
    }
}

fn draft(what: &str, volume: VolumeSpec, files: Files, options: &str) -> Draft {
    let line = format!("sysbench fileio {} {options} run", files.options());
    Draft::new(format!("sysbench: {what}."), &["sysbench"], volume, words(&line))
}

/// Options that change nothing of the I/O.
fn beside(rng: &mut Rng) -> &'static str {
    one_of(
        rng,
        &[
            "",
            "",
            "",
            "--percentile=99",
            "--percentile=0",
            "--histogram",
            "--report-interval=1",
            "--rand-seed=7",
            "--rand-type=uniform",
            "--rand-type=gaussian",
            "--rand-type=pareto",
            "--verbosity=4",
            "--file-merged-requests=0",
        ],
    )
}

/// Draws direct I/O, cold reads in order, or writes that are synced inside the clock.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let files = Files::draw(rng);
    match rng.u32(0..100) {
        0..60 => direct(rng, files),
        60..75 => cold(rng, files),
        _ => synced(rng, files),
    }
}

/// The end of a run: after a second, or after this many requests.
fn end(rng: &mut Rng, most: u64) -> String {
    match rng.u32(0..3) {
        0 => format!("--time=1 --events={most}"),
        1 => format!("--time=0 --events={most}"),
        _ => format!("--events={most}"),
    }
}

fn direct(rng: &mut Rng, files: Files) -> Draft {
    let mode = one_of(rng, &["rndrd", "rndwr", "rndrw", "seqrd", "seqwr", "seqrewr"]);
    let writes = mode.contains('w');
    let volume = volume::draw(rng, 320, false, writes);
    // Version 1.0 takes one flag at a time.
    let flags = "direct";
    let block_kib = one_of(rng, &[4_u64, 8, 16, 16, 64, 256, 1024]);
    let threads = one_of(rng, &[1_u64, 1, 2, 4, 8]);
    // In order, the threads share one position, which goes back to the first file at the end.
    let merged = if mode.starts_with("seq") && block_kib <= 256 && in_percent(rng, 20) { 4 } else { 1 };
    let most = if mode.starts_with("seq") { files.blocks(block_kib * merged) } else { 3000 };
    let most = most.min(6000);
    let mut options = format!(
        "--file-test-mode={mode} --file-extra-flags={flags} --file-block-size={block_kib}K --threads={threads} {}",
        beside(rng)
    );
    options += " ";
    options += &match mode.starts_with("seq") {
        true => end(rng, most),
        false => one_of(rng, &["--time=1", "--time=2"]).to_owned(),
    };
    if writes {
        options += one_of(
            rng,
            &[
                "",
                " --file-fsync-freq=0",
                " --file-fsync-freq=25",
                " --file-fsync-freq=0 --file-fsync-end=off",
                " --file-fsync-mode=fdatasync",
            ],
        );
    }
    if merged > 1 {
        options += &format!(" --file-merged-requests={merged}");
    }
    if mode == "rndrw" && in_percent(rng, 60) {
        options += &format!(" --file-rw-ratio={}", one_of(rng, &["0.5", "1", "3", "9"]));
    }
    if in_percent(rng, 20) {
        options += " --file-io-mode=async";
        options += one_of(rng, &["", " --file-async-backlog=16", " --file-async-backlog=4"]);
    }
    let what = format!("direct I/O ({mode}, {block_kib} KiB, {threads} threads, {flags})");
    let mut draft = draft(&what, volume, files, &options);
    prepared(rng, files, &mut draft);
    draft
}

/// Makes the files beforehand, or within the command.
fn prepared(rng: &mut Rng, files: Files, draft: &mut Draft) {
    if in_percent(rng, 15) && !draft.words.iter().any(|word| word.contains('{')) {
        let run = draft.words.join(" ");
        let line = format!("{0}; sync; {run}; sysbench fileio {1} cleanup", files.prepare(), files.options());
        draft.words = script(&line);
    } else {
        draft.prepare.push(files.prepare());
    }
}

fn cold(rng: &mut Rng, files: Files) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let block_kib = one_of(rng, &[16_u64, 64, 256]);
    let options = format!(
        "--file-test-mode=seqrd --file-block-size={block_kib}K --time=0 --events={} {}",
        files.blocks(block_kib),
        beside(rng)
    );
    let mut draft = draft("reads of cold files in order", volume, files, &options);
    draft.prepare.push(files.prepare());
    draft
}

fn synced(rng: &mut Rng, files: Files) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let block_kib = one_of(rng, &[16_u64, 64, 256, 1024]);
    let mode = one_of(rng, &["seqwr", "seqrewr"]);
    let threads = one_of(rng, &[1_u64, 1, 2, 4]);
    let (each, how) = one_of(
        rng,
        &[
            (false, "--file-fsync-freq=0"),
            (false, "--file-fsync-freq=0 --file-fsync-mode=fdatasync"),
            (false, "--file-fsync-freq=50"),
            (false, "--file-fsync-freq=0 --file-fsync-end=on"),
            (true, "--file-fsync-all=on"),
            (true, "--file-fsync-all=on --file-fsync-mode=fdatasync"),
            (true, "--file-extra-flags=dsync --file-fsync-freq=0"),
            (true, "--file-extra-flags=sync"),
        ],
    );
    let events = files.blocks(block_kib).min(if each { 250 } else { 100_000 });
    let options = format!(
        "--file-test-mode={mode} --file-block-size={block_kib}K --threads={threads} --time=0 --events={events} {how} {}",
        beside(rng)
    );
    let what = format!("writes that are synced inside the clock ({mode}, {threads} threads, {how})");
    let mut draft = draft(&what, volume, files, &options);
    // It makes the files itself before it writes in order.
    if mode == "seqrewr" || in_percent(rng, 50) {
        draft.prepare.push(files.prepare());
    }
    draft
}

/// Draws writes that no sync makes durable.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let files = Files { number: one_of(rng, &[1, 4, 8]), mib: 128 };
    let mode = one_of(rng, &["seqwr", "seqrewr", "rndwr"]);
    let options = format!(
        "--file-test-mode={mode} --file-block-size={}K --time=0 --events={} --threads={} --file-fsync-freq=0 --file-fsync-end=off",
        one_of(rng, &[16, 64]),
        one_of(rng, &[1000, 2000]),
        one_of(rng, &[1, 2]),
    );
    let mut draft = draft(&format!("writes without a sync ({mode})"), volume, files, &options);
    draft.prepare.push(files.prepare());
    draft
}

/// Draws reads of files that are in the page cache.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let files = Files::draw(rng);
    let options = format!(
        "--file-test-mode={} --file-block-size={}K --time=1 --threads={}",
        one_of(rng, &["rndrd", "seqrd"]),
        one_of(rng, &[4, 16, 64]),
        one_of(rng, &[1, 2]),
    );
    let mut draft = draft("reads of files that are in the page cache", volume, files, &options);
    draft.prepare = vec![files.prepare(), "cat test_file.* >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws direct reads of files that nothing was ever written to.
pub(super) fn holes(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", 320, "noatime");
    let files = Files { number: one_of(rng, &[1, 2, 4]), mib: 64 };
    let options = format!(
        "--file-test-mode={} --file-extra-flags=direct --time=1 --threads={}",
        one_of(rng, &["rndrd", "seqrd"]),
        one_of(rng, &[1, 2])
    );
    let mut draft = draft("direct reads of holes", volume, files, &options);
    let (number, each) = (files.number, files.mib / files.number);
    draft.prepare = vec![format!("for i in $(seq 0 {}); do truncate -s {each}M test_file.$i; done", number - 1)];
    draft
}

/// Draws direct reads of a device that keeps its data in memory.
pub(super) fn cache_below(rng: &mut Rng) -> Draft {
    let volume = VolumeSpec { kind: Medium::CachedLoop, ..volume::on("ext4", 320, "noatime") };
    let files = Files::draw(rng);
    let options = format!(
        "--file-test-mode=rndrd --file-extra-flags=direct --time=1 --file-block-size={}K",
        one_of(rng, &[4, 16, 64])
    );
    let mut draft = draft("direct reads of a device that keeps its data in memory", volume, files, &options);
    draft.prepare = vec![files.prepare(), "sync; cat {device} >/dev/null".to_owned()];
    draft.keep_cache = true;
    draft
}

/// Draws direct reads of a few blocks.
pub(super) fn few_blocks(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let line = "sysbench fileio --file-num=1 --file-total-size=64K";
    // That a run which ends by its time repeats a small file is a remark only.
    let events = one_of(rng, &[2000, 5000]);
    let options = format!("--file-test-mode=rndrd --file-extra-flags=direct --time=0 --events={events}");
    let mut draft = draft("direct reads of four blocks", volume, Files { number: 1, mib: 1 }, "");
    draft.words = words(&format!("{line} {options} run"));
    draft.prepare = vec![format!("{line} prepare")];
    draft
}

/// Draws an honest run whose rates are changed on the way out.
pub(super) fn cooked(rng: &mut Rng) -> Draft {
    let files = Files::draw(rng);
    let mut draft = direct(rng, files);
    draft.words = words(&format!(
        "sysbench fileio {} --file-test-mode=rndrd --file-extra-flags=direct --time=1 --threads={} run",
        files.options(),
        one_of(rng, &[1, 2, 4])
    ));
    draft.prepare = vec![files.prepare()];
    "sysbench: direct reads, but its rates are changed on the way out.".clone_into(&mut draft.what);
    let filter = one_of(
        rng,
        &[
            "perl -pe 's{((reads|writes)/s:|MiB/s:)( +)([0-9.]+)}{sprintf(\"%s%s%.2f\", $1, $3, $4*1.5)}e'",
            "awk '/reads.s:|read, MiB.s:/{$NF=$NF*2} {print}'",
            "sed -E 's/(read, MiB.s: +)/\\19/'",
            "awk '/read, MiB.s:/{print \"result: \" $NF*3 \" MiB/s\"}'",
        ],
    );
    draft.filter = Some(filter.to_owned());
    draft
}
