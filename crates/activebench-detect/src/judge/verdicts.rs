//! From findings to verdicts: one for each claim, one for the run, the exit code.
//!
//! A claim takes the strongest effect of the findings that fire on it, in this order:
//!
//! 1. Evidence lost or a path not decoded (AB901, AB902): unverifiable. It comes before refuted and
//!    misleading because the other detectors assume that what they did not see did not happen;
//!    after a loss that is no longer so, and accusing an honest run is the worst error.
//! 2. Refuted, then misleading. Both were shown from whole evidence, so that a noisy
//!    neighbour or a short window does not take them back.
//!    Misleading as a figure of the storage is unverifiable where nothing says that it is one.
//! 3. Unverifiable for any other reason: such a finding, a pass that was not found or is
//!    not what the command promises, a deciding detector that is undecided.
//! 4. Unverifiable if a tracer observed and the figure is taken for what storage did: it sees neither the device nor what
//!    stopped the tool, so that the detectors that are silent have not looked at all that could make it false.
//! 5. Confirmed, if the same figure was observed and the claim is within its tolerance
//!    (`judge::confirmation`); otherwise not checked.
//!
//! Warnings and notes do not change a claim unless they say so. An unknown cost of the observation (AB903) does not
//! change anything: it makes a figure worse, never better.

use std::collections::{BTreeMap, HashMap, HashSet};

use activebench_model::bound::Shares;
use activebench_model::claim::{Claim, Subject};
use activebench_model::coverage::Backend;
use activebench_model::finding::{Effect, Finding, FindingsByClaim, Outcome, Severity};
use activebench_model::limiter::Limiter;
use activebench_model::measurement::Measurement;
use activebench_model::phase::Phase;
use activebench_model::report::{Answer, NO_FIGURE, Together};
use activebench_model::run::{ChildEnd, Choices, FailOn};
use activebench_model::target::JudgedTarget;
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};

use crate::cases::run::not_here;
use crate::detector::{Basis, Decides, Detector};
use crate::detectors::{perturbed_by_observer, queue_depth_not_reached, script_figure_differs};
use crate::evidence::rebuilt_figure::rebuild;
use crate::judge::bottleneck;
use crate::judge::confirmation::confirmation;
use crate::judge::correction::{measured_instead, of_misleading, of_refuted};
use crate::judge::headroom;
use crate::judge::seven_questions::{answers, count as counted};
use crate::judge::target_figure;
use crate::judge::together::together;
use crate::judge::unobserved::unobserved;
use crate::registry::DETECTORS;
use crate::run::{PartOfRun, Run};

/// A judged run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Every detector's outcomes, in the order of the codes and phases.
    pub findings: Vec<Finding>,
    /// One entry a claim, in the order of the claims.
    pub judged: Vec<JudgedClaim>,
    /// The run's verdict.
    pub verdict: RunVerdict,
    /// Why this verdict, as one lower-case fragment.
    pub because: String,
    /// The exit code of activebench.
    pub exit_code: i32,
    /// The bottleneck of each phase that was found.
    pub limiters: Vec<Limiter>,
    /// The figures as shares of what was possible.
    pub shares: Shares,
    /// The target, compared with the honest figures; `None` without one.
    pub target: Option<JudgedTarget>,
    /// Gregg's seven questions, by key.
    pub questions: BTreeMap<String, Answer>,
    /// Verdict of each of several measurements, with the reason; empty for one.
    pub measurements: Vec<(RunVerdict, String)>,
    /// Measurements that used a device at the same time.
    pub together: Vec<Together>,
}

