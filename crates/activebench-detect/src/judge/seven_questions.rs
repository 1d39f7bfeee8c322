//! Gregg's seven questions of active benchmarking, each answered in one sentence from facts
//! and findings, or with what is not known.

use std::collections::BTreeMap;

use activebench_model::fact::FactName;
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::limiter::Limiter;
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::report::Answer;
use activebench_model::units::Quantity;
use activebench_model::verdict::JudgedClaim;

use crate::detector::Question;
use crate::detectors::beyond_physical_limit;
use crate::judge::target_figure;
use crate::registry::DETECTORS;
use crate::run::Run;

/// A number of things, in the singular for one.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("pass") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// The answers by key.
pub(crate) fn answers(
    run: &Run<'_>,
    findings: &[Finding],
    judged: &[JudgedClaim],
    limiters: &[Limiter],
) -> BTreeMap<String, Answer> {
    let answers = [
        why_not_double(run, findings, limiters),
        was_it_tuned(run, findings),
        did_it_break_limits(run, findings, judged),
        did_it_error(run, findings),
        answer("Unknown: this is a single run. `verify --repeat 6` shows whether it repeats.", &["run"]),
        does_it_matter(run, judged),
        did_it_even_happen(run, findings),
    ];
    Question::ALL.iter().map(|question| question.key().to_owned()).zip(answers).collect()
}

fn answer(text: impl Into<String>, evidence: &[&str]) -> Answer {
    Answer { answer: text.into(), evidence: evidence.iter().map(|name| (*name).to_owned()).collect() }
}

/// The findings of the detectors that a question cites.
fn fired(findings: &[Finding], question: Question) -> Vec<&Finding> {
    let cited = |finding: &Finding| {
        DETECTORS.iter().any(|detector| detector.questions.contains(&question) && detector.made(finding))
    };
    findings.iter().filter(|finding| finding.outcome == Outcome::Fires && cited(finding)).collect()
}

fn codes_of(findings: &[&Finding]) -> Vec<String> {
    let mut codes: Vec<String> = findings.iter().map(|finding| finding.code.clone()).collect();
    codes.dedup();
    codes
}

/// Returns the phase whose clock ran longest, among those with a claim.
fn longest<'a>(run: &Run<'a>) -> Option<(&'a Phase, f64)> {
    run.phases
        .iter()
        .filter(|phase| run.claims_of(phase).next().is_some())
        .filter_map(|phase| Some((phase, run.fact(phase, FactName::Window).ok()?)))
        .max_by(|left, right| left.1.total_cmp(&right.1))
}

fn why_not_double(run: &Run<'_>, findings: &[Finding], limiters: &[Limiter]) -> Answer {
    let Some((phase, window)) = longest(run).filter(|(_, window)| *window > 0.0) else {
        return answer("Unknown: the times of the passes were not found.", &[FactName::Window.as_str()]);
    };
    let limiter = limiters.iter().find(|limiter| limiter.phase == phase.id);
    let sentence =
        limiter.map_or("Unknown: the pass was not found in the observed calls.", |limiter| &limiter.sentence);
    let facts = limiter.map_or(&[][..], |limiter| &limiter.facts);
    let mut evidence: Vec<&str> = facts.iter().map(|fact| fact.as_str()).collect();
    if evidence.is_empty() {
        evidence.push(FactName::Window.as_str());
    }
    let fired = fired(findings, Question::WhyNotDouble);
    let codes = codes_of(&fired);
    evidence.extend(codes.iter().map(String::as_str));
    answer(
        format!("The longest pass was {} ({}). {sentence}", phase.name, Quantity { value: window, ..Quantity::ns(0) }),
        &evidence,
    )
}

