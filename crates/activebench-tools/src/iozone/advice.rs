//! Advice on changing an iozone command line.

use std::collections::BTreeSet;

use activebench_model::advice::{Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::phase::Pattern;

/// The options of iozone 3.489 that take a value, so that the value is not read as options.
const WITH_VALUE: &str = "bdfgHijJklLnPqrsStuUVXyYF";
/// Largest file size that is suggested for a pass that is too short (1 TiB).
const LARGEST_FILE_MIB: f64 = 1_048_576.0;

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let given = options(about.argv);
    let has = |option: &str| given.contains(option);
    let said = match wanted {
        Improvement::SyncInsideClock => match (has("-e"), has("-c")) {
            (false, false) => "add `-e -c`: the clock then covers the fsync and the close",
            (false, true) => "add `-e`: with `-c` alone iozone leaves the fsync out",
            (true, _) => "quote the durable rate: `-e` is given, and the sync still ended after the clock",
        },
        Improvement::SurvivePowerLoss if has("-e") => "quote it as written to the device's cache",
        Improvement::SurvivePowerLoss => "add `-e`, if the figure is to hold over a power cut",
        Improvement::CountAllTasks if has("-x") => "quote the parent's figure",
        Improvement::CountAllTasks => {
            "quote the parent's figure, and add `-x`: every task is then timed to its own end"
        }
        Improvement::MapFiles if !has("-B") => "add `-B`: without mapped files the option does nothing",
        Improvement::AvoidMappings if has("-B") || has("-D") => {
            "run without `-B` and `-D` where the figure is to be verified"
        }
        Improvement::RandomPayload if has("-+w") => {
            "let the tool write data that is random and never the same twice: `-+w` is given, look at its percentage"
        }
        Improvement::RandomPayload => {
            "let the tool write data that is random and never the same twice: add `-+w 0 -+y 0 -+C 0`"
        }
        Improvement::ReadFromStorage => return Some(cold_reads(&given, about)),
        Improvement::RunLonger => return larger_file(&given, about),
        _ => return None,
    };
    Some(said.to_owned())
}

pub(super) fn change(wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
    let given = options(about.argv);
    let lacking = |added: &'static [&'static str]| match added
        .iter()
        .filter(|option| option.starts_with('-'))
        .all(|option| given.contains(*option))
    {
        false => Ok(Change::AddLast(added)),
        true => Err("the option that fixes it is already given".to_owned()),
    };
    match wanted {
        Some(Improvement::SyncInsideClock) => lacking(&["-e", "-c"]),
        Some(Improvement::SurvivePowerLoss) => lacking(&["-e"]),
        Some(Improvement::CountAllTasks) if given.contains("-t") => lacking(&["-x"]),
        Some(Improvement::MapFiles) if given.contains("-G") || given.contains("-D") => lacking(&["-B"]),
        Some(Improvement::ReadFromStorage) => lacking(&["-I"]),
        Some(Improvement::RandomPayload) => lacking(&["-+w", "0", "-+y", "0", "-+C", "0"]),
        Some(Improvement::LeaveOutVerification) if about.argv.iter().any(|word| word == "-+d") => {
            Ok(Change::DropWord("-+d"))
        }
        Some(Improvement::RunLonger) => Err("it takes a larger file: how large is yours to choose".to_owned()),
        _ => Err("no option of iozone fixes it".to_owned()),
    }
}

/// Largest file that is suggested, in bytes: large enough for 10 s at 3.2 GiB/s.
const LARGEST_BYTES: f64 = 32.0 * 1024.0 * 1024.0 * 1024.0;

pub(super) fn sized(argv: &[String], about: &Sizing<'_>) -> Resized {
    let given = options(argv);
    let mut words = argv.to_vec();
    let has = |option: &str| given.contains(option);
    let is_sequential = about.phases.iter().all(|phase| phase.pattern == Pattern::Sequential);
    // A table over many sizes has its own. How fast single blocks at random places are is not known from a sequential
    // rate.
    let is_table = about.phases.is_empty() || ["-a", "-A", "-z", "-n", "-g", "-y", "-q"].into_iter().any(has);
    if is_table || !is_sequential {
        return Resized { argv: words, makes: Vec::new() };
    }
    // 4 KiB at a time, one after the other, say little about a sequential rate.
    if has("-I") && !has("-r") {
        words.push("-r1m".to_owned());
    }
    let makes = match longer_size(about) {
        Some(size) if set_size(&mut words, &size) => vec![Improvement::RunLonger],
        _ => Vec::new(),
    };
    Resized { argv: words, makes }
}

