//! Compares a run with its replays: a pure function of the records of both.
//!
//! A replay counts if it repeated the recorded operations and found the same part of its files in the cache. Then its
//! amount of work is that of the recorded pass, and its rate is that amount over its own time: the same definition as
//! the observed rate's.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};
use activebench_model::replication::{
    CacheState, RateOver, Replay, Replicated, ReplicatedFigure, ReplicatedPass, Replication, ReplicationOutcome,
};
use activebench_model::report::JudgedRun;
use activebench_model::units::{Quantity, Unit, significant};
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use crate::series::statistics::median;

/// Up to this share of a pass's reads may be in the cache for the pass to be cold, and from one less this on it is
/// warm. Proposed: room for what readahead brings in while the pass begins, and for a file's first blocks that were read
/// before.
const NEARLY: f64 = 0.1;
/// From this share of its bytes on, a pass counts as direct I/O. Proposed: leaves room for the end of a file, which
/// direct I/O may not be able to read; the replay uses direct I/O for all of it.
const PASSED_BY: f64 = 0.99;
/// From this share of the window on, the report mentions the time between a tool's calls, which the replay leaves out.
/// Proposed: less moves the rate by about the default tolerance at most.
const THINKS_RATIO: f64 = 0.1;
/// A phase whose own window is shorter than this share of the pass's has no rate of its own. Proposed: what
/// the others do alone then moves its rate by about the default tolerance at most.
const WHOLE: f64 = 0.9;

/// Rates that a pass can have claimed, in the order in which they are compared.
const RATES: [Metric; 6] = [
    Metric::Throughput,
    Metric::OperationRate,
    Metric::ParentThroughput,
    Metric::SumOfTaskThroughput,
    Metric::ParentOperationRate,
    Metric::SumOfTaskOperationRate,
];

/// Returns how much of their files phases that ran at once found in the page cache.
pub fn cache_state(phases: &[&Phase]) -> CacheState {
    let unknown = |why: &str| CacheState::Unknown { why: why.to_owned() };
    let share = |phase: &&Phase| phase.facts.complete(FactName::DirectShare).ok();
    if !phases.is_empty() && phases.iter().all(|phase| share(phase).is_some_and(|share| share >= PASSED_BY)) {
        return CacheState::PassedBy;
    }
    let mut groups: Vec<&Phase> = Vec::new();
    for phase in phases {
        // Both directions of a mix have the same parts, and the same facts about the cache.
        if !groups.iter().any(|known| known.parts == phase.parts) {
            groups.push(phase);
        }
    }
    let (mut resident, mut touched) = (0.0, 0.0);
    for phase in groups {
        if !phase.facts.complete(FactName::ReadBytes).is_ok_and(|bytes| bytes > 0.0) {
            continue;
        }
        let (Ok(there), Ok(blocks), Ok(grid)) = (
            phase.facts.complete(FactName::ResidentAtStart),
            phase.facts.complete(FactName::UniqueBlocks),
            phase.facts.complete(FactName::BlockGrid),
        ) else {
            return unknown("how much of what it read lay in the cache was not seen whole");
        };
        resident += there;
        touched += blocks * grid;
    }
    if touched <= 0.0 {
        return match device_read_bytes(phases) {
            // Writes that end inside a page read the rest of it first.
            Some(bytes) if bytes > 0 => CacheState::Cold,
            _ => CacheState::WritesOnly,
        };
    }
    match (resident / touched).min(1.0) {
        share if share <= NEARLY => CacheState::Cold,
        share if share >= 1.0 - NEARLY => CacheState::Warm,
        share => CacheState::Mixed { resident_ratio: share },
    }
}

