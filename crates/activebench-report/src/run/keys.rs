//! The keys of a run's report for programs. The schema is `docs/report.schema.json`. An unknown value is `null`, never 0, and its key is never left out. The
//! unit is named beside each value, and in the names of plain numbers.

use std::collections::{BTreeMap, HashMap};

use super::measurements::{self, MeasurementEntry};
use super::script_figures::{self, ScriptFigureEntry};
use activebench_model::bound::{Bound, Share, ShareOf};
use activebench_model::call::FileId;
use activebench_model::claim::{Claim, Metric, Note, Printed, SourceLine, UnmatchedNumber};
use activebench_model::coverage::{
    Backend, BlindPath, OtherTracer, Overhead, PayloadSampling, ProbeStatus, RecordAccount, Sampling,
};
use activebench_model::event::RecordClass;
use activebench_model::fact::{Completeness, Fact, Facts, Scope};
use activebench_model::finding::{Effect, Finding, Message, Outcome, Severity};
use activebench_model::host::Host;
use activebench_model::limiter::{Figure, Limiter, LimiterKind};
use activebench_model::log::EventLog;
use activebench_model::phase::{Phase, Window};
use activebench_model::preparation::Preparation;
use activebench_model::remedy::{Advised, Applied, Left};
use activebench_model::report::{Answer, ChangedThreshold, JudgedRun};
use activebench_model::run::{ChildEnd, FailOn, Redaction};
use activebench_model::target::JudgedTarget;
use activebench_model::thread_stacks::CpuProfile;
use activebench_model::units::Quantity;
use activebench_model::verdict::{Again, ClaimVerdict, Corrected, JudgedClaim, RunVerdict, Tolerance, Unobserved};
use activebench_model::watch::Watch;
use serde::{Serialize, Serializer};

/// Limit up to which whole numbers are exact in a [`Quantity`].
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Serialize)]
pub(crate) struct Report<'run> {
    verdict: RunVerdict,
    exit_code: i32,
    tool: Tool<'run>,
    profile: &'run str,
    threshold_file: Option<&'run str>,
    purpose: Option<&'run str>,
    target: Option<&'run str>,
    target_result: Option<TargetEntry<'run>>,
    advice: Option<AdviceEntry<'run>>,
    no_advice: Option<&'run str>,
    measurements: Vec<MeasurementEntry<'run>>,
    script_figures: Vec<ScriptFigureEntry<'run>>,
    changed_thresholds: Vec<ChangedEntry<'run>>,
    #[serde(serialize_with = "write_claims")]
    claims: &'run JudgedRun,
    claims_by_verdict: BTreeMap<&'static str, usize>,
    unmatched: Unmatched<'run>,
    bound_notes: &'run [String],
    #[serde(serialize_with = "write_phases")]
    phases: &'run JudgedRun,
    #[serde(serialize_with = "write_findings")]
    findings: &'run JudgedRun,
    questions: &'run BTreeMap<String, Answer>,
    coverage: CoverageEntry<'run>,
    host: Host,
    run: RunEntry<'run>,
}

#[derive(Serialize)]
struct Unmatched<'run> {
    numbers: Vec<UnmatchedEntry<'run>>,
    left_out: u64,
}

#[derive(Serialize)]
struct UnmatchedEntry<'run> {
    printed: &'run Printed,
    is_rate: bool,
    is_stated: bool,
    reason: &'run str,
    nearest: Option<NearestEntry<'run>>,
    source: &'run SourceLine,
}

#[derive(Serialize)]
struct NearestEntry<'run> {
    pass: &'run str,
    observed: Value,
    excess: f64,
}

impl<'run> Unmatched<'run> {
    fn of(run: &'run JudgedRun) -> Self {
        let entry = |number: &'run UnmatchedNumber| UnmatchedEntry {
            printed: &number.printed,
            is_rate: number.is_rate,
            is_stated: number.is_stated,
            reason: &number.reason,
            nearest: number.nearest.as_ref().map(|nearest| NearestEntry {
                pass: &nearest.pass,
                observed: nearest.observed.into(),
                excess: nearest.excess,
            }),
            source: &number.source,
        };
        let unmatched = &run.parsed.unmatched;
        Self { numbers: unmatched.numbers.iter().map(entry).collect(), left_out: unmatched.left_out }
    }
}

