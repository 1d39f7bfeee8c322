//! First lines of a report for people: verdict, command, the reason in one sentence, and notices to read before the
//! figures. Raw text; the format escapes it.

use activebench_model::claim::Subject;
use activebench_model::finding::{Effect, Finding, Outcome, Severity};
use activebench_model::report::JudgedRun;
use activebench_model::run::ChildEnd;
use activebench_model::sentence::as_sentence;
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};
use activebench_model::watch::Watch;

use crate::run::{measurements, script_figures};
use crate::unmatched;
use crate::wording::{PhaseNames, count, list, merged, quoted, shell_command, signal};

/// Why a watch is inconclusive.
pub(crate) const NO_CLAIMS: &str = "it was watched, and there are no claims to judge";

/// Maximum quoted errors of the tool; the rest is counted.
const ERRORS_QUOTED: usize = 3;

/// Name and version of the tool: `iozone 3.489`; the program's name when no adapter knows it.
pub(crate) fn tool(run: &JudgedRun) -> String {
    let name = if run.parsed.tool.is_empty() { run.manifest.command.program() } else { &run.parsed.tool };
    match &run.parsed.version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// Command line, or a note that it is empty.
pub(crate) fn command(run: &JudgedRun) -> String {
    let argv = &run.manifest.command.argv;
    if argv.is_empty() { "(no command)".to_owned() } else { shell_command(argv) }
}

/// Reason for the run's verdict, in one sentence.
pub(crate) fn why(run: &JudgedRun) -> String {
    match run.verdict {
        RunVerdict::Failed => why_failed(run),
        RunVerdict::Discrepancy => why_discrepancy(run),
        RunVerdict::Inconclusive => why_inconclusive(run),
        RunVerdict::Qualified => {
            let warnings = codes_firing(run, Severity::Warn);
            let claims = match (run.judged.len(), not_checked(run)) {
                (0, _) => "there is no figure to judge".to_owned(),
                (all, left) => confirmed(all, left),
            };
            match (warnings.is_empty(), undecided(run)) {
                (true, None) => claims,
                (true, Some(open)) => format!("{claims}; {open}"),
                (false, _) => format!("{claims}, with warnings: {}", list(&warnings, 4)),
            }
        }
        RunVerdict::Verified => match (run.judged.len(), not_checked(run)) {
            (0, _) => "there is no figure to judge, and no discrepancy was found".to_owned(),
            (all, left) => confirmed(all, left),
        },
    }
}

/// Number of claims that are neither contradicted nor confirmed.
fn not_checked(run: &JudgedRun) -> usize {
    run.judged.iter().filter(|judged| judged.verdict() == ClaimVerdict::NotChecked).count()
}

/// Number of confirmed figures among all of them, and of those that could not be checked.
fn confirmed(all: usize, left: usize) -> String {
    match (all, left) {
        (1, 0) => "the figure is confirmed".to_owned(),
        (all, 0) => format!("all {all} figures are confirmed"),
        (all, left) => format!("{} of {all} figures are confirmed, {left} could not be checked", all - left),
    }
}

/// A notice to read before the figures.
pub(crate) struct Notice {
    /// Label: `INCOMPLETE RECORD`.
    pub(crate) label: &'static str,
    /// Text, one sentence.
    pub(crate) text: String,
    /// `true` if it puts figures in doubt; `false` if it only informs.
    pub(crate) grave: bool,
}

/// Notices to read before the figures: an incomplete record, the child's ending, errors of the tool, suppressed
/// detectors. Empty for a normal run.
pub(crate) fn notices(run: &JudgedRun) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |grave, label, text| notices.push(Notice { label, text, grave });
    let manifest = &run.manifest;
    if !manifest.incomplete.is_empty() {
        let reasons: Vec<String> = manifest.incomplete.iter().map(|reason| as_sentence(reason)).collect();
        add(true, "INCOMPLETE RECORD", format!("{} Only what was recorded is judged.", reasons.join(" ")));
    }
    if let Some(watch) = &manifest.watch {
        add(false, "WATCHED", watched(watch, manifest.clocks.ended_ns - manifest.clocks.started_ns));
        if let Some(first) = watch.gaps.first() {
            let further = count(watch.gaps.len() - 1, "further gap");
            add(false, "NOT WATCHED", if watch.gaps.len() > 1 { format!("{first} {further}.") } else { first.clone() });
        }
    } else if let Some(end) = child_end(&manifest.child)
        && run.verdict != RunVerdict::Failed
    {
        add(true, "CHILD", format!("{} {end}.", manifest.command.program()));
    }
    // For a failed run whose child ended normally, the headline already has the first error.
    let said = usize::from(run.verdict == RunVerdict::Failed && child_end(&manifest.child).is_none());
    for error in run.parsed.errors.iter().skip(said).take(ERRORS_QUOTED) {
        add(true, "ERROR OF THE TOOL", quoted(error));
    }
    let further = run.parsed.errors.len().saturating_sub(said + ERRORS_QUOTED);
    if further > 0 {
        add(true, "ERROR OF THE TOOL", format!("{} in its output.", count(further, "further error")));
    }
    if !run.parsed.tool.is_empty() && !run.parsed.complete && run.verdict != RunVerdict::Failed {
        let tool = &run.parsed.tool;
        add(true, "OUTPUT CUT SHORT", format!("The output does not end as that of {tool} normally does."));
    }
    if let Some(text) = unmatched::notice(run) {
        add(false, "NOT MATCHED", text);
    }
    if let Some(text) = measurements::notice(run) {
        add(false, "MEASUREMENTS", text);
    }
    if let Some(text) = script_figures::notice(run) {
        add(false, "SCRIPT", text);
    }
    for (code, reason) in &manifest.choices.suppressed {
        add(false, "SUPPRESSED", format!("{code}, because: {reason}"));
    }
    notices
}