/// Bytes that the device read of the files of phases that ran at once; `None` where that was not seen whole.
pub fn device_read_bytes(phases: &[&Phase]) -> Option<u64> {
    let mut of_files: Vec<(Vec<_>, f64)> = Vec::new();
    for phase in phases {
        let mut files: Vec<_> = phase.parts.iter().map(|part| part.file).collect();
        files.sort_unstable();
        files.dedup();
        let bytes = phase.facts.complete(FactName::DeviceReadBytes).ok()?;
        match of_files.iter_mut().find(|(known, _)| *known == files) {
            // The same bytes, counted for each phase over the same files.
            Some((_, most)) => *most = most.max(bytes),
            None => of_files.push((files, bytes)),
        }
    }
    (!of_files.is_empty()).then(|| of_files.iter().map(|(_, bytes)| *bytes).sum::<f64>() as u64)
}

/// Returns `true` if a replay found in the cache what the recorded pass found.
pub fn same_cache(recorded: &CacheState, replay: &CacheState) -> bool {
    use CacheState::{Cold, PassedBy, Warm, WritesOnly};
    matches!((recorded, replay), (Cold, Cold) | (Warm, Warm) | (PassedBy, PassedBy) | (WritesOnly, WritesOnly))
}

/// Returns a sentence on the time between the calls of the phases' tasks; `None` if it is short.
pub fn think_time(phases: &[&Phase]) -> Option<String> {
    let sum = |name| phases.iter().map(|phase| phase.facts.complete(name).ok()).sum::<Option<f64>>();
    let (busy, whole) = (sum(FactName::InFlight)?, sum(FactName::TaskWindows)?);
    let between = 1.0 - busy / whole;
    (whole > 0.0 && between > THINKS_RATIO).then(|| {
        format!(
            "the tool was between its calls for {} of its clock: the replay leaves that out",
            Quantity::ratio(between)
        )
    })
}

/// Returns the rate that an engine printed for all its jobs together, and the text of its counts that its observation
/// refutes.
pub fn engine_claims(replay: &JudgedRun) -> (Option<Quantity>, Vec<String>) {
    let claims = || replay.parsed.claims.iter().zip(&replay.judged);
    let rates: Vec<f64> =
        claims().filter(|(claim, _)| claim.metric == Metric::Throughput).map(|(claim, _)| claim.value.value).collect();
    let counts = [Metric::BytesMoved, Metric::OperationsDone, Metric::SyncsDone];
    let refuted = claims()
        .filter(|(claim, judged)| counts.contains(&claim.metric) && judged.verdict() == ClaimVerdict::Refuted)
        .map(|(claim, _)| claim.source.text.trim().to_owned());
    let rate = (!rates.is_empty()).then(|| Quantity::bytes_per_sec(rates.iter().sum()));
    (rate, refuted.collect())
}

/// Fills in the figures of every pass, the outcome, and the exit code.
pub fn judge(run: &JudgedRun, mut replication: Replication) -> Replication {
    let tolerance = replication.tolerance_ratio;
    for pass in &mut replication.passes {
        pass.figures = figures(run, pass, tolerance);
    }
    let (outcome, because) = outcome(&replication);
    replication.outcome = outcome;
    replication.because = because;
    replication.exit_code = match outcome {
        ReplicationOutcome::Replicated => 0,
        ReplicationOutcome::Differs => 1,
        ReplicationOutcome::Incomplete => 3,
    };
    replication
}

/// Returns the reason why a replay does not count; `None` if it counts.
pub fn void(replay: &Replay) -> Option<String> {
    if let Some(why) = replay.incomplete.first() {
        return Some(format!("its observation is incomplete: {why}"));
    }
    if let Some(differs) = &replay.differs {
        return Some(format!("it did something else: {differs}"));
    }
    if !replay.same_cache {
        return Some(format!("it found the cache otherwise: {}", replay.cache.words()));
    }
    replay.clock_ns.is_none().then(|| "no operation of it was seen".to_owned())
}