#[derive(Serialize)]
pub(super) struct AdviceEntry<'run> {
    command: &'run [String],
    answers: &'run str,
    seconds: Option<f64>,
    applied: &'run [Applied],
    left: &'run [Left],
}

impl<'run> AdviceEntry<'run> {
    pub(super) fn of(advised: &'run Advised) -> Self {
        let Advised { argv, answers, seconds, applied, left } = advised;
        Self { command: argv, answers, seconds: *seconds, applied, left }
    }
}

#[derive(Serialize)]
struct TargetEntry<'run> {
    met: Option<bool>,
    threshold: Number,
    unit: &'static str,
    figures: Vec<TargetFigureEntry<'run>>,
}

#[derive(Serialize)]
struct TargetFigureEntry<'run> {
    claim: &'run str,
    honest: Option<Number>,
    met: Option<bool>,
}

impl<'run> TargetEntry<'run> {
    fn of(target: &'run JudgedTarget) -> Self {
        let figures = target.figures.iter();
        Self {
            met: target.met,
            threshold: target.threshold.value.into(),
            unit: target.threshold.unit.as_str(),
            figures: figures
                .map(|figure| TargetFigureEntry {
                    claim: &figure.claim,
                    honest: figure.honest.map(|honest| honest.value.into()),
                    met: figure.met,
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct ChangedEntry<'run> {
    name: &'run str,
    value: Number,
    unit: &'static str,
    source: &'run str,
    default: Number,
}

#[derive(Serialize)]
struct Tool<'run> {
    name: &'run str,
    version: Option<&'run str>,
    command: &'run [String],
    adapter: Option<&'run str>,
    output_complete: bool,
    errors: &'run [Note],
    notes: &'run [Note],
}

#[derive(Serialize)]
struct ClaimEntry<'run> {
    id: &'run str,
    phase: &'run str,
    metric: Metric,
    value: Number,
    unit: &'static str,
    printed: &'run Printed,
    subject: &'static str,
    subject_reason: &'run str,
    source: &'run SourceLine,
    verdict: Option<ClaimVerdict>,
    honest: Option<Value>,
    honest_why: Option<String>,
    observed: Option<Value>,
    tolerance: Option<ToleranceEntry<'run>>,
    corrected: Option<CorrectedEntry<'run>>,
    no_correction: Option<&'run str>,
    measured_instead: Option<&'run str>,
    unobserved: Option<UnobservedEntry>,
    findings: &'run [String],
    shares: Vec<ShareEntry<'run>>,
}

#[derive(Serialize)]
struct ToleranceEntry<'run> {
    low: Number,
    high: Number,
    reason: &'run str,
}

#[derive(Serialize)]
struct UnobservedEntry {
    value: Number,
    low: Number,
    high: Number,
    again: Option<AgainEntry>,
}

#[derive(Serialize)]
struct AgainEntry {
    low: Number,
    high: Number,
}

#[derive(Serialize)]
struct ShareEntry<'run> {
    figure: ShareOf,
    value: Number,
    unit: &'static str,
    bound: Number,
    share_ratio: Number,
    part: &'run str,
    measured: bool,
    bounds: Vec<BoundEntry<'run>>,
}

#[derive(Serialize)]
struct BoundEntry<'run> {
    part: &'run str,
    bound: Number,
    measured: bool,
}

#[derive(Serialize)]
struct CorrectedEntry<'run> {
    value: Number,
    unit: &'static str,
    meaning: &'run str,
}

#[derive(Serialize)]
struct PhaseEntry<'run> {
    id: &'run str,
    name: &'run str,
    window: Option<Window>,
    files: Vec<FileId>,
    incomplete: Option<&'run str>,
    facts: FactEntries<'run>,
    cpu: Option<&'run CpuProfile>,
    limiter: Option<LimiterEntry<'run>>,
}

#[derive(Serialize)]
struct LimiterEntry<'run> {
    kind: Option<LimiterKind>,
    sentence: &'run str,
    figures: Vec<FigureEntry<'run>>,
    facts: Vec<&'static str>,
}

#[derive(Serialize)]
struct FigureEntry<'run> {
    name: &'run str,
    value: Number,
    unit: &'static str,
}

type FactEntries<'run> = BTreeMap<&'static str, FactEntry<'run>>;

