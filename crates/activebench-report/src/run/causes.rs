//! Findings by cause: what another finding explains is folded under it.

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
        let explained = |finding: &Finding| explaining(run, &found, finding);
        let mut causes: Vec<Self> = Vec::new();
        for finding in &found {
            if explained(finding).is_some() {
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
        for finding in &found {
            let Some(by) = explained(finding) else { continue };
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

/// Returns the codes that explain a finding, of those found on the same figures; `None` where nothing does.
fn explaining<'run>(run: &'run JudgedRun, found: &[&'run Finding], finding: &Finding) -> Option<Vec<&'run str>> {
    let page = run.detectors.iter().find(|page| page.code == finding.code)?;
    let on_the_same = |other: &&&Finding| {
        other.phase.is_none() && finding.phase.is_none() || other.phase.is_some() && other.phase == finding.phase
    };
    let codes: Vec<&str> = found
        .iter()
        .filter(|other| page.explained_by.contains(&other.code))
        .filter(on_the_same)
        .map(|other| other.code.as_str())
        .collect();
    (!codes.is_empty()).then_some(codes)
}

/// The first code behind the verdict on a figure that nothing else explains.
pub(crate) fn cause_of_figure<'run>(run: &'run JudgedRun, concerning: &[&'run Finding]) -> Option<&'run str> {
    let weighs = |f: &&&Finding| f.outcome == Outcome::Fires && f.effect.is_some();
    let found: Vec<&Finding> = concerning.iter().filter(weighs).copied().collect();
    let mut own: Vec<&&Finding> = found.iter().filter(|finding| explaining(run, &found, finding).is_none()).collect();
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