fn outcome(replication: &Replication) -> (ReplicationOutcome, String) {
    use ReplicationOutcome::{Differs, Incomplete, Replicated};
    if let Some(why) = replication.incomplete.first() {
        return (Incomplete, why.clone());
    }
    if replication.passes.is_empty() {
        return (Incomplete, "the run has no pass that could be replayed".to_owned());
    }
    let mut rates = Vec::new();
    for pass in &replication.passes {
        let name = pass.phases.join(", ");
        if let Some(why) = &pass.not_replayed {
            return (Incomplete, format!("{name} was not replayed: {why}"));
        }
        if let Some(why) = pass.left_out.first() {
            return (Incomplete, format!("{name} was replayed in part: {why}"));
        }
        if let Some((number, why)) = (1..).zip(&pass.replays).find_map(|(number, replay)| Some((number, void(replay)?)))
        {
            return (Incomplete, format!("{name}, replay {number} of {}: {why}", pass.replays.len()));
        }
        for figure in &pass.figures {
            match (figure.agrees, &figure.no_replicated) {
                (Some(agrees), _) => rates.push((agrees, figure)),
                (None, Some(why)) => return (Incomplete, format!("{}: no replicated rate: {why}", figure.phase)),
                (None, None) => return (Incomplete, format!("{}: no observed rate", figure.phase)),
            }
        }
    }
    let apart = rates.iter().find(|(agrees, _)| !agrees).map(|(_, figure)| *figure);
    let agreeing = rates.iter().filter(|(agrees, _)| *agrees).count();
    match apart {
        None => (Replicated, format!("every operation was repeated, and {agreeing} of {agreeing} rates agree")),
        Some(figure) => {
            let ratio = figure.of_observed_ratio.map_or_else(String::new, |ratio| {
                format!("; {} {} is {} times the observed one", figure.phase, figure.over.words(), significant(ratio))
            });
            let because = format!("every operation was repeated, and {agreeing} of {} rates agree{ratio}", rates.len());
            (Differs, because)
        }
    }
}

fn figures(run: &JudgedRun, pass: &ReplicatedPass, tolerance: f64) -> Vec<ReplicatedFigure> {
    let phases: Vec<&Phase> =
        pass.phases.iter().filter_map(|id| run.phases.iter().find(|phase| phase.id == *id)).collect();
    let windows = || phases.iter().filter_map(|phase| phase.window);
    let whole_ns = windows().map(|window| window.end_ns).max().unwrap_or(0)
        - windows().map(|window| window.start_ns).min().unwrap_or(0);
    let mut figures = Vec::new();
    for phase in phases {
        let claim = rate_claim(run, phase);
        let metric = claim.map_or(Metric::Throughput, |(claim, _)| claim.metric);
        let honest = claim.and_then(|(claim, judged)| judged.honest(claim));
        let amount = amount(phase, metric, claim);
        let window_ns = phase.window.map_or(0, |window| window.duration_ns());
        let mut add = |over: RateOver, observed_ns: Option<f64>, time: fn(&Replay) -> Option<u64>| {
            let rate = |time_ns: f64| per_second(metric, *amount.as_ref().ok()?, time_ns);
            let observed = observed_ns.and_then(rate);
            let times: Vec<f64> = pass
                .replays
                .iter()
                .filter(|replay| void(replay).is_none())
                .filter_map(|replay| time(replay).map(|ns| ns as f64))
                .collect();
            let replicated = match (window_ns as f64) < WHOLE * whole_ns as f64 {
                true => Err("it ran beside the pass's other phases in part".to_owned()),
                false if times.is_empty() => Err(why_none(pass)),
                false => amount.clone().and_then(|_| {
                    replicated(&times.iter().filter_map(|ns| rate(*ns)).collect::<Vec<_>>())
                        .ok_or_else(|| "no replay took any time".to_owned())
                }),
            };
            let claimed = claim.map(|(claim, _)| claim.value);
            let ratio = |of: Option<Quantity>| {
                let (of, replicated) = (of.filter(|of| of.value > 0.0)?, replicated.as_ref().ok()?);
                (of.unit == replicated.median.unit).then(|| replicated.median.value / of.value)
            };
            let of_observed_ratio = ratio(observed);
            figures.push(ReplicatedFigure {
                phase: phase.id.clone(),
                metric,
                over,
                claimed,
                verdict: claim.map(|(_, judged)| judged.verdict()),
                observed,
                honest,
                of_claimed_ratio: ratio(claimed),
                of_observed_ratio,
                agrees: of_observed_ratio.zip(observed).zip(replicated.as_ref().ok()).map(
                    |((ratio, observed), replicated)| {
                        let inside = (replicated.least.value..=replicated.most.value).contains(&observed.value);
                        inside || (ratio - 1.0).abs() <= tolerance
                    },
                ),
                no_replicated: replicated.as_ref().err().cloned(),
                replicated: replicated.ok(),
            });
        };
        let fact = |name| phase.facts.complete(name).ok();
        add(RateOver::ToolClock, fact(FactName::Window), |replay| replay.clock_ns);
        let durable_ns = fact(FactName::DurableSpan).filter(|ns| *ns > window_ns as f64);
        if durable_ns.is_some() && matches!(phase.direction, Direction::Write | Direction::Mixed) {
            add(RateOver::UntilDurable, durable_ns, |replay| replay.durable_ns);
        }
    }
    figures
}