fn was_it_tuned(run: &Run<'_>, findings: &[Finding]) -> Answer {
    let mut options: Vec<&str> =
        run.phases.iter().flat_map(|phase| &phase.promises).map(|promise| promise.option.as_str()).collect();
    options.sort_unstable();
    options.dedup();
    let broken = fired(findings, Question::WasItTuned);
    let given = match options.is_empty() {
        true => "No option requests a storage mechanism.".to_owned(),
        false => format!("Options that request a storage mechanism: {}.", options.join(" ")),
    };
    let effect = match broken.len() {
        0 => String::new(),
        broken => format!(" {} that a mechanism had no effect.", count(broken, "finding")),
    };
    let mut evidence = vec!["promises".to_owned()];
    evidence.extend(codes_of(&broken));
    Answer { answer: format!("Unknown: only this configuration was run. {given}{effect}"), evidence }
}

fn did_it_break_limits(run: &Run<'_>, findings: &[Finding], judged: &[JudgedClaim]) -> Answer {
    let beyond = judged.iter().filter(|claim| claim.verdict().is_contradicted()).count();
    let all = run.parsed.claims.len();
    let claims = match beyond {
        0 => "No figure is above the observed one.".to_owned(),
        _ => format!("{beyond} of {all} figures are above the observed ones, or are not about the storage."),
    };
    // The limits of the media, the links or a policy, if a detector knows them.
    let fired = fired(findings, Question::DidItBreakLimits);
    let below = findings
        .iter()
        .any(|finding| beyond_physical_limit::DETECTOR.made(finding) && finding.outcome == Outcome::Silent);
    let limits = match (fired.is_empty(), below) {
        (true, true) => format!("Possible: no figure is above the maximum of the links to the device. {claims}"),
        (true, false) => format!("Unknown: the speed of the device's link could not be read. {claims}"),
        (false, _) => {
            let said: Vec<String> = fired.iter().map(|finding| finding.message.to_string()).collect();
            format!("{} {claims}", said.join(" "))
        }
    };
    let mut evidence = vec!["claims".to_owned(), beyond_physical_limit::DETECTOR.code.to_owned()];
    evidence.extend(codes_of(&fired));
    evidence.dedup();
    Answer { answer: limits, evidence }
}

/// The sum of a fact over all phases, and how many phases lack it.
fn total(run: &Run<'_>, name: FactName) -> (f64, usize) {
    run.phases.iter().fold((0.0, 0), |(sum, missing), phase| match run.fact(phase, name) {
        Ok(value) => (sum + value, missing),
        Err(_) if phase.facts.get(name).is_none() => (sum, missing),
        Err(_) => (sum, missing + 1),
    })
}

fn did_it_error(run: &Run<'_>, findings: &[Finding]) -> Answer {
    let (failed, unknown) = total(run, FactName::FailedCalls);
    let (short, _) = total(run, FactName::ShortCalls);
    let end = match (run.manifest.child.exit_code, run.manifest.child.signal) {
        (_, Some(signal)) => format!("The tool was ended by signal {signal}"),
        (Some(code), None) => format!("The tool ended with exit code {code}"),
        (None, None) => "The exit code of the tool is not known".to_owned(),
    };
    let gaps = match (unknown, run.phases.iter().all(|phase| phase.parts.is_empty())) {
        (_, true) => " Calls were not counted, because no pass was found.".to_owned(),
        (0, _) => String::new(),
        (gaps, _) => format!(" In {}, calls could not be counted.", count(gaps, "pass")),
    };
    let text = format!(
        "{end} and {} reported. {failed} calls failed and {short} were short inside its clocks.{gaps}",
        count(run.parsed.errors.len(), "error")
    );
    let mut evidence = vec![FactName::FailedCalls.as_str(), FactName::ShortCalls.as_str(), "exit code"];
    let codes = codes_of(&fired(findings, Question::DidItError));
    evidence.extend(codes.iter().map(String::as_str));
    answer(text, &evidence)
}

