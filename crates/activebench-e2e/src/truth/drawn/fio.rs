//! fio's commands.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fastrand::Rng;

use super::Words;
use super::check::IO_LOG;
use super::draft::{Draft as Command, in_percent, one_of, written_size};
use super::volume;
use crate::truth::case::{Medium, VolumeSpec};

/// Clones of a job of which each has little to do.
const MANY_CLONES: u64 = 24;

/// Engines that make one call at a time.
const SYNCHRONOUS: &[&str] = &["psync", "sync", "vsync", "pvsync", "pvsync2", "splice"];
/// Engines that keep several requests in flight.
const ASYNCHRONOUS: &[&str] = &["libaio", "io_uring", "posixaio"];

/// Reason why a run's figures are true of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regime {
    /// Direct reads of data written beforehand.
    DirectReads,
    /// Direct writes.
    DirectWrites,
    /// Direct reads and writes of data written beforehand.
    DirectMix,
    /// Writes through the page cache with a sync inside the clock.
    SyncedWrites,
    /// Reads through the page cache of a file that is not in it; each block is read once.
    ColdReads,
}

const REGIMES: &[Regime] =
    &[Regime::DirectReads, Regime::DirectWrites, Regime::DirectMix, Regime::SyncedWrites, Regime::ColdReads];

impl Regime {
    pub(super) fn is_direct(self) -> bool {
        matches!(self, Regime::DirectReads | Regime::DirectWrites | Regime::DirectMix)
    }

    fn reads(self) -> bool {
        matches!(self, Regime::DirectReads | Regime::DirectMix | Regime::ColdReads)
    }

    fn words(self) -> &'static str {
        match self {
            Regime::DirectReads => "direct reads",
            Regime::DirectWrites => "direct writes",
            Regime::DirectMix => "direct reads and writes",
            Regime::SyncedWrites => "writes that are synced inside the clock",
            Regime::ColdReads => "reads of a cold file",
        }
    }
}

/// A job of the command.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    name: String,
    options: Vec<(&'static str, String)>,
}

impl Job {
    pub(super) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.unset(name);
        self.options.push((name, value.to_string()));
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.options.retain(|(other, _)| *other != name);
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// Returns `true` when each clone of the job has one file.
    fn has_one_file(&self) -> bool {
        let names = self.options.iter().filter(|(name, _)| *name == "filename");
        let named: usize = names.map(|(_, names)| names.split(':').count()).sum();
        named <= 1 && self.get("nrfiles").is_none()
    }
}

/// Place of a command's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobsIn {
    /// On the command line.
    Words,
    /// In a file, with the options that all of them share in its global section.
    File,
    /// In such a file, which includes another one.
    Included,
    /// In such a file, which fio reads from its standard input.
    Input,
}

/// A command before it is written.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) regime: Regime,
    pub(super) volume: VolumeSpec,
    pub(super) jobs: Vec<Job>,
    /// Options of fio itself.
    pub(super) own: Vec<String>,
    /// Place of the jobs.
    pub(super) jobs_in: JobsIn,
    /// `true` when the files are made beforehand; otherwise fio makes them before its clock starts.
    pub(super) laid_out: bool,
    pub(super) keep_cache: bool,
    /// Script that replaces the layout of the files.
    pub(super) prepare: Option<String>,
    pub(super) filter: Option<String>,
    pub(super) true_of_it: BTreeMap<String, String>,
}

/// Draws an honest run, in other words with another output format.
pub(super) fn honest(rng: &mut Rng, words: Words) -> Command {
    let mut draft = Draft::draw(rng);
    if words == Words::Others {
        draft.report_otherwise(rng);
    }
    draft.command()
}

