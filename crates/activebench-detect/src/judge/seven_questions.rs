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
use crate::judge::target_figure::Goal;
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
        answer("not known: one run", &["run"]),
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
        return answer("not known: no window was found", &[FactName::Window.as_str()]);
    };
    let limiter = limiters.iter().find(|limiter| limiter.phase == phase.id);
    let sentence =
        limiter.map_or("not known: the pass was not found in the observed calls", |limiter| &limiter.sentence);
    let facts = limiter.map_or(&[][..], |limiter| &limiter.facts);
    let mut evidence: Vec<&str> = facts.iter().map(|fact| fact.as_str()).collect();
    if evidence.is_empty() {
        evidence.push(FactName::Window.as_str());
    }
    let fired = fired(findings, Question::WhyNotDouble);
    let codes = codes_of(&fired);
    evidence.extend(codes.iter().map(String::as_str));
    answer(
        format!("in the longest pass, {} ({}): {sentence}", phase.name, Quantity { value: window, ..Quantity::ns(0) }),
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
        true => "no option asks for a mechanism of storage".to_owned(),
        false => format!("options that ask for a mechanism of storage: {}", options.join(" ")),
    };
    let effect = match broken.len() {
        0 => String::new(),
        broken => format!(", and {} that a mechanism was not at work", count(broken, "finding")),
    };
    let mut evidence = vec!["promises".to_owned()];
    evidence.extend(codes_of(&broken));
    Answer { answer: format!("not known: only this configuration was run; {given}{effect}"), evidence }
}

fn did_it_break_limits(run: &Run<'_>, findings: &[Finding], judged: &[JudgedClaim]) -> Answer {
    let beyond = judged.iter().filter(|claim| claim.verdict().is_contradicted()).count();
    let all = run.parsed.claims.len();
    let claims = match beyond {
        0 => "no claim went beyond what was observed".to_owned(),
        _ => format!("{beyond} of {all} claims are above what the storage was seen to do, or are not about it"),
    };
    // The limits of the media, the links or a policy, if a detector knows them.
    let fired = fired(findings, Question::DidItBreakLimits);
    let below = findings
        .iter()
        .any(|finding| beyond_physical_limit::DETECTOR.made(finding) && finding.outcome == Outcome::Silent);
    let limits = match (fired.is_empty(), below) {
        (true, true) => format!("no claim is beyond what the links to the device carry; {claims}"),
        (true, false) => format!("not known: no link to the device is known; {claims}"),
        (false, _) => {
            let said: Vec<String> = fired.iter().map(|finding| finding.message.to_string()).collect();
            format!("{}; {claims}", said.join("; "))
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
        (_, Some(signal)) => format!("it was ended by signal {signal}"),
        (Some(code), None) => format!("it ended with exit code {code}"),
        (None, None) => "how it ended is not known".to_owned(),
    };
    let gaps = match (unknown, run.phases.iter().all(|phase| phase.parts.is_empty())) {
        (_, true) => "; calls were not counted, no pass was found".to_owned(),
        (0, _) => String::new(),
        (gaps, _) => format!("; in {} calls could not be counted", count(gaps, "pass")),
    };
    let text = format!(
        "{end}, reported {}; {failed} calls failed and {short} were short inside its clocks{gaps}",
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
    let purpose = choices.purpose.as_ref().map(|purpose| format!("the purpose is \"{}\"", purpose.trim()));
    if purpose.is_some() {
        evidence.push("--purpose".to_owned());
    }
    let target = choices.target.as_ref().map(|target| {
        evidence.push("--target".to_owned());
        let compared = match Goal::parse(target) {
            Ok(goal) => {
                let (compared, claims) = goal.compared(run, judged);
                evidence.extend(claims);
                compared
            }
            Err(why) => format!("not known: {why}"),
        };
        format!("the target is {}; {compared}", target.trim())
    });
    let text = match (purpose, target) {
        (None, None) => {
            format!("not known: no purpose was given (`--purpose`, `--target`); compare it with your own load: {load}")
        }
        (Some(purpose), None) => {
            format!("{purpose}; no target figure was given (`--target`), so compare your load with this one: {load}")
        }
        (None, Some(target)) => {
            format!("{target}; no purpose was given (`--purpose`); it holds for a load like this one: {load}")
        }
        (Some(purpose), Some(target)) => format!("{purpose}, {target}; it holds for a load like this one: {load}"),
    };
    Answer { answer: text, evidence }
}

/// Returns the load of the longest pass, to be compared with the user's own, and the facts behind it.
fn load(run: &Run<'_>) -> (String, Vec<String>) {
    let Some((phase, _)) = longest(run) else {
        return ("what the run did was not found".to_owned(), vec!["phases".to_owned()]);
    };
    let direction = match phase.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed => "reads and writes",
        Direction::Discard => "discards",
        Direction::None => "moves no data",
    };
    let order = match phase.pattern {
        Pattern::Sequential => "in sequence",
        Pattern::Backward => "backwards",
        Pattern::RandomPermutation | Pattern::RandomIndependent => "at random",
        Pattern::SingleBlock => "one block again and again",
        Pattern::Strided => "with a stride",
        Pattern::Unknown => "in an unknown order",
    };
    let block = match run.fact(phase, FactName::ModalRequest) {
        Ok(bytes) => format!("{} a call", Quantity { value: bytes, ..Quantity::bytes(0) }),
        Err(_) => "an unknown number of bytes a call".to_owned(),
    };
    let through = match run.fact(phase, FactName::DirectShare) {
        Ok(share) => format!("{} of them with O_DIRECT", Quantity::ratio(share)),
        Err(_) => "whether with O_DIRECT is not known".to_owned(),
    };
    let text = format!(
        "the longest pass, {}, {direction} {order} with {}, {block}, {through}",
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
        passes => (format!("; in {} storage was not touched", count(passes, "pass")), codes_of(&absent)),
    };
    let gaps = if read_gaps + write_gaps + from_gaps + to_gaps > 0 { ", as far as it was seen" } else { "" };
    let text = match (run.phases.len(), found) {
        (0, _) => "not known: no pass of the tool is known".to_owned(),
        (all, 0) => format!("passes found in the observed calls: 0 of {all}{judgement}"),
        (all, found) => format!(
            "passes found: {found} of {all}; calls read {} and wrote {} inside the clocks, the device read {} and wrote \
             {} of it{gaps}{judgement}",
            in_bytes(read),
            in_bytes(written),
            in_bytes(from_device),
            in_bytes(to_device)
        ),
    };
    evidence.extend(
        [FactName::ReadBytes, FactName::WriteBytes, FactName::DeviceReadBytes, FactName::DeviceWriteBytesDurable]
            .map(|name| name.as_str().to_owned()),
    );
    Answer { answer: text, evidence }
}
