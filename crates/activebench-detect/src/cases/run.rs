//! The case of one detector and one phase (or the run). Findings are made here, so that every outcome has its code,
//! name, phase and facts without each detector repeating them.

use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Outcome, Severity, Threshold};
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::phase::Phase;
use activebench_model::sentence::as_sentence;
use activebench_model::units::Quantity;

use crate::detector::{Detector, Evidence, Judge};
use crate::run::Run;
use crate::thresholds::Thresholds;

/// The reason why a detector does not judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The question does not arise, with the reason.
    NotApplicable(String),
    /// A fact is missing or partial, with its name.
    Undecided(String),
}

impl Halt {
    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(as_sentence(&why.into()))
    }

    pub(crate) fn undecided(why: impl Into<String>) -> Self {
        Self::Undecided(as_sentence(&why.into()))
    }
}

/// A fact that cannot be used leaves the question open.
impl From<String> for Halt {
    fn from(why: String) -> Self {
        Self::undecided(why)
    }
}

/// The weight of a discrepancy, and its effect on its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Changes no verdict.
    Note,
    /// Qualifies the run; under `strict` it fails with this effect.
    Warn(Effect),
    /// Warns and has this effect under every profile.
    WarnWith(Effect),
    /// Fails with this effect.
    Fail(Effect),
    /// Qualifies the run and changes none of its claims.
    WarnOfRun,
    /// Makes the run a discrepancy and changes none of its claims.
    FailOfRun,
}

impl Weight {
    /// Returns its outcome under a profile.
    pub(crate) fn under(self, thresholds: &Thresholds, has_claims: bool) -> (Severity, Option<Effect>) {
        match self {
            Weight::Note => (Severity::Note, None),
            Weight::Warn(effect) if thresholds.warn_counts_as_fail => (Severity::Fail, Some(effect)),
            Weight::Warn(_) => (Severity::Warn, None),
            Weight::WarnWith(effect) if thresholds.warn_counts_as_fail => (Severity::Fail, Some(effect)),
            Weight::WarnWith(effect) => (Severity::Warn, Some(effect)),
            // Without claims nobody is accused.
            Weight::Fail(_) | Weight::FailOfRun if !has_claims => (Severity::Warn, None),
            Weight::Fail(effect) => (Severity::Fail, Some(effect)),
            Weight::WarnOfRun if thresholds.warn_counts_as_fail => (Severity::Fail, None),
            Weight::WarnOfRun => (Severity::Warn, None),
            Weight::FailOfRun => (Severity::Fail, None),
        }
    }
}

/// A discrepancy, as a detector states it: message and meaning in sentences, the advice as a fragment or sentences.
#[derive(Clone, Debug)]
pub(crate) struct Firing {
    pub(crate) weight: Weight,
    pub(crate) observed: Option<Quantity>,
    pub(crate) threshold: Threshold,
    pub(crate) message: String,
    pub(crate) meaning: String,
    pub(crate) advice: String,
}

/// One of several discrepancies that a detector looks for; `None` if there is none.
pub(crate) type Question = fn(&Case<'_>, &Phase) -> Result<Option<Finding>, Halt>;

/// The observation for a question that inference can also answer.
#[derive(Clone, Debug)]
pub(crate) enum Observed {
    /// It is not so, with the reason.
    Clean(String),
    /// It is so.
    Found(Box<Finding>),
    /// There was nothing to observe, or it leaves the question open: the inference answers.
    Open,
    /// The observation was lost, with the reason. Then the inference accuses nobody.
    Lost(String),
}

/// A detector with one phase, or with the whole run.
#[derive(Clone)]
pub(crate) struct Case<'a> {
    pub(crate) run: Run<'a>,
    code: &'static str,
    name: &'static str,
    phase: Option<&'a Phase>,
    claims: Vec<&'a Claim>,
    pub(crate) facts: Vec<FactName>,
}

impl<'a> Case<'a> {
    /// Creates the case of the whole run, without facts of a phase.
    pub(crate) fn of_run(detector: &Detector, run: &Run<'a>) -> Self {
        Self { run: *run, code: detector.code, name: detector.name, phase: None, claims: Vec::new(), facts: Vec::new() }
    }

    /// Creates the case of a phase and its claims, with the facts that the detector declares.
    pub(crate) fn of_phase(detector: &Detector, run: &Run<'a>, phase: &'a Phase) -> Self {
        let claims = run.claims_of(phase).collect();
        let facts = detector.facts.to_vec();
        Self { phase: Some(phase), claims, facts, ..Self::of_run(detector, run) }
    }

    /// Returns the same case for these claims only.
    pub(crate) fn concerning(&self, claims: Vec<&'a Claim>) -> Self {
        Self { claims, ..self.clone() }
    }

