//! Outcome of a drawn run's report, checked against independent counts: the device's, and fio's own log of its I/O.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::truth::case::{Case, Drawn, Kind};
use crate::truth::outcome::{
    Outcome, Severity, falsely_confirmed, is_traced, list, right_that_settles, severity, shown, text,
};

/// Largest accepted difference of a figure, as a share of it.
const TOLERANCE: f64 = 0.01;
/// Time that a tool's clock may hide: fio prints whole milliseconds, rounded up, and reads its clock before it opens
/// files.
const CLOCK_STEP_NS: f64 = 5e6;
/// Share of the bytes read from which on a cache did not deliver them.
const COLD: f64 = 0.5;
/// Time that it may hide on busy CPUs in a rate that is too low: a tool may wait for a CPU between its clock and its
/// calls, for which no call shows why.
const WAIT_NS: f64 = 20e6;
/// Name of fio's I/O log in a drawn run, in the folder beside the volume.
pub(super) const IO_LOG: &str = "io.log";

/// Bytes that a device moved, from its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

impl Moved {
    /// Parses `/sys/block/NAME/stat`, whose sectors have 512 bytes; `None` for another text.
    pub fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<u64> = stat.split_whitespace().map_while(|field| field.parse().ok()).collect();
        Some(Self { read_bytes: fields.get(2)? * 512, write_bytes: fields.get(6)? * 512 })
    }

    /// Returns the bytes moved since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

/// Returns the outcome of a drawn run with this report. `beside` is the folder in which fio may have left its I/O log.
pub fn outcome(case: &Case, drawn: &Drawn, report: &Value, moved: Option<Moved>, beside: &Path) -> Outcome {
    if report.is_null() {
        return Outcome::Broken("activebench printed no report".to_owned());
    }
    if report["verdict"] == "failed" {
        return Outcome::Broken("the benchmark failed".to_owned());
    }
    let outcome = match drawn {
        Drawn::Lie(codes) => lie(codes, report),
        Drawn::Honest => honest(case, report, moved, beside),
    };
    if is_traced(report) { without_rights(case, outcome, report) } else { outcome }
}

/// A tracer sees less than the kernel programs: a run of which it says nothing false may be undecided, if the report names
/// the right that settles it. A lie whose rates are all contradicted is found, whichever detector says why.
fn without_rights(case: &Case, outcome: Outcome, report: &Value) -> Outcome {
    let runs = std::slice::from_ref(report);
    let names_right = right_that_settles(case, runs).is_some();
    match outcome {
        Outcome::Miss(_) | Outcome::Undecided { .. } if case.kind() == Kind::Lie && rates_contradicted(report) => {
            Outcome::Hit
        }
        Outcome::Miss(why) if names_right && falsely_confirmed(case, runs) == 0 => {
            Outcome::Undecided { why, foreseen: true }
        }
        Outcome::Undecided { why, .. } => Outcome::Undecided { why, foreseen: names_right },
        other => other,
    }
}

/// Returns `true` if there are rates, and each of them is contradicted.
fn rates_contradicted(report: &Value) -> bool {
    let is_rate = |claim: &&Value| matches!(text(claim, "metric"), "throughput" | "operation-rate");
    let mut rates = list(report, "claims").iter().filter(is_rate).peekable();
    rates.peek().is_some() && rates.all(|claim| matches!(text(claim, "verdict"), "misleading" | "refuted"))
}

