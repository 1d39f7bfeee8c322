//! What to change, for this tool and this run: never an option that was already given.
//!
//! Knows the options of the tools by name; what they do is in the adapters. For a tool
//! that it does not know the wording is general.

pub(crate) mod bonnie;

use std::collections::BTreeSet;

use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::context::Run;
use bonnie::Bonnie;

/// The options of iozone 3.489 that take a value, so that the value is not read as options.
const IOZONE_WITH_VALUE: &str = "bdfgHijJklLnPqrsStuUVXyYF";

/// Options of fio that make it visit a block again before it has visited all.
pub(crate) const FIO_DRAWS: [&str; 3] = ["random_distribution", "norandommap", "percentage_random"];

/// Files above this (1 TiB) are no advice for a pass that is short today.
const LARGEST_FILE_MIB: f64 = 1_048_576.0;

/// The command line, as far as advice needs it.
pub(crate) struct Given<'a> {
    run: Run<'a>,
    /// iozone's; `None` for another tool.
    options: Option<BTreeSet<String>>,
    bonnie: Option<Bonnie<'a>>,
    fio: Option<Fio>,
}

impl<'a> Given<'a> {
    pub(crate) fn new(run: &Run<'a>) -> Self {
        let argv = &run.manifest.command.argv;
        let parsed = run.parsed;
        let options = (parsed.tool == "iozone").then(|| iozone_options(argv));
        let bonnie = (parsed.tool == "bonnie++").then(|| Bonnie::new(argv, parsed.version.as_deref()));
        let fio = (parsed.tool == "fio").then(|| Fio::new(argv, run.phases));
        Self { run: *run, options, bonnie, fio }
    }

    fn has(&self, option: &str) -> bool {
        self.options.as_ref().is_some_and(|options| options.contains(option))
    }

    /// Whether the tool is iozone and this option was given.
    pub(crate) fn iozone_has(&self, option: &str) -> bool {
        self.has(option)
    }

    fn is_orion(&self) -> bool {
        self.run.parsed.tool == "orion"
    }

    /// How to bring the sync into the clock.
    pub(crate) fn durable(&self) -> String {
        if self.is_orion() {
            return "quote the rate as that of writes that nothing made durable: orion has no option that syncs"
                .to_owned();
        }
        if let Some(bonnie) = &self.bonnie {
            return bonnie.durable();
        }
        if let Some(fio) = &self.fio {
            return match fio.has("end_fsync") {
                false => format!("add {}: the clock then covers an fsync of the file", fio.option("end_fsync=1")),
                true => "quote the durable rate: `end_fsync` is given, and the data were durable later".to_owned(),
            };
        }
        if self.options.is_none() {
            return "let the tool's clock cover an fsync of the file, or quote the durable rate".to_owned();
        }
        match (self.has("-e"), self.has("-c")) {
            (false, false) => "add `-e -c`: the clock then covers the fsync and the close".to_owned(),
            (false, true) => "add `-e`: with `-c` alone iozone leaves the fsync out".to_owned(),
            (true, _) => "quote the durable rate: `-e` is given, and the sync still ended after the clock".to_owned(),
        }
    }

    /// How to read from storage instead of the page cache.
    pub(crate) fn cold_reads(&self, phase: &Phase) -> String {
        if self.is_orion() {
            return "look at why the volumes were not read with O_DIRECT, as orion always asks for".to_owned();
        }
        // Twice the memory helps only where less was asked for.
        let enough = self.run.manifest.host.memory_bytes.map(|memory| memory.saturating_mul(2));
        let enough = enough.filter(|enough| phase.requested_bytes.is_none_or(|requested| requested < *enough));
        if let Some(bonnie) = &self.bonnie {
            return bonnie.cold_reads(enough);
        }
        if let Some(fio) = &self.fio {
            return fio.cold_reads(phase, enough);
        }
        if self.options.is_none() {
            return match enough {
                Some(enough) => format!(
                    "empty the page cache before the pass, read with O_DIRECT, or read at least {} (twice the memory)",
                    Quantity::bytes(enough)
                ),
                None => "empty the page cache before the pass, or read with O_DIRECT".to_owned(),
            };
        }
        let mut ways = Vec::new();
        if !self.has("-I") {
            ways.push("`-I` (O_DIRECT)".to_owned());
        }
        let mount = self.run.target_of(phase).map(|target| target.mount_point.as_str());
        if let Some(mount) = mount.filter(|mount| *mount != "/")
            && !self.has("-U")
            && !self.has("-t")
        {
            ways.push(format!("`-U {mount}` (unmounts and mounts it between the passes; it must be in /etc/fstab)"));
        }
        if let Some(enough) = enough {
            let option = if self.has("-a") { "-g" } else { "-s" };
            let tasks = u64::from(phase.requested_tasks.max(1));
            let gibibytes = enough.div_ceil(tasks).div_ceil(1 << 30);
            ways.push(format!("`{option} {gibibytes}g` or more (twice the memory)"));
        }
        match ways.is_empty() {
            true => "compare with a run on a freshly mounted file system".to_owned(),
            false => format!("use {}", ways.join(", or ")),
        }
    }

