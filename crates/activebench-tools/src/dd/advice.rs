//! Advice on changing a command line of dd. Operands that are lists (`conv=`, `oflag=`) add up, so that each can be added
//! behind the others.

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};

use super::options::{Options, Side};

/// Direct I/O needs whole blocks of the device; 4096 bytes are the largest.
const DIRECT_BLOCK: u64 = 4096;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let options = Options::parse(about.argv);
    match wanted {
        Improvement::SyncInsideClock | Improvement::SurvivePowerLoss => Some(match options.has_conv("fsync") {
            true => "quote the durable rate: `conv=fsync` was given".to_owned(),
            false => "add `conv=fsync`: dd then syncs before it stops its clock".to_owned(),
        }),
        Improvement::ReadFromStorage => Some(match reads_directly(&options) {
            Ok(words) => format!("add `{}`", words.join(" ")),
            Err(why) => format!("read a file that is not in memory: {why}"),
        }),
        Improvement::RandomPayload => {
            Some("copy a file of random data that was read before: `if=/dev/urandom` is as slow as the CPU".to_owned())
        }
        Improvement::RunLonger if options.count.is_some() => {
            let count = options.count? as f64 * about.times_longer;
            Some(format!("copy more, about `count={:.0}`", count.ceil()))
        }
        _ => None,
    }
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let options = Options::parse(about.argv);
    match wanted {
        Some(Improvement::SyncInsideClock | Improvement::SurvivePowerLoss) if !options.has_conv("fsync") => {
            Ok(Change::AddLast(&["conv=fsync"]))
        }
        Some(Improvement::ReadFromStorage) => reads_directly(&options).map(Change::AddLast),
        Some(Improvement::RunLonger | Improvement::LargerFile) => {
            Err("it takes a larger input, whose size is yours to choose".to_owned())
        }
        Some(Improvement::RandomPayload) => {
            Err("it takes an input of random data that is read as fast as the disk writes".to_owned())
        }
        _ => Err("no operand of dd fixes it".to_owned()),
    }
}

/// Returns the operands with which dd reads past the page cache.
fn reads_directly(options: &Options) -> Result<&'static [&'static str], String> {
    if options.has_iflag("direct") {
        return Err("`iflag=direct` was given".to_owned());
    }
    if options.input() != Side::Named {
        return Err("standard input cannot be opened again".to_owned());
    }
    match options.read_block() {
        _ if !options.sets_block() && !options.is_counted => Ok(&["iflag=direct", "bs=1M"]),
        Some(block) if block % DIRECT_BLOCK == 0 => Ok(&["iflag=direct"]),
        _ => Err(format!("`iflag=direct` needs a block size (`bs=`) of whole {DIRECT_BLOCK} bytes")),
    }
}

/// A generator is as long as `count` says.
pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let unchanged = || Resized { argv: argv.to_vec(), makes: Vec::new() };
    let options = Options::parse(argv);
    let size = || {
        let (bytes, count) = (options.requested_bytes()?, options.count?);
        let wanted = (about.rate_bytes_per_sec? * about.seconds).min(about.most_bytes as f64);
        let times = wanted / bytes as f64;
        (times > 1.0 && bytes > 0).then_some((count as f64 * times) as u64)
    };
    let Some(count) = size() else { return unchanged() };
    let mut words = argv.to_vec();
    let Some(word) = words.iter_mut().rfind(|word| word.starts_with("count=")) else { return unchanged() };
    *word = format!("count={count}");
    Resized { argv: words, makes: vec![Improvement::RunLonger] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str, wanted: Improvement) -> Result<Change, String> {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let about = Circumstances {
            argv: &argv,
            files: &[],
            version: None,
            phases: &[],
            phase: None,
            beyond_memory_bytes: None,
            mount_point: None,
            times_longer: 1.0,
        };
        change(Some(wanted), &about)
    }

    #[test]
    fn one_operand_asks_the_same_question_honestly() {
        let sync = |line| changed(line, Improvement::SyncInsideClock);
        assert_eq!(sync("dd if=/dev/zero of=f bs=1M count=9 conv=notrunc"), Ok(Change::AddLast(&["conv=fsync"])));
        assert!(sync("dd if=/dev/zero of=f bs=1M count=9 conv=fsync").is_err());
        let read = |line| changed(line, Improvement::ReadFromStorage);
        assert_eq!(read("dd if=f of=/dev/null bs=64k"), Ok(Change::AddLast(&["iflag=direct"])));
        assert_eq!(read("dd if=f of=/dev/null"), Ok(Change::AddLast(&["iflag=direct", "bs=1M"])));
        for line in ["dd if=f of=/dev/null bs=1000", "dd of=/dev/null bs=1M", "dd if=f of=/dev/null bs=1M iflag=direct"]
        {
            assert!(read(line).is_err(), "{line}");
        }
        assert!(changed("dd if=/dev/zero of=f", Improvement::RandomPayload).is_err());
    }

    #[test]
    fn a_generator_is_asked_for_more() {
        let about = Sizing {
            files: &[],
            phases: &[],
            rate_bytes_per_sec: Some(100e6),
            seconds: 10.0,
            most_bytes: 100 << 30,
            beyond_memory_bytes: None,
            wanted: &[],
        };
        let words = |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let longer = |line: &str| sized(&words(line), &about).argv.join(" ");
        assert_eq!(longer("dd if=/dev/zero of=f bs=1MB count=10"), "dd if=/dev/zero of=f bs=1MB count=1000");
        for same in ["dd if=g of=f bs=1MB count=10", "dd if=/dev/zero of=f bs=1M count=99999", "dd if=/dev/zero of=f"] {
            assert_eq!(longer(same), same);
        }
    }
}