    /// Returns the same case with these facts; with none if the command line or the tool's own words decide.
    pub(crate) fn resting_on(&self, facts: Vec<FactName>) -> Self {
        Self { facts, ..self.clone() }
    }

    /// Returns the same case for the claims that take the phase for storage.
    pub(crate) fn concerning_storage(&self) -> Result<Self, Halt> {
        let phase =
            self.phase.ok_or_else(|| Halt::not_applicable("The check applies to a pass, not to the whole run."))?;
        let claims = self.run.storage_rates_of(phase);
        if claims.is_empty() && self.run.has_claims() {
            return Err(Halt::not_applicable("No rate of this pass is judged as a figure about storage."));
        }
        Ok(self.concerning(claims))
    }

    /// Returns the same case for the phase's rates and times, without plain counts.
    pub(crate) fn concerning_rates(&self) -> Result<Self, Halt> {
        let rates: Vec<_> = self.claims.iter().copied().filter(|claim| !claim.metric.is_count()).collect();
        if rates.is_empty() && self.run.has_claims() {
            return Err(Halt::not_applicable("The tool does not print a rate or time for this pass."));
        }
        Ok(self.concerning(rates))
    }

    /// Asks two questions about the case, each with its own facts. Returns their findings, or that both are silent.
    pub(crate) fn asked_both(&self, phase: &Phase, questions: [(&[FactName], Question); 2]) -> Vec<Finding> {
        let findings = questions.into_iter().filter_map(|(facts, question)| {
            let case = self.resting_on(facts.to_vec());
            question(&case, phase).unwrap_or_else(|halt| Some(case.halted(halt)))
        });
        let told: Vec<Finding> = findings.collect();
        if told.is_empty() { vec![self.silent("")] } else { told }
    }

    /// Uses the observation first, and the inference only if that leaves the question open. Every detector with both
    /// uses this function, so that a clean observation always silences the inference.
    pub(crate) fn observed_first(
        &self,
        evidence: Evidence,
        observed: impl FnOnce(&Self) -> Observed,
        inferred: impl FnOnce(&Self) -> Result<Finding, Halt>,
    ) -> Result<Finding, Halt> {
        let mut facts = self.facts.clone();
        facts.extend(evidence.observed.iter().filter(|fact| !self.facts.contains(fact)));
        let by_both = self.resting_on(facts);
        match observed(&by_both) {
            Observed::Clean(why) => Ok(by_both.silent(why)),
            Observed::Found(finding) => Ok(*finding),
            Observed::Open => inferred(&by_both),
            // Circumstances neither accuse where the observation was lost, nor answer that the question does not arise.
            Observed::Lost(why) => match inferred(&by_both) {
                Ok(finding) if finding.outcome == Outcome::Fires => Err(Halt::undecided(why)),
                Err(Halt::NotApplicable(_)) => Err(Halt::undecided(why)),
                answer => answer,
            },
        }
    }

    pub(crate) fn claims(&self) -> &[&'a Claim] {
        &self.claims
    }

    pub(crate) fn thresholds(&self) -> &'a Thresholds {
        self.run.thresholds
    }

    /// Returns its first claim in words: `iozone claims 1.4 GiB/s`.
    pub(crate) fn claimed(&self) -> String {
        let tool = self.run.tool();
        match self.claims.first() {
            Some(claim) => format!("{tool} claims {}", claim.value),
            None => format!("{tool} does not print a figure"),
        }
    }

    pub(crate) fn silent(&self, message: impl Into<String>) -> Finding {
        self.label().finding(Outcome::Silent, message.into())
    }

    pub(crate) fn halted(&self, halt: Halt) -> Finding {
        self.label().halted(halt)
    }

    pub(crate) fn fires(&self, firing: Firing) -> Finding {
        let finding = self.label().fires(firing, self.thresholds(), self.run.has_claims());
        if self.run.has_adapter() || finding.effect != Some(Effect::Refuted) {
            return finding;
        }
        // The claim was found because it agrees with this pass. What differs is another figure, or another pass.
        Finding { severity: Some(Severity::Note), effect: None, ..finding }
    }

    fn label(&self) -> Label {
        Label {
            code: self.code,
            name: self.name,
            phase: self.phase.map(|phase| phase.id.clone()),
            claims: self.claims.iter().map(|claim| claim.id.clone()).collect(),
            facts: self.facts.clone(),
        }
    }
}

/// The properties that every finding of one case has in common.
pub(crate) struct Label {
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    pub(crate) phase: Option<String>,
    pub(crate) claims: Vec<String>,
    pub(crate) facts: Vec<FactName>,
}

impl Label {
    pub(crate) fn halted(self, halt: Halt) -> Finding {
        match halt {
            Halt::NotApplicable(why) => self.finding(Outcome::NotApplicable, why),
            Halt::Undecided(why) => self.finding(Outcome::Undecided, why),
        }
    }

