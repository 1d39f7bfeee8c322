//! iozone's commands.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of};
use super::volume;

/// Tests whose I/O bypasses the page cache with O_DIRECT, besides the writes that make the file.
const MORE_TESTS: &[&str] = &["-i1", "-i2", "-i3", "-i5"];

/// Draws direct I/O, or writes that are synced inside the clock.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let record_kib = one_of(rng, &[4_u64, 16, 64, 256, 1024]);
    let records = rng.u64(4..=32) * 1024 / record_kib.max(16);
    let mut words = vec!["iozone".to_owned(), "-i0".to_owned()];
    let direct = in_percent(rng, 60);
    if direct {
        words.push("-I".to_owned());
        words.extend(MORE_TESTS.iter().filter(|_| in_percent(rng, 40)).map(|test| (*test).to_owned()));
    } else {
        let durable: &[&str] = one_of(rng, &[&["-e"][..], &["-e", "-c"], &["-c", "-e"], &["-o"], &["-+D"]]);
        words.extend(durable.iter().map(|word| (*word).to_owned()));
    }
    // iozone takes a number without a unit as KiB.
    let kib = records * record_kib;
    let sizes = [format!("-s{kib}"), format!("-s{kib}k"), format!("-s{}m", kib.div_ceil(1024))];
    words.extend(rng.choice(sizes));
    words.push(format!("-r{record_kib}k"));
    let mut true_of_it = BTreeMap::new();
    // The stride test jumps by 17 records: in a short file it returns to the same few.
    if words.iter().any(|word| word == "-i5") && records <= 64 {
        for code in ["AB206", "AB401"] {
            true_of_it.insert(code.to_owned(), "the stride test visits few records of a short file".to_owned());
        }
    }
    // Seldom: with several children iozone waits for two seconds before each test.
    if in_percent(rng, 6) {
        words.extend(["-t2", "-x", "-F", "one", "two"].map(str::to_owned));
        let why = "without stonewalling the slower child works on alone, and the children's sum is too high";
        true_of_it.insert("AB110".to_owned(), why.to_owned());
    } else if in_percent(rng, 30) {
        words.extend(["-f", "named.tmp"].map(str::to_owned));
    }
    match rng.u32(0..10) {
        0 => words.push("-R".to_owned()),
        1 => words.push("-O".to_owned()),
        2 => words.push("-w".to_owned()),
        3 => words.push("-+n".to_owned()),
        4 => words.push("-p".to_owned()),
        // Threads of the C library make the calls.
        5 if direct => {
            if words.iter().any(|word| word == "-t2") {
                let why = "the C library makes the requests of one file one after the other, at any depth";
                true_of_it.insert("AB403".to_owned(), why.to_owned());
            }
            words.extend([one_of(rng, &["-k", "-H"]).to_owned(), "4".to_owned()]);
        }
        // Through a mapping, which is synced inside the clock.
        6 if words.iter().any(|word| word == "-e") => words.push("-B".to_owned()),
        _ => {}
    }
    let volume = volume::draw(rng, 256, false, direct);
    if volume.fs == "btrfs" && direct && words.iter().any(|word| word == "-t2") {
        let why = "btrfs serves the first read into each child's buffers from the page cache";
        true_of_it.insert("AB204".to_owned(), why.to_owned());
    }
    let what = if direct { "direct I/O" } else { "writes that are synced inside the clock" };
    Draft { true_of_it, ..Draft::new(format!("iozone: {what}."), &["iozone"], volume, words) }
}

/// Draws writes whose sync comes after the clock, or never.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let mut draft = honest(rng);
    draft.words = ["iozone", "-i0", "-s96m", one_of(rng, &["-r64k", "-r256k", "-r1m"])].map(str::to_owned).to_vec();
    if in_percent(rng, 50) {
        draft.words.push("-c".to_owned());
    }
    "iozone: writes that no sync inside the clock makes durable.".clone_into(&mut draft.what);
    draft
}

/// Draws reads of data that was written a moment ago.
pub(super) fn warm(rng: &mut Rng) -> Draft {
    let mut draft = honest(rng);
    let test = one_of(rng, &["-i1", "-i2"]);
    draft.words = ["iozone", "-i0", "-e", "-c", test, "-s32m", "-r64k"].map(str::to_owned).to_vec();
    "iozone: reads of a file that is in the page cache.".clone_into(&mut draft.what);
    draft
}