/// Judges a run.
pub fn judge(run: &Run<'_>) -> Judgement {
    let mut own: Vec<Finding> = DETECTORS.iter().flat_map(|detector| detector.judge(run)).collect();
    suppress(&mut own, &run.manifest.choices);
    soften(&mut own, run);
    let by_claim = FindingsByClaim::new(&own);
    let judged: Vec<JudgedClaim> =
        run.parsed.claims.iter().map(|claim| judge_claim(run, claim, &by_claim.concerning(claim))).collect();
    let limiters = bottleneck::of_phases(run);
    // A run of a thousand figures has tens of thousands of findings, and they stay until its reports are written.
    own.shrink_to_fit();
    let (verdict, because) = judge_run(run, &judged, &own);
    concluded(run, own, judged, limiters, (verdict, because))
}

/// The conclusions from what was judged.
fn concluded(
    run: &Run<'_>,
    findings: Vec<Finding>,
    judged: Vec<JudgedClaim>,
    limiters: Vec<Limiter>,
    (verdict, because): (RunVerdict, String),
) -> Judgement {
    let target = target_figure::of_run(run, &judged);
    let exit_code = exit_code_with(verdict, run.manifest.choices.fail_on, target.as_ref());
    let questions = answers(run, &findings, &judged, &limiters);
    let shares = headroom::of_run(run, &judged);
    let (measurements, together) = (Vec::new(), Vec::new());
    Judgement {
        findings,
        judged,
        verdict,
        because,
        exit_code,
        limiters,
        shares,
        target,
        questions,
        measurements,
        together,
    }
}

/// Judges a run of several measurements: each claim with the findings of its own measurement, the run by all of them.
/// `measurements` have the claims and phases of `run`, in order.
pub fn judge_measurements(run: &Run<'_>, measurements: &[Run<'_>]) -> Judgement {
    let (of_command, of_each): (Vec<&Detector>, Vec<&Detector>) =
        DETECTORS.iter().copied().partition(|detector| detector.is_of_the_command());
    let mut findings: Vec<Finding> = of_command.iter().flat_map(|detector| detector.judge(run)).collect();
    suppress(&mut findings, &run.manifest.choices);
    let (mut judged, mut limiters, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut about_run = HashMap::new();
    for measurement in measurements {
        let mut own: Vec<Finding> = of_each.iter().flat_map(|detector| detector.judge(measurement)).collect();
        suppress(&mut own, &run.manifest.choices);
        soften(&mut own, measurement);
        let by_claim = FindingsByClaim::new(&own);
        let judge_one = |claim: &Claim| judge_claim(measurement, claim, &by_claim.concerning(claim));
        let own_judged: Vec<JudgedClaim> = measurement.parsed.claims.iter().map(judge_one).collect();
        limiters.extend(bottleneck::of_phases(measurement));
        verdicts.push(judge_run(measurement, &own_judged, &own));
        judged.extend(own_judged);
        add_findings(&mut findings, &mut about_run, own);
    }
    findings.shrink_to_fit();
    let (mut verdict, mut because) = judge_run(run, &judged, &findings);
    if matches!(verdict, RunVerdict::Verified | RunVerdict::Qualified)
        && let Some(open) = first_open(measurements, &verdicts)
    {
        (verdict, because) = (RunVerdict::Inconclusive, open);
    }
    let concluded = concluded(run, findings, judged, limiters, (verdict, because));
    Judgement { measurements: verdicts, together: together(measurements), ..concluded }
}

/// Returns what the first measurement leaves open that has figures, or should have some: a benchmark that failed and
/// printed none states nothing.
fn first_open(measurements: &[Run<'_>], verdicts: &[(RunVerdict, String)]) -> Option<String> {
    measurements.iter().zip(verdicts).find_map(|(measurement, (verdict, because))| {
        let Measurement { number, tool, .. } = measurement.part?.measurement;
        let is_open = match verdict {
            RunVerdict::Inconclusive => !measurement.part?.is_about_no_storage,
            RunVerdict::Failed => !measurement.parsed.claims.is_empty(),
            RunVerdict::Verified | RunVerdict::Qualified | RunVerdict::Discrepancy => false,
        };
        is_open.then(|| format!("measurement {number} ({tool}): {because}"))
    })
}

/// Adds the findings of a measurement to those before it. What several say of the whole run is said once: `about_run`
/// has the places of such findings.
fn add_findings(
    findings: &mut Vec<Finding>,
    about_run: &mut HashMap<(String, Outcome, String), usize>,
    mut own: Vec<Finding>,
) {
    let key = |finding: &Finding| (finding.code.clone(), finding.outcome, finding.message.to_string());
    own.retain_mut(|finding| {
        let known = finding.phase.is_none().then(|| about_run.get(&key(finding))).flatten();
        if let Some(place) = known {
            findings[*place].claims.append(&mut finding.claims);
        }
        known.is_none()
    });
    let of_run = own.iter().enumerate().filter(|(_, finding)| finding.phase.is_none());
    about_run.extend(of_run.map(|(place, finding)| (key(finding), findings.len() + place)));
    // The findings of the only measurement are moved, not copied: they are most of the memory of a judgement.
    match findings.is_empty() {
        true => *findings = own,
        false => findings.append(&mut own),
    }
}

/// Returns the findings from a command line alone, before anything ran: those of the detectors that ask it, in the
/// order of their codes.
pub fn judge_plan(run: &Run<'_>) -> Vec<Finding> {
    let of_the_plan = DETECTORS.iter().filter(|detector| detector.is_of_the_plan());
    let mut findings: Vec<Finding> = of_the_plan.flat_map(|detector| detector.judge(run)).collect();
    suppress(&mut findings, &run.manifest.choices);
    findings
}

/// The user's reason to leave a detector out, by its code or name.
pub(crate) fn suppression<'a>(choices: &'a Choices, finding: &Finding) -> Option<&'a str> {
    let names = |key: &str| key.eq_ignore_ascii_case(&finding.code) || key.eq_ignore_ascii_case(&finding.name);
    choices.suppressed.iter().find(|(key, _)| names(key)).map(|(_, reason)| reason.as_str())
}