fn lie(codes: &[&str], report: &Value) -> Outcome {
    if list(report, "claims").is_empty() {
        return Outcome::Broken("nothing was claimed: it is not a lie".to_owned());
    }
    let of_it = || list(report, "findings").iter().filter(|finding| codes.contains(&text(finding, "code")));
    if of_it().any(|finding| finding["outcome"] == "fires" && severity(finding) >= Severity::Warn) {
        return Outcome::Hit;
    }
    if let Some(why) = is_cold(codes, report) {
        return Outcome::NotRun(why);
    }
    match of_it().find(|finding| finding["outcome"] == "undecided") {
        Some(finding) => Outcome::Undecided { why: shown(finding), foreseen: false },
        None => {
            let fired = list(report, "findings").iter().filter(|finding| finding["outcome"] == "fires");
            let mut fired: Vec<&str> = fired.map(|finding| text(finding, "code")).collect();
            fired.dedup();
            let (codes, fired) = (codes.join(" nor "), fired.join(", "));
            Outcome::Miss(format!("the run is {}: neither {codes} warns, but {fired}", text(report, "verdict")))
        }
    }
}

/// Returns the reason why a run is not the planted lie: other programs emptied the page cache after the preparation, so
/// that storage delivered what was read. `None` for lies about other things than a cache.
fn is_cold(codes: &[&str], report: &Value) -> Option<String> {
    let delivered = match codes {
        ["AB205"] => "below_device_read_bytes",
        ["AB201", ..] => "storage_read_bytes",
        _ => return None,
    };
    let sum = |fact: &str| -> f64 {
        list(report, "phases").iter().filter_map(|phase| phase["facts"][fact]["value"].as_f64()).sum()
    };
    let cold = sum(delivered) > COLD * sum("read_bytes");
    cold.then(|| "somebody emptied the page cache before the run".to_owned())
}

fn honest(case: &Case, report: &Value, moved: Option<Moved>, beside: &Path) -> Outcome {
    let excused = |code: &str| case.expect.beside.contains_key(code) || case.of_the_machine.contains_key(code);
    let accusation = list(report, "findings").iter().find(|finding| {
        finding["outcome"] == "fires" && severity(finding) >= Severity::Warn && !excused(text(finding, "code"))
    });
    if let Some(finding) = accusation {
        return Outcome::Accused(shown(finding));
    }
    let claims = list(report, "claims");
    if claims.is_empty() {
        let why = "no claim was read from an ordinary run".to_owned();
        return Outcome::Undecided { why, foreseen: false };
    }
    if let Some(more) = moved.and_then(|moved| more_than_the_device(claims, moved)) {
        return Outcome::Broken(more);
    }
    let contradicts = |finding: &Value| {
        severity(finding) == Severity::Fail || matches!(finding["effect"].as_str(), Some("misleading" | "refuted"))
    };
    let excused_failure = list(report, "findings")
        .iter()
        .any(|finding| finding["outcome"] == "fires" && contradicts(finding) && excused(text(finding, "code")));
    let off = claims.iter().find_map(|claim| off(report, claim)).or_else(|| off_the_log(claims, &beside.join(IO_LOG)));
    if let Some(why) = off {
        return Outcome::Off(why);
    }
    match text(report, "verdict") {
        "verified" | "qualified" => Outcome::Silent,
        "discrepancy" if !excused_failure => Outcome::Accused("the run is a discrepancy".to_owned()),
        "discrepancy" => Outcome::Silent,
        other => Outcome::Undecided {
            why: format!("the run is {other}: {}", open(report)),
            foreseen: shares_its_device(case, report),
        },
    }
}

/// Returns `true` if others used the device of a run that has none of its own, so that its figures are theirs, too.
fn shares_its_device(case: &Case, report: &Value) -> bool {
    let others = |finding: &Value| finding["code"] == "AB601" && finding["outcome"] == "fires";
    case.volume.is_none() && list(report, "findings").iter().any(others)
}

/// Returns the answers of a report, independent of the tool's wording: the rates of each pass and their verdicts.
/// Claims that are not checked count as not contradicted; for short passes that is a matter of chance.
pub fn answers(report: &Value) -> BTreeMap<String, String> {
    let rates = list(report, "claims").iter().filter(|claim| {
        matches!(
            text(claim, "metric"),
            "throughput" | "operation-rate" | "sum-of-task-throughput" | "parent-throughput"
        )
    });
    let answer = |claim: &Value| {
        let verdict = match text(claim, "verdict") {
            "confirmed" | "not-checked" => "holds",
            other => other,
        };
        (format!("{} of {}", text(claim, "metric"), text(claim, "phase")), verdict.to_owned())
    };
    rates.map(answer).collect()
}

