//! Advice on changing a fio command or job file.

use std::collections::BTreeSet;
use std::slice;

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::phase::{Direction, Mechanism, Phase, Submission, Window};

use super::jobs::Setup;

mod in_files;

const MIB: f64 = 1024.0 * 1024.0;
/// Options that make fio visit a block again before it has visited all.
const DRAWS: &[&str] = &["random_distribution", "norandommap", "percentage_random"];
/// Options that make fio sync.
const SYNCS: &[&str] = &["end_fsync", "fsync", "fdatasync", "fsync_on_close", "sync", "sync_file_range"];
/// Options that make fio check the data.
const CHECKS: &[&str] = &[
    "verify",
    "do_verify",
    "verify_offset",
    "verify_interval",
    "verify_pattern",
    "verify_fatal",
    "verify_dump",
    "verify_async",
    "verify_async_cpus",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_state_save",
    "verify_state_load",
    "verifysort",
    "verifysort_nr",
    "experimental_verify",
];
/// Options that make fio pause.
const PAUSES: &[&str] = &[
    "rate",
    "rate_min",
    "rate_iops",
    "rate_iops_min",
    "rate_process",
    "rate_cycle",
    "rate_ignore_thinktime",
    "thinktime",
    "thinktime_spin",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "flow",
    "flow_id",
    "flow_sleep",
];
/// Those of [`DRAWS`] that only take a value after `=`.
const DRAWS_WITHOUT_VALUE: &[&str] = &["norandommap"];

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    // Of its own pass alone: there is advice for each pass.
    let given = Given::new(about.argv, about.phase.map_or(about.phases, slice::from_ref));
    let in_place_of = |option: &str| given.written(option);
    Some(match wanted {
        Improvement::SyncInsideClock => match given.has("end_fsync") {
            false => format!("add {}: the clock then covers an fsync of the file", in_place_of("end_fsync=1")),
            true => "quote the durable rate: `end_fsync` is given, and the data were durable later".to_owned(),
        },
        Improvement::SurvivePowerLoss => match given.has("end_fsync") {
            true => "quote it as written to the device's cache".to_owned(),
            false => format!("add {}, if the figure is to hold over a power cut", in_place_of("end_fsync=1")),
        },
        Improvement::ReadFromStorage => given.cold_reads(about),
        Improvement::RunLonger => {
            let window_ns = about.phase.and_then(|phase| phase.window).map_or(0, Window::duration_ns);
            let seconds = (window_ns as f64 * about.times_longer / 1e9).ceil().max(1.0);
            match about.phase.is_some_and(|phase| moves_data(phase) && !asks_for_direct(phase)) {
                true => {
                    format!("use a larger `size`, for about {seconds:.0} s: what runs again finds its file in memory")
                }
                false => given.longer(seconds),
            }
        }
        Improvement::VisitBlocksOnce => {
            let name = DRAWS.iter().find(|name| given.has(name))?;
            format!("drop `{name}`: fio then visits each block once before it visits one again")
        }
        Improvement::NewOffsetsEachRun => "add `randrepeat=0`, or give each run another `randseed`".to_owned(),
        Improvement::RandomPayload => {
            let packed = "let the tool write data that is random and never the same twice";
            match given.has("refill_buffers") {
                true => format!("{packed}: `refill_buffers` is given, look at what else shapes the buffers"),
                false => format!("{packed}: add {}", in_place_of("refill_buffers")),
            }
        }
        _ => return None,
    })
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let setup = Setup::new(about.argv, about.files);
    let in_files = in_files::InFiles::of(&setup, about.files, wanted)?;
    let given = match &in_files {
        Some(in_files) => in_files.given(),
        None => Given::new(about.argv, about.phases),
    };
    let change = change_of(wanted, about, &setup, &given)?;
    in_files.map_or(Ok(()), |in_files| in_files.can_be(&change, about.argv)).map(|()| change)
}

