//! An acceptance for a terminal: the outcome first.

use activebench_model::acceptance::{Acceptance, AcceptanceOutcome};

use super::{
    CONDITION_HEADS, DEVICE_HEADS, EVIDENCE_HEADS, LIMIT_HEADS, agreement, condition_rows, device_rows, evidence_rows,
    headline, limit_name, limit_reasons, limit_rows, recheck, suite, tested,
};
use crate::Style;
use crate::page::{Page, Set, Tone};

/// Colour of an outcome, chosen by its words.
fn tone(words: &str) -> Tone {
    match words {
        "pass" => Tone::Good,
        "conditional" | "not" => Tone::Doubtful,
        "fail" => Tone::Bad,
        _ => Tone::Plain,
    }
}

pub(super) fn render(acceptance: &Acceptance, style: Style) -> String {
    let mut page = Page::new(style);
    let of_outcome = match acceptance.outcome {
        AcceptanceOutcome::Pass => Tone::Good,
        AcceptanceOutcome::ConditionalPass | AcceptanceOutcome::NotJudged => Tone::Doubtful,
        AcceptanceOutcome::ConditionalFail | AcceptanceOutcome::Fail => Tone::Bad,
    };
    page.headed(&headline(acceptance.outcome), of_outcome, &format!("  {}.", acceptance.because));
    page.blank();
    for note in &acceptance.notes {
        page.marked("! ", note, Tone::Doubtful);
    }
    page.blank();
    if !acceptance.limits.is_empty() {
        let sets = [Set::Left, Set::Left, Set::Right, Set::Right, Set::Right, Set::Whole];
        page.table(&LIMIT_HEADS, &sets, &limit_rows(acceptance), tone);
        page.blank();
    }
    for limit in &acceptance.limits {
        page.headed(&limit_name(limit), Tone::Head, "");
        for reason in limit_reasons(limit) {
            page.paragraph(&reason, Tone::Plain);
        }
    }
    page.blank();
    for benchmark in &acceptance.benchmarks {
        page.headed(&format!("conditions of {}", benchmark.name), Tone::Head, "");
        page.table(&CONDITION_HEADS, &[Set::Left, Set::Left, Set::Left], &condition_rows(benchmark), |_| Tone::Plain);
        for (label, text) in suite(benchmark) {
            page.labelled(label, &text);
        }
        page.blank();
    }
    for (label, text) in tested(acceptance) {
        page.labelled(label, &text);
    }
    let devices = device_rows(acceptance);
    if !devices.is_empty() {
        page.table(&DEVICE_HEADS, &[Set::Left; 7], &devices, |_| Tone::Plain);
    }
    page.blank();
    for (label, text) in agreement(acceptance) {
        page.labelled(label, &text);
    }
    page.blank();
    let evidence = evidence_rows(acceptance);
    if !evidence.is_empty() {
        // A checksum is copied by readers, so it is never wrapped.
        for row in evidence {
            page.labelled("run", &row[..3].join("  "));
            page.labelled_verbatim("", &row[3]);
        }
        page.paragraph(&format!("({})", EVIDENCE_HEADS[3]), Tone::Aside);
    }
    page.blank();
    page.labelled_verbatim("recheck", &recheck(acceptance));
    page.finish()
}
