//! iozone's own command line, parsed as iozone parses it.
//!
//! iozone uses `getopt(3)` with an option string of single letters, and a private
//! second level after `-+`. This module contains the options given; `plan` derives from them which
//! tests run on which sizes.

/// Option letters that take a value, as in iozone's `getopt` string (3.263 to 3.489).
pub(super) const WITH_VALUE: &str = "JjkVrtsfFdluUSLH+PibXYgnyq";
/// Option letters without a value.
const WITHOUT_VALUE: &str = "ZQNIBDGCTOMREWovAxamwphcezK";
/// Letters after `-+` that take the next argument as their value.
pub(super) const PLUS_WITH_VALUE: &str = "abchmxipAqKwyCSWHPOQMR";

/// iozone's file size without `-s`, in KiB.
const DEFAULT_FILE_KIB: u64 = 512;
/// iozone's record size without `-r`, in bytes.
const DEFAULT_RECORD_BYTES: u64 = 4096;

/// Options that move the file's data through a mapping instead of `read` and `write`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping {
    /// `-B`.
    pub plain: bool,
    /// `-D`: implies a mapping.
    pub msync_async: bool,
    /// `-G`: does not imply a mapping; without `-B` or `-D` it has no effect.
    pub msync_sync: bool,
}

impl Mapping {
    /// Returns true if the file is mapped.
    pub(super) fn active(self) -> bool {
        self.plain || self.msync_async
    }
}

/// The options of a command line. An absent value was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// True if there was a command line.
    pub known: bool,
    /// `-i`, ascending, each once; empty means every test.
    pub tests: Vec<u32>,
    /// `-s`, in KiB, in the order given.
    pub sizes_kib: Vec<u64>,
    /// `-r`, in bytes, in the order given.
    pub records_bytes: Vec<u64>,
    /// `-n`, in KiB.
    pub min_file_kib: Option<u64>,
    /// `-g`, in KiB.
    pub max_file_kib: Option<u64>,
    /// `-y`, in bytes.
    pub min_record_bytes: Option<u64>,
    /// `-q`, in bytes.
    pub max_record_bytes: Option<u64>,
    /// `-+x`.
    pub multiplier: Option<u64>,
    /// `-a` or `-A`.
    pub auto: bool,
    /// `-z`, or an option that implies it.
    pub no_crossover: bool,
    /// `-e`.
    pub include_flush: bool,
    /// `-c`.
    pub include_close: bool,
    /// `-o`.
    pub sync_writes: bool,
    /// `-+D`.
    pub data_sync_writes: bool,
    /// `-+r`.
    pub read_sync: bool,
    /// `-I`.
    pub direct: bool,
    /// `-B`, `-D`, `-G`.
    pub mapping: Mapping,
    /// `-Z`.
    pub mixed_mapping: bool,
    /// `-H` or `-k` with the depth.
    pub asynchronous: Option<(char, u32)>,
    /// `-O`.
    pub operations: bool,
    /// `-N`.
    pub microseconds: bool,
    /// `-+n`.
    pub no_retest: bool,
    /// `-E`.
    pub extended: bool,
    /// `-t`, in the order given.
    pub streams: Vec<u32>,
    /// `-l`.
    pub min_streams: Option<u32>,
    /// `-u`.
    pub max_streams: Option<u32>,
    /// `-T`.
    pub threads: bool,
    /// `-x`.
    pub no_stonewall: bool,
    /// `-+k`.
    pub constant_aggregate: bool,
    /// `-+B`.
    pub sequential_mix: bool,
    /// `-J`: milliseconds of computation before each operation.
    pub compute_ms: Option<u64>,
    /// `-+p`: percent of the tasks that read in the mixed test.
    pub mix_percent: Option<u32>,
    /// `-f`.
    pub file: Option<String>,
    /// `-F`.
    pub files: Vec<String>,
    /// `-V`.
    pub verify: bool,
    /// `-+d`.
    pub diagnose: bool,
    /// `-U`.
    pub remount: bool,
    /// `-p`.
    pub purge_cpu_cache: bool,
    /// `-K`.
    pub jitter: bool,
    /// `-v`, `-h`: iozone prints and exits.
    pub runs_nothing: bool,
    /// `-X`: the writes' offsets and sizes come from a file.
    pub write_telemetry: bool,
    /// `-Y`: the reads' offsets and sizes come from a file.
    pub read_telemetry: bool,
    /// Options that iozone does not know either, as given.
    pub unknown: Vec<String>,
}

