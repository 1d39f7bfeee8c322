//! A detector's manual page is the `//!` header of its source file, so that the rule and
//! its explanation are written once and stand beside each other.

use crate::context::Detector;

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

/// The manual page as it stands in `docs/detectors/` and as `activebench explain` prints it:
/// code and name as the title, then the header of the detector's file, its headings one
/// level down.
pub fn manual_page(detector: &dyn Detector) -> String {
    let mut text = format!("# {} `{}`\n\n", detector.code(), detector.name());
    for line in detector.manual().lines() {
        if line.starts_with("# ") {
            text.push('#');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_page_has_a_title_and_its_headings_below_it() {
        for detector in crate::registry::DETECTORS {
            let page = manual_page(*detector);
            assert!(page.starts_with(&format!("# {} `{}`\n", detector.code(), detector.name())), "{page}");
            let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            assert_eq!(headings, HEADINGS);
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