/// Returns the reason for a missing answer: that of the first unverifiable claim, otherwise the first undecided
/// finding.
fn open(report: &Value) -> String {
    let claim = list(report, "claims").iter().find(|claim| claim["verdict"] == "unverifiable");
    match claim {
        Some(claim) => {
            format!("{} of {}: {}", text(claim, "metric"), text(claim, "phase"), text(claim, "no_correction"))
        }
        None => list(report, "findings").iter().find(|f| f["outcome"] == "undecided").map_or(String::new(), shown),
    }
}

fn claimed_bytes<'a>(claims: &'a [Value], way: &'a str) -> impl Iterator<Item = f64> + 'a {
    let of_way = move |claim: &&Value| claim["metric"] == "bytes-moved" && text(claim, "phase").ends_with(way);
    claims.iter().filter(of_way).filter_map(|claim| claim["value"].as_f64())
}

/// Reports a draw that is not honest: fewer bytes reached the device than were claimed.
fn more_than_the_device(claims: &[Value], moved: Moved) -> Option<String> {
    [("read", moved.read_bytes), ("write", moved.write_bytes)].into_iter().find_map(|(way, moved)| {
        let claimed: f64 = claimed_bytes(claims, way).sum();
        let short = (moved as f64) < claimed * (1.0 - TOLERANCE);
        short.then(|| format!("not honest: {claimed} bytes of {way} were claimed, {moved} reached the device"))
    })
}

/// Reports the difference between a rate or count (bytes, operations) and the observed one.
fn off(report: &Value, claim: &Value) -> Option<String> {
    let metric = text(claim, "metric");
    let counts = matches!(metric, "bytes-moved" | "operations-done");
    if claim["verdict"] != "confirmed" || !(counts || matches!(metric, "throughput" | "operation-rate")) {
        return None;
    }
    let phase = text(claim, "phase");
    let value = claim["value"].as_f64()?;
    let Some(observed) = claim["observed"]["value"].as_f64() else {
        return Some(format!("the {metric} of {phase} is confirmed and was not observed"));
    };
    let window = list(report, "phases").iter().find(|candidate| candidate["id"] == phase);
    // For a group fio divides by the time of the job that took longest.
    let times = ["window_ns", "longest_task_window_ns"].iter();
    let times = times.filter_map(|name| window?["facts"][name]["value"].as_f64()).filter(|ns| *ns > 0.0);
    let window_ns = times.reduce(f64::min);
    let hidden_ns = if value < observed { WAIT_NS } else { CLOCK_STEP_NS };
    let step = if counts { 0.0 } else { window_ns.map_or(0.0, |ns| hidden_ns / ns) };
    // The tool's clock of a rate-limited run includes the pause after the last operation. No call shows that pause.
    let calls: f64 =
        ["read_calls", "write_calls"].iter().filter_map(|name| window?["facts"][name]["value"].as_f64()).sum();
    let pause = if !counts && value < observed && calls > 0.0 { 1.0 / calls } else { 0.0 };
    let differs = (observed - value).abs() > value * (TOLERANCE + step + pause);
    differs.then(|| format!("the {metric} of {phase} is {value} and was observed as {observed}"))
}