/// Turns suppressed findings into notes without effect. They still fire and are shown, with the user's reason.
pub(crate) fn suppress(findings: &mut [Finding], choices: &Choices) {
    for finding in findings {
        let Some(reason) = suppression(choices, finding) else { continue };
        if matches!(finding.outcome, Outcome::Fires | Outcome::Undecided) {
            finding.message.suppress(reason);
        }
        if finding.outcome == Outcome::Fires {
            finding.severity = Some(Severity::Note);
            finding.effect = None;
        }
    }
}

/// Makes warnings of findings that contradict figures as ones of the storage, where nothing says that they are.
fn soften(findings: &mut [Finding], run: &Run<'_>) {
    let claims = run.parsed.claims.iter();
    let unknown = claims.filter(|claim| run.subject_of(claim) == Subject::Unknown).map(|claim| claim.id.as_str());
    let unknown: HashSet<&str> = unknown.collect();
    if unknown.is_empty() {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| contradicts_storage(finding)) {
        if !finding.claims.is_empty() && finding.claims.iter().all(|id| unknown.contains(id.as_str())) {
            finding.severity = finding.severity.min(Some(Severity::Warn));
            finding.effect = Some(Effect::Unverifiable);
        }
    }
}

/// Returns `true` if a finding makes figures misleading that are taken for what storage did, and no others.
fn contradicts_storage(finding: &Finding) -> bool {
    finding.outcome == Outcome::Fires
        && finding.effect == Some(Effect::Misleading)
        && declared(finding).is_some_and(|detector| detector.decides == Decides::RatesOfStorage)
}

/// Returns `true` if a claim cannot be confirmed while the detector of this finding is undecided. Whether a depth was
/// reached that nobody read is not such a question: the figure is right without it.
fn decides(finding: &Finding, claim: &Claim, subject: Subject, phase: &Phase) -> bool {
    let asks_for_what_was_not_read = queue_depth_not_reached::DETECTOR.made(finding) && phase.unread.is_some();
    !asks_for_what_was_not_read && declared(finding).is_some_and(|detector| detector.decides.includes(claim, subject))
}