/// Returns the reason why no replay of a pass has a time.
fn why_none(pass: &ReplicatedPass) -> String {
    let first = pass.replays.iter().find_map(void);
    match (&pass.not_replayed, first) {
        (Some(why), _) => why.clone(),
        (None, Some(why)) => why,
        (None, None) if pass.replays.is_empty() => "no replay was made".to_owned(),
        (None, None) => "no replay made a sync after its clock".to_owned(),
    }
}

/// Returns the rate that a phase claimed.
fn rate_claim<'run>(run: &'run JudgedRun, phase: &Phase) -> Option<(&'run Claim, &'run JudgedClaim)> {
    let claims = || run.parsed.claims.iter().filter(|claim| claim.phase == phase.id);
    let claim = RATES.iter().find_map(|metric| claims().find(|claim| claim.metric == *metric))?;
    Some((claim, run.judged.iter().find(|judged| judged.claim == claim.id)?))
}

/// Returns the work of a phase inside its window, in the unit that its rate counts.
///
/// If the claim could be rebuilt, the work that it counts (bonnie++ counts a rewritten block once), otherwise all work.
///
/// # Errors
/// The fact that is missing.
fn amount(phase: &Phase, metric: Metric, claim: Option<(&Claim, &JudgedClaim)>) -> Result<f64, String> {
    let fact = |name| phase.facts.complete(name);
    let rebuilt = claim.and_then(|(_, judged)| judged.observed()).filter(|rate| rate.unit == unit(metric));
    if let (Metric::Throughput | Metric::OperationRate, Some(rate)) = (metric, rebuilt) {
        return Ok(rate.value * fact(FactName::Window)? / 1e9);
    }
    let (read, written) = match unit(metric) {
        Unit::OpsPerSec => (FactName::ReadCalls, FactName::WriteCalls),
        _ => (FactName::ReadBytes, FactName::WriteBytes),
    };
    match phase.direction {
        Direction::Read => fact(read),
        Direction::Write => fact(written),
        _ => Ok(fact(read)? + fact(written)?),
    }
}

fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::OperationRate | Metric::ParentOperationRate | Metric::SumOfTaskOperationRate => Unit::OpsPerSec,
        _ => Unit::BytesPerSec,
    }
}

fn per_second(metric: Metric, amount: f64, time_ns: f64) -> Option<Quantity> {
    match unit(metric) {
        Unit::OpsPerSec => Quantity::op_rate(amount, time_ns),
        _ => Quantity::rate(amount, time_ns),
    }
}

