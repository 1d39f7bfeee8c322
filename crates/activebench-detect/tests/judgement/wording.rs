//! The form of what findings say: sentences with a capital letter and a full stop, short, and in plain words.

use activebench_detect::registry::DETECTORS;
use activebench_model::finding::Finding;
use activebench_tools::ADAPTERS;

use crate::{cases, evidence, series};

/// Most words of a sentence: the rule is 20, and figures with their units are words too.
const MOST_WORDS: usize = 26;

/// Words that are clear only to those who made the detectors, or verbs for things that do not act.
const MAKERS_WORDS: &[&str] = &[
    "bounds", "carries", "carry", "fires", "held", "holds", "lies", "promised", "promises", "proposed", "speaks",
    "stands", "tells", "told", "untold", "window",
];

/// Returns what is wrong with the form of a text; `None` where nothing is.
pub(crate) fn fault(text: &str) -> Option<String> {
    let begins_with_name = ADAPTERS
        .iter()
        .map(|adapter| adapter.name())
        .chain(["activebench"])
        .any(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    if text.starts_with(char::is_lowercase) && !begins_with_name {
        return Some("begins in lower case".to_owned());
    }
    if !text.ends_with(['.', '!', '?']) || text.ends_with("..") {
        return Some("does not end with one full stop".to_owned());
    }
    if text.contains("  ") || text.contains(" .") || text.contains(['{', '}']) {
        return Some("has a gap or a brace".to_owned());
    }
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase);
    if let Some(word) = words().find(|word| MAKERS_WORDS.contains(&word.as_str())) {
        return Some(format!("contains the word {word:?}"));
    }
    let long = text.split(". ").find(|sentence| sentence.split_whitespace().count() > MOST_WORDS);
    long.map(|sentence| format!("has a sentence of {} words", sentence.split_whitespace().count()))
}

/// The texts of a finding with what is wrong with them.
fn faults(case: &str, finding: &Finding) -> Vec<String> {
    let texts = [finding.message.sentence(), &finding.meaning, &finding.advice];
    let said = texts.into_iter().filter(|text| !text.is_empty());
    said.filter_map(|text| Some(format!("{case}: {}: {text}", fault(text)?))).collect()
}

#[test]
fn what_detectors_say_is_in_sentences() {
    let mut wrong = Vec::new();
    let mut check = |case: &str, findings: &[Finding]| {
        wrong.extend(findings.iter().flat_map(|finding| faults(case, finding)));
    };
    evidence::each_judged(|_, case, _, findings| check(case, findings));
    evidence::each_with_a_lost_fact(|case, findings| check(case, findings));
    for detector in DETECTORS.iter().filter(|detector| detector.is_of_the_series()) {
        let folder = format!("{}-{}", detector.code.to_lowercase(), detector.name);
        for path in cases::files(&cases::fixtures().join(&folder)) {
            check(&format!("{folder}/{}", cases::stem(&path)), &series::case(&path).judge(detector));
        }
    }
    wrong.sort();
    wrong.dedup_by_key(|wrong| wrong.split_once(": ").map(|(_, said)| said.to_owned()));
    assert!(wrong.is_empty(), "{} texts of findings:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_text_without_the_form_of_a_sentence_is_found() {
    for (text, is_wrong) in [
        ("The disk read nothing.", false),
        ("iozone stopped its clock after 0.54 s. The 1 GiB was on the disk 0.59 s later.", false),
        ("`-e` has no effect.", false),
        ("8 calls failed.", false),
        ("the disk read nothing.", true),
        ("The disk read nothing", true),
        ("The claim holds.", true),
        ("The pass took {} in all.", true),
    ] {
        assert_eq!(fault(text).is_some(), is_wrong, "{text}: {:?}", fault(text));
    }
    let long = format!("{}.", vec!["Word"; MOST_WORDS + 1].join(" "));
    assert!(fault(&long).is_some_and(|fault| fault.contains("27 words")));
}