#[derive(Serialize)]
struct FactEntry<'run> {
    value: Option<Number>,
    unit: &'static str,
    scope: Scope,
    completeness: &'run Completeness,
    source: &'run str,
}

#[derive(Serialize)]
struct FindingEntry<'run> {
    code: &'run str,
    name: &'run str,
    outcome: Outcome,
    severity: Option<Severity>,
    phase: Option<&'run str>,
    claim: Option<&'run str>,
    observed: Option<Value>,
    threshold: Option<Value>,
    threshold_source: Option<&'run str>,
    message: &'run Message,
    meaning: &'run str,
    advice: &'run str,
    facts: Vec<&'static str>,
    effect: Option<Effect>,
}

#[derive(Serialize)]
struct CoverageEntry<'run> {
    backend: Backend,
    probes: &'run [ProbeStatus],
    blind_paths: &'run [BlindPath],
    lost: &'run BTreeMap<RecordClass, RecordAccount>,
    log: Option<&'run EventLog>,
    overhead: Overhead,
    other_tracers: Option<&'run [OtherTracer]>,
    sampling: Option<&'run Sampling>,
    payload: Option<&'run PayloadSampling>,
    steal_unread: Option<&'run str>,
}

#[derive(Serialize)]
struct RunEntry<'run> {
    directory: &'run str,
    sha256: &'run BTreeMap<String, String>,
    activebench: &'run str,
    started_unix_s: i64,
    started_ns: u64,
    ended_ns: u64,
    incomplete: &'run [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    preparation: Option<&'run Preparation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<&'run Watch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<&'run Redaction>,
    child: &'run ChildEnd,
    suppressed: &'run BTreeMap<String, String>,
    fail_on: FailOn,
    facts: FactEntries<'run>,
    cpu: &'run CpuProfile,
}

#[derive(Serialize)]
struct Value {
    value: Number,
    unit: &'static str,
}

/// Number of a quantity. A whole number is written without a fraction (`1073741824`).
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() <= EXACT { Number::Whole(value as i64) } else { Number::Real(value) }
    }
}

impl From<Quantity> for Value {
    fn from(quantity: Quantity) -> Self {
        Self { value: quantity.value.into(), unit: quantity.unit.as_str() }
    }
}

impl<'run> Report<'run> {
    pub(super) fn of(run: &'run JudgedRun) -> Self {
        let manifest = &run.manifest;
        let parsed = &run.parsed;
        let adapter = (!parsed.tool.is_empty()).then_some(parsed.tool.as_str());
        Self {
            verdict: run.verdict,
            exit_code: run.exit_code,
            tool: Tool {
                name: adapter.unwrap_or_else(|| manifest.command.program()),
                version: parsed.version.as_deref(),
                command: &manifest.command.argv,
                adapter,
                output_complete: parsed.complete,
                errors: &parsed.errors,
                notes: &parsed.notes,
            },
            profile: &manifest.choices.profile,
            threshold_file: manifest.choices.thresholds.as_ref().map(|thresholds| thresholds.file.as_str()),
            purpose: manifest.choices.purpose.as_deref(),
            target: manifest.choices.target.as_deref(),
            advice: run.advised.as_ref().ok().map(AdviceEntry::of),
            no_advice: run.advised.as_ref().err().map(String::as_str),
            target_result: run.target.as_ref().map(TargetEntry::of),
            measurements: measurements::entries(run),
            script_figures: script_figures::entries(run),
            changed_thresholds: run.changed_thresholds.iter().map(changed_entry).collect(),
            claims: run,
            claims_by_verdict: claims_by_verdict(run),
            unmatched: Unmatched::of(run),
            bound_notes: &run.shares.notes,
            phases: run,
            findings: run,
            questions: &run.questions,
            coverage: CoverageEntry {
                backend: manifest.coverage.backend,
                probes: &manifest.coverage.probes,
                blind_paths: &manifest.coverage.blind_paths,
                lost: &manifest.coverage.records,
                log: manifest.coverage.log.as_ref(),
                overhead: manifest.coverage.overhead,
                other_tracers: manifest.coverage.other_tracers.as_deref(),
                sampling: manifest.coverage.sampling.as_ref(),
                payload: manifest.coverage.payload.as_ref(),
                steal_unread: manifest.coverage.steal_unread.as_deref(),
            },
            // Readings made while the tool ran stay in the run directory; facts summarise them.
            host: Host { readings: None, ..manifest.host.clone() },
            run: RunEntry {
                directory: &run.directory,
                sha256: &manifest.sha256,
                activebench: &manifest.activebench,
                started_unix_s: manifest.clocks.started_unix_s,
                started_ns: manifest.clocks.started_ns,
                ended_ns: manifest.clocks.ended_ns,
                incomplete: &manifest.incomplete,
                preparation: manifest.preparation.as_ref(),
                watch: manifest.watch.as_ref(),
                redacted: manifest.redacted.as_ref(),
                child: &manifest.child,
                suppressed: &manifest.choices.suppressed,
                fail_on: manifest.choices.fail_on,
                facts: fact_entries(&run.run_facts),
                cpu: &run.profiles.run,
            },
        }
    }
}

