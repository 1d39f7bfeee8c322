//! The table of claims and the lines below it. Raw text; the format escapes it.

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::claim::{Claim, Subject};
use activebench_model::fact::{Completeness, Facts};
use activebench_model::finding::{Finding, FindingsByClaim, Outcome, Severity};
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};

use crate::bound;
use crate::lookup::Lookup;
use crate::similar_sentences::{Said, condensed};
use crate::wording::{self, PHASES_NAMED, PhaseNames, count, list, merged, quoted};

/// Maximum rows of a table that fits a screen. Beyond it confirmed claims are only counted.
pub(crate) const SCREEN_ROWS: usize = 24;

/// One claim as a row of text.
pub(crate) struct Row {
    /// Verdict; `None` for a claim that was not judged.
    pub(crate) verdict: Option<ClaimVerdict>,
    /// Cells in the order of [`Table::heads`].
    pub(crate) cells: Vec<String>,
    /// Codes of the findings behind the verdict, most severe first. Notes are left out.
    pub(crate) codes: Vec<String>,
}

impl Row {
    /// The codes as one cell: all of them, or the first and the number of others.
    pub(crate) fn codes(&self, all: bool) -> String {
        match self.codes.as_slice() {
            [first, _, ..] if !all => format!("{first} +{}", self.codes.len() - 1),
            codes => codes.join(" "),
        }
    }
}

/// The claims as a table.
pub(crate) struct Table {
    /// Column heads; the last column is the verdict.
    pub(crate) heads: Vec<&'static str>,
    /// One row per claim.
    pub(crate) rows: Vec<Row>,
}

/// All claims in the order of the output. The table has a metric column only if the claims differ in metric.
pub(crate) fn table(run: &JudgedRun) -> Table {
    of_claims(run, &with_verdicts(run))
}

/// A claim and the verdict on it; `None` for a claim that was not judged.
type Judged<'run> = (&'run Claim, Option<&'run JudgedClaim>);

fn with_verdicts(run: &JudgedRun) -> Vec<Judged<'_>> {
    let lookup = Lookup::of(run);
    run.parsed.claims.iter().map(|claim| (claim, lookup.judged(claim))).collect()
}