impl Draft {
    /// Draws a command of any regime.
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let regime = one_of(rng, REGIMES);
        Self::of(rng, regime)
    }

    /// Draws a command of this regime.
    pub(super) fn of(rng: &mut Rng, regime: Regime) -> Self {
        let writes_past_the_cache = matches!(regime, Regime::DirectWrites | Regime::DirectMix);
        let volume = volume::draw(rng, 256, regime.is_direct(), writes_past_the_cache);
        let raw = volume.kind == Medium::RawLoop;
        let mut draft = Self {
            regime,
            volume,
            jobs: Vec::new(),
            own: Vec::new(),
            jobs_in: match rng.u32(0..100) {
                0..72 => JobsIn::Words,
                72..92 => JobsIn::File,
                92..96 => JobsIn::Included,
                _ => JobsIn::Input,
            },
            laid_out: regime == Regime::ColdReads || raw || in_percent(rng, 60),
            keep_cache: false,
            prepare: None,
            filter: None,
            true_of_it: BTreeMap::new(),
        };
        let jobs = if in_percent(rng, 20) { 2 } else { 1 };
        for number in 0..jobs {
            let job = draft.job(rng, number, raw);
            draft.jobs.push(job);
        }
        if jobs == 2 {
            // The log would hold the first job's I/O only.
            draft.jobs[0].unset("write_iolog");
        }
        // Jobs on one device would overwrite each other's blocks at the same time; run one after the other, they do
        // not.
        if jobs == 2 && (raw || in_percent(rng, 50)) {
            draft.jobs[1].set("stonewall", 1);
        }
        draft.reporting(rng);
        draft
    }

    fn job(&mut self, rng: &mut Rng, number: usize, raw: bool) -> Job {
        let name = one_of(rng, &["a", "job-1", "read_test", "x.y", "Seq1M", "42"]);
        let mut job =
            Job { name: if number == 0 { name.to_owned() } else { format!("{name}{number}") }, ..Job::default() };
        let random = in_percent(rng, 50);
        let direction = match self.regime {
            Regime::DirectReads | Regime::ColdReads => "read",
            Regime::DirectWrites | Regime::SyncedWrites => "write",
            Regime::DirectMix => "rw",
        };
        job.set(one_of(rng, &["rw", "readwrite"]), format!("{}{direction}", if random { "rand" } else { "" }));
        if self.regime.is_direct() {
            let (option, value) = one_of(rng, &[("direct", "1"), ("direct", "1"), ("buffered", "0")]);
            job.set(option, value);
        }
        self.engine(rng, &mut job);
        let block_kib = self.block(rng, &mut job, random);
        let mut clones = if raw { 1 } else { one_of(rng, &[1, 1, 1, 1, 2, 3]) };
        if clones > 1 && in_percent(rng, 20) {
            let why = "some of many small jobs end before the last one has begun";
            self.true_of_it.insert("AB110".to_owned(), why.to_owned());
            clones = MANY_CLONES;
        }
        self.amount(rng, &mut job, block_kib, clones);
        self.files(rng, &mut job, raw, clones);
        if self.regime == Regime::SyncedWrites {
            let ways =
                [("end_fsync", "1"), ("fsync_on_close", "1"), ("fsync", "16"), ("fdatasync", "16"), ("sync", "1")];
            // fio syncs the file of the last write. It omits the sync at the end when the last operation was a sync.
            let ways = if job.has_one_file() { &ways[..] } else { &[ways[0], ways[1], ways[4]] };
            let (option, value) = one_of(rng, ways);
            job.set(option, value);
            // Without it, the last writes would not be synced.
            if matches!(option, "fsync" | "fdatasync") {
                job.set("end_fsync", 1);
            }
        }
        if matches!(self.regime, Regime::DirectWrites | Regime::DirectMix) && job.has_one_file() {
            match rng.u32(0..100) {
                // Each sync is an operation of the engine.
                0..12 => job.set(one_of(rng, &["fsync", "fdatasync"]), one_of(rng, &[1, 8, 32])),
                // Clones write one file, or each other's blocks.
                12..20 if !raw && clones == 1 => {
                    job.set("verify", one_of(rng, &["crc32c", "md5"]));
                    let why = "the check takes a part of the time of its reads";
                    self.true_of_it.insert("AB502".to_owned(), why.to_owned());
                    job.unset("loops");
                    job.unset("ramp_time");
                }
                _ => {}
            }
        }
        self.spice(rng, &mut job, random);
        job
    }

    fn engine(&self, rng: &mut Rng, job: &mut Job) {
        if self.regime.is_direct() && in_percent(rng, 50) {
            let engine = one_of(rng, ASYNCHRONOUS);
            job.set("ioengine", engine);
            // glibc keeps one request per file in flight.
            job.set("iodepth", if engine == "posixaio" { 1 } else { one_of(rng, &[1, 2, 4, 16]) });
        } else if in_percent(rng, 80) {
            job.set("ioengine", one_of(rng, SYNCHRONOUS));
        }
    }

    /// Draws the block size and returns it in KiB: the largest of several sizes.
    fn block(&self, rng: &mut Rng, job: &mut Job, random: bool) -> u64 {
        // Blocks of several sizes at random offsets overlap: the page cache would serve or absorb some of them.
        let may_differ = self.regime.is_direct() || !random;
        let kib = one_of(rng, &[4, 8, 16, 32, 64, 128, 256, 1024]);
        let option = one_of(rng, &["bs", "bs", "blocksize"]);
        match rng.u32(0..100) {
            0..80 => job.set(option, written_size(rng, kib)),
            // Without the option: fio's own 4 KiB.
            80..86 => return 4,
            86..92 if may_differ => {
                job.set("bssplit", "4k/50:16k/50");
                return 16;
            }
            92..96 if may_differ => {
                job.set("bsrange", "4k-32k");
                return 32;
            }
            _ if self.regime.is_direct() => job.set(option, format!("{kib}k,8k")),
            // The page cache accepts any size.
            _ => {
                job.set(option, one_of(rng, &["3000", "5k", "12345"]));
                return 16;
            }
        }
        kib.max(8)
    }

    fn amount(&self, rng: &mut Rng, job: &mut Job, block_kib: u64, clones: u64) {
        let most_mib = if block_kib <= 4 { 12 } else { 32 };
        if clones == MANY_CLONES {
            job.set("size", written_size(rng, 4 * block_kib.max(64)));
            job.set("numjobs", clones);
            return;
        }
        let mib = rng.u64(4..=most_mib) / clones;
        let mib = mib.max(2);
        let odd_kib = if in_percent(rng, 20) { rng.u64(1..16) * block_kib.max(4) } else { 0 };
        job.set("size", written_size(rng, mib * 1024 + odd_kib));
        if clones > 1 {
            job.set("numjobs", clones);
        }
        if self.regime.is_direct() && in_percent(rng, 20) {
            job.set("time_based", 1);
            job.set("runtime", one_of(rng, &["1", "1s", "800ms"]));
            if in_percent(rng, 30) {
                job.set("ramp_time", "300ms");
            }
        } else if self.regime.is_direct() && in_percent(rng, 10) {
            job.set("loops", 2);
        } else if in_percent(rng, 10) {
            job.set("io_size", written_size(rng, mib * 512));
        }
    }

    fn files(&self, rng: &mut Rng, job: &mut Job, raw: bool, clones: u64) {
        if raw {
            job.set("filename", "{device}");
            return;
        }
        match rng.u32(0..100) {
            0..45 if clones == 1 => job.set("filename", format!("data.{}", job.name)),
            45..55 if clones == 1 => job.set("filename", format!("one.{0}:two.{0}", job.name)),
            55..58 if clones == 1 && self.jobs_in == JobsIn::Words => {
                // fio appends the names of repeated options.
                job.options.extend(["three", "four"].map(|file| ("filename", format!("{file}.{}", job.name))));
            }
            55..65 => job.set("directory", "{mount}"),
            65..80 => {
                job.set("nrfiles", one_of(rng, &[2, 3]));
                if in_percent(rng, 50) {
                    job.set("file_service_type", one_of(rng, &["random", "sequential", "roundrobin"]));
                }
            }
            // fio chooses the names of the files.
            _ => {}
        }
    }

    /// Adds options that change neither the honesty nor the claims.
    fn spice(&mut self, rng: &mut Rng, job: &mut Job, random: bool) {
        if in_percent(rng, 25) {
            job.set("thread", 1);
        }
        if random {
            match rng.u32(0..8) {
                0 => job.set("randrepeat", 0),
                // With blocks of two sizes the run may end before the first operation (fio 3.33).
                1 if is_of_one_size(job) => job.set("random_generator", one_of(rng, &["lfsr", "tausworthe64"])),
                // The page cache would serve or absorb a block drawn twice. With several files fio goes on to the next
                // when one has been visited whole; without a map it never learns that.
                2 if self.regime.is_direct() && job.get("file_service_type") != Some("sequential") => {
                    job.set("norandommap", 1);
                }
                3 => job.set("randseed", rng.u32(1..1000)),
                _ => {}
            }
        }
        if in_percent(rng, 15) {
            // With a name, several threads of fio 3.33 free it twice.
            let kinds = &["shm", "mmap", "mmapshared", "mmap:{beside}/buffers"];
            let kinds = if job.get("thread").is_some() { &kinds[..3] } else { &kinds[..] };
            job.set("mem", one_of(rng, kinds));
        }
        match rng.u32(0..20) {
            0 => job.set("refill_buffers", 1),
            1 => job.set("buffer_compress_percentage", 0),
            2 => job.set("fallocate", one_of(rng, &["none", "posix", "keep"])),
            3 => job.set("startdelay", "100ms"),
            4 => job.set("cpus_allowed", 0),
            5 => job.set("nice", 1),
            6 => job.set("lat_percentiles", 1),
            7 => job.set("percentile_list", "50:95:99"),
            8 => job.set("gtod_reduce", 1),
            9 => job.set("disable_slat", 1),
            10 => job.set("clocksource", "clock_gettime"),
            11 => {
                job.set("rate", "60m");
                self.true_of_it.insert("AB506".to_owned(), "the command limits the rate".to_owned());
                if self.regime == Regime::DirectMix {
                    let why = "reads and writes are held to a rate each, which changes their mix";
                    self.true_of_it.insert("AB108".to_owned(), why.to_owned());
                }
            }
            // The log contains all of fio's I/O, but the figure excludes the ramp.
            12..14 if self.jobs.is_empty() && job.get("numjobs").is_none() && job.get("ramp_time").is_none() => {
                job.set("write_iolog", format!("{{beside}}/{IO_LOG}"));
            }
            14 => job.set("write_bw_log", "{beside}/log"),
            15 => job.set("write_lat_log", "log"),
            16 if self.regime == Regime::DirectMix => {
                job.set("unified_rw_reporting", one_of(rng, &["mixed", "both", "1"]));
            }
            17 => {
                job.set("thinktime", "100us");
                self.true_of_it.insert("AB506".to_owned(), "the command pauses between its calls".to_owned());
            }
            _ => {}
        }
        if self.regime == Regime::DirectMix && !random && job.get("time_based").is_some() {
            let why =
                "fio begins both directions at the head of the files again, and the mix is not what was asked for";
            self.true_of_it.insert("AB108".to_owned(), why.to_owned());
        }
        if self.regime == Regime::DirectMix && in_percent(rng, 40) {
            job.set(one_of(rng, &["rwmixread", "rwmixwrite"]), one_of(rng, &[20, 50, 70]));
        }
    }

    fn reporting(&mut self, rng: &mut Rng) {
        let grouped = in_percent(rng, 40);
        // fio refuses a group whose jobs have different report options.
        if grouped && self.jobs.len() > 1 {
            for option in ["lat_percentiles", "percentile_list", "unified_rw_reporting"] {
                self.jobs.iter_mut().for_each(|job| job.unset(option));
            }
        }
        let apart = self.jobs.len() > 1 && self.jobs[1].get("stonewall").is_none();
        if grouped && (apart || self.jobs.iter().any(|job| job.get("startdelay").is_some())) {
            let why = "jobs of different lengths are reported as one group";
            self.true_of_it.insert("AB110".to_owned(), why.to_owned());
        }
        for job in self.jobs.iter_mut().filter(|_| grouped) {
            job.set("group_reporting", 1);
        }
        self.format(rng);
    }

    /// Draws another format for the same report.
    pub(super) fn report_otherwise(&mut self, rng: &mut Rng) {
        let before = std::mem::take(&mut self.own);
        while self.own.is_empty() || self.own == before {
            // The filter belongs to the format.
            self.filter = None;
            self.own.clear();
            self.format(rng);
        }
    }

    fn format(&mut self, rng: &mut Rng) {
        let format = one_of(rng, &["", "", "", "json", "json", "json+", "normal", "terse", "normal,json"]);
        if !format.is_empty() {
            self.own.push(format!("--output-format={format}"));
        }
        match rng.u32(0..10) {
            0 => self.own.push("--output={beside}/report.txt".to_owned()),
            1 => self.own.push("--eta=never".to_owned()),
            3 if self.jobs_in != JobsIn::Input => {
                self.filter = Some(one_of(rng, &["cat", "tee {beside}/kept"]).to_owned())
            }
            4 if self.jobs_in != JobsIn::Input && format == "json" => {
                self.filter = Some(one_of(rng, &["jq .", "python3 -m json.tool"]).to_owned());
            }
            2 if format.is_empty() => self.own.push("--minimal".to_owned()),
            _ => {}
        }
    }

    /// Returns the finished command, with its preparation.
    pub(super) fn command(self) -> Command {
        let mut prepare = Vec::new();
        let raw = self.volume.kind == Medium::RawLoop;
        let lay_out = self.layout();
        match &self.prepare {
            Some(script) => prepare.push(script.clone()),
            None if raw => {
                let mib = self.volume.mib;
                let fill = format!("dd if=/dev/urandom of={{device}} bs=1M count={mib} oflag=direct status=none");
                prepare.extend(self.regime.reads().then_some(fill));
            }
            None if self.regime.reads() && self.laid_out => prepare.push(lay_out),
            None => {}
        }
        let mut words = vec!["fio".to_owned()];
        words.extend(self.own.iter().cloned());
        let what = format!("fio: {} ({}).", self.regime.words(), self.summary());
        let (job_file, included) = self.job_file();
        match self.jobs_in {
            JobsIn::Words => words.extend(self.options()),
            JobsIn::File | JobsIn::Included => words.push("{beside}/job.fio".to_owned()),
            JobsIn::Input => {
                let line = format!("{} - < {{beside}}/job.fio", words.join(" "));
                words = ["sh", "-c", &line].map(str::to_owned).to_vec();
            }
        }
        if self.jobs_in != JobsIn::Words {
            prepare.push(format!("cat > {{beside}}/job.fio <<'END'\n{job_file}END"));
            prepare.push(format!("cat > {{beside}}/options.fio <<'END'\n{included}END"));
        }
        Command {
            prepare,
            keep_cache: self.keep_cache,
            filter: self.filter,
            true_of_it: self.true_of_it,
            ..Command::new(what, &["fio"], self.volume, words)
        }
    }

    fn summary(&self) -> String {
        let job = &self.jobs[0];
        let parts = ["ioengine", "bs", "numjobs", "nrfiles"]
            .iter()
            .filter_map(|name| Some(format!("{name}={}", job.get(name)?)));
        let mut parts: Vec<String> = parts.collect();
        parts.push(format!("{} jobs on {}", self.jobs.len(), self.volume.fs));
        parts.join(", ")
    }

    fn options(&self) -> Vec<String> {
        let of = |job: &Job| {
            let name = format!("--name={}", job.name);
            std::iter::once(name)
                .chain(job.options.iter().map(|(name, value)| format!("--{name}={value}")))
                .collect::<Vec<_>>()
        };
        self.jobs.iter().flat_map(of).collect()
    }

    /// Returns the job file, with the options that all jobs share in its global section. The second text is the file
    /// that it includes, if any, with the options of the first job alone.
    fn job_file(&self) -> (String, String) {
        let first = &self.jobs[0];
        let common = |option: &&(&'static str, String)| self.jobs.iter().all(|job| job.options.contains(option));
        let (mut text, mut apart) = (String::from("; drawn\n[global]\n"), String::new());
        let line = |text: &mut String, (name, value): &(&str, String)| {
            writeln!(text, "{name}={value}").expect("a String takes every character");
        };
        // A single job keeps its own options.
        let shared: Vec<_> = first.options.iter().filter(|_| self.jobs.len() > 1).filter(common).collect();
        shared.iter().for_each(|option| line(&mut text, option));
        for (number, job) in self.jobs.iter().enumerate() {
            writeln!(text, "\n[{}]", job.name).expect("a String takes every character");
            let own = job.options.iter().filter(|option| !shared.contains(option));
            let included = number == 0 && self.jobs_in == JobsIn::Included;
            own.for_each(|option| line(if included { &mut apart } else { &mut text }, option));
            if included {
                text.push_str("include {beside}/options.fio\n");
            }
        }
        (text, apart)
    }

    /// Returns a script that makes the files that the jobs read. fio itself makes them, so that their names are right.
    pub(super) fn layout(&self) -> String {
        let mut draft = self.clone();
        for job in &mut draft.jobs {
            for option in
                ["time_based", "runtime", "ramp_time", "loops", "io_size", "rate", "startdelay", "write_iolog"]
            {
                job.unset(option);
            }
            job.set("create_only", 1);
        }
        format!("fio --output=/dev/null {}", draft.options().join(" "))
    }
}

/// Returns `true` when all blocks of a job have one length.
fn is_of_one_size(job: &Job) -> bool {
    let lengths = ["bs", "blocksize", "bssplit", "bsrange"].into_iter().filter_map(|option| job.get(option));
    lengths.into_iter().all(|length| !length.contains([',', ':', '-']))
}