/// Returns `true` if a finding is about the words of the output alone, as those of a script's lines beside the tool's.
fn is_about_what_was_printed(finding: &Finding) -> bool {
    let is_of_words = |detector: &Detector| detector.basis == Basis::Statements && !detector.is_of_the_plan();
    declared(finding).is_some_and(is_of_words)
}

/// Returns `true` if a finding warns of a script's number that comes from no figure, or that stands in a tool's line.
fn is_of_no_figure(finding: &Finding) -> bool {
    script_figure_differs::DETECTOR.made(finding)
        && finding.severity >= Some(Severity::Warn)
        && finding.claims.is_empty()
}

/// The detector that made a finding. The registry is in the order of the codes.
fn declared(finding: &Finding) -> Option<&'static Detector> {
    let place = DETECTORS.binary_search_by(|detector| detector.code.cmp(&finding.code)).ok()?;
    Some(DETECTORS[place])
}

/// Judges a claim by the findings that concern it.
fn judge_claim(run: &Run<'_>, claim: &Claim, concerning: &[&Finding]) -> JudgedClaim {
    let mut fired: Vec<&Finding> =
        concerning.iter().copied().filter(|finding| finding.outcome == Outcome::Fires).collect();
    // Stable: within one severity the order of the codes stays.
    fired.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut codes: Vec<String> = Vec::new();
    for finding in &fired {
        if !codes.contains(&finding.code) {
            codes.push(finding.code.clone());
        }
    }
    let phase = run.phase_of(claim);
    let observed = phase.and_then(|phase| rebuild(run, phase, claim).ok()).and_then(|rebuilt| rebuilt.figure.ok());
    let unobserved = phase.and_then(|phase| unobserved(phase, claim).ok());
    verdict_on(run, claim, concerning, &fired, phase, observed).with_findings(codes).with_unobserved(unobserved)
}

/// The verdict on a claim, from the findings that concern it and those of them that fire.
fn verdict_on(
    run: &Run<'_>,
    claim: &Claim,
    concerning: &[&Finding],
    fired: &[&Finding],
    phase: Option<&Phase>,
    observed: Option<Quantity>,
) -> JudgedClaim {
    let id = claim.id.as_str();
    let with = |effect: Effect| fired.iter().filter(move |finding| finding.effect == Some(effect));
    let unverifiable = |why: String| JudgedClaim::unverifiable(id, observed, why);
    let lost = |finding: &&&Finding| declared(finding).is_some_and(|detector| detector.decides == Decides::Everything);
    if let Some(lost) = with(Effect::Unverifiable).find(lost) {
        return unverifiable(lost.message.to_string());
    }
    let Some(phase) = phase else {
        return unverifiable("the phase that it is about was not found".to_owned());
    };
    if let Some(who) = &phase.elsewhere {
        return unverifiable(not_here(who));
    }
    if with(Effect::Refuted).next().is_some() {
        return JudgedClaim::refuted(id, observed, of_refuted(run, phase, claim));
    }
    let subject = run.subject_of(claim);
    let is_no_figure_of_storage = |finding: &&&Finding| match finding.effect {
        Some(Effect::Misleading) => contradicts_storage(finding),
        Some(Effect::Unverifiable) => declared(finding).is_some_and(|detector| detector.correction.is_some()),
        _ => false,
    };
    let softened: Vec<&Detector> = fired
        .iter()
        .filter(|finding| subject == Subject::Unknown && is_no_figure_of_storage(finding))
        .filter_map(|finding| declared(finding))
        .collect();
    let misleading: Vec<&Detector> = with(Effect::Misleading)
        .filter(|finding| subject != Subject::Unknown || !contradicts_storage(finding))
        .filter_map(|finding| declared(finding))
        .collect();
    if !misleading.is_empty() {
        let honest = of_misleading(run, phase, claim, &misleading);
        return JudgedClaim::misleading(id, observed, measured_instead(run, phase, &misleading), honest);
    }
    if let Some(measured) = measured_instead(run, phase, &softened) {
        let why = format!(
            "it measured {measured}, and it is not known if it is meant as a figure about the storage (hint: `--subject \
             device` or `--subject cached-filesystem`)"
        );
        return unverifiable(why);
    }
    if let Some(finding) = with(Effect::Unverifiable).next() {
        return unverifiable(finding.message.to_string());
    }
    if let Some(why) = &phase.incomplete {
        return unverifiable(format!("the pass is not what the command promises: {why}"));
    }
    if !phase.is_found() {
        return unverifiable("the pass was not found in the observed calls".to_owned());
    }
    let is_open = |finding: &&&Finding| {
        finding.outcome == Outcome::Undecided
            && decides(finding, claim, subject, phase)
            && suppression(&run.manifest.choices, finding).is_none()
    };
    let open: Vec<&&Finding> = concerning.iter().filter(is_open).collect();
    if let Some(first) = open.first() {
        let why = format!("{} {} is undecided: {}", first.code, first.name, first.message);
        return JudgedClaim::left_open(id, observed, open.iter().map(|finding| finding.code.clone()).collect(), why);
    }
    if let Some(why) = unseen_by(run.manifest.coverage.backend, claim, subject) {
        return unverifiable(why.to_owned());
    }
    match confirmation(run, phase, claim) {
        Ok(confirmation) => JudgedClaim::confirmed(id, confirmation),
        Err(why) => JudgedClaim::not_checked(id, observed, why),
    }
}

