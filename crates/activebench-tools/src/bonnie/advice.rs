//! Advice on changing a bonnie++ command line.

use std::collections::BTreeSet;

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

/// The options that take a value, over all versions; `-f` takes one only within the same word.
const WITH_VALUE: &str = "cdgmnprsuxyzZ";
const MIB: f64 = 1024.0 * 1024.0;
/// Largest file size that is suggested for a pass that is too short (1 TiB).
const LARGEST_FILE_MIB: f64 = 1_048_576.0;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let given = Given::new(about.argv, about.version);
    match wanted {
        Improvement::SyncInsideClock => Some(given.durable()),
        Improvement::ReadFromStorage => Some(given.cold_reads(about.beyond_memory_bytes)),
        Improvement::OpenDirect => Some(given.direct()),
        Improvement::RunLonger => about.phase.map(|phase| given.longer(phase, about.times_longer)),
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let given = Given::new(about.argv, about.version);
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss)
            if given.is_old() && !given.options.contains(&'b') =>
        {
            Ok(Change::AddLast(&["-b"]))
        }
        Some(Improvement::ReadFromStorage | Improvement::LargerFile | Improvement::RunLonger) => {
            Err("it takes a larger file than this storage has room for, or one whose size is yours to choose"
                .to_owned())
        }
        _ => Err("no option of bonnie++ fixes it".to_owned()),
    }
}

/// bonnie++ reads what it has just written, so reads are those of the device only with a file that memory cannot hold.
pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let unchanged = || Resized { argv: argv.to_vec(), makes: Vec::new() };
    let larger = [Improvement::ReadFromStorage, Improvement::LargerFile];
    if !about.wanted.iter().any(|wanted| larger.contains(wanted)) {
        return unchanged();
    }
    let Some(bytes) = about.beyond_memory_bytes.filter(|bytes| *bytes <= about.most_bytes) else { return unchanged() };
    let mut words = argv.to_vec();
    match set_size(&mut words, &format!("{}g", bytes.div_ceil(1 << 30))) {
        true => Resized { argv: words, makes: [&larger[..], &[Improvement::RunLonger]].concat() },
        false => unchanged(),
    }
}

/// Replaces the size of the file in a command and keeps the size of a chunk behind it. Returns `false` where the command
/// has no size.
fn set_size(words: &mut [String], size: &str) -> bool {
    for place in 1..words.len() {
        let Some(rest) = words[place].strip_prefix("-s") else { continue };
        let value = if rest.is_empty() { place + 1 } else { place };
        let Some(word) = words.get(value) else { return false };
        let chunk = word.split_once(':').map(|(_, chunk)| format!(":{chunk}")).unwrap_or_default();
        let before = if rest.is_empty() { "" } else { "-s" };
        words[value] = format!("{before}{size}{chunk}");
        return true;
    }
    false
}

/// The command line of bonnie++.
struct Given<'a> {
    options: BTreeSet<char>,
    version: Option<&'a str>,
}

impl<'a> Given<'a> {
    fn new(argv: &[String], version: Option<&'a str>) -> Self {
        Self { options: options(argv), version }
    }

    fn is_old(&self) -> bool {
        self.version.is_none_or(|version| version.starts_with("1.0"))
    }

    /// Only versions before 1.93 omit the sync, and only without `-b`.
    fn durable(&self) -> String {
        match (self.is_old(), self.options.contains(&'b')) {
            (true, false) => "add `-b`: bonnie++ 1.03 then puts an fsync inside the clock".to_owned(),
            _ => "quote the durable rate: bonnie++ has no option that waits longer".to_owned(),
        }
    }

    /// bonnie++ reads what it has just written: only a file larger than memory is read from
    /// storage. `enough` bytes are twice the memory; `None` if that is unknown or was requested.
    fn cold_reads(&self, enough: Option<u64>) -> String {
        let Some(enough) = enough else {
            return "bonnie++ reads what it has just written: read the file again after a fresh mount".to_owned();
        };
        let honest = if self.options.contains(&'r') { ", without `-r`, which switches its own check off" } else { "" };
        format!("use `-s {}g` or more (twice the memory){honest}", enough.div_ceil(1 << 30))
    }

    /// `-D` only takes effect where the file is created.
    fn direct(&self) -> String {
        "bonnie++ opens its file with O_DIRECT only where it creates it: quote the writes alone, or read with another tool"
            .to_owned()
    }