    /// What to do about a pass that was promised to be direct and was not.
    pub(crate) fn direct(&self) -> String {
        match &self.bonnie {
            Some(bonnie) => bonnie.direct(),
            None => "look at why the file was opened without O_DIRECT in this pass".to_owned(),
        }
    }

    /// How to make the pass last: `factor` times its present length.
    pub(crate) fn longer(&self, phase: &Phase, factor: f64) -> String {
        if let (true, Some(limit_ns)) = (self.is_orion(), phase.time_limit_ns) {
            let seconds = (limit_ns as f64 / 1e9 * factor).ceil().max(1.0);
            return format!("let each data point last longer, about `-duration {seconds:.0}`");
        }
        if let Some(bonnie) = &self.bonnie {
            return bonnie.longer(phase, factor);
        }
        let tasks = f64::from(phase.requested_tasks.max(1));
        if let Some(fio) = &self.fio {
            let window_ns = phase.window.map_or(0, activebench_model::phase::Window::duration_ns) as f64;
            return fio.longer(window_ns * factor / 1e9);
        }
        match (&self.options, phase.requested_bytes) {
            (Some(_), Some(requested)) => {
                let option = if self.has("-a") { "-g" } else { "-s" };
                let megabytes = (requested as f64 / tasks * factor / (1024.0 * 1024.0)).ceil().max(1.0);
                if megabytes > LARGEST_FILE_MIB {
                    format!("use a much larger file (`{option}`)")
                } else if megabytes < 1024.0 {
                    format!("use a larger file, about `{option} {megabytes:.0}m`")
                } else {
                    format!("use a larger file, about `{option} {:.0}g`", (megabytes / 1024.0).ceil())
                }
            }
            _ => "let the pass move more data or run longer".to_owned(),
        }
    }

    /// How to make the device's own cache part of the figure.
    pub(crate) fn over_a_power_cut(&self) -> String {
        match (&self.options, &self.fio) {
            (Some(_), _) if self.has("-e") => "quote it as written to the device's cache".to_owned(),
            (Some(_), _) => "add `-e`, if the figure is to hold over a power cut".to_owned(),
            (None, Some(fio)) if fio.has("end_fsync") => "quote it as written to the device's cache".to_owned(),
            (None, Some(fio)) => {
                format!("add {}, if the figure is to hold over a power cut", fio.option("end_fsync=1"))
            }
            (None, None) => "add a sync inside the clock, if the figure is to hold over a power cut".to_owned(),
        }
    }

    /// The option of the command line that makes the tool pause, as it was given: fio's `rate`, iozone's `-J`.
    /// Those of a job file are not known here.
    pub(crate) fn option_of_pauses(&self) -> Option<String> {
        let words = self.run.manifest.command.argv.iter().flat_map(|argument| argument.split_whitespace());
        let mut words = words.map(|word| word.trim_matches(['\'', '"']));
        if self.fio.is_some() {
            let pauses = |name: &str| name.starts_with("rate") || name.starts_with("thinktime") || name == "flow";
            let is_pause =
                |word: &&str| word.strip_prefix("--").and_then(|option| option.split('=').next()).is_some_and(pauses);
            return words.find(is_pause).map(str::to_owned);
        }
        self.has("-J").then(|| "-J".to_owned())
    }

    /// How to visit more of the region.
    pub(crate) fn distinct_offsets(&self) -> String {
        if self.is_orion() {
            // A longer run visits the same blocks more often.
            return match self.run.parsed.version.as_deref() {
                Some(version) if version.contains("11.2.0.1") => {
                    "use another release: the random generator of 11.2.0.1 revisits a small set, for any `-duration`"
                }
                _ => "use another release of orion, or another benchmark: no `-duration` and no larger volume mends the generator",
            }
            .to_owned();
        }
        match self.fio.as_ref().and_then(|fio| FIO_DRAWS.into_iter().find(|name| fio.has(name))) {
            Some(name) => format!("drop `{name}`: fio then visits each block once before it visits one again"),
            None => "use a generator that visits each block once, or one that covers the whole region".to_owned(),
        }
    }

    /// How to write data that cannot be packed.
    pub(crate) fn random_payload(&self) -> String {
        let packed = "let the tool write data that is random and never the same twice";
        match (&self.options, &self.fio) {
            (Some(_), _) if self.has("-+w") => format!("{packed}: `-+w` is given, look at its percentage"),
            (Some(_), _) => format!("{packed}: add `-+w 0 -+y 0 -+C 0`"),
            (None, Some(fio)) if fio.has("refill_buffers") => {
                format!("{packed}: `refill_buffers` is given, look at what else shapes the buffers")
            }
            (None, Some(fio)) => format!("{packed}: add {}", fio.option("refill_buffers")),
            (None, None) => packed.to_owned(),
        }
    }

    /// How to measure the tasks together.
    pub(crate) fn all_tasks(&self) -> String {
        match (&self.options, self.has("-x")) {
            (Some(_), false) => {
                "quote the parent's figure, and add `-x`: every task is then timed to its own end".to_owned()
            }
            (Some(_), true) => "quote the parent's figure".to_owned(),
            (None, _) => "quote all tasks' bytes over the time from the first start to the last end".to_owned(),
        }
    }
}