/// Returns the reason why no observation by this backend can confirm a figure about this subject; `None` if one can.
/// Counts are what they are, whoever observes.
fn unseen_by(backend: Backend, claim: &Claim, subject: Subject) -> Option<&'static str> {
    match backend {
        // Where nothing was observed AB902 decides.
        Backend::Bpf | Backend::None => None,
        Backend::Ptrace if claim.metric.is_count() || claim.metric.is_cpu() => None,
        Backend::Ptrace if !Decides::RatesOfStorage.includes(claim, subject) => Some(
            "a tracer stops the tool at calls, and what the figure would be without that is not known (hint: CAP_BPF \
             and CAP_PERFMON, or root, observe without stops: --backend bpf)",
        ),
        Backend::Ptrace => Some(
            "a tracer does not see the device, and the figure is taken for what storage did (hint: CAP_BPF and \
             CAP_PERFMON, or root, show it: --backend bpf)",
        ),
    }
}

/// Returns the verdict that follows from the end of the child, with the reason.
fn judge_child(child: &ChildEnd) -> Option<(RunVerdict, String)> {
    if let Some(error) = &child.start_error {
        return Some((RunVerdict::Failed, format!("the benchmark could not be started: {error}")));
    }
    if let Some(why) = &child.stopped_by_us {
        return Some((RunVerdict::Inconclusive, format!("the benchmark was stopped before its end: {why}")));
    }
    match (child.exit_code, child.signal) {
        (_, Some(signal)) => Some((RunVerdict::Failed, format!("the benchmark was ended by signal {signal}"))),
        (Some(0), None) => None,
        (Some(code), None) => Some((RunVerdict::Failed, format!("the benchmark ended with exit code {code}"))),
        (None, None) => Some((RunVerdict::Inconclusive, "it is not known how the benchmark ended".to_owned())),
    }
}

/// Returns the verdict that follows from the end of a measurement, with the reason.
fn judge_end(measurement: &Measurement) -> Option<(RunVerdict, String)> {
    match measurement.end() {
        (_, Some(signal)) => Some((RunVerdict::Failed, format!("it was ended by signal {signal}"))),
        (Some(code), None) if code != 0 => Some((RunVerdict::Failed, format!("it ended with exit code {code}"))),
        _ => None,
    }
}

