//! A detector's manual page is the `//!` header of its source file, so that the rule and
//! its explanation are written once and are in one place.

use activebench_model::fact::FactName;
use activebench_model::report::DetectorPage;

use crate::detector::{Basis, Detector, Evidence, Inference};

/// The headings that every page has, in this order.
pub const HEADINGS: [&str; 6] =
    ["What it finds", "Why it matters", "How it decides", "When it is wrong", "What to do", "References"];

/// The `//!` header of a source file, without the marks.
///
/// Ends at the first line that is not part of the header; empty when there is none.
pub fn page(source: &str) -> String {
    source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line).trim_end()))
        .collect()
}

/// The words below a heading of a page, their lines joined to paragraphs; empty when it has no such heading.
pub fn section(page: &str, heading: &str) -> String {
    let lines = page.lines().skip_while(|line| line.strip_prefix("# ") != Some(heading)).skip(1);
    let mut text = String::new();
    for line in lines.take_while(|line| !line.starts_with("# ")) {
        match line.trim() {
            "" if text.is_empty() || text.ends_with('\n') => {}
            "" => text.push_str("\n\n"),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim_end().to_owned()
}

impl Detector {
    /// Its manual page in Markdown: the header of its source file, with the six headings.
    pub fn manual(&self) -> String {
        page(self.source)
    }
}

/// Returns a detector as reports introduce it.
pub fn introduction(detector: &Detector) -> DetectorPage {
    let page = detector.manual();
    let first_paragraph = |text: String| text.split("\n\n").next().unwrap_or_default().to_owned();
    DetectorPage {
        code: detector.code.to_owned(),
        name: detector.name.to_owned(),
        title: detector.title.to_owned(),
        explained_by: detector.explained_by.iter().map(|code| (*code).to_owned()).collect(),
        finds: first_paragraph(section(&page, HEADINGS[0])),
        matters: section(&page, HEADINGS[1]),
        to_do: section(&page, HEADINGS[4]),
    }
}

/// Returns the manual page for `docs/detectors/` and for `activebench explain`:
/// code and name as the title, then the header of the detector's file, its headings one
/// level down.
pub fn manual_page(detector: &Detector) -> String {
    let mut text = format!("# {} `{}`\n\n", detector.code, detector.name);
    for line in detector.manual().lines() {
        if line.strip_prefix("# ") == Some(HEADINGS[3]) {
            text.push_str(&basis(detector));
        }
        if line.starts_with("# ") {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the evidence of a detector's answer, as a paragraph of its page.
fn basis(detector: &Detector) -> String {
    let names =
        |facts: &[FactName]| facts.iter().map(|fact| format!("`{}`", fact.as_str())).collect::<Vec<_>>().join(", ");
    let words = |inferred: &[Inference]| inferred.iter().map(|one| one.describe()).collect::<Vec<_>>().join(", ");
    let text = match detector.basis {
        Basis::Facts => format!("Observed: {}. Nothing is inferred.", names(detector.facts)),
        Basis::Statements => "Compared: what the command line and the tool's own output say.".to_owned(),
        Basis::Coverage => "Observed: the account that the observation keeps of itself.".to_owned(),
        Basis::Series => "Observed: the figures of the runs of a series.".to_owned(),
        Basis::Circumstances(inferred) => {
            format!("Inferred from: {}. Observed: {}.", words(inferred), names(detector.facts))
        }
        Basis::ObservedFirst(Evidence { observed, inferred }) => format!(
            "Observed: {}. Inferred from: {}. Where the observation answers the question, the inference is not asked.",
            names(observed),
            words(inferred)
        ),
    };
    format!("{text}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_page_has_a_title_and_its_headings_below_it() {
        for detector in crate::registry::DETECTORS {
            let page = manual_page(detector);
            assert!(page.starts_with(&format!("# {} `{}`\n", detector.code, detector.name)), "{page}");
            let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            assert_eq!(headings, HEADINGS);
        }
    }

    #[test]
    fn every_detector_introduces_itself() {
        for detector in crate::registry::DETECTORS {
            let page = introduction(detector);
            for text in [&page.finds, &page.matters, &page.to_do] {
                assert!(text.len() > 10 && !text.contains("# "), "{page:?}");
            }
        }
    }

    #[test]
    fn a_section_is_its_paragraphs() {
        let page = "# One\nfirst\nline\n\nsecond\n\n# Two\n\nlast\n";
        for (heading, expected) in [("One", "first line\n\nsecond"), ("Two", "last"), ("Three", "")] {
            assert_eq!(section(page, heading), expected);
        }
    }

    #[test]
    fn a_page_is_the_header_and_nothing_else() {
        for (source, expected) in [
            ("//! One.\n//!\n//!   indented\n\nuse x;\n//! not part\n", "One.\n\n  indented\n"),
            ("use x;\n//! late\n", ""),
            ("", ""),
        ] {
            assert_eq!(page(source), expected);
        }
    }
}
