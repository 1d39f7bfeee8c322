//! The form of what reports say: the first line is a sentence after the verdict, and no report has words that only its
//! makers know.

use activebench_model::report::JudgedRun;
use activebench_report::Style;
use activebench_report::document::Document;

use crate::{acceptance, compare, history, replication, samples, series};

/// Words that are clear only to those who made the reports, or verbs for things that do not act.
const MAKERS_WORDS: &[&str] = &["fires", "holds", "lies", "promised", "proposed", "speaks", "stands", "told", "untold"];

/// Returns what is wrong with a rendered report; `None` where nothing is.
fn fault(text: &str) -> Option<String> {
    let first = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if !first.starts_with(char::is_uppercase) {
        return Some(format!("begins in lower case: {first}"));
    }
    let own = without_quotations(text);
    let mut words = own.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').map(str::to_lowercase);
    let word = words.find(|word| MAKERS_WORDS.contains(&word.as_str()))?;
    let line = own.lines().find(|line| line.to_lowercase().contains(&word)).unwrap_or_default();
    Some(format!("contains the word {word:?}: {line}"))
}

/// Leaves out what is quoted: commands, and the words of a tool.
fn without_quotations(text: &str) -> String {
    ['"', '`'].iter().fold(text.to_owned(), |text, quote| {
        text.split(*quote).enumerate().filter(|(place, _)| place % 2 == 0).map(|(_, part)| part).collect()
    })
}

/// The first lines of a run, as a terminal shows them: the verdict, a sentence, and notices.
fn head(run: &JudgedRun) -> String {
    let text = samples::styled("text", run, Style { width: None, ..Style::default() });
    text.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_report_is_in_plain_sentences() {
    let runs = samples::all();
    let mut wrong = Vec::new();
    for (name, run) in &runs {
        let head = head(run);
        if !head.contains(". ") && !head.ends_with('.') {
            wrong.push(format!("{name}: the first line is no sentence: {head}"));
        }
    }
    let of_runs = runs.iter().map(|(name, run)| ((*name).to_owned(), samples::of_run("text", run)));
    fn document(name: &str, document: &impl Document) -> (String, String) {
        (name.to_owned(), samples::rendered("text", document))
    }
    let others = [
        document("series", &series::sample()),
        document("compare", &compare::sample()),
        document("acceptance", &acceptance::sample()),
        document("replication", &replication::sample()),
        document("history", &history::sample()),
    ];
    for (name, text) in of_runs.chain(others) {
        wrong.extend(fault(&text).map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_word_of_the_makers_is_found_and_a_quoted_one_is_not() {
    for (text, is_wrong) in [
        ("VERIFIED  iozone: all 4 figures are confirmed.", false),
        ("VERIFIED  iozone: every claim holds.", true),
        ("VERIFIED  fio: the tool says \"it holds\".", false),
        ("verified  fio: all is well.", true),
    ] {
        assert_eq!(fault(text).is_some(), is_wrong, "{text}: {:?}", fault(text));
    }
}
