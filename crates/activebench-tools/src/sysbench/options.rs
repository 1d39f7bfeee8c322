//! The command line of sysbench fileio, and what its report repeats of it.

use activebench_model::output::ToolOutput;

const DEFAULT_FILES: u64 = 128;
const DEFAULT_BYTES: u64 = 2 << 30;
const DEFAULT_BLOCK: u64 = 16 << 10;
const DEFAULT_SECONDS: u64 = 10;
const DEFAULT_FSYNC_FREQ: u64 = 100;
const DEFAULT_RW_RATIO: f64 = 1.5;

/// What sysbench is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Prepare,
    Run,
}

/// `--file-test-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    SeqWrite,
    SeqRewrite,
    SeqRead,
    RandomRead,
    RandomWrite,
    RandomMixed,
}

/// `--file-io-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Way {
    #[default]
    Sync,
    Async,
    Mapped,
}

/// A command line. What is not given has sysbench's default.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    /// `None` for another test, another command, and where no command line is known.
    pub(super) task: Option<Task>,
    pub(super) mode: Option<Mode>,
    pub(super) way: Way,
    pub(super) files: u64,
    pub(super) total_bytes: Option<u64>,
    pub(super) block_bytes: Option<u64>,
    /// Blocks that a sequential test merges to one request, at least 1; `None` where the number is not readable.
    pub(super) merged_blocks: Option<u64>,
    /// Requests; 0 for no limit.
    pub(super) events: u64,
    /// Seconds; 0 for no limit.
    pub(super) seconds: u64,
    pub(super) threads: u32,
    pub(super) fsync_freq: u64,
    pub(super) fsync_all: bool,
    pub(super) fsync_end: bool,
    pub(super) flags: Vec<String>,
    /// Reads per write.
    pub(super) rw_ratio: f64,
    /// The option that limits the rate, as given.
    pub(super) rate: Option<String>,
    /// True if the counters are reset while it runs.
    pub(super) resets: bool,
    /// True if it checks what it reads.
    pub(super) validates: bool,
    /// True if a file of options was named, which was not read.
    pub(super) has_config: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            task: None,
            mode: None,
            way: Way::Sync,
            files: DEFAULT_FILES,
            total_bytes: Some(DEFAULT_BYTES),
            block_bytes: Some(DEFAULT_BLOCK),
            merged_blocks: Some(1),
            events: 0,
            seconds: DEFAULT_SECONDS,
            threads: 1,
            fsync_freq: DEFAULT_FSYNC_FREQ,
            fsync_all: false,
            fsync_end: true,
            flags: Vec::new(),
            rw_ratio: DEFAULT_RW_RATIO,
            rate: None,
            resets: false,
            validates: false,
            has_config: false,
        }
    }
}