fn does_it_matter(run: &Run<'_>, judged: &[JudgedClaim]) -> Answer {
    let choices = &run.manifest.choices;
    let (load, mut evidence) = load(run);
    let purpose = choices.purpose.as_ref().map(|purpose| format!("The purpose is \"{}\".", purpose.trim()));
    if purpose.is_some() {
        evidence.push("--purpose".to_owned());
    }
    let target = choices.target.as_ref().map(|target| {
        evidence.push("--target".to_owned());
        let Some(judged) = target_figure::of_run(run, judged) else {
            return format!("The target {target:?} is unreadable.");
        };
        evidence.extend(judged.figures.into_iter().map(|figure| figure.claim));
        let outcome = match judged.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "not known",
        };
        format!("The target {} is {outcome}: {}.", judged.text, judged.sentence.trim_end_matches('.'))
    });
    let text = match (purpose, target) {
        (None, None) => {
            format!("{load} Compare it with your workload, and state the figure that you need with `--target`.")
        }
        (Some(purpose), None) => {
            format!("{purpose} {load} State the figure that you need with `--target`.")
        }
        (None, Some(target)) => {
            format!("{target} {load}")
        }
        (Some(purpose), Some(target)) => format!("{purpose} {target} {load}"),
    };
    Answer { answer: text, evidence }
}

/// Returns the load of the longest pass, to be compared with the user's own, and the facts behind it.
fn load(run: &Run<'_>) -> (String, Vec<String>) {
    let Some((phase, _)) = longest(run) else {
        return ("The workload of this run is not known.".to_owned(), vec!["phases".to_owned()]);
    };
    let direction = match phase.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed => "reads and writes",
        Direction::Discard => "discards",
        Direction::None => "no data",
    };
    let order = match phase.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Backward => "backward",
        Pattern::RandomPermutation | Pattern::RandomIndependent => "random",
        Pattern::SingleBlock => "single-block",
        Pattern::Strided => "strided",
        Pattern::Unknown => "unordered",
    };
    let block = match run.fact(phase, FactName::ModalRequest) {
        Ok(bytes) => format!("{} per call", Quantity { value: bytes, ..Quantity::bytes(0) }),
        Err(_) => "unknown block size".to_owned(),
    };
    let through = match run.fact(phase, FactName::DirectShare) {
        Ok(share) => format!("{} direct (O_DIRECT)", Quantity::ratio(share)),
        Err(_) => "share of direct I/O unknown".to_owned(),
    };
    let text = format!(
        "Workload of this run, longest pass {}: {order} {direction}, {}, {block}, {through}.",
        phase.name,
        count(phase.requested_tasks as usize, "task")
    );
    let evidence = ["phases", FactName::ModalRequest.as_str(), FactName::DirectShare.as_str()];
    (text, evidence.map(str::to_owned).to_vec())
}

fn did_it_even_happen(run: &Run<'_>, findings: &[Finding]) -> Answer {
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let (read, read_gaps) = total(run, FactName::ReadBytes);
    let (written, write_gaps) = total(run, FactName::WriteBytes);
    let (from_device, from_gaps) = total(run, FactName::DeviceReadBytes);
    let (to_device, to_gaps) = total(run, FactName::DeviceWriteBytesDurable);
    let found = run.phases.iter().filter(|phase| !phase.parts.is_empty()).count();
    let absent: Vec<&Finding> = fired(findings, Question::DidItEvenHappen)
        .into_iter()
        .filter(|finding| finding.severity >= Some(Severity::Warn))
        .collect();
    let (judgement, mut evidence) = match absent.len() {
        0 => (String::new(), Vec::new()),
        passes => (format!(" In {}, no storage was involved.", count(passes, "pass")), codes_of(&absent)),
    };
    let gaps = if read_gaps + write_gaps + from_gaps + to_gaps > 0 { " (as far as observed)" } else { "" };
    let text = match (run.phases.len(), found) {
        (0, _) => "Unknown: no pass of the tool is known.".to_owned(),
        (all, 0) => format!("Of {all} passes, 0 were found in the observed calls.{judgement}"),
        (all, found) => format!(
            "The tool read {} ({} of it from the device) and wrote {} ({} of it reached the device){gaps}. {found} of {all} \
             passes were found.{judgement}",
            in_bytes(read),
            in_bytes(from_device),
            in_bytes(written),
            in_bytes(to_device)
        ),
    };
    evidence.extend(
        [FactName::ReadBytes, FactName::WriteBytes, FactName::DeviceReadBytes, FactName::DeviceWriteBytesDurable]
            .map(|name| name.as_str().to_owned()),
    );
    Answer { answer: text, evidence }
}