fn change_of(
    wanted: Option<Improvement>,
    about: &Circumstances<'_>,
    setup: &Setup,
    given: &Given,
) -> Result<Change, String> {
    let has = |name: &str| given.has(name);
    let lacking = |name: &str, options: &'static [&'static str]| match has(name) {
        false => Ok(Change::AddFirst(options)),
        true => Err("the option that fixes it is already given".to_owned()),
    };
    let dropping = |names, without_value, otherwise: &str| match given.has_one_of(names) {
        true => Ok(Change::Drop(names, without_value)),
        false => Err(otherwise.to_owned()),
    };
    match wanted {
        // Another sync adds nothing where those that the command asks for do not reach the medium.
        Some(Improvement::SurvivePowerLoss) if given.has_one_of(SYNCS) => {
            Err("the command asks for syncs already".to_owned())
        }
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) => lacking("end_fsync", &["--end_fsync=1"]),
        Some(Improvement::ReadFromStorage) => match is_mapped(setup) {
            // `direct` has no effect on mapped files.
            true => Err("mapped files are read through memory: another engine is yours to choose".to_owned()),
            false => lacking("direct", &["--direct=1"]),
        },
        Some(Improvement::VisitBlocksOnce) => {
            dropping(DRAWS, DRAWS_WITHOUT_VALUE, "no option of the command makes the offsets repeat")
        }
        Some(Improvement::LeaveOutVerification) => dropping(CHECKS, &[], "no option of the command checks the data"),
        Some(Improvement::LeaveOutPauses) => dropping(PAUSES, &[], "no option of the command makes fio pause"),
        Some(Improvement::NewOffsetsEachRun) => lacking("randrepeat", &["--randrepeat=0"]),
        Some(Improvement::ReachDepth) => {
            let by_one = about.phases.iter().any(|phase| phase.submission == Submission::Synchronous);
            match (has("direct"), by_one && !has("ioengine")) {
                (true, true) => Ok(Change::AddFirst(&["--ioengine=libaio"])),
                (false, true) => Ok(Change::AddFirst(&["--ioengine=libaio", "--direct=1"])),
                (false, false) => Ok(Change::AddFirst(&["--direct=1"])),
                (true, false) => Err("another engine, or fewer requests at once, is yours to choose".to_owned()),
            }
        }
        Some(Improvement::RandomPayload) => lacking("refill_buffers", &["--refill_buffers"]),
        Some(Improvement::RunLonger) => {
            let is_limited = given.has_one_of(&["runtime", "time_based"]);
            match (is_limited, is_kept_in_memory(setup, about.phases)) {
                (true, _) => Err("the time that it runs is given".to_owned()),
                (false, true) => Err("it takes a larger file: how large is yours to choose".to_owned()),
                (false, false) => Ok(Change::AddFirst(&["--runtime=10s", "--time_based"])),
            }
        }
        _ => Err("no option of fio fixes it".to_owned()),
    }
}

/// Returns `true` for jobs that would find the same file in memory over and over if they ran for a time: only a larger
/// file makes such a pass longer.
fn is_kept_in_memory(setup: &Setup, phases: &[Phase]) -> bool {
    phases.iter().any(moves_data) && setup.jobs.iter().any(|job| job.options.is_on("direct") != Some(true))
}

fn moves_data(phase: &Phase) -> bool {
    matches!(phase.direction, Direction::Read | Direction::Write | Direction::Mixed)
}

/// Returns `true` if every job of the pass asks for direct I/O, on the command line or in a file.
fn asks_for_direct(phase: &Phase) -> bool {
    phase.promises.iter().any(|promise| promise.mechanism == Mechanism::DirectIo)
}

fn is_mapped(setup: &Setup) -> bool {
    setup.jobs.iter().any(|job| job.options.engine() == Some("mmap"))
}