    /// `claimed` says whether there is somebody to accuse.
    pub(crate) fn fires(self, firing: Firing, thresholds: &Thresholds, claimed: bool) -> Finding {
        let (severity, effect) = firing.weight.under(thresholds, claimed);
        Finding {
            severity: Some(severity),
            // A quotient with a divisor of zero is not an observation.
            observed: firing.observed.filter(|observed| observed.value.is_finite()),
            threshold: Some(firing.threshold),
            meaning: firing.meaning,
            advice: as_sentence(&firing.advice),
            effect,
            ..self.finding(Outcome::Fires, firing.message)
        }
    }

    pub(crate) fn finding(self, outcome: Outcome, message: String) -> Finding {
        Finding {
            code: self.code.to_owned(),
            name: self.name.to_owned(),
            outcome,
            severity: None,
            phase: self.phase,
            claims: self.claims,
            observed: None,
            threshold: None,
            message: message.into(),
            meaning: String::new(),
            advice: String::new(),
            facts: self.facts,
            effect: None,
        }
    }
}

impl Detector {
    /// Judges a run: at least one finding.
    pub fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        match self.judge {
            Judge::Run(judge) | Judge::Command(judge) | Judge::CommandLine(judge) => judge(run),
            Judge::Series(_) => {
                let why = "This is a single run. `verify --repeat` compares several.";
                vec![Case::of_run(self, run).halted(Halt::not_applicable(why))]
            }
        }
    }
}

/// Asks a question about every phase: one finding per phase, or one for a run without phases.
///
/// Phases without a claim are not judged: an observed pass without a printed
/// figure cannot be compared. If no adapter knows the tool, there are no claims at all, and its calls still cause
/// warnings.
pub(crate) fn of_each_phase<'a>(
    detector: &Detector,
    run: &Run<'a>,
    mut question: impl FnMut(&Case<'a>, &'a Phase) -> Result<Vec<Finding>, Halt>,
) -> Vec<Finding> {
    if run.phases.is_empty() {
        let case = Case::of_run(detector, run).resting_on(detector.facts.to_vec());
        return vec![case.halted(Halt::not_applicable("No pass of the tool is known."))];
    }
    let mut findings = Vec::new();
    for phase in run.phases {
        let case = Case::of_phase(detector, run, phase);
        if case.claims().is_empty() && run.has_claims() {
            findings.push(case.halted(Halt::not_applicable("The tool does not print a figure for this pass.")));
            continue;
        }
        if let Some(who) = &phase.elsewhere {
            findings.push(case.halted(Halt::undecided(not_here(who))));
            continue;
        }
        match question(&case, phase) {
            Ok(judged) => findings.extend(judged),
            Err(halt) => findings.push(case.halted(halt)),
        }
    }
    findings
}

/// Returns the reason why a pass with somebody else's I/O is not judged.
pub(crate) fn not_here(who: &str) -> String {
    format!("The I/O is made by {who}, which is not observed from here. Start activebench there.")
}

/// As [`of_each_phase`], for questions about calls that must have been observed.
pub(crate) fn of_each_seen_phase<'a>(
    detector: &Detector,
    run: &Run<'a>,
    mut question: impl FnMut(&Case<'a>, &'a Phase) -> Result<Finding, Halt>,
) -> Vec<Finding> {
    of_each_phase(detector, run, |case, phase| {
        seen(phase)?;
        question(case, phase).map(|finding| vec![finding])
    })
}

/// Leaves the question open for a pass that was not found among the observed calls.
pub(crate) fn seen(phase: &Phase) -> Result<(), Halt> {
    if !phase.is_found() {
        let why = phase.incomplete.as_deref().unwrap_or("no reason was given");
        return Err(Halt::undecided(format!("The pass was not found in the observed calls: {why}.")));
    }
    Ok(())
}

/// Returns the device at which claims on a target's files are judged.
pub(crate) fn device_below(target: &Target) -> Result<&Layer, Halt> {
    match (target.device(), target.tier) {
        (Some(device), _) => Ok(device),
        (None, Tier::Block | Tier::Unknown) => Err(what_lies_below(target)),
        (None, Tier::Memory | Tier::Network | Tier::Fuse) => {
            Err(Halt::not_applicable("There is no block device below the file."))
        }
    }
}

/// Leaves a question on the devices open.
pub(crate) fn what_lies_below(target: &Target) -> Halt {
    Halt::undecided(match target.mount_point.as_str() {
        "" => "The file system of the files is not known.".to_owned(),
        mount_point => format!("The devices below {} at {mount_point} are not known.", target.fs_type),
    })
}

/// Returns a fact that applies to some phases only; `None` if it was not computed for this one.
pub(crate) fn fact_if_any(phase: &Phase, name: FactName) -> Result<Option<f64>, String> {
    phase.facts.get(name).map(|_| phase.facts.complete(name)).transpose()
}
