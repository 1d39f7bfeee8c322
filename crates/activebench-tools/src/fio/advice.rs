//! Advice on changing a fio command or job file.

use std::collections::BTreeSet;

use activebench_model::advice::{Change, Circumstances, Improvement};
use activebench_model::phase::{Phase, Submission, Window};

/// Options that make fio visit a block again before it has visited all.
const DRAWS: &[&str] = &["random_distribution", "norandommap", "percentage_random"];
/// Those of [`DRAWS`] that only take a value after `=`.
const DRAWS_WITHOUT_VALUE: &[&str] = &["norandommap"];

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let given = Given::new(about.argv, about.phases);
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
            given.longer(window_ns as f64 * about.times_longer / 1e9)
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
    let given = Given::new(about.argv, about.phases);
    let has = |name: &str| given.has(name);
    if !given.on_command_line {
        return Err("the jobs stand in a file: change it there".to_owned());
    }
    let lacking = |name: &str, options: &'static [&'static str]| match has(name) {
        false => Ok(Change::AddFirst(options)),
        true => Err("the option that fixes it is already given".to_owned()),
    };
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) => lacking("end_fsync", &["--end_fsync=1"]),
        Some(Improvement::ReadFromStorage) => lacking("direct", &["--direct=1"]),
        Some(Improvement::VisitBlocksOnce) => match DRAWS.iter().copied().any(has) {
            true => Ok(Change::Drop(DRAWS, DRAWS_WITHOUT_VALUE)),
            false => Err("no option of the command makes the offsets repeat".to_owned()),
        },
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
        Some(Improvement::RunLonger) => match has("runtime") || has("time_based") {
            false => Ok(Change::AddFirst(&["--runtime=10s", "--time_based"])),
            true => Err("the time that it runs is given".to_owned()),
        },
        _ => Err("no option of fio fixes it".to_owned()),
    }
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
    /// Names of options, without dashes and values.
    options: BTreeSet<String>,
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
        Self { on_command_line: options.contains("name"), options }
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
        let seconds = seconds.ceil().max(1.0);
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
    use activebench_model::phase::Direction;

    use super::*;

    #[test]
    fn fio_is_told_no_option_that_it_was_given() {
        fn fio(line: &str) -> Given {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Given::new(&argv, &[])
        }
        let plain = fio("fio --name=a --rw=write");
        assert_eq!(plain.written("end_fsync=1"), "`--end_fsync=1`");
        assert_eq!(plain.longer(29.4), "add `--runtime=30s --time_based`");
        assert_eq!(fio("fio --name=a --runtime=5").longer(30.0), "use a `runtime` of about 30 s with `--time_based`");
        assert_eq!(fio("fio --name=a --runtime=5 --time_based").longer(30.0), "use a longer `runtime`, about 30 s");
        assert_eq!(fio("fio a.fio").written("direct=1"), "`direct=1` in the job file");
        let read = Phase::planned("a-read", "read", Direction::Read);
        let about = Circumstances {
            argv: &[],
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
}