impl Options {
    /// Reads the words after the program, in any order. Never fails: what cannot be read keeps its default or is unknown.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut options = Self::default();
        let mut words = Vec::new();
        for word in argv.iter().skip(1) {
            match word.strip_prefix("--") {
                // Its older form, deprecated and still taken.
                Some(option) if option.starts_with("test=") => words.insert(0, &option["test=".len()..]),
                Some(option) => {
                    let (name, value) = option.split_once('=').unwrap_or((option, ""));
                    options.take(name, value, word);
                }
                None => words.push(word.as_str()),
            }
        }
        options.task = match words.as_slice() {
            ["fileio", "prepare"] => Some(Task::Prepare),
            ["fileio", "run"] => Some(Task::Run),
            _ => None,
        };
        options
    }

    fn take(&mut self, name: &str, value: &str, word: &str) {
        let number = || value.parse::<u64>().ok();
        let is_on = || !matches!(value, "off" | "false" | "0" | "no");
        match name {
            "file-test-mode" => self.mode = mode(value),
            "file-io-mode" => {
                self.way = match value {
                    "async" => Way::Async,
                    "mmap" => Way::Mapped,
                    _ => Way::Sync,
                }
            }
            // 0 is its default, and merges none.
            "file-merged-requests" => self.merged_blocks = number().map(|blocks| blocks.max(1)),
            "file-num" => self.files = number().unwrap_or(self.files),
            "file-total-size" => self.total_bytes = size(value),
            "file-block-size" => self.block_bytes = size(value).filter(|bytes| *bytes > 0),
            "events" | "max-requests" => self.events = number().unwrap_or(self.events),
            "time" | "max-time" => self.seconds = number().unwrap_or(self.seconds),
            "threads" | "num-threads" => self.threads = value.parse().unwrap_or(self.threads),
            "file-fsync-freq" => self.fsync_freq = number().unwrap_or(self.fsync_freq),
            "file-fsync-all" => self.fsync_all = is_on(),
            "file-fsync-end" => self.fsync_end = is_on(),
            "file-extra-flags" => self.flags = value.split(',').map(str::to_owned).collect(),
            "file-rw-ratio" => self.rw_ratio = value.parse().unwrap_or(self.rw_ratio),
            "rate" | "tx-rate" => self.rate = (value != "0").then(|| word.to_owned()),
            "report-checkpoints" => self.resets = !value.is_empty(),
            "validate" => self.validates = is_on(),
            "config-file" => self.has_config = true,
            _ => {}
        }
    }

    /// Returns the bytes of each request in this mode, above 0; `None` where those at the ends of the files are shorter.
    pub(super) fn request_bytes(&self, mode: Option<Mode>) -> Option<u64> {
        let request = match mode? {
            Mode::SeqRead | Mode::SeqWrite | Mode::SeqRewrite => self.block_bytes?.checked_mul(self.merged_blocks?)?,
            Mode::RandomRead | Mode::RandomWrite | Mode::RandomMixed => self.block_bytes?,
        };
        let of_file = self.total_bytes?.checked_div(self.files)?;
        (request > 0 && of_file >= request && of_file.is_multiple_of(request)).then_some(request)
    }

    /// Takes over what the report says, which is what sysbench did: a configuration file may have set it, and a text may
    /// have no command.
    pub(super) fn with_printed(mut self, output: &ToolOutput) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let is_run = text.lines().any(|line| line.trim_end() == "File operations:");
        let has_command = self.task.is_some() && !self.has_config;
        if self.task.is_none() && is_run {
            self.task = Some(Task::Run);
        }
        if !is_run {
            return self;
        }
        let is_said = |words: &str| text.lines().any(|line| line.trim_end() == words);
        self.fsync_end = is_said("Calling fsync() at the end of test, Enabled.");
        self.fsync_all = is_said("Calling fsync() after each write operation.");
        self.fsync_freq = 0;
        self.merged_blocks = Some(1);
        for line in text.lines().map(str::trim_end) {
            if let Some(name) = line.strip_prefix("Doing ").and_then(|line| line.strip_suffix(" test")) {
                self.mode = mode_of_words(name).or(self.mode);
            } else if let Some(rest) = line.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
                self.fsync_freq = rest.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(1);
            } else if let Some(text) = line.strip_prefix("Block size ") {
                self.block_bytes = printed_size(text).or(self.block_bytes);
            } else if let Some((files, each)) = line.strip_suffix(" each").and_then(|line| line.split_once(" files, "))
            {
                let Ok(files) = files.parse::<u64>() else { continue };
                self.files = files;
                let printed = printed_size(each).and_then(|bytes| bytes.checked_mul(files));
                // A part of a unit is printed rounded; the command knows it exactly.
                self.total_bytes = printed.or(self.total_bytes.filter(|_| has_command));
            } else if let Some(rest) = line.strip_prefix("Merging requests up to ") {
                let bytes = rest.strip_suffix(" for sequential IO.").and_then(printed_size);
                self.merged_blocks = bytes.zip(self.block_bytes).and_then(|(bytes, block)| bytes.checked_div(block));
            } else if let Some(text) = line.strip_prefix("Number of threads: ") {
                self.threads = text.parse().unwrap_or(self.threads);
            } else if line == "Using asynchronous I/O mode" {
                self.way = Way::Async;
            } else if line.ends_with("mmaped I/O mode") {
                self.way = Way::Mapped;
            }
        }
        self
    }

    pub(super) fn has_flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    /// Returns true if each event is one read or write: no sync is counted among them.
    pub(super) fn events_are_requests(&self) -> bool {
        let reads_only = matches!(self.mode, Some(Mode::SeqRead | Mode::RandomRead));
        let writes_only = matches!(self.mode, Some(Mode::SeqWrite | Mode::SeqRewrite | Mode::RandomWrite));
        let syncs = self.fsync_freq > 0 || self.fsync_all;
        self.way == Way::Sync && (reads_only || writes_only && !syncs)
    }
}

fn mode(value: &str) -> Option<Mode> {
    match value {
        "seqwr" => Some(Mode::SeqWrite),
        "seqrewr" => Some(Mode::SeqRewrite),
        "seqrd" => Some(Mode::SeqRead),
        "rndrd" => Some(Mode::RandomRead),
        "rndwr" => Some(Mode::RandomWrite),
        "rndrw" => Some(Mode::RandomMixed),
        _ => None,
    }
}

fn mode_of_words(words: &str) -> Option<Mode> {
    match words {
        "sequential write (creation)" => Some(Mode::SeqWrite),
        "sequential rewrite" => Some(Mode::SeqRewrite),
        "sequential read" => Some(Mode::SeqRead),
        "random read" => Some(Mode::RandomRead),
        "random write" => Some(Mode::RandomWrite),
        "random r/w" => Some(Mode::RandomMixed),
        _ => None,
    }
}