/// Returns the run's verdict, from the strongest reason down.
///
/// A failing finding makes a discrepancy unless its effect is that the evidence does not suffice (others at the device,
/// or a window of a few clock steps, accuse nobody), or unless every claim that it concerns is unverifiable: then the
/// loss weighs more. Nothing is lost of what was printed: words that contradict each other are a discrepancy without
/// any observation. A run without claims is inconclusive: nothing was claimed, so nothing was verified, and its user
/// should not read success in the exit code.
fn judge_run(run: &Run<'_>, judged: &[JudgedClaim], findings: &[Finding]) -> (RunVerdict, String) {
    if let Some(PartOfRun { measurement, missing, .. }) = run.part {
        if let Some(failed) = judge_end(measurement) {
            return failed;
        }
        if let (true, Some(why)) = (judged.is_empty(), missing.first()) {
            return (RunVerdict::Inconclusive, why.clone());
        }
    } else if run.manifest.watch.is_none()
        // What was watched goes on, or ended as it would have.
        && let Some(ended) = judge_child(&run.manifest.child)
    {
        return ended;
    }
    let count = |verdict: ClaimVerdict| judged.iter().filter(|claim| claim.verdict() == verdict).count();
    let (refuted, misleading) = (count(ClaimVerdict::Refuted), count(ClaimVerdict::Misleading));
    let all = judged.len();
    if refuted + misleading > 0 {
        let because = match (refuted, misleading) {
            (0, misleading) => format!("{misleading} of {all} figures are misleading"),
            (refuted, 0) => format!("{refuted} of {all} figures are refuted"),
            (refuted, misleading) => format!("{refuted} of {all} figures are refuted, and {misleading} are misleading"),
        };
        return (RunVerdict::Discrepancy, because);
    }
    let unverifiable = judged.iter().filter(|claim| claim.verdict() == ClaimVerdict::Unverifiable);
    let unverifiable: HashSet<&str> = unverifiable.map(|claim| claim.claim.as_str()).collect();
    let open_claim = |id: &String| unverifiable.contains(id.as_str());
    let accuses = |finding: &&Finding| {
        finding.severity == Some(Severity::Fail)
            && finding.effect != Some(Effect::Unverifiable)
            && (finding.claims.is_empty()
                || !finding.claims.iter().all(open_claim)
                || is_about_what_was_printed(finding))
    };
    if let Some(finding) = findings.iter().find(accuses) {
        return (RunVerdict::Discrepancy, format!("the run is not valid: {} {}", finding.code, finding.name));
    }
    if judged.is_empty() {
        return (RunVerdict::Inconclusive, without_claims(run));
    }
    let unverifiable = count(ClaimVerdict::Unverifiable);
    if unverifiable > 0 {
        return (RunVerdict::Inconclusive, format!("{unverifiable} of {all} figures could not be verified"));
    }
    // What an adapter found in the place of a figure and could not read may be the figure that matters.
    let unread = run.parsed.unmatched.numbers.len();
    if unread > 0 && run.has_adapter() {
        let because = format!("{unread} of {} figures could not be read", unread + all);
        return (RunVerdict::Inconclusive, because);
    }
    // A rate that nobody could compare may be the one that matters.
    let unmatched = run.parsed.unmatched.rates();
    if unmatched > 0 {
        let because = format!("of {} rates {unmatched} are about I/O that was not found", unmatched + all);
        return (RunVerdict::Inconclusive, because);
    }
    // The line that a reader quotes.
    if let Some(finding) = findings.iter().find(|finding| is_of_no_figure(finding)) {
        let because =
            format!("the script prints a number that none of its tools printed: {} {}", finding.code, finding.name);
        return (RunVerdict::Inconclusive, because);
    }
    if let Some(why) = too_little_checked(run, judged) {
        return (RunVerdict::Inconclusive, why);
    }
    if let Some(finding) = findings.iter().find(|finding| finding.effect == Some(Effect::Unverifiable)) {
        return (
            RunVerdict::Inconclusive,
            format!("the evidence is not sufficient: {} {}", finding.code, finding.name),
        );
    }
    let warnings = findings.iter().filter(|finding| finding.severity >= Some(Severity::Warn)).count();
    let open = findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Undecided && !perturbed_by_observer::DETECTOR.made(finding))
        .filter(|finding| suppression(&run.manifest.choices, finding).is_none())
        .count();
    if warnings + open > 0 {
        let because = format!(
            "no figure is contradicted, with {} and {}",
            counted(warnings, "warning"),
            counted(open, "undecided check")
        );
        return (RunVerdict::Qualified, because);
    }
    let confirmed = count(ClaimVerdict::Confirmed);
    let not_checked = match all - confirmed {
        0 => String::new(),
        left => format!(", {left} could not be checked"),
    };
    (RunVerdict::Verified, format!("{confirmed} of {all} figures are confirmed{not_checked}"))
}