/// Returns the file size of each task, as an option's value, at which a pass takes the wanted time; `None` where that
/// is not known, or no more than it is.
fn longer_size(about: &Sizing<'_>) -> Option<String> {
    let rate = about.rate_bytes_per_sec.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let tasks = about.phases.iter().map(|phase| phase.requested_tasks.max(1)).max().unwrap_or(1);
    let present = about.phases.iter().filter_map(|phase| phase.requested_bytes).min()? as f64;
    if present >= rate * about.seconds / 2.0 {
        return None;
    }
    let wanted = (rate * about.seconds).min(LARGEST_BYTES).min(about.most_bytes as f64) / f64::from(tasks);
    let mebibytes = wanted / (1024.0 * 1024.0);
    let size = match mebibytes {
        large if large >= 1024.0 => format!("{:.0}g", (large / 1024.0).round()),
        small => format!("{:.0}m", (small / 64.0).floor() * 64.0),
    };
    (wanted * f64::from(tasks) > present && size != "0m").then_some(size)
}

/// Replaces the file size of a command, in one word or two. Returns `false` where it has none.
fn set_size(words: &mut [String], size: &str) -> bool {
    let begins_with_digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    for place in 1..words.len() {
        let Some(rest) = words[place].strip_prefix("-s") else { continue };
        if begins_with_digit(rest) {
            words[place] = format!("-s{size}");
            return true;
        }
        if rest.is_empty() && words.get(place + 1).is_some_and(|next| begins_with_digit(next)) {
            size.clone_into(&mut words[place + 1]);
            return true;
        }
    }
    false
}

pub(super) fn option_of_pauses(argv: &[String]) -> Option<String> {
    options(argv).contains("-J").then(|| "-J".to_owned())
}

fn cold_reads(given: &BTreeSet<String>, about: &Circumstances<'_>) -> String {
    let has = |option: &str| given.contains(option);
    let mut ways = Vec::new();
    if !has("-I") {
        ways.push("`-I` (O_DIRECT)".to_owned());
    }
    if let Some(mount) = about.mount_point.filter(|mount| *mount != "/")
        && !has("-U")
        && !has("-t")
    {
        ways.push(format!("`-U {mount}` (unmounts and mounts it between the passes; it must be in /etc/fstab)"));
    }
    if let Some(bytes) = about.beyond_memory_bytes {
        let option = if has("-a") { "-g" } else { "-s" };
        let tasks = about.phase.map_or(1, |phase| u64::from(phase.requested_tasks.max(1)));
        let gibibytes = bytes.div_ceil(tasks).div_ceil(1 << 30);
        ways.push(format!("`{option} {gibibytes}g` or more (twice the memory)"));
    }
    match ways.is_empty() {
        true => "compare with a run on a freshly mounted file system".to_owned(),
        false => format!("use {}", ways.join(", or ")),
    }
}

/// Suggests a larger file; `None` if the size of the pass is unknown.
fn larger_file(given: &BTreeSet<String>, about: &Circumstances<'_>) -> Option<String> {
    let phase = about.phase?;
    let (requested, tasks) = (phase.requested_bytes?, f64::from(phase.requested_tasks.max(1)));
    let option = if given.contains("-a") { "-g" } else { "-s" };
    let mebibytes = (requested as f64 / tasks * about.times_longer / (1024.0 * 1024.0)).ceil().max(1.0);
    Some(if mebibytes > LARGEST_FILE_MIB {
        format!("use a much larger file (`{option}`)")
    } else if mebibytes < 1024.0 {
        format!("use a larger file, about `{option} {mebibytes:.0}m`")
    } else {
        format!("use a larger file, about `{option} {:.0}g`", (mebibytes / 1024.0).ceil())
    })
}

/// Returns the options on a command line: `-e`, `-+d`. Values are omitted.
fn options(argv: &[String]) -> BTreeSet<String> {
    let mut options = BTreeSet::new();
    let mut rest = argv.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix('-') else { continue };
        if letters.starts_with('+') {
            options.insert(format!("-{}", letters.chars().take(2).collect::<String>()));
            continue;
        }
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            options.insert(format!("-{letter}"));
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
    use super::*;

    #[test]
    fn options_are_found_in_any_spelling_and_values_are_not_options() {
        fn check(argv: &[&str], expected: &[&str]) {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let expected: BTreeSet<String> = expected.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(options(&argv), expected, "{argv:?}");
        }
        check(&["iozone", "-ec", "-i0", "-s", "1g"], &["-e", "-c", "-i", "-s"]);
        check(&["iozone3", "-J", "10", "-e"], &["-J", "-e"]);
        check(&["/usr/bin/iozone", "-f", "-e", "-+d"], &["-f", "-+d"]);
        check(&["iozone", "-e", "-fa b"], &["-e", "-f"]);
        check(&["./bench", "-I"], &["-I"]);
        check(&["iozone", "-s"], &["-s"]);
        check(&[], &[]);
    }
}