/// The table of some of a run's claims.
fn of_claims(run: &JudgedRun, claims: &[Judged<'_>]) -> Table {
    let names = PhaseNames::of(run);
    let findings = FindingsByClaim::new(&run.findings);
    let with_metric = {
        let mut metrics = run.parsed.claims.iter().map(|claim| wording::metric(claim.metric));
        metrics.next().is_some_and(|first| metrics.any(|other| other != first))
    };
    let mut heads = vec!["phase", "claimed", "as printed", "observed", "honest", "verdict"];
    if with_metric {
        heads.insert(1, "metric");
    }
    let rows = claims
        .iter()
        .map(|&(claim, judged)| {
            let mut cells = vec![
                names.get(&claim.phase).to_owned(),
                claim.value.to_string(),
                printed(claim),
                judged.and_then(|j| j.observed()).map_or_else(|| "not known".to_owned(), |value| value.to_string()),
                honest(judged),
                judged.map_or("not judged", |judged| judged.verdict().words()).to_owned(),
            ];
            if with_metric {
                cells.insert(1, wording::metric(claim.metric).to_owned());
            }
            Row { verdict: judged.map(|j| j.verdict()), cells, codes: codes(&findings.concerning(claim), judged) }
        })
        .collect();
    Table { heads, rows }
}

/// The tool's own figure and unit, in quotation marks because the tool printed them.
fn printed(claim: &Claim) -> String {
    let printed = &claim.printed;
    let separator = if printed.unit.is_empty() { "" } else { " " };
    format!("\"{}{separator}{}\"", printed.text, printed.unit)
}

fn honest(judged: Option<&JudgedClaim>) -> String {
    match judged {
        Some(JudgedClaim { corrected: Some(corrected), .. }) => corrected.value.to_string(),
        Some(judged) if judged.verdict() == ClaimVerdict::Confirmed => "same".to_owned(),
        _ => "not known".to_owned(),
    }
}

/// Codes that fire on a claim, without those that fire on it only as notes. A code without a finding in the run is
/// kept.
fn codes(concerning: &[&Finding], judged: Option<&JudgedClaim>) -> Vec<String> {
    let is_note = |code: &str| {
        let firing = concerning.iter().filter(|f| f.outcome == Outcome::Fires && f.code == code);
        let severities: Vec<Option<Severity>> = firing.map(|f| f.severity).collect();
        !severities.is_empty() && severities.iter().all(|severity| *severity == Some(Severity::Note))
    };
    let codes = judged.map_or(&[][..], |judged| &judged.findings);
    codes.iter().filter(|code| !is_note(code)).cloned().collect()
}

/// At most `most` claims, and a description of those left out. All are kept if they fit. Otherwise confirmed and
/// not-checked claims are only counted; the others are kept in the order of the output.
pub(crate) fn shortened(run: &JudgedRun, most: usize) -> (Table, Option<String>) {
    let all = with_verdicts(run);
    if all.len() <= most {
        return (of_claims(run, &all), None);
    }
    let is = |verdict| move |(_, judged): &Judged<'_>| judged.is_some_and(|judged| judged.verdict() == verdict);
    let (confirmed, open): (Vec<_>, Vec<_>) = all.into_iter().partition(is(ClaimVerdict::Confirmed));
    let (not_checked, mut open): (Vec<_>, Vec<_>) = open.into_iter().partition(is(ClaimVerdict::NotChecked));
    let open_left_out = open.len().saturating_sub(most);
    open.truncate(most);
    let mut left_out = Vec::new();
    if open_left_out > 0 {
        left_out.push(format!("{open_left_out} more that are wrong or could not be verified"));
    }
    if !not_checked.is_empty() {
        left_out.push(format!("{} not checked", count(not_checked.len(), "claim")));
    }
    if !confirmed.is_empty() {
        left_out.push(count(confirmed.len(), "confirmed claim"));
    }
    let and = if open.is_empty() { "" } else { "and " };
    (of_claims(run, &open), Some(format!("{and}{}", left_out.join(", "))))
}

/// Remarks on the figures, one line per topic. They cover the honest figures, or why there is none; what was measured
/// instead; the share of the bound; the subject of the claims; passes that differ from the command; the parser's notes.
pub(crate) fn remarks(run: &JudgedRun) -> Vec<String> {
    let names = PhaseNames::of(run);
    let phase_of: BTreeMap<&str, &str> =
        run.parsed.claims.iter().map(|claim| (claim.id.as_str(), names.get(&claim.phase))).collect();
    let about =
        |judged: &JudgedClaim| phase_of.get(judged.claim.as_str()).map_or(judged.claim.clone(), |p| (*p).into());

    let (unchecked, judged): (Vec<&JudgedClaim>, Vec<&JudgedClaim>) =
        run.judged.iter().partition(|judged| judged.verdict() == ClaimVerdict::NotChecked);
    let unchecked = unchecked.into_iter().filter_map(|judged| Some((about(judged), judged.no_correction.clone()?)));
    let honest = judged.into_iter().filter_map(|judged| match (&judged.corrected, &judged.no_correction) {
        (Some(corrected), _) => Some((about(judged), corrected.meaning.clone())),
        (None, Some(reason)) => Some((about(judged), format!("none, {reason}"))),
        (None, None) => None,
    });
    let instead: Vec<(String, String)> =
        run.judged.iter().filter_map(|judged| Some((about(judged), judged.measured_instead.clone()?))).collect();
    // The headline already reports a single thing that was measured instead.
    let says_more = instead.windows(2).any(|pair| pair[0].1 != pair[1].1);
    let cut = run.phases.iter().filter_map(|p| Some((names.get(&p.id).to_owned(), p.incomplete.clone()?)));
    let note = run.parsed.notes.first().map(|note| {
        let notes = count(run.parsed.notes.len(), "note");
        format!("{notes} on the output{}: {}", if run.parsed.notes.len() > 1 { "; first" } else { "" }, quoted(note))
    });
    [
        remark("honest", honest.collect()),
        remark("not checked", unchecked.collect()),
        remark("measured", if says_more { instead } else { Vec::new() }),
        remark("without observation", unobserved(run, &names)),
        remark("bound", bound::of_phases(run)),
        bound::notes(run).map(|notes| format!("ceiling: {notes}")),
        judged_as(run, &names),
        remark("not as the command promises", cut.collect()),
        note,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Share of a rate below which it is not worth a line that the observation changed it: less than a run repeats.
const LEAST_CHANGE: f64 = 0.01;

/// The rates of phases without observation, where the observation changed them visibly: of each phase its first rate.
fn unobserved(run: &JudgedRun, names: &PhaseNames<'_>) -> Vec<(String, String)> {
    let judged: BTreeMap<&str, &JudgedClaim> = run.judged.iter().map(|j| (j.claim.as_str(), j)).collect();
    let mut phases = BTreeSet::new();
    let rates = run.parsed.claims.iter().filter(|claim| claim.metric.is_rate(true));
    rates
        .filter_map(|claim| {
            let found = judged.get(claim.id.as_str())?.unobserved?;
            let is_visible = (found.value - claim.value.value).abs() >= LEAST_CHANGE * claim.value.value;
            if !is_visible || !phases.insert(claim.phase.as_str()) {
                return None;
            }
            let [low, high] = [found.low, found.high].map(|value| Quantity { value, ..claim.value });
            Some((names.get(&claim.phase).to_owned(), format!("{low} to {high}")))
        })
        .collect()
}

/// One line that names the phases and the text about them. `None` when there is no text.
fn remark(label: &str, pairs: Vec<(String, String)>) -> Option<String> {
    let groups = merged(pairs.iter().map(|(phase, text)| (phase.as_str(), text.as_str())));
    match groups.as_slice() {
        [] => None,
        [(phases, text)] => Some(format!("{label}: {}: {text}", list(phases, PHASES_NAMED))),
        _ => {
            let said = groups.into_iter().map(|(phases, text)| Said { phases, text, short: None });
            Some(format!("{label}: {}", condensed(said.collect())))
        }
    }
}

/// Subject of the claims. Reasons are given only if all claims share one, or if the claims differ in subject.
fn judged_as(run: &JudgedRun, names: &PhaseNames<'_>) -> Option<String> {
    let with_reason = |claim: &Claim| match claim.subject_reason.as_str() {
        "" => about(claim.subject).to_owned(),
        reason => format!("{} ({reason})", about(claim.subject)),
    };
    let subject = run.parsed.claims.first()?.subject;
    let pairs: Vec<_> = run.parsed.claims.iter().map(|c| (names.get(&c.phase).to_owned(), with_reason(c))).collect();
    if pairs.iter().all(|pair| pair.1 == pairs[0].1) {
        return Some(format!("Judged as figures about {}. Change it with `--subject`.", pairs[0].1));
    }
    if run.parsed.claims.iter().all(|claim| claim.subject == subject) {
        return Some(format!("Judged as figures about {}. Change it with `--subject`.", about(subject)));
    }
    remark("judged as figures about", pairs)
}

/// A subject as a noun.
fn about(subject: Subject) -> &'static str {
    match subject {
        Subject::Device => "the device",
        Subject::CachedFilesystem => "the cached file system",
        Subject::DurableWrite => "durable writes",
        Subject::Metadata => "names and metadata",
        Subject::Cpu => "the CPU",
        Subject::Unknown => "the storage or the cached file system",
    }
}

/// Every fact as a row: phase, name, value. For runs without claims.
pub(crate) fn facts(run: &JudgedRun) -> Vec<[String; 3]> {
    let names = PhaseNames::of(run);
    let mut rows = Vec::new();
    let mut extend = |phase: &str, facts: &Facts| {
        for (name, fact) in &facts.0 {
            let value = fact.value.map(|quantity| quantity.to_string());
            let value = match (value, &fact.completeness) {
                (Some(value), Completeness::Complete) => value,
                (Some(value), Completeness::Partial(lost)) => format!("{value}, partial: {lost}"),
                (_, Completeness::Missing(reason)) => format!("missing: {reason}"),
                (None, Completeness::Complete | Completeness::Partial(_)) => "missing".to_owned(),
            };
            rows.push([phase.to_owned(), name.as_str().to_owned(), value]);
        }
    };
    extend("the whole run", &run.run_facts);
    for phase in &run.phases {
        extend(names.get(&phase.id), &phase.facts);
    }
    rows
}