impl Options {
    /// Parses a command line, the program's name included. Never fails: options that iozone would
    /// refuse are kept in `unknown`, and a value that is not a number counts as 0 as with `atoi`.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut options = Options { known: !argv.is_empty(), ..Options::default() };
        let mut index = 1;
        while let Some(argument) = argv.get(index) {
            index += 1;
            if argument == "--" {
                break;
            }
            let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                continue;
            };
            for (position, letter) in letters.char_indices() {
                if WITHOUT_VALUE.contains(letter) {
                    options.set_flag(letter);
                } else if WITH_VALUE.contains(letter) {
                    let attached = &letters[position + letter.len_utf8()..];
                    let value = if attached.is_empty() {
                        index += 1;
                        argv.get(index - 1).map_or("", String::as_str)
                    } else {
                        attached
                    };
                    match letter {
                        '+' => options.set_plus(value, argv, &mut index),
                        'F' => options.set_files(value, argv, &mut index),
                        _ => options.set_value(letter, value),
                    }
                    break;
                } else {
                    options.unknown.push(format!("-{letter}"));
                }
            }
        }
        options.restrict_to_telemetry();
        options.tests.sort_unstable();
        options.tests.dedup();
        if options.sizes_kib.len() > 1 || options.records_bytes.len() > 1 {
            options.no_crossover = true;
        }
        options
    }

    fn set_flag(&mut self, letter: char) {
        match letter {
            'a' => self.auto = true,
            'A' => {
                self.auto = true;
                self.no_crossover = true;
                self.tests.extend([0, 1]);
            }
            'z' => self.no_crossover = true,
            'e' => self.include_flush = true,
            'c' => self.include_close = true,
            'o' => self.sync_writes = true,
            'I' => self.direct = true,
            // iozone takes back an earlier -D and -G: `-G -B` syncs no record.
            'B' => self.mapping = Mapping { plain: true, ..Mapping::default() },
            'D' => self.mapping.msync_async = true,
            'G' => self.mapping.msync_sync = true,
            'Z' => self.mixed_mapping = true,
            'O' => self.operations = true,
            'N' => self.microseconds = true,
            'E' => self.extended = true,
            'T' => self.threads = true,
            'x' => self.no_stonewall = true,
            'p' => self.purge_cpu_cache = true,
            'K' => self.jitter = true,
            'h' | 'v' => self.runs_nothing = true,
            // Reports, locks, child counts, help: none of them changes a window.
            _ => {}
        }
    }

    fn set_value(&mut self, letter: char, value: &str) {
        match letter {
            'i' => self.tests.push(test_number(value)),
            's' => self.sizes_kib.push(kib(value).filter(|&size| size > 0).unwrap_or(DEFAULT_FILE_KIB)),
            'r' => self.records_bytes.push(record_bytes(value)),
            'n' => self.min_file_kib = Some(kib(value).unwrap_or(0).max(4)),
            'g' => self.max_file_kib = Some(kib(value).unwrap_or(0).max(4)),
            'y' => self.min_record_bytes = Some(record_bytes(value)),
            'q' => self.max_record_bytes = Some(record_bytes(value)),
            't' => self.streams.push(u32::try_from(number(value)).ok().filter(|&n| n > 0).unwrap_or(8)),
            'l' => self.min_streams = Some(count(value).max(1)),
            'u' => self.max_streams = Some(count(value).max(1)),
            'f' => self.file = Some(value.to_owned()),
            'H' | 'k' => self.asynchronous = Some((letter, count(value))),
            'J' => self.compute_ms = Some(number(value)),
            'V' => self.verify = true,
            'U' => self.remount = true,
            'X' => self.write_telemetry = true,
            'Y' => self.read_telemetry = true,
            // -j -d -S -L -P -b: none of them changes the tests or a window.
            _ => {}
        }
    }

    /// Sets an option of the second level: its letter is the first of `value`, and its own value is always
    /// the next argument.
    fn set_plus(&mut self, value: &str, argv: &[String], index: &mut usize) {
        let Some(letter) = value.chars().next() else {
            self.unknown.push("-+".to_owned());
            return;
        };
        let argument = if PLUS_WITH_VALUE.contains(letter) {
            *index += 1;
            argv.get(*index - 1).map_or("", String::as_str)
        } else {
            ""
        };
        match letter {
            'n' => self.no_retest = true,
            'd' => self.diagnose = true,
            'r' => self.read_sync = true,
            'D' => self.data_sync_writes = true,
            'k' => self.constant_aggregate = true,
            'B' => self.sequential_mix = true,
            'p' => self.mix_percent = Some(count(argument)),
            'x' => self.multiplier = Some(u64::from(count(argument)).max(2)),
            _ if PLUS_WITH_VALUE.contains(letter) || "FNustlLJVETXZzUv".contains(letter) => {}
            _ => self.unknown.push(format!("-+{letter}")),
        }
    }

    /// Reads the names of `-F`, one per stream, so `-t` comes before it.
    fn set_files(&mut self, first: &str, argv: &[String], index: &mut usize) {
        self.files.push(first.to_owned());
        let streams = self.streams.iter().copied().chain(self.max_streams).max().unwrap_or(1);
        for _ in 1..streams {
            let Some(name) = argv.get(*index) else { return };
            *index += 1;
            self.files.push(name.clone());
        }
    }

    /// Restricts the tests: with offsets from a file iozone only runs write and read tests.
    fn restrict_to_telemetry(&mut self) {
        if !self.telemetry() {
            return;
        }
        self.tests.retain(|test| *test < 2);
        if self.read_telemetry && !self.tests.contains(&1) {
            self.tests.extend([0, 1]);
        }
        if self.write_telemetry && !self.tests.contains(&0) {
            self.tests.push(0);
        }
    }

    /// Returns true if offsets and sizes come from a file.
    pub(super) fn telemetry(&self) -> bool {
        self.write_telemetry || self.read_telemetry
    }

    /// Returns true if the throughput mode is requested.
    pub(super) fn is_throughput(&self) -> bool {
        !self.streams.is_empty() || self.min_streams.is_some() || self.max_streams.is_some()
    }

    /// Returns true if the table has rows for several sizes.
    pub(super) fn loops(&self) -> bool {
        self.auto || self.sizes_kib.len() > 1 || self.records_bytes.len() > 1
    }

    /// Returns the file size of a run that does not loop, in KiB.
    pub(super) fn single_file_kib(&self) -> u64 {
        self.sizes_kib.last().copied().unwrap_or(DEFAULT_FILE_KIB)
    }

    /// Returns the record size of a run that does not loop, in bytes.
    pub(super) fn single_record_bytes(&self) -> u64 {
        self.records_bytes.last().copied().unwrap_or(DEFAULT_RECORD_BYTES)
    }

    /// Returns true if a test is requested.
    pub(super) fn wants(&self, test: u32) -> bool {
        self.tests.is_empty() || self.tests.contains(&test)
    }

    /// Returns true if helper threads of glibc make the calls on the file.
    pub(super) fn is_asynchronous(&self) -> bool {
        self.asynchronous.is_some()
    }
}