/// Returns the command with a size at which buffered passes take the wanted time, where one size is given.
pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let unchanged = || Resized { argv: argv.to_vec(), makes: Vec::new() };
    let setup = Setup::new(argv, about.files);
    let longer = about.wanted.contains(&Improvement::RunLonger) && is_kept_in_memory(&setup, about.phases);
    let mut sizes = argv.iter().enumerate().filter(|(_, word)| word.starts_with("--size="));
    let (Some((place, _)), None, true) = (sizes.next(), sizes.next(), longer) else { return unchanged() };
    let rate = about.rate_bytes_per_sec.filter(|rate| rate.is_finite() && *rate > 0.0);
    let tasks = about.phases.iter().map(|phase| phase.requested_tasks.max(1)).max().unwrap_or(1);
    let present = about.phases.iter().filter_map(|phase| phase.requested_bytes).max();
    let (Some(rate), Some(present)) = (rate, present) else { return unchanged() };
    let wanted = (rate * about.seconds).min(about.most_bytes as f64);
    let mebibytes = (wanted / f64::from(tasks) / (64.0 * MIB)).floor() * 64.0;
    if mebibytes * MIB * f64::from(tasks) <= present as f64 {
        return unchanged();
    }
    let mut words = argv.to_vec();
    words[place] = format!("--size={mebibytes:.0}m");
    // A job file overrides it.
    let size = format!("{mebibytes:.0}m");
    if !Setup::new(&words, about.files).jobs.iter().all(|job| job.options.stated("size") == Some(&size)) {
        return unchanged();
    }
    Resized { argv: words, makes: vec![Improvement::RunLonger] }
}

/// Returns the first option `rate`, `thinktime` or `flow` of the command line; those in a job file are unknown here.
pub(super) fn option_of_pauses(argv: &[String]) -> Option<String> {
    let pauses = |name: &str| name.starts_with("rate") || name.starts_with("thinktime") || name == "flow";
    let is_pause =
        |word: &&str| word.strip_prefix("--").and_then(|option| option.split('=').next()).is_some_and(pauses);
    words(argv).find(is_pause).map(str::to_owned)
}

/// Returns the words after fio's name; in a shell script they still have quotes.
fn words(argv: &[String]) -> impl Iterator<Item = &str> {
    argv.iter().skip(1).map(|word| word.trim_matches(['\'', '"']))
}

/// The options given in a fio command.
struct Given {
    /// Names of options, without dashes and values. Of jobs in files: those that each of them has.
    options: BTreeSet<String>,
    /// Names of options that one of the jobs has.
    of_one: BTreeSet<String>,
    /// True if the jobs are given on the command line, not in a file.
    on_command_line: bool,
}

impl Given {
    /// Collects the options of the command and those named by the phases' promises, which include job files.
    fn new(argv: &[String], phases: &[Phase]) -> Self {
        let name_of = |option: &str| option.split('=').next().unwrap_or(option).to_owned();
        let stated = words(argv).filter_map(|word| word.strip_prefix("--")).map(name_of);
        let promised = phases.iter().flat_map(|phase| &phase.promises).map(|promise| {
            let option = promise.option.as_str();
            name_of(option.strip_prefix("--").unwrap_or(option))
        });
        let mut options: BTreeSet<String> = stated.chain(promised).collect();
        if phases.iter().any(|phase| phase.time_limit_ns.is_some()) {
            options.insert("runtime".to_owned());
        }
        Self { on_command_line: options.contains("name"), of_one: options.clone(), options }
    }

    fn has_one_of(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.of_one.contains(*option))
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    /// Returns an option in the syntax of the place where the jobs are given.
    fn written(&self, option: &str) -> String {
        match self.on_command_line {
            true => format!("`--{option}`"),
            false => format!("`{option}` in the job file"),
        }
    }

    fn cold_reads(&self, about: &Circumstances<'_>) -> String {
        let mut ways = Vec::new();
        if !self.has("direct") {
            ways.push(format!("{} (O_DIRECT)", self.written("direct=1")));
        }
        if let Some(bytes) = about.beyond_memory_bytes {
            let tasks = about.phase.map_or(1, |phase| u64::from(phase.requested_tasks.max(1)));
            let gibibytes = bytes.div_ceil(tasks).div_ceil(1 << 30);
            ways.push(format!("a file of {gibibytes} GiB or more for each job (together twice the memory)"));
        }
        match ways.is_empty() {
            true => "compare with a run on a freshly mounted file system".to_owned(),
            false => format!("use {}", ways.join(", or ")),
        }
    }

