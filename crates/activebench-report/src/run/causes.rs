//! Findings by cause: what another finding explains is folded under it.

use std::collections::HashMap;

use activebench_model::finding::{Effect, Finding, Outcome, Severity};
use activebench_model::report::JudgedRun;

/// A detector that found something, with the phases where nothing else that was found explains it.
pub(crate) struct Cause<'run> {
    pub(crate) code: &'run str,
    /// What it found: `Reads came from the page cache`.
    pub(crate) title: String,
    /// The highest of its findings.
    pub(crate) severity: Severity,
    /// The worst finding comes first.
    pub(crate) findings: Vec<&'run Finding>,
    /// Codes that it explains, each once.
    pub(crate) explains: Vec<&'run str>,
}

impl<'run> Cause<'run> {
    /// Returns the causes, the most severe first. Notes are left out, and what another cause explains wherever it was
    /// found.
    pub(crate) fn of(run: &'run JudgedRun) -> Vec<Self> {
        let weighs = |f: &&Finding| f.outcome == Outcome::Fires && f.severity > Some(Severity::Note);
        let found: Vec<&Finding> = run.findings.iter().filter(weighs).collect();
        let explanations = explanations(run, &found);
        let mut causes: Vec<Self> = Vec::new();
        for (finding, explaining) in found.iter().zip(&explanations) {
            if !explaining.is_empty() {
                continue;
            }
            let severity = finding.severity.unwrap_or(Severity::Warn);
            match causes.iter_mut().find(|cause| cause.code == finding.code) {
                Some(cause) => {
                    cause.severity = cause.severity.max(severity);
                    cause.findings.push(finding);
                }
                None => causes.push(Self {
                    code: &finding.code,
                    title: title(run, finding),
                    severity,
                    findings: vec![finding],
                    explains: Vec::new(),
                }),
            }
        }
        for (finding, by) in found.iter().zip(&explanations) {
            for cause in causes.iter_mut().filter(|cause| by.contains(&cause.code)) {
                // Where it also stands for itself, it has a line of its own.
                if cause.code != finding.code && !cause.explains.contains(&finding.code.as_str()) {
                    cause.explains.push(&finding.code);
                }
            }
        }
        let of_itself: Vec<&str> = causes.iter().map(|cause| cause.code).collect();
        for cause in &mut causes {
            cause.explains.retain(|code| !of_itself.contains(code));
            cause.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        }
        // Ties keep the order of the codes.
        causes.sort_by_key(|cause| std::cmp::Reverse((cause.severity, has_effect(&cause.findings))));
        causes
    }
}

/// Returns `true` if one of the findings makes a figure wrong.
fn has_effect(findings: &[&Finding]) -> bool {
    findings.iter().any(|finding| finding.effect.is_some_and(|effect| effect >= Effect::Misleading))
}

/// Returns for each finding the codes that explain it, each once, of those found on the same figures.
fn explanations<'run>(run: &'run JudgedRun, found: &[&'run Finding]) -> Vec<Vec<&'run str>> {
    let mut codes_on: HashMap<Option<&str>, Vec<&str>> = HashMap::new();
    for finding in found {
        let codes = codes_on.entry(finding.phase.as_deref()).or_default();
        if !codes.contains(&finding.code.as_str()) {
            codes.push(&finding.code);
        }
    }
    let explaining = |finding: &&Finding| {
        let page = run.detectors.iter().find(|page| page.code == finding.code);
        let codes = codes_on.get(&finding.phase.as_deref()).map_or(&[][..], Vec::as_slice);
        let explains = |code: &&str| page.is_some_and(|page| page.explained_by.iter().any(|by| by == code));
        codes.iter().copied().filter(explains).collect()
    };
    found.iter().map(explaining).collect()
}

/// The first code behind the verdict on a figure that nothing else explains.
pub(crate) fn cause_of_figure<'run>(run: &'run JudgedRun, concerning: &[&'run Finding]) -> Option<&'run str> {
    let weighs = |f: &&&Finding| f.outcome == Outcome::Fires && f.effect.is_some();
    let found: Vec<&Finding> = concerning.iter().filter(weighs).copied().collect();
    let explanations = explanations(run, &found);
    let of_itself = found.iter().zip(&explanations).filter(|(_, explaining)| explaining.is_empty());
    let mut own: Vec<&&Finding> = of_itself.map(|(finding, _)| finding).collect();
    own.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.effect)));
    own.first().map(|finding| finding.code.as_str())
}

/// What a detector found, in words.
fn title(run: &JudgedRun, finding: &Finding) -> String {
    title_of_code(run, &finding.code).unwrap_or_else(|| finding.name.replace('-', " "))
}

/// What a detector finds, in words; `None` for a code that the run does not describe.
pub(crate) fn title_of_code(run: &JudgedRun, code: &str) -> Option<String> {
    run.detectors.iter().find(|page| page.code == code).map(|page| page.title.clone())
}