/// Parses like `atoi`: leading blanks, digits, the rest ignored; a negative number counts as 0.
fn number(value: &str) -> u64 {
    let digits = value.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

fn count(value: &str) -> u32 {
    u32::try_from(number(value)).unwrap_or(u32::MAX)
}

/// Parses a test number. Numbers above the last known one select test 0, as in iozone.
fn test_number(value: &str) -> u32 {
    match count(value) {
        test @ 0..=12 => test,
        _ => 0,
    }
}

/// Parses a size with the unit k (the default), m or g, in KiB; `None` on overflow.
fn kib(value: &str) -> Option<u64> {
    let factor = match value.chars().last() {
        Some('m' | 'M') => 1 << 10,
        Some('g' | 'G') => 1 << 20,
        _ => 1,
    };
    number(value).checked_mul(factor)
}

fn record_bytes(value: &str) -> u64 {
    kib(value).and_then(|size| size.checked_mul(1024)).filter(|&size| size > 0).unwrap_or(DEFAULT_RECORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Options {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn check(line: &str, expected: Options) {
        assert_eq!(parse(line), Options { known: true, ..expected }, "{line}");
    }

    #[test]
    fn values_may_be_attached_separate_or_bundled() {
        let expected = Options { tests: vec![0, 1], sizes_kib: vec![1 << 20], ..Options::default() };
        check("iozone -i 0 -i 1 -s 1g", expected.clone());
        check("iozone -i0 -i1 -s1G", expected.clone());
        check("iozone -i1 -i0 -i0 -s 1024m", expected.clone());
        check(
            "iozone -cezi0 -i1 -s1048576",
            Options { include_close: true, include_flush: true, no_crossover: true, ..expected },
        );
    }

    #[test]
    fn sizes_have_kib_as_their_unit() {
        check(
            "iozone -s 100k -r 64 -y 4k -q 16m -n 64 -g 2g",
            Options {
                sizes_kib: vec![100],
                records_bytes: vec![65536],
                min_record_bytes: Some(4096),
                max_record_bytes: Some(16 << 20),
                min_file_kib: Some(64),
                max_file_kib: Some(2 << 20),
                ..Options::default()
            },
        );
        check(
            "iozone -s nonsense -r",
            Options { sizes_kib: vec![512], records_bytes: vec![4096], ..Options::default() },
        );
    }

    #[test]
    fn several_sizes_make_a_loop_without_crossover() {
        let options = parse("iozone -s 1m -s 2m -r 4 -r 8");
        assert!(options.loops() && options.no_crossover && !options.auto);
        assert!(!parse("iozone -s 1m").loops());
    }

    #[test]
    fn plus_options_are_a_second_level() {
        check(
            "iozone -+n -+d -+r -+D -+u -+p 70 -+x 4 -e",
            Options {
                no_retest: true,
                diagnose: true,
                read_sync: true,
                data_sync_writes: true,
                mix_percent: Some(70),
                multiplier: Some(4),
                include_flush: true,
                ..Options::default()
            },
        );
        check("iozone -+ n -+", Options { no_retest: true, unknown: vec!["-+".to_owned()], ..Options::default() });
    }

    #[test]
    fn throughput_options() {
        let options = parse("iozone -t 2 -F a b -T -C -x -i 0");
        assert_eq!((options.streams, options.files), (vec![2], vec!["a".to_owned(), "b".to_owned()]));
        assert!(options.threads && options.no_stonewall);
        let options = parse("iozone -l 1 -u 3 -Fa b c -O");
        assert_eq!((options.min_streams, options.max_streams), (Some(1), Some(3)));
        assert_eq!(options.files, ["a", "b", "c"]);
        assert_eq!(parse("iozone -t 3 -F only").files, ["only"]);
    }

    #[test]
    fn mapping_and_asynchronous_options() {
        assert!(parse("iozone -B").mapping.active());
        assert!(parse("iozone -D").mapping.active());
        assert!(!parse("iozone -G").mapping.active());
        let syncs = |command| (parse(command).mapping.msync_async, parse(command).mapping.msync_sync);
        assert_eq!((syncs("iozone -B -D"), syncs("iozone -B -G")), ((true, false), (false, true)));
        assert_eq!((syncs("iozone -D -B"), syncs("iozone -G -B")), ((false, false), (false, false)));
        assert_eq!(parse("iozone -H 4 -k2").asynchronous, Some(('k', 2)));
    }

    #[test]
    fn offsets_from_a_file_leave_writes_and_reads_alone() {
        assert_eq!(parse("iozone -X w -i 0 -i 1 -i 2").tests, [0, 1]);
        assert_eq!(parse("iozone -X w").tests, [0]);
        assert_eq!(parse("iozone -Y r").tests, [0, 1]);
    }

    #[test]
    fn what_iozone_does_not_know_is_kept_and_breaks_nothing() {
        let options = parse("iozone -@ --long -+% stray -e - -- -c");
        assert!(options.include_flush && !options.include_close);
        assert!(options.unknown.starts_with(&["-@".to_owned(), "--".to_owned()]), "{:?}", options.unknown);
        assert!(options.unknown.contains(&"-+%".to_owned()));
    }
}