    fn longer(&self, seconds: f64) -> String {
        match (self.has("runtime"), self.has("time_based")) {
            (true, true) => format!("use a longer `runtime`, about {seconds:.0} s"),
            (true, false) => {
                format!("use a `runtime` of about {seconds:.0} s with {}", self.written("time_based"))
            }
            (false, _) if self.on_command_line => format!("add `--runtime={seconds:.0}s --time_based`"),
            (false, _) => format!("add `runtime={seconds:.0}s` and `time_based` to the job file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::phase::{Direction, Promise};

    use super::*;

    #[test]
    fn options_are_read_in_both_spellings() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for line in ["fio --name=a --ioengine=mmap", "fio --ioengine mmap --name=a"] {
            assert!(is_mapped(&Setup::new(&words(line), &[])), "{line}");
        }
        assert!(!is_mapped(&Setup::new(&words("fio --name=a --ioengine=psync"), &[])));
        let writes = [Phase::planned("a-write", "write", Direction::Write)];
        for (line, expected) in [
            ("fio --name=a --rw=write", true),
            ("fio --name=a --rw=write --direct=0", true),
            ("fio --name=a --rw=write --direct=1", false),
            ("fio --direct 1 --name=a --rw=write", false),
        ] {
            assert_eq!(is_kept_in_memory(&Setup::new(&words(line), &[]), &writes), expected, "{line}");
        }
    }

    #[test]
    fn fio_is_told_no_option_that_it_was_given() {
        fn fio(line: &str) -> Given {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Given::new(&argv, &[])
        }
        let plain = fio("fio --name=a --rw=write");
        assert_eq!(plain.written("end_fsync=1"), "`--end_fsync=1`");
        assert_eq!(plain.longer(30.0), "add `--runtime=30s --time_based`");
        assert_eq!(fio("fio --name=a --runtime=5").longer(30.0), "use a `runtime` of about 30 s with `--time_based`");
        assert_eq!(fio("fio --name=a --runtime=5 --time_based").longer(30.0), "use a longer `runtime`, about 30 s");
        assert_eq!(fio("fio a.fio").written("direct=1"), "`direct=1` in the job file");
        let read = Phase::planned("a-read", "read", Direction::Read);
        let about = Circumstances {
            argv: &[],
            files: &[],
            version: None,
            phases: &[],
            phase: Some(&read),
            beyond_memory_bytes: None,
            mount_point: None,
            times_longer: 1.0,
        };
        assert!(plain.cold_reads(&about).contains("--direct=1"));
        assert!(!fio("fio --name='a' --direct=1").cold_reads(&about).contains("direct"));
    }

    #[test]
    fn a_pass_runs_longer_by_its_own_promises_not_by_those_of_other_jobs() {
        let argv = ["fio".to_owned(), "jobs.fio".to_owned()];
        let direct = Promise { option: "direct=1".to_owned(), mechanism: Mechanism::DirectIo };
        let buffered = Phase::planned("a-read", "read", Direction::Read);
        let phases = [buffered.clone(), Phase { promises: vec![direct], ..buffered }];
        let longer = |phase: &Phase| {
            let about = Circumstances {
                argv: &argv,
                files: &[],
                version: None,
                phases: &phases,
                phase: Some(phase),
                beyond_memory_bytes: None,
                mount_point: None,
                times_longer: 3.0,
            };
            advise(Improvement::RunLonger, &about).expect("fio has a way")
        };
        assert_eq!(longer(&phases[0]), "use a larger `size`, for about 1 s: what runs again finds its file in memory");
        assert_eq!(longer(&phases[1]), "add `runtime=1s` and `time_based` to the job file");
    }
}
