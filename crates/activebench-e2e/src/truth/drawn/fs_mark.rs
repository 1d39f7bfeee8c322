//! fs_mark's commands.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of, words};
use super::volume;
use crate::truth::case::VolumeSpec;

fn draft(what: &str, volume: VolumeSpec, options: &[String]) -> Draft {
    let line = format!("fs_mark {}", options.join(" "));
    Draft::new(format!("fs_mark: {what}."), &["fs_mark"], volume, words(&line))
}

/// Draws files that are synced inside the clock.
pub(super) fn honest(rng: &mut Rng) -> Draft {
    let tasks = one_of(rng, &[1, 1, 1, 2, 3]);
    let method = one_of(rng, &[None, Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)]);
    let size = one_of(rng, &[512_u64, 4096, 10_000, 51_200, 131_072]);
    let mut options = vec![format!("-d {}", one_of(rng, &["d", "{mount}/d"]))];
    if tasks > 1 {
        options.extend((1..tasks).map(|number| format!("-d d{number}")));
        options.push(format!("-t {tasks}"));
    }
    options.push(format!("-n {} -s {size}", rng.u32(20..=200)));
    options.extend(method.map(|method| format!("-S {method}")));
    options.push(one_of(rng, &["", "", "-w 4096", "-w 65536"]).to_owned());
    options.push(one_of(rng, &["", "", "-L 2", "-L 3"]).to_owned());
    options.push(one_of(rng, &["", "-k", "-v"]).to_owned());
    options.push(one_of(rng, &["", "", "-D 4 -N 20", "-l {beside}/log", "-p 30 -r 10"]).to_owned());
    options.retain(|option| !option.is_empty());
    let method = method.unwrap_or(1);
    draft(
        &format!("files that are synced (-S {method}, {tasks} tasks)"),
        volume::draw(rng, 320, false, false),
        &options,
    )
}

/// Draws files that nothing syncs.
pub(super) fn unsynced(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let mut options = vec!["-d d -S 0".to_owned(), format!("-n {}", rng.u32(300..=1000))];
    options.push(one_of(rng, &["", "-s 4096", "-s 131072 -w 65536"]).to_owned());
    options.push(one_of(rng, &["", "-t 2 -d e", "-k", "-L 2"]).to_owned());
    draft("files without a sync", volume, &options)
}

/// Draws synced files on a file system that sends no flush.
pub(super) fn without_flush(rng: &mut Rng) -> Draft {
    let volume = volume::on("ext4", 320, one_of(rng, &["noatime,nobarrier", "barrier=0"]));
    let mut options = vec!["-d d".to_owned(), format!("-n {}", rng.u32(100..=500))];
    options.push(one_of(rng, &["", "-S 1", "-S 5", "-s 4096"]).to_owned());
    draft("synced files on a file system that sends no flush", volume, &options)
}

/// Draws synced files whose rate is changed on the way out.
pub(super) fn cooked(rng: &mut Rng) -> Draft {
    let volume = volume::draw(rng, 320, false, false);
    let options = ["-d d".to_owned(), format!("-n {}", rng.u32(100..=300))];
    let mut draft = draft("synced files, but its rate is changed on the way out", volume, &options);
    let filter = match in_percent(rng, 50) {
        true => "awk '$1 ~ /^[0-9]+$/ && NF >= 5 {$4 = $4 * 3} {print}'",
        false => "awk '$1 ~ /^[0-9]+$/ && NF >= 5 {print \"files per second: \" $4 * 2}'",
    };
    draft.filter = Some(filter.to_owned());
    draft
}
