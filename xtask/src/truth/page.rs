//! The outcomes as a page of Markdown.

use std::fmt::Write as _;

use crate::truth::table::{self, Case, Counts, Kind, Outcome, Outcomes};

/// The page.
pub(crate) fn render(outcomes: &Outcomes, provenance: &str) -> String {
    let mut page = format!(
        "# Planted lies and honest twins\n\n\
         Run by `cargo xtask truth`, which writes this page; nobody edits it.\n\n\
         For each detector there are runs that are not what their figures say, and beside them the nearest runs that \
         are. A lie counts as found when the detector fires with the severity that the case asks for and the claim \
         gets the verdict that it deserves. A twin counts as left alone when the detector is silent and nothing else \
         warns but what the case names as true of that run (or `machine.toml` as true of any run here). Cases are files in `fixtures/truth`; what cannot run on a \
         host is counted apart, and never as passed.\n\n\
         {}.\n\nProvenance: {provenance}.\n\n",
        table::sum(outcomes)
    );
    page.push_str("## By detector\n\n");
    page.push_str("| detector | lies found | twins left alone | missed | accused | undecided | not run | |\n");
    page.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for (detector, counts) in outcomes.by_detector() {
        let Counts { lies, hits, misses, twins, silent, accused, undecided, not_run, .. } = counts;
        let lacks = counts.lacks();
        let (code, name) = (&detector.code, &detector.name);
        writeln!(
            page,
            "| [{code}](detectors/{code}-{name}.md) `{name}` | {hits} of {lies} | {silent} of {twins} | {misses} | {accused} | \
             {undecided} | {not_run} | {lacks} |"
        )
        .expect("a String takes every character");
    }
    for (title, kind) in [("The lies", Kind::Lie), ("The twins", Kind::Honest)] {
        write!(page, "\n## {title}\n\n| case | what it does | outcome |\n| --- | --- | --- |\n")
            .expect("a String takes every character");
        for case in outcomes.cases.iter().filter(|case| case.kind == kind) {
            page.push_str(&row(case));
        }
    }
    page
}

fn row(case: &Case) -> String {
    let outcome = match case.outcome {
        Outcome::Hit => "found".to_owned(),
        Outcome::Silent => "left alone".to_owned(),
        Outcome::Miss => format!("**missed**: {}", cell(&case.why)),
        Outcome::Accused => format!("**accused**: {}", cell(&case.why)),
        Outcome::Undecided => format!("undecided: {}", cell(&case.why)),
        Outcome::NotRun => format!("not run: {}", cell(&case.why)),
        Outcome::Broken => format!("**broken**: {}", cell(&case.why)),
    };
    format!("| {} `{}` | {} | {outcome} |\n", case.code, case.name, cell(&case.what))
}

/// Text that stays within its cell, and paths of this host that stay out of the page.
fn cell(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(without_host_path).collect();
    words.join(" ").replace('|', "\\|")
}

/// A path keeps its last name only.
fn without_host_path(word: &str) -> String {
    match word.starts_with('/') {
        true => word.rsplit('/').next().unwrap_or_default().to_owned(),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::table::tests::outcomes;

    #[test]
    fn every_case_and_every_detector_has_a_row() {
        let page = render(&outcomes(&[("AB101", "lie", "miss"), ("AB101", "honest", "silent")]), "a machine");
        assert!(
            page.contains("| [AB101](detectors/AB101-a-b.md) `a-b` | 0 of 1 | 1 of 1 | 1 | 0 | 0 | 0 |  |"),
            "{page}"
        );
        assert!(page.contains("| [AB102](detectors/AB102-c.md) `c` | 0 of 0 | 0 of 0 | 0 | 0 | 0 | 0 | no case |"));
        assert!(page.contains("| AB101 `lie-a` | A \\| b. | **missed**: because |"));
        assert!(page.contains("Provenance: a machine."));
    }

    #[test]
    fn paths_of_the_host_stay_out() {
        assert_eq!(cell("the file lies at /tmp/x/mount, on zram1"), "the file lies at mount, on zram1");
    }
}