/// What was watched, for how long, and what of the beginning is known.
fn watched(watch: &Watch, watched_ns: u64) -> String {
    let length = Quantity::ns(watched_ns);
    let end = watch.end.map_or_else(String::new, |end| format!(", until {}", end.as_str()));
    let open = match watch.open.len() {
        0 => "no file was open then".to_owned(),
        open => format!("{} open then", if open == 1 { "1 file was".to_owned() } else { format!("{open} files were") }),
    };
    format!("{} for {length}{end}. The beginning was not seen: {open}.", watch.target)
}

/// Returns how the child ended; `None` for exit status 0, unless activebench stopped it.
fn child_end(child: &ChildEnd) -> Option<String> {
    let end = if let Some(error) = &child.start_error {
        format!("could not be started: {error}")
    } else if let Some(signal_number) = child.signal {
        format!("was ended by {}", signal(signal_number))
    } else {
        match child.exit_code {
            Some(0) if child.stopped_by_us.is_none() => return None,
            Some(code) => format!("exited with status {code}"),
            None => "left no exit status".to_owned(),
        }
    };
    Some(match &child.stopped_by_us {
        Some(reason) => format!("{end} (activebench stopped it: {reason})"),
        None => end,
    })
}

fn why_failed(run: &JudgedRun) -> String {
    match (child_end(&run.manifest.child), run.parsed.errors.first()) {
        (Some(end), _) => format!("{} {end}", run.manifest.command.program()),
        (None, Some(error)) => format!("the tool reports an error: {}", quoted(error)),
        (None, None) => "the benchmark failed".to_owned(),
    }
}

fn why_discrepancy(run: &JudgedRun) -> String {
    let wrong: Vec<&JudgedClaim> = run.judged.iter().filter(|judged| judged.verdict().is_contradicted()).collect();
    if wrong.is_empty() {
        let failing = codes_firing(run, Severity::Fail);
        let firing = if failing.is_empty() { codes_firing(run, Severity::Warn) } else { failing };
        let figures = if run.judged.is_empty() { "there is no figure to judge" } else { "no figure is contradicted" };
        return format!("{figures}, but the run is not valid: {}", list(&firing, 4));
    }
    let all = run.judged.len();
    let share = if wrong.len() == all && all == 1 {
        "the figure is not valid".to_owned()
    } else if wrong.len() == all {
        format!("none of the {all} figures is valid")
    } else {
        format!("{} of {all} figures {} not valid", wrong.len(), if wrong.len() == 1 { "is" } else { "are" })
    };
    let instead: Vec<&str> = distinct(wrong.iter().filter_map(|judged| judged.measured_instead.as_deref()));
    if !instead.is_empty() {
        let they = if wrong.len() == 1 { "It" } else { "They" };
        return format!("{share}. {they} measured {}", list(&instead, 2));
    }
    let codes: Vec<&str> = distinct(wrong.iter().flat_map(|judged| judged.findings.iter().map(String::as_str)));
    if codes.is_empty() { share } else { format!("{share}: {}", list(&named(run, &codes), 3)) }
}

