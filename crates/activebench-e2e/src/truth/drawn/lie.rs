//! Honest commands with one property broken.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of};
use super::fio::{self, Regime};
use super::{bonnie, iozone, volume};
use crate::truth::case::Medium;

/// Names of the properties that can be broken.
pub(super) const NAMES: &[&str] = &[
    "no-sync",
    "warm",
    "holes",
    "cache-below",
    "few-blocks",
    "no-depth",
    "null-engine",
    "cooked",
    "compressed",
    "iozone-no-sync",
    "iozone-warm",
    "bonnie-warm",
];

/// Multiplies the rates of a JSON report.
const COOK: &str = "python3 -c \"import json,sys; r=json.load(sys.stdin); \
    [w.update({k: w[k]*2 for k in ('bw','bw_bytes','iops')}) for j in r['jobs'] for w in (j['read'],j['write'])]; \
    print(json.dumps(r,indent=2))\"";

/// Returns the name, the codes of which one must fire, and the command.
pub(super) fn draw(rng: &mut Rng) -> (&'static str, &'static [&'static str], Draft) {
    // One run of bonnie++ takes as long as ten others.
    let count = if in_percent(rng, 33) { NAMES.len() } else { NAMES.len() - 1 };
    let name = one_of(rng, &NAMES[..count]);
    let (codes, draft): (&[&str], Draft) = match name {
        "no-sync" => (&["AB301", "AB302"], no_sync(rng)),
        "warm" => (&["AB201", "AB203"], warm(rng)),
        "holes" => (&["AB207", "AB106"], holes(rng)),
        "cache-below" => (&["AB205"], cache_below(rng)),
        "few-blocks" => (&["AB401"], few_blocks(rng)),
        "no-depth" => (&["AB403", "AB801"], no_depth(rng)),
        "null-engine" => (&["AB106"], null_engine(rng)),
        "cooked" => (&["AB101", "AB104", "AB111"], cooked(rng)),
        "compressed" => (&["AB404", "AB405", "AB406"], compressed(rng)),
        "iozone-no-sync" => (&["AB301", "AB302"], iozone::unsynced(rng)),
        "iozone-warm" => (&["AB201"], iozone::warm(rng)),
        "bonnie-warm" => (&["AB201"], bonnie::warm(rng)),
        other => unreachable!("{other} is one of the names"),
    };
    (name, codes, draft)
}

/// Draws a run of this regime and changes one property of every job.
fn broken(rng: &mut Rng, regime: Regime, what: &str, mut change: impl FnMut(&mut fio::Draft, &mut Rng)) -> Draft {
    let mut draft = fio::Draft::of(rng, regime);
    change(&mut draft, rng);
    let mut draft = draft.command();
    draft.what = format!("{} But {what}.", draft.what);
    draft
}

fn of_each_job(draft: &mut fio::Draft, change: impl FnMut(&mut fio::Job)) {
    draft.jobs.iter_mut().for_each(change);
}

fn no_sync(rng: &mut Rng) -> Draft {
    broken(rng, Regime::SyncedWrites, "nothing is synced", |draft, _| {
        of_each_job(draft, |job| {
            ["end_fsync", "fsync_on_close", "fsync", "fdatasync", "sync"].iter().for_each(|option| job.unset(option));
        });
    })
}

fn warm(rng: &mut Rng) -> Draft {
    broken(rng, Regime::ColdReads, "the files are in the page cache", |draft, _| {
        of_each_job(draft, |job| job.set("invalidate", 0));
        draft.keep_cache = true;
        draft.laid_out = true;
        let layout = draft.layout();
        draft.prepare = Some(format!("{layout}; find . -type f -exec cat {{}} + > /dev/null"));
    })
}

fn holes(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "nothing was ever written to the file", |draft, rng| {
        // A device without a file system has no holes.
        if draft.volume.kind == Medium::RawLoop {
            draft.volume = volume::on("ext4", draft.volume.mib, "noatime");
        }
        draft.jobs.truncate(1);
        for option in ["directory", "nrfiles", "file_service_type", "numjobs"] {
            draft.jobs[0].unset(option);
        }
        draft.jobs[0].set("filename", "holes");
        let make = one_of(rng, &["truncate -s 64M holes", "fallocate -l 48M holes"]);
        draft.prepare = Some(make.to_owned());
    })
}

fn cache_below(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "the device keeps its data in memory", |draft, _| {
        draft.volume = volume::on("ext4", 256, "noatime");
        draft.volume.kind = Medium::CachedLoop;
        of_each_job(draft, |job| {
            if job.get("filename") == Some("{device}") {
                job.set("filename", "data");
            }
        });
        draft.keep_cache = true;
        draft.laid_out = true;
        // Fills the cache of the device below the file system; direct reads bypass only the file system's own cache.
        let layout = draft.layout();
        draft.prepare = Some(format!("{layout}; sync; cat {{device}} > /dev/null"));
    })
}

fn few_blocks(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "most reads go to a few blocks", |draft, rng| {
        draft.jobs.truncate(1);
        let job = &mut draft.jobs[0];
        for option in
            ["rw", "readwrite", "bssplit", "bsrange", "blocksize", "norandommap", "random_generator", "io_size"]
        {
            job.unset(option);
        }
        job.set("rw", "randread");
        job.set("bs", "4k");
        job.set("size", "16m");
        job.set("random_distribution", one_of(rng, &["zipf:1.4", "zipf:1.6", "pareto:0.9"]));
    })
}

fn no_depth(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "a depth is asked of an engine that makes one call at a time", |draft, rng| {
        let depth = one_of(rng, &[8, 32, 64]);
        // fio prints a remark on it before its report, so the output is not valid JSON.
        draft.filter = None;
        of_each_job(draft, |job| {
            job.set("ioengine", "psync");
            job.set("iodepth", depth);
        });
    })
}

fn null_engine(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "the engine does nothing", |draft, _| {
        of_each_job(draft, |job| job.set("ioengine", "null"));
        draft.prepare = Some("true".to_owned());
    })
}

fn cooked(rng: &mut Rng) -> Draft {
    broken(rng, Regime::DirectReads, "its report is multiplied by two on the way out", |draft, _| {
        draft.own = vec!["--output-format=json".to_owned()];
        draft.jobs_in = fio::JobsIn::Words;
        draft.filter = Some(COOK.to_owned());
    })
}

fn compressed(rng: &mut Rng) -> Draft {
    broken(rng, Regime::SyncedWrites, "it writes zeros to a file system that compresses", |draft, rng| {
        let mount =
            one_of(rng, &["noatime,compress-force=zstd", "noatime,compress-force=lzo", "noatime,compress=zstd"]);
        draft.volume = volume::on("btrfs", 512, mount);
        of_each_job(draft, |job| {
            for option in
                ["refill_buffers", "buffer_compress_percentage", "fallocate", "sync", "fsync", "fdatasync", "io_size"]
            {
                job.unset(option);
            }
            job.unset("bssplit");
            job.unset("bsrange");
            job.unset("blocksize");
            job.unset("readwrite");
            job.set("rw", "write");
            job.set("bs", "64k");
            job.set("size", "96m");
            job.set("fallocate", "none");
            job.set("end_fsync", 1);
            job.set("zero_buffers", 1);
        });
        draft.jobs.truncate(1);
        draft.jobs[0].unset("numjobs");
    })
}