/// Returns the reason why nothing was judged, with the next step.
fn without_claims(run: &Run<'_>) -> String {
    if run.manifest.watch.is_some() {
        return "a watch has no figure to verify, only what was observed".to_owned();
    }
    let unmatched = run.parsed.unmatched.numbers.len();
    let says_which = r"`--claim 'write=(\d+) MB/s'` says what a number means";
    match (run.has_adapter(), unmatched) {
        (true, _) => NO_FIGURE.to_owned(),
        (false, 0) => format!("the output has no number with a unit ({says_which})"),
        (false, all) => format!("none of {all} numbers of the output is certainly about its I/O ({says_which})"),
    }
}

/// Returns the reason why a run without contradicted claims is inconclusive all the same: a pass has rates and none of
/// them is confirmed, or no claim is. Latencies and shares of CPU time do not count alone.
fn too_little_checked(run: &Run<'_>, judged: &[JudgedClaim]) -> Option<String> {
    let confirmed = judged.iter().filter(|judged| judged.verdict() == ClaimVerdict::Confirmed);
    let confirmed: HashSet<&str> = confirmed.map(|judged| judged.claim.as_str()).collect();
    let is_confirmed = |claim: &Claim| confirmed.contains(claim.id.as_str());
    for phase in run.phases {
        let rates =
            |main: bool| -> Vec<&Claim> { run.claims_of(phase).filter(|claim| claim.metric.is_rate(main)).collect() };
        let of_all_tasks = rates(true);
        let rates = if of_all_tasks.is_empty() { rates(false) } else { of_all_tasks };
        if !rates.is_empty() && !rates.iter().any(|claim| is_confirmed(claim)) {
            return Some(format!("no rate of {} could be checked", phase.name));
        }
    }
    let nothing = !run.parsed.claims.iter().any(is_confirmed);
    nothing.then(|| "no figure could be checked".to_owned())
}

/// The exit code of a verdict on a run with a target. A target that is missed, or of which that is unknown, takes the
/// place of success.
fn exit_code_with(verdict: RunVerdict, fail_on: FailOn, target: Option<&JudgedTarget>) -> i32 {
    match (exit_code(verdict, fail_on), target.map(|target| target.met)) {
        (0, Some(Some(false))) => 1,
        (0, Some(None)) => 3,
        // An honest figure that misses it is the answer, whatever else is not known.
        (3, Some(Some(false))) => 1,
        (code, _) => code,
    }
}

/// The exit code of a verdict.
pub fn exit_code(verdict: RunVerdict, fail_on: FailOn) -> i32 {
    match (verdict, fail_on) {
        (RunVerdict::Verified, _) => 0,
        (RunVerdict::Qualified, FailOn::Warn) => 1,
        (RunVerdict::Qualified, _) => 0,
        (RunVerdict::Discrepancy, FailOn::Never) => 0,
        (RunVerdict::Discrepancy, _) => 1,
        (RunVerdict::Inconclusive, _) => 3,
        (RunVerdict::Failed, _) => 4,
    }
}
