//! Honest commands with one property broken.

use fastrand::Rng;

use super::draft::{Draft, in_percent, one_of};
use super::fio::{self, Regime};
use super::{
    bonnie, db_bench, dbench, dd, f3, fs_mark, hdparm, ioping, iozone, pg_test_fsync, stress_ng, sysbench, volume,
};
use crate::truth::case::Medium;

/// Codes for a figure that is not the tool's.
const COOKED: &[&str] = &["AB101", "AB104", "AB111", "AB114"];

/// A name, the codes of which one must fire, and the draw.
type Lie = (&'static str, &'static [&'static str], fn(&mut Rng) -> Draft);

/// The properties that can be broken.
pub(super) const LIES: &[Lie] = &[
    ("no-sync", &["AB301", "AB302"], no_sync),
    ("warm", &["AB201", "AB203"], warm),
    ("holes", &["AB207", "AB106"], holes),
    ("cache-below", &["AB205"], cache_below),
    ("few-blocks", &["AB401"], few_blocks),
    ("no-depth", &["AB403", "AB801"], no_depth),
    ("null-engine", &["AB106"], null_engine),
    ("cooked", &["AB101", "AB104", "AB111"], cooked),
    ("compressed", &["AB404", "AB405", "AB406"], compressed),
    ("iozone-no-sync", &["AB301", "AB302"], iozone::unsynced),
    ("iozone-warm", &["AB201"], iozone::warm),
    ("dd-no-sync", &["AB301", "AB302"], dd::unsynced),
    ("dd-warm", &["AB201", "AB203"], dd::warm),
    ("dd-holes", &["AB207", "AB106"], dd::holes),
    ("dd-cache-below", &["AB205"], dd::cache_below),
    ("dd-cooked", COOKED, dd::cooked),
    ("sysbench-no-sync", &["AB301", "AB302"], sysbench::unsynced),
    ("sysbench-warm", &["AB201", "AB203"], sysbench::warm),
    ("sysbench-holes", &["AB207", "AB106"], sysbench::holes),
    ("sysbench-cache-below", &["AB205"], sysbench::cache_below),
    ("sysbench-few-blocks", &["AB401", "AB206"], sysbench::few_blocks),
    ("sysbench-cooked", COOKED, sysbench::cooked),
    ("ioping-no-sync", &["AB301", "AB302"], ioping::unsynced),
    ("ioping-warm", &["AB201", "AB203"], ioping::warm),
    ("ioping-holes", &["AB207", "AB106"], ioping::holes),
    ("ioping-cache-below", &["AB205"], ioping::cache_below),
    ("ioping-few-blocks", &["AB401", "AB206"], ioping::few_blocks),
    ("ioping-cooked", COOKED, ioping::cooked),
    ("fs_mark-no-sync", &["AB301", "AB302"], fs_mark::unsynced),
    ("fs_mark-no-flush", &["AB303"], fs_mark::without_flush),
    ("fs_mark-cooked", COOKED, fs_mark::cooked),
    ("stress-ng-no-sync", &["AB301", "AB302"], stress_ng::unsynced),
    ("db_bench-no-sync", &["AB301", "AB302"], db_bench::unsynced),
];
/// The same of tools of which one run takes as long as ten others.
pub(super) const LONG_LIES: &[Lie] = &[
    ("bonnie-warm", &["AB201"], bonnie::warm),
    ("dbench-warm", &["AB201"], dbench::warm),
    ("f3-cache-below", &["AB205"], f3::cache_below),
    ("hdparm-warm", &["AB201", "AB203"], hdparm::warm),
    ("hdparm-holes", &["AB207", "AB106"], hdparm::holes),
    ("pg_test_fsync-no-flush", &["AB303", "AB106"], pg_test_fsync::without_flush),
];

/// Multiplies the rates of a JSON report.
const COOK: &str = "python3 -c \"import json,sys; r=json.load(sys.stdin); \
    [w.update({k: w[k]*2 for k in ('bw','bw_bytes','iops')}) for j in r['jobs'] for w in (j['read'],j['write'])]; \
    print(json.dumps(r,indent=2))\"";

/// Returns the name, the codes of which one must fire, and the command.
pub(super) fn draw(rng: &mut Rng) -> (&'static str, &'static [&'static str], Draft) {
    let lies = if in_percent(rng, 5) { LONG_LIES } else { LIES };
    let (name, codes, draw) = one_of(rng, lies);
    (name, codes, draw(rng))
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
        of_each_job(draft, |job| {
            job.set("ioengine", "null");
            // Data may move through a mapped file without a call.
            ["mem", "iomem"].iter().for_each(|option| job.unset(option));
        });
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