fn changed_entry(changed: &ChangedThreshold) -> ChangedEntry<'_> {
    ChangedEntry {
        name: &changed.name,
        value: changed.threshold.value.value.into(),
        unit: changed.threshold.value.unit.as_str(),
        source: &changed.threshold.source,
        default: changed.default.value.into(),
    }
}

/// Number of claims with each verdict. Every verdict has an entry.
pub(crate) fn claims_by_verdict(run: &JudgedRun) -> BTreeMap<&'static str, usize> {
    let count = |verdict: ClaimVerdict| run.judged.iter().filter(|judged| judged.verdict() == verdict).count();
    ClaimVerdict::ALL.iter().map(|verdict| (verdict.as_str(), count(*verdict))).collect()
}

// A run of a thousand figures has tens of thousands of entries: each is made while it is written.

fn write_claims<S: Serializer>(run: &&JudgedRun, to: S) -> Result<S::Ok, S::Error> {
    let judged: HashMap<&str, &JudgedClaim> = run.judged.iter().map(|judged| (judged.claim.as_str(), judged)).collect();
    let mut shares: HashMap<&str, Vec<&Share>> = HashMap::new();
    for share in &run.shares.shares {
        shares.entry(&share.claim).or_default().push(share);
    }
    to.collect_seq(run.parsed.claims.iter().map(|claim| {
        let id = claim.id.as_str();
        claim_entry(claim, judged.get(id).copied(), shares.get(id).map_or(&[], Vec::as_slice))
    }))
}

fn write_phases<S: Serializer>(run: &&JudgedRun, to: S) -> Result<S::Ok, S::Error> {
    // The first of each phase, should there be more.
    let limiters = run.limiters.iter().rev();
    let limiters: HashMap<&str, &Limiter> = limiters.map(|limiter| (limiter.phase.as_str(), limiter)).collect();
    let entry = |phase| phase_entry(phase, run, &limiters);
    to.collect_seq(run.phases.iter().map(entry))
}

fn write_findings<S: Serializer>(run: &&JudgedRun, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(run.findings.iter().flat_map(finding_entries))
}

fn claim_entry<'run>(
    claim: &'run Claim,
    judged: Option<&'run JudgedClaim>,
    shares: &[&'run Share],
) -> ClaimEntry<'run> {
    let honest = judged.and_then(|judged| judged.honest(claim));
    ClaimEntry {
        id: &claim.id,
        phase: &claim.phase,
        metric: claim.metric,
        value: claim.value.value.into(),
        unit: claim.value.unit.as_str(),
        printed: &claim.printed,
        subject: claim.subject.as_str(),
        subject_reason: &claim.subject_reason,
        source: &claim.source,
        verdict: judged.map(|j| j.verdict()),
        honest: honest.map(Value::from),
        honest_why: match (honest, judged) {
            (Some(_), _) => None,
            (None, Some(judged)) => Some(judged.why_no_honest()),
            (None, None) => Some("the claim was not judged".to_owned()),
        },
        observed: judged.and_then(|j| j.observed()).map(Value::from),
        tolerance: judged.and_then(|j| j.tolerance()).map(tolerance_entry),
        corrected: judged.and_then(|j| j.corrected.as_ref()).map(corrected_entry),
        no_correction: judged.and_then(|j| j.no_correction.as_deref()),
        measured_instead: judged.and_then(|j| j.measured_instead.as_deref()),
        unobserved: judged.and_then(|j| j.unobserved).map(unobserved_entry),
        findings: judged.map_or(&[], |j| &j.findings),
        shares: shares.iter().copied().map(share_entry).collect(),
    }
}