/// What a fio command gave.
pub(crate) struct Fio {
    /// Names of options, without dashes and values.
    options: BTreeSet<String>,
    /// The jobs stand on the command line, not in a file.
    pub(crate) on_command_line: bool,
}

impl Fio {
    /// The words of the command, and what the phases' promises rest on: job files too.
    pub(crate) fn new(argv: &[String], phases: &[Phase]) -> Self {
        let words: Vec<&str> = argv.iter().flat_map(|argument| argument.split_whitespace()).collect();
        let name_of = |option: &str| option.split('=').next().unwrap_or(option).trim_matches(['\'', '"']).to_owned();
        let stated = words.iter().filter_map(|word| word.trim_matches(['\'', '"']).strip_prefix("--")).map(name_of);
        let promised = phases.iter().flat_map(|phase| &phase.promises).map(|promise| name_of(&promise.option));
        let mut options: BTreeSet<String> = stated.chain(promised).collect();
        if phases.iter().any(|phase| phase.time_limit_ns.is_some()) {
            options.insert("runtime".to_owned());
        }
        Self { on_command_line: options.contains("name"), options }
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    /// An option as it is written where the jobs are.
    fn option(&self, option: &str) -> String {
        match self.on_command_line {
            true => format!("`--{option}`"),
            false => format!("`{option}` in the job file"),
        }
    }

    fn cold_reads(&self, phase: &Phase, enough: Option<u64>) -> String {
        let mut ways = Vec::new();
        if !self.has("direct") {
            ways.push(format!("{} (O_DIRECT)", self.option("direct=1")));
        }
        if let Some(enough) = enough {
            let tasks = u64::from(phase.requested_tasks.max(1));
            let gibibytes = enough.div_ceil(tasks).div_ceil(1 << 30);
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
                format!("use a `runtime` of about {seconds:.0} s with {}", self.option("time_based"))
            }
            (false, _) if self.on_command_line => format!("add `--runtime={seconds:.0}s --time_based`"),
            (false, _) => format!("add `runtime={seconds:.0}s` and `time_based` to the job file"),
        }
    }
}

/// The options on an iozone command line, wherever the command stands in a wrapper's
/// arguments: `-e`, `-+d`. Values are left out.
pub(crate) fn iozone_options(argv: &[String]) -> BTreeSet<String> {
    // `sh -c 'iozone -e'` hides the words in one argument.
    let words: Vec<&str> = argv.iter().flat_map(|argument| argument.split_whitespace()).collect();
    let program = |word: &&str| word.trim_matches(['\'', '"']).rsplit('/').next() == Some("iozone");
    let start = words.iter().position(program).map_or(0, |index| index + 1);
    let mut options = BTreeSet::new();
    let mut rest = words[start.min(words.len())..].iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-') else { continue };
        if letters.starts_with('+') {
            options.insert(format!("-{}", letters.chars().take(2).collect::<String>()));
            continue;
        }
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            options.insert(format!("-{letter}"));
            if IOZONE_WITH_VALUE.contains(letter) {
                if letters.as_str().is_empty() {
                    rest.next();
                }
                break;
            }
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fio_is_told_no_option_that_it_was_given() {
        fn fio(line: &str) -> Fio {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Fio::new(&argv, &[])
        }
        let plain = fio("fio --name=a --rw=write");
        assert_eq!(plain.option("end_fsync=1"), "`--end_fsync=1`");
        assert_eq!(plain.longer(29.4), "add `--runtime=30s --time_based`");
        assert_eq!(fio("fio --name=a --runtime=5").longer(30.0), "use a `runtime` of about 30 s with `--time_based`");
        assert_eq!(fio("fio --name=a --runtime=5 --time_based").longer(30.0), "use a longer `runtime`, about 30 s");
        assert_eq!(fio("fio a.fio").option("direct=1"), "`direct=1` in the job file");
        let read = Phase::planned("a-read", "read", activebench_model::phase::Direction::Read);
        assert!(plain.cold_reads(&read, None).contains("--direct=1"));
        assert!(!fio("sh -c 'fio --name=a --direct=1'").cold_reads(&read, None).contains("direct"));
    }

    #[test]
    fn options_are_found_in_any_spelling_and_values_are_not_options() {
        fn check(argv: &[&str], expected: &[&str]) {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let expected: BTreeSet<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(iozone_options(&argv), expected, "{argv:?}");
        }
        check(&["iozone", "-ec", "-i0", "-s", "1g"], &["-e", "-c", "-i", "-s"]);
        check(&["/usr/bin/iozone", "-f", "-e", "-+d"], &["-f", "-+d"]);
        check(&["numactl", "-c", "0", "iozone", "-I"], &["-I"]);
        check(&["sh", "-c", "cd /x && iozone -e -f'a b'"], &["-e", "-f"]);
        check(&["iozone", "-s"], &["-s"]);
        check(&[], &[]);
    }
}