fn replicated(rates: &[Quantity]) -> Option<Replicated> {
    let unit = rates.first()?.unit;
    let values: Vec<f64> = rates.iter().map(|rate| rate.value).collect();
    let of = |value| Quantity { value, unit };
    Some(Replicated {
        median: of(median(&values)?),
        least: of(values.iter().copied().fold(f64::INFINITY, f64::min)),
        most: of(values.iter().copied().fold(0.0, f64::max)),
        runs: u32::try_from(values.len()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use activebench_model::call::FileId;
    use activebench_model::claim::{Parsed, Printed, SourceLine, Subject};
    use activebench_model::fact::{Fact, Facts, Scope};
    use activebench_model::phase::{Part, PartEnd, Window};
    use activebench_model::replication::Moved;
    use activebench_model::run::Manifest;
    use activebench_model::verdict::RunVerdict;

    use super::*;

    const MS: u64 = 1_000_000;
    const MIB: f64 = 1_048_576.0;

    fn facts(values: &[(FactName, f64)]) -> Facts {
        let mut facts = Facts::default();
        for (name, value) in values {
            let value = Quantity { value: *value, unit: name.unit() };
            facts.insert(*name, Fact::complete(value, Scope::Tree, "test"));
        }
        facts
    }

    /// A pass of 16 MiB in 100 ms.
    fn phase(direction: Direction, more: &[(FactName, f64)]) -> Phase {
        let (read, written) = if direction == Direction::Read { (16.0 * MIB, 0.0) } else { (0.0, 16.0 * MIB) };
        let known = [
            (FactName::Window, (100 * MS) as f64),
            (FactName::ReadBytes, read),
            (FactName::WriteBytes, written),
            (FactName::DirectShare, 0.0),
        ];
        Phase {
            window: Some(Window { start_ns: 0, end_ns: 100 * MS }),
            parts: vec![Part {
                tgid: 1,
                tids: Vec::new(),
                fd: 3,
                file: FileId { s_dev: 1, ino: 2 },
                start_ns: 0,
                end: PartEnd::At(100 * MS),
                last_data_ns: 100 * MS,
                sync_inside: None,
                sync_after: None,
                close_ns: None,
            }],
            facts: facts(&[&known[..], more].concat()),
            ..Phase::planned("p", "p", direction)
        }
    }

    fn run(phase: Phase) -> JudgedRun {
        let claim = Claim {
            id: "c1".to_owned(),
            phase: phase.id.clone(),
            metric: Metric::Throughput,
            value: Quantity::bytes_per_sec(320.0 * MIB),
            printed: Printed { text: "327680".to_owned(), unit: "kB/s".to_owned() },
            resolution: 512.0,
            subject: Subject::Device,
            subject_reason: String::new(),
            claimed_bytes: None,
            source: SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() },
        };
        let judged = JudgedClaim::not_checked("c1", None, "a test");
        JudgedRun {
            manifest: Manifest::default(),
            directory: String::new(),
            parsed: Parsed { claims: vec![claim], ..Parsed::default() },
            phases: vec![phase],
            run_facts: Facts::default(),
            profiles: Default::default(),
            findings: Vec::new(),
            judged: vec![judged],
            verdict: RunVerdict::Verified,
            exit_code: 0,
            changed_thresholds: Vec::new(),
            limiters: Vec::new(),
            timelines: Vec::new(),
            shares: Default::default(),
            target: None,
            advised: Err(String::new()),
            measurements: Vec::new(),
            together: Vec::new(),
            questions: Default::default(),
            detectors: Vec::new(),
        }
    }

    fn replay(clock_ms: u64) -> Replay {
        Replay {
            directory: String::new(),
            moved: Moved::default(),
            differs: None,
            incomplete: Vec::new(),
            cache: CacheState::Cold,
            same_cache: true,
            device_read_bytes: None,
            clock_ns: Some(clock_ms * MS),
            durable_ns: None,
            engine_claimed: None,
            engine_refuted: Vec::new(),
        }
    }

    fn judged(run: &JudgedRun, replays: Vec<Replay>, change: impl Fn(&mut ReplicatedPass)) -> Replication {
        let mut pass = ReplicatedPass {
            number: 1,
            phases: vec!["p".to_owned()],
            recorded: Moved::default(),
            cache: CacheState::Cold,
            device_read_bytes: None,
            replayed_as: String::new(),
            not_replayed: None,
            left_out: Vec::new(),
            notes: Vec::new(),
            replays,
            figures: Vec::new(),
        };
        change(&mut pass);
        judge(
            run,
            Replication {
                activebench: String::new(),
                run: String::new(),
                verdict: RunVerdict::Verified,
                tool: String::new(),
                command: Vec::new(),
                recorded_on: Vec::new(),
                target: String::new(),
                replayed_on: Vec::new(),
                engine: String::new(),
                planned_runs: 1,
                tolerance_ratio: 0.1,
                passes: vec![pass],
                gaps: Vec::new(),
                incomplete: Vec::new(),
                outcome: ReplicationOutcome::Replicated,
                because: String::new(),
                exit_code: 0,
            },
        )
    }

    #[test]
    fn a_rate_agrees_inside_the_replays_or_within_the_tolerance_of_their_median() {
        let run = run(phase(Direction::Read, &[]));
        for (times_ms, ratio, agrees, code) in [
            (&[100, 100, 100][..], 1.0, true, 0),
            // 9 % slower and 9 % faster.
            (&[110, 110], 100.0 / 110.0, true, 0),
            (&[92], 100.0 / 92.0, true, 0),
            (&[112], 100.0 / 112.0, false, 1),
            // Far apart, with the observed one between.
            (&[50, 60, 200], 100.0 / 60.0, true, 0),
            (&[50, 60, 90], 100.0 / 60.0, false, 1),
        ] {
            let replication = judged(&run, times_ms.iter().map(|ms| replay(*ms)).collect(), |_| {});
            let figure = &replication.passes[0].figures[0];
            assert_eq!(figure.agrees, Some(agrees), "{times_ms:?}");
            assert!((figure.of_observed_ratio.expect("a ratio") - ratio).abs() < 1e-9, "{times_ms:?}: {figure:?}");
            // 160 MiB/s were observed, 320 claimed.
            assert!((figure.of_claimed_ratio.expect("a ratio") - ratio / 2.0).abs() < 1e-9, "{figure:?}");
            assert_eq!(replication.exit_code, code, "{}", replication.because);
        }
    }

    #[test]
    fn a_replay_that_did_something_else_does_not_count_and_lowers_the_outcome() {
        let run = run(phase(Direction::Read, &[]));
        let other = |change: fn(&mut Replay)| {
            let mut replay = replay(10);
            change(&mut replay);
            replay
        };
        for (bad, expected) in [
            (other(|replay| replay.differs = Some("f0: 3 reads".to_owned())), "it did something else: f0: 3 reads"),
            (other(|replay| replay.same_cache = false), "it found the cache otherwise: cold"),
            (other(|replay| replay.incomplete.push("cut".to_owned())), "its observation is incomplete: cut"),
            (other(|replay| replay.clock_ns = None), "no operation of it was seen"),
        ] {
            let replication = judged(&run, vec![replay(100), bad.clone()], |_| {});
            assert_eq!((replication.outcome, replication.exit_code), (ReplicationOutcome::Incomplete, 3));
            assert_eq!(replication.because, format!("p, replay 2 of 2: {expected}"));
            let replicated = replication.passes[0].figures[0].replicated.expect("the other one counts");
            assert_eq!(replicated.runs, 1);
            let replication = judged(&run, vec![bad], |_| {});
            assert_eq!(replication.passes[0].figures[0].no_replicated.as_deref(), Some(expected));
        }
        let left_out = judged(&run, vec![replay(100)], |pass| pass.left_out.push("1 call".to_owned()));
        assert_eq!(left_out.because, "p was replayed in part: 1 call");
        let refused = judged(&run, Vec::new(), |pass| pass.not_replayed = Some("it discards".to_owned()));
        assert_eq!(refused.because, "p was not replayed: it discards");
        assert_eq!(refused.passes[0].figures[0].no_replicated.as_deref(), Some("it discards"));
    }

    #[test]
    fn an_amount_that_is_not_known_is_the_reason_for_no_rate() {
        let mut lost = phase(Direction::Read, &[]);
        let read = Fact::complete(Quantity::bytes(1 << 20), Scope::Tree, "test").partial("3 records lost");
        lost.facts.insert(FactName::ReadBytes, read);
        let lost = run(lost);
        let replication = judged(&lost, vec![replay(100)], |_| {});
        let why = "the fact read_bytes is partial: 3 records lost";
        assert_eq!(replication.passes[0].figures[0].no_replicated.as_deref(), Some(why));
        assert_eq!(replication.because, format!("p: no replicated rate: {why}"));
        // Without a replay that is what is missing first.
        let none = judged(&lost, Vec::new(), |_| {});
        assert_eq!(none.passes[0].figures[0].no_replicated.as_deref(), Some("no replay was made"));
        let slow = phase(Direction::Write, &[(FactName::DurableSpan, (400 * MS) as f64)]);
        let unsynced = judged(&run(slow), vec![replay(100)], |_| {});
        let why = "no replay made a sync after its clock";
        assert_eq!(unsynced.passes[0].figures[1].no_replicated.as_deref(), Some(why));
    }

    #[test]
    fn what_became_durable_later_has_a_second_rate() {
        let slow = phase(Direction::Write, &[(FactName::DurableSpan, (400 * MS) as f64)]);
        let made = Replay { durable_ns: Some(500 * MS), ..replay(100) };
        let replication = judged(&run(slow), vec![made], |_| {});
        let rates: Vec<(RateOver, f64, Option<bool>)> = replication.passes[0]
            .figures
            .iter()
            .map(|figure| (figure.over, figure.of_observed_ratio.expect("a ratio"), figure.agrees))
            .collect();
        assert_eq!(rates, [(RateOver::ToolClock, 1.0, Some(true)), (RateOver::UntilDurable, 0.8, Some(false))]);
        // By the clock it was durable: one rate.
        let at_once = phase(Direction::Write, &[(FactName::DurableSpan, (100 * MS) as f64)]);
        assert_eq!(judged(&run(at_once), vec![replay(100)], |_| {}).passes[0].figures.len(), 1);
    }

    #[test]
    fn the_cache_is_cold_warm_or_neither() {
        let read = |resident: f64, more: &[(FactName, f64)]| {
            let of = [
                (FactName::ResidentAtStart, resident * 16.0 * MIB),
                (FactName::UniqueBlocks, 4096.0),
                (FactName::BlockGrid, 4096.0),
            ];
            phase(Direction::Read, &[&of[..], more].concat())
        };
        let device = |bytes: f64| phase(Direction::Write, &[(FactName::DeviceReadBytes, bytes)]);
        for (phase, expected) in [
            (read(0.0, &[]), CacheState::Cold),
            (read(0.1, &[]), CacheState::Cold),
            (read(0.5, &[]), CacheState::Mixed { resident_ratio: 0.5 }),
            (read(0.9, &[]), CacheState::Warm),
            (read(1.0, &[]), CacheState::Warm),
            (read(0.5, &[(FactName::DirectShare, 1.0)]), CacheState::PassedBy),
            // A twentieth of it through the cache is not replayed past it.
            (read(0.5, &[(FactName::DirectShare, 0.95)]), CacheState::Mixed { resident_ratio: 0.5 }),
            (device(0.0), CacheState::WritesOnly),
            (device(4096.0), CacheState::Cold),
        ] {
            assert_eq!(cache_state(&[&phase]), expected);
            // Both directions of a mix are over the same parts: nothing counts twice.
            assert_eq!(cache_state(&[&phase, &phase]), expected);
        }
        let blind = phase(Direction::Read, &[]);
        assert!(matches!(cache_state(&[&blind]), CacheState::Unknown { .. }));
    }
}