fn share_entry(share: &Share) -> ShareEntry<'_> {
    let bound = |bound: &'_ Bound| bound.value.value.into();
    ShareEntry {
        figure: share.figure,
        value: share.value.value.into(),
        unit: share.value.unit.as_str(),
        bound: share.bound.value.into(),
        share_ratio: share.ratio.into(),
        part: &share.part,
        measured: share.measured,
        bounds: share
            .bounds
            .iter()
            .map(|of| BoundEntry { part: &of.part, bound: bound(of), measured: of.measured })
            .collect(),
    }
}

fn tolerance_entry(tolerance: &Tolerance) -> ToleranceEntry<'_> {
    ToleranceEntry { low: tolerance.low.into(), high: tolerance.high.into(), reason: &tolerance.reason }
}

fn unobserved_entry(unobserved: Unobserved) -> UnobservedEntry {
    let Unobserved { value, low, high, again } = unobserved;
    let again = again.map(|Again { low, high }| AgainEntry { low: low.into(), high: high.into() });
    UnobservedEntry { value: value.into(), low: low.into(), high: high.into(), again }
}

fn corrected_entry(corrected: &Corrected) -> CorrectedEntry<'_> {
    let Value { value, unit } = corrected.value.into();
    CorrectedEntry { value, unit, meaning: &corrected.meaning }
}

fn phase_entry<'run>(
    phase: &'run Phase,
    run: &'run JudgedRun,
    limiters: &HashMap<&str, &'run Limiter>,
) -> PhaseEntry<'run> {
    let mut files: Vec<FileId> = phase.parts.iter().map(|part| part.file).collect();
    files.sort_unstable();
    files.dedup();
    PhaseEntry {
        id: &phase.id,
        name: &phase.name,
        window: phase.window,
        files,
        incomplete: phase.incomplete.as_deref(),
        facts: fact_entries(&phase.facts),
        cpu: run.profiles.phases.get(&phase.id),
        limiter: limiters.get(phase.id.as_str()).copied().map(limiter_entry),
    }
}

fn limiter_entry(limiter: &Limiter) -> LimiterEntry<'_> {
    LimiterEntry {
        kind: limiter.kind,
        sentence: &limiter.sentence,
        figures: limiter.figures.iter().map(figure_entry).collect(),
        facts: limiter.facts.iter().map(|fact| fact.as_str()).collect(),
    }
}

fn figure_entry(figure: &Figure) -> FigureEntry<'_> {
    FigureEntry { name: &figure.name, value: figure.value.value.into(), unit: figure.value.unit.as_str() }
}

fn fact_entries(facts: &Facts) -> FactEntries<'_> {
    facts
        .0
        .iter()
        .map(|(name, fact)| {
            let value = fact.value.map(|quantity| quantity.value.into());
            let Fact { scope, completeness, source, .. } = fact;
            (name.as_str(), FactEntry { value, unit: name.unit().as_str(), scope: *scope, completeness, source })
        })
        .collect()
}

/// Returns one entry per claim of the finding, so that every entry names at most one claim. A finding on a phase or on
/// the run has one entry without a claim.
fn finding_entries(finding: &Finding) -> Vec<FindingEntry<'_>> {
    let entry = |claim| FindingEntry {
        code: &finding.code,
        name: &finding.name,
        outcome: finding.outcome,
        severity: finding.severity,
        phase: finding.phase.as_deref(),
        claim,
        observed: finding.observed.map(Value::from),
        threshold: finding.threshold.as_ref().map(|threshold| threshold.value.into()),
        threshold_source: finding.threshold.as_ref().map(|threshold| threshold.source.as_str()),
        message: &finding.message,
        meaning: &finding.meaning,
        advice: &finding.advice,
        facts: finding.facts.iter().map(|fact| fact.as_str()).collect(),
        effect: finding.effect,
    };
    if finding.claims.is_empty() {
        vec![entry(None)]
    } else {
        finding.claims.iter().map(|claim| entry(Some(claim.as_str()))).collect()
    }
}