/// Reports the difference between the bytes of a direction and those in fio's own log, if there is one.
fn off_the_log(claims: &[Value], log: &Path) -> Option<String> {
    if !log.exists() {
        return None;
    }
    let log = match std::fs::read_to_string(log) {
        Ok(log) => log,
        Err(error) => return Some(format!("fio's log of its I/O cannot be read: {error}")),
    };
    ["read", "write"].into_iter().find_map(|way| {
        let logged: f64 = log.lines().filter_map(|line| logged_bytes(line, way)).sum();
        let of_way = |claim: &&Value| claim["metric"] == "bytes-moved" && text(claim, "phase").ends_with(way);
        let observed: Vec<f64> =
            claims.iter().filter(of_way).filter_map(|claim| claim["observed"]["value"].as_f64()).collect();
        let sum: f64 = observed.iter().sum();
        let differs = !observed.is_empty() && (sum - logged).abs() > logged * TOLERANCE;
        differs.then(|| format!("fio logged {logged} bytes of {way}, {sum} were observed"))
    })
}

/// Returns the bytes of a line `[TIME] FILE DIRECTION OFFSET LENGTH`.
fn logged_bytes(line: &str, way: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [.., direction, _, length] if direction == way => length.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(verdict: &str, claim: &str, observed: &Value, findings: &Value) -> Value {
        json!({
            "verdict": verdict,
            "phases": [{"id": "a-read", "facts": {"window_ns": {"value": 1e9}}}],
            "claims": [
                {"phase": "a-read", "metric": "throughput", "value": 100.0, "verdict": claim, "observed": observed},
                {"phase": "a-read", "metric": "bytes-moved", "value": 4096.0, "verdict": "confirmed",
                 "observed": {"value": 4096.0}},
            ],
            "findings": findings,
        })
    }

    #[track_caller]
    fn check(drawn: &Drawn, report: &Value, moved: u64, word: &str) {
        let mut case = super::super::honest(1, 1);
        case.expect.beside.clear();
        let moved = Moved { read_bytes: moved, write_bytes: 0 };
        let outcome = outcome(&case, drawn, report, Some(moved), Path::new("/nonexistent"));
        assert_eq!(outcome.word(), word, "{}", outcome.why());
    }

    #[test]
    fn an_honest_run_is_answered_left_alone_and_right() {
        let fires = |severity| json!([{"code": "AB401", "outcome": "fires", "severity": severity, "message": "m"}]);
        let near = json!({"value": 100.9});
        let honest = Drawn::Honest;
        check(&honest, &report("verified", "confirmed", &near, &json!([])), 4096, "silent");
        check(&honest, &report("verified", "confirmed", &near, &fires("note")), 4096, "silent");
        check(&honest, &report("qualified", "confirmed", &near, &fires("warn")), 4096, "false accusation");
        check(&honest, &report("discrepancy", "refuted", &near, &json!([])), 4096, "false accusation");
        check(&honest, &report("inconclusive", "unverifiable", &Value::Null, &json!([])), 4096, "undecided");
        check(&honest, &report("verified", "confirmed", &json!({"value": 104.0}), &json!([])), 4096, "figure off");
        check(&honest, &report("verified", "confirmed", &Value::Null, &json!([])), 4096, "figure off");
        check(&honest, &report("verified", "confirmed", &near, &json!([])), 2048, "broken");
        check(&honest, &report("failed", "confirmed", &near, &json!([])), 4096, "broken");
    }

    #[test]
    fn a_lie_is_found_by_one_of_its_codes() {
        let lie = Drawn::Lie(&["AB301", "AB302"]);
        let finding = |code: &str, outcome: &str, severity: &str| json!([{"code": code, "outcome": outcome, "severity": severity, "phase": "a", "message": "m"}]);
        let report = |findings| report("discrepancy", "misleading", &Value::Null, &findings);
        check(&lie, &report(finding("AB302", "fires", "warn")), 0, "hit");
        check(&lie, &report(finding("AB302", "fires", "note")), 0, "miss");
        check(&lie, &report(finding("AB302", "undecided", "")), 0, "undecided");
        check(&lie, &report(finding("AB401", "fires", "fail")), 0, "miss");
    }

    #[test]
    fn others_on_a_shared_device_leave_a_run_open() {
        let fires = json!([{"code": "AB601", "outcome": "fires", "severity": "warn", "message": "m"}]);
        let report = report("inconclusive", "unverifiable", &Value::Null, &fires);
        let own = super::super::honest(1, 1);
        let shared = Case { volume: None, ..own.clone() };
        for (case, is_failure) in [(own, true), (shared, false)] {
            let outcome = outcome(&case, &Drawn::Honest, &report, None, Path::new("/nonexistent"));
            assert_eq!((outcome.word(), outcome.is_failure()), ("undecided", is_failure));
        }
    }

    #[test]
    fn a_cache_that_was_emptied_makes_no_lie() {
        let of_storage = |codes: &'static [&'static str], fact: &str, bytes: f64| {
            let mut report = report("verified", "confirmed", &Value::Null, &json!([]));
            report["phases"][0]["facts"]["read_bytes"] = json!({"value": 4096.0});
            report["phases"][0]["facts"][fact] = json!({"value": bytes});
            let case = super::super::lie(1, 1);
            outcome(&case, &Drawn::Lie(codes), &report, None, Path::new("/nonexistent")).word()
        };
        assert_eq!(of_storage(&["AB205"], "below_device_read_bytes", 4096.0), "not run");
        assert_eq!(of_storage(&["AB205"], "below_device_read_bytes", 0.0), "miss");
        assert_eq!(of_storage(&["AB201", "AB203"], "storage_read_bytes", 4096.0), "not run");
        assert_eq!(of_storage(&["AB201", "AB203"], "storage_read_bytes", 512.0), "miss");
        assert_eq!(of_storage(&["AB401"], "storage_read_bytes", 4096.0), "miss");
    }

    #[test]
    fn what_a_tracer_leaves_open_needs_the_name_of_the_right_that_settles_it() {
        let traced = |lie: bool, verdict: &str, claim: &str, outcome: &str, message: &str| {
            let findings =
                json!([{"code": "AB302", "outcome": outcome, "severity": "warn", "phase": "a", "message": message}]);
            let mut report = report(verdict, claim, &Value::Null, &findings);
            report["coverage"] = json!({"backend": "ptrace"});
            let case = if lie { super::super::lie(1, 1) } else { super::super::honest(1, 1) };
            let drawn = if lie { Drawn::Lie(&["AB301", "AB302"]) } else { Drawn::Honest };
            let outcome = super::outcome(&case, &drawn, &report, None, Path::new("/nonexistent"));
            (outcome.word(), outcome.is_failure())
        };
        let hint = "a tracer does not see it (hint: CAP_BPF and CAP_PERFMON, or root)";
        let open = ("undecided", false);
        assert_eq!(traced(false, "inconclusive", "unverifiable", "undecided", hint), open);
        assert_eq!(traced(false, "inconclusive", "unverifiable", "undecided", "nobody knows"), ("undecided", true));
        assert_eq!(traced(true, "inconclusive", "unverifiable", "undecided", hint), open);
        assert_eq!(traced(true, "inconclusive", "unverifiable", "undecided", "nobody knows"), ("undecided", true));
        assert_eq!(traced(true, "discrepancy", "misleading", "silent", ""), ("hit", false));
        assert_eq!(traced(true, "verified", "confirmed", "silent", ""), ("miss", true));
        assert_eq!(traced(true, "verified", "confirmed", "undecided", hint).0, "undecided");
    }

    #[test]
    fn counters_and_logs_are_read() {
        let stat = "  10 0 80 1 20 0 160 2 0 0 0 0 0 0 0 0 0";
        let moved = Moved::parse(stat).expect("a device's counters");
        assert_eq!(moved, Moved { read_bytes: 40_960, write_bytes: 81_920 });
        assert_eq!(moved.since(Moved { read_bytes: 960, write_bytes: 0 }).read_bytes, 40_000);
        assert_eq!(Moved::parse("no counters"), None);
        assert_eq!(logged_bytes("12 /x/a.0.0 read 4096 512", "read"), Some(512.0));
        assert_eq!(logged_bytes("/x/a.0.0 open", "read"), None);
    }
}
