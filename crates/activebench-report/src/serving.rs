//! What worked for the storage beside the tool: threads of the kernel, FUSE daemons and their requests. One line per phase.
//! Raw text; the format escapes it.

use activebench_model::fact::FactName;
use activebench_model::phase::Phase;
use activebench_model::report::JudgedRun;
use activebench_model::thread_stacks::ServingCpu;
use activebench_model::units::Quantity;

use crate::escape::clipped;
use crate::wording::{PhaseNames, grouped};

/// Threads and daemons named in a line.
const SERVING_NAMED: usize = 4;
/// Longest name, in characters.
const NAME_SHOWN: usize = 40;
/// Share of a CPU below which a thread is not named.
const LEAST_SHOWN: f64 = 0.0005;

/// Returns a line for each of the first `most` phases for which something worked.
pub(crate) fn lines(run: &JudgedRun, most: usize) -> Vec<String> {
    let names = PhaseNames::of(run);
    let known = run.phases.iter().filter_map(|phase| {
        let serving = run.profiles.phases.get(&phase.id).map_or(&[][..], |profile| &profile.serving);
        Some(format!("{}: {}", names.get(&phase.id), line(phase, serving)?))
    });
    known.take(most).collect()
}

/// `bindfs (process 9821) 44 % of a CPU, loop0 1.1 %; 8,193 FUSE requests, 42.2 µs each, 0.85 at a time`; `None` where
/// nothing is known.
fn line(phase: &Phase, serving: &[ServingCpu]) -> Option<String> {
    let window_ns = phase.window?.duration_ns() as f64;
    let mut parts = Vec::new();
    let shares = serving.iter().map(|serving| (serving, serving.cpu_ns as f64 / window_ns));
    let shown = shares.filter(|(_, share)| *share >= LEAST_SHOWN).take(SERVING_NAMED);
    let threads: Vec<String> = shown
        .enumerate()
        .map(|(place, (serving, share))| {
            let process = serving.tgid.map(|tgid| format!(" (process {tgid})")).unwrap_or_default();
            let of_a_cpu = if place == 0 { " of a CPU" } else { "" };
            format!("{}{process} {}{of_a_cpu}", clipped(&serving.name, NAME_SHOWN), percent(share))
        })
        .collect();
    if !threads.is_empty() {
        parts.push(threads.join(", "));
    }
    let fact = |name| phase.facts.get(name).and_then(|fact| fact.value).map(|value| value.value);
    if let Some(requests) = fact(FactName::FuseRequests).filter(|requests| *requests > 0.0) {
        let noun = if requests == 1.0 { "request" } else { "requests" };
        let mut text = format!("{} FUSE {noun}", grouped(requests as u64));
        if let Some(time_ns) = fact(FactName::FuseRequestTime).filter(|_| window_ns > 0.0) {
            let each = Quantity::ns((time_ns / requests) as u64);
            text.push_str(&format!(", {each} each, {:.2} at a time", time_ns / window_ns));
        }
        for (name, meaning) in [
            (FactName::FuseWritebackCache, ", with FUSE's writeback cache"),
            (FactName::FusePassthrough, ", on a mount with passthrough"),
        ] {
            if fact(name).is_some_and(|used| used > 0.0) {
                text.push_str(meaning);
            }
        }
        parts.push(text);
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `44 %`, `1.1 %`, `0.1 %`.
fn percent(share: f64) -> String {
    let digits = if share < 0.1 { 1 } else { 0 };
    format!("{:.digits$} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use activebench_model::fact::{Fact, Scope};
    use activebench_model::phase::{Direction, Window};

    use super::*;

    fn phase() -> Phase {
        let mut phase = Phase::planned("w", "w", Direction::Write);
        phase.window = Some(Window { start_ns: 0, end_ns: 1_000_000_000 });
        phase
    }

    fn serving(name: &str, tgid: Option<u32>, cpu_ns: u64) -> ServingCpu {
        ServingCpu { name: name.to_owned(), tgid, cpu_ns }
    }

    #[test]
    fn threads_and_requests_stand_in_one_line() {
        let mut phase = phase();
        assert_eq!(line(&phase, &[]), None);
        let all = [
            serving("bindfs", Some(9821), 440_000_000),
            serving("loop0", None, 11_000_000),
            serving("jbd2/loop0-8", None, 400_000),
        ];
        let threads = "bindfs (process 9821) 44 % of a CPU, loop0 1.1 %";
        assert_eq!(line(&phase, &all).as_deref(), Some(threads));
        for (name, value) in [
            (FactName::FuseRequests, Quantity::count(8_192)),
            (FactName::FuseRequestTime, Quantity::ns(500_000_000)),
            (FactName::FuseWritebackCache, Quantity::count(1)),
            (FactName::FusePassthrough, Quantity::count(0)),
        ] {
            phase.facts.insert(name, Fact::complete(value, Scope::File, "test"));
        }
        let requests = "8,192 FUSE requests, 61.0 µs each, 0.50 at a time, with FUSE's writeback cache";
        assert_eq!(line(&phase, &all), Some(format!("{threads}; {requests}")));
        assert_eq!(line(&phase, &all[2..]).as_deref(), Some(requests));
    }
}