    /// Advises how to make a pass last `factor` times as long.
    fn longer(&self, phase: &Phase, factor: f64) -> String {
        if let Some(files) = phase.names.as_ref().and_then(|names| names.requested) {
            return format!("use more files, about `-n {:.0}`", (files as f64 / 1024.0 * factor).ceil().max(1.0));
        }
        let Some(bytes) = phase.requested_bytes else { return "use a larger file (`-s`)".to_owned() };
        if let (true, Some(chunk)) = (phase.requested_tasks > 1, phase.block_bytes.filter(|chunk| *chunk > 0)) {
            let seeks = (bytes as f64 / chunk as f64 * factor).ceil();
            return format!("make more seeks, about `-s SIZE:{chunk}:{seeks:.0}` (since 1.98)");
        }
        let mebibytes = (bytes as f64 * factor / MIB).ceil().max(1.0);
        if mebibytes > LARGEST_FILE_MIB {
            "use a much larger file (`-s`)".to_owned()
        } else if phase.block_bytes == Some(1) {
            format!("move more by the character, about `-f{mebibytes:.0}`")
        } else {
            format!("use a larger file, about `-s {mebibytes:.0}` ({})", Quantity::bytes((mebibytes * MIB) as u64))
        }
    }
}

/// Returns the letters of the options on a command line.
fn options(argv: &[String]) -> BTreeSet<char> {
    let mut options = BTreeSet::new();
    let mut rest = argv.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-') else { continue };
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            options.insert(letter);
            if letter == 'f' {
                break;
            }
            if WITH_VALUE.contains(letter) {
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
    use activebench_model::phase::Direction;

    use super::*;

    fn given(line: &str, version: Option<&'static str>) -> Given<'static> {
        Given::new(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), version)
    }

    #[test]
    fn an_option_that_was_given_is_not_advised() {
        assert!(given("bonnie -s 64", Some("1.03e")).durable().contains("`-b`"));
        assert!(!given("bonnie -s 64 -qb", Some("1.03e")).durable().contains("`-b`"));
        assert!(!given("bonnie++ -s 64", Some("2.00a")).durable().contains("`-b`"));
        assert!(given("bonnie -m -b", Some("1.03e")).durable().contains("`-b`"));
        assert!(given("bonnie++ -r 0", None).cold_reads(Some(48 << 30)).contains("`-s 48g`"));
        assert!(given("bonnie++ -r 0", None).cold_reads(Some(48 << 30)).contains("without `-r`"));
        assert!(!given("bonnie++ -s 64", None).cold_reads(Some(48 << 30)).contains("`-r`"));
    }

    #[test]
    fn a_file_that_memory_cannot_hold_is_advised_where_there_is_room() {
        let check = |line: &str, most_bytes: u64, expected: &str| {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let about = Sizing {
                files: &[],
                phases: &[],
                rate_bytes_per_sec: None,
                seconds: 10.0,
                most_bytes,
                beyond_memory_bytes: Some(48 << 30),
                wanted: &[Improvement::ReadFromStorage],
            };
            let resized = sized(&argv, &about);
            assert_eq!(resized.argv.join(" "), expected);
            assert_eq!(resized.makes.is_empty(), line == expected);
        };
        check("bonnie++ -s 256:64k -n 0", 100 << 30, "bonnie++ -s 48g:64k -n 0");
        check("bonnie++ -s256", 100 << 30, "bonnie++ -s48g");
        check("bonnie++ -s 256", 40 << 30, "bonnie++ -s 256");
        check("bonnie++ -n 0", 100 << 30, "bonnie++ -n 0");
    }

    #[test]
    fn each_kind_of_pass_has_its_own_way_to_last_longer() {
        let phase = |bytes, block, tasks| Phase {
            requested_bytes: Some(bytes),
            block_bytes: Some(block),
            requested_tasks: tasks,
            ..Phase::planned("id", "name", Direction::Read)
        };
        let bonnie = given("bonnie++ -s 64", Some("2.00a"));
        assert!(bonnie.longer(&phase(64 << 20, 8192, 1), 10.0).contains("`-s 640`"));
        assert!(bonnie.longer(&phase(3 << 20, 1, 1), 4.0).contains("`-f12`"));
        assert!(bonnie.longer(&phase(8192 * 8192, 8192, 5), 10.0).contains(":8192:81920`"));
        assert!(bonnie.longer(&phase(u64::MAX, 8192, 1), 10.0).contains("much larger"));
    }
}