/// Reads `64M`, `1G`, `16384`: letters are powers of 1024.
pub(super) fn size(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, letter) = text.split_at(end);
    let power = match letter {
        "" => 0,
        letter => ["K", "M", "G", "T"].iter().position(|name| name.eq_ignore_ascii_case(letter))? + 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(1024_u64.checked_pow(u32::try_from(power).ok()?)?)
}

/// Reads `16KiB`; sysbench rounds larger sizes to three digits, which are not read.
fn printed_size(text: &str) -> Option<u64> {
    size(text.strip_suffix("iB").or_else(|| text.strip_suffix('B'))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_in_any_order_and_have_defaults() {
        let given =
            options("sysbench --threads=4 fileio --file-test-mode=rndrw --file-extra-flags=sync,direct run --time=0");
        assert_eq!((given.task, given.mode, given.threads), (Some(Task::Run), Some(Mode::RandomMixed), 4));
        assert!(given.has_flag("direct") && given.fsync_end && given.fsync_freq == 100 && given.seconds == 0);
        assert_eq!((given.block_bytes, given.total_bytes), (Some(16384), Some(2 << 30)));
        assert!(!options("sysbench fileio --file-fsync-end=off run").fsync_end);
        assert_eq!(options("sysbench --test=fileio --file-num=4 prepare").task, Some(Task::Prepare));
        assert_eq!(options("sysbench run --test=fileio").task, Some(Task::Run));
        for other in [
            "sysbench --test=cpu run",
            "sysbench cpu run",
            "sysbench fileio cleanup",
            "sysbench fileio --file-test-mode=rndrd",
            "",
        ] {
            assert_eq!(options(other).task, None, "{other}");
        }
        assert_eq!(
            (size("64M"), size("1g"), size("512"), size("x"), size("1Z")),
            (Some(64 << 20), Some(1 << 30), Some(512), None, None)
        );
    }

    #[test]
    fn the_report_goes_before_the_defaults() {
        let stdout = "Number of threads: 2\nBlock size 4KiB\nPeriodic FSYNC enabled, calling fsync() each 7 requests.\n\
                      Using synchronous I/O mode\nDoing random write test\n\nFile operations:\n";
        let output = ToolOutput { stdout: stdout.into(), ..ToolOutput::default() };
        let read = Options::default().with_printed(&output);
        assert_eq!((read.task, read.mode, read.threads), (Some(Task::Run), Some(Mode::RandomWrite), 2));
        assert_eq!((read.block_bytes, read.fsync_freq, read.fsync_end), (Some(4096), 7, false));
        assert!(!read.events_are_requests());
    }

    #[test]
    fn sequential_requests_are_merged() {
        let given = options("sysbench fileio --file-merged-requests=4 --file-block-size=4096 run");
        assert_eq!(given.request_bytes(Some(Mode::SeqRead)), Some(16384));
        assert_eq!(given.request_bytes(Some(Mode::RandomRead)), Some(4096));
        assert_eq!(given.request_bytes(None), None);
        let unreadable = options("sysbench fileio --file-merged-requests=some run");
        assert_eq!(unreadable.request_bytes(Some(Mode::SeqRead)), None);
        let printed = |merging: &str| {
            let stdout =
                format!("Block size 16KiB\n{merging}Using synchronous I/O mode\nFile operations:\n").into_bytes();
            let output = ToolOutput { stdout, ..ToolOutput::default() };
            given.clone().with_printed(&output).request_bytes(Some(Mode::SeqWrite))
        };
        assert_eq!(printed("Merging requests up to 64KiB for sequential IO.\n"), Some(65536));
        assert_eq!(printed("Merging requests up to many for sequential IO.\n"), None);
        assert_eq!(printed(""), Some(16384));
        assert_eq!(printed("8 files, 24KiB each\n"), None);
        assert_eq!(printed("8 files, 32KiB each\n"), Some(16384));
    }

    #[test]
    fn the_last_request_of_a_file_may_be_shorter() {
        let of = |sizes: &str| options(&format!("sysbench fileio {sizes} run")).request_bytes(Some(Mode::RandomMixed));
        assert_eq!(of("--file-total-size=100M --file-num=128 --file-block-size=64K"), None);
        assert_eq!(of("--file-total-size=100M --file-num=128 --file-block-size=1M"), None);
        assert_eq!(of("--file-total-size=128M --file-num=128 --file-block-size=64K"), Some(65536));
        assert_eq!(of("--file-total-size=some --file-block-size=64K"), None);
    }
}