fn why_inconclusive(run: &JudgedRun) -> String {
    let open = run.judged.iter().filter(|judged| judged.verdict() == ClaimVerdict::Unverifiable).count();
    if run.judged.is_empty() && run.manifest.watch.is_some() {
        return NO_CLAIMS.to_owned();
    }
    let claims = match (open, not_checked(run), run.judged.len()) {
        (0, _, 0) => "there is no figure to judge".to_owned(),
        (0, 0, _) => "the evidence is not sufficient".to_owned(),
        (0, left, all) if left == all => "no figure could be checked".to_owned(),
        (0, left, all) => format!("the evidence is not sufficient, {left} of {all} figures could not be checked"),
        (1, _, 1) => "the figure cannot be verified".to_owned(),
        (open, _, all) => format!("{open} of {all} figures cannot be verified"),
    };
    // Where nothing says what a figure is about, its own reason says how that is decided.
    let asks_for_subject = || {
        let of_claims = run.parsed.claims.iter().zip(&run.judged);
        let mut open = of_claims.filter(|(_, judged)| judged.verdict() == ClaimVerdict::Unverifiable);
        open.find(|(claim, _)| claim.subject == Subject::Unknown).map(|(_, judged)| judged.why_no_honest())
    };
    let of_findings = || {
        let unverifiable = |f: &&Finding| f.outcome == Outcome::Fires && f.effect == Some(Effect::Unverifiable);
        let undecided = |f: &&Finding| f.outcome == Outcome::Undecided;
        let first = run.findings.iter().find(unverifiable).or_else(|| run.findings.iter().find(undecided));
        first.map(|finding| finding.message.sentence().to_owned())
    };
    // Without an open figure of its own, the run is as open as one of its measurements.
    let of_measurement = || measurements::first_open(run).filter(|_| open == 0);
    let incomplete = run.manifest.incomplete.first().cloned();
    let reason = incomplete.or_else(asks_for_subject).or_else(of_measurement).or_else(of_findings);
    match reason {
        Some(reason) if !reason.is_empty() => format!("{claims}. {}", as_sentence(&reason).trim_end_matches('.')),
        _ => claims,
    }
}

/// Returns the codes and names of findings that fire with this severity, each once: `AB302 sync-outside-clock`.
fn codes_firing(run: &JudgedRun, severity: Severity) -> Vec<String> {
    let firing = run.findings.iter().filter(|f| f.outcome == Outcome::Fires && f.severity == Some(severity));
    merged(firing.map(|f| ((), (f.code.as_str(), f.name.as_str()))))
        .into_iter()
        .map(|(_, (code, name))| format!("{code} {name}"))
        .collect()
}

/// What could not be decided, where figures hold: `AB602 could not be decided`; `None` where all was.
pub(crate) fn undecided(run: &JudgedRun) -> Option<String> {
    let open = run.findings.iter().filter(|f| f.outcome == Outcome::Undecided && f.message.suppression().is_none());
    let codes = distinct(open.map(|f| f.code.as_str()));
    (!codes.is_empty()).then(|| format!("{} could not be decided", list(&codes, 3)))
}

/// Adds the names to the codes.
fn named(run: &JudgedRun, codes: &[&str]) -> Vec<String> {
    codes
        .iter()
        .map(|code| match run.findings.iter().find(|finding| finding.code == *code) {
            Some(finding) => format!("{code} {}", finding.name),
            None => (*code).to_owned(),
        })
        .collect()
}

fn distinct<'text>(texts: impl Iterator<Item = &'text str>) -> Vec<&'text str> {
    merged(texts.map(|text| ((), text))).into_iter().map(|(_, text)| text).collect()
}

/// Returns the reason why the table of claims is empty.
pub(crate) fn no_claims(run: &JudgedRun) -> String {
    if run.manifest.watch.is_some() {
        "A watch has no claims: the figures are what was observed.".to_owned()
    } else if run.parsed.tool.is_empty() {
        let program = run.manifest.command.program();
        let hint = r"Say what a number means: --claim 'write=(\d+) MB/s'.";
        match run.parsed.unmatched.numbers.len() {
            0 => format!("activebench does not know {program}, and its output has no number with a unit. {hint}"),
            all => format!(
                "activebench does not know {program}. None of the {} in its output is certainly about its I/O. {hint}",
                count(all, "number")
            ),
        }
    } else {
        format!("No claims were found in the output of {}.", run.parsed.tool)
    }
}

/// Returns the names of the run's phases, for a run without claims.
pub(crate) fn phases(run: &JudgedRun) -> String {
    let names = PhaseNames::of(run);
    let phases: Vec<&str> = run.phases.iter().map(|phase| names.get(&phase.id)).collect();
    if phases.is_empty() {
        "No phase was observed.".to_owned()
    } else {
        format!("Observed phases: {}.", list(&phases, 12))
    }
}
