//! Renders the outcomes as a page of Markdown.

use std::fmt::Write as _;

use crate::truth::table::{self, Case, Counts, Kind, Outcome, Outcomes};

/// Renders the page.
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
        Outcome::Off => format!("**figure off**: {}", cell(&case.why)),
        Outcome::Differs => format!("**answers differ**: {}", cell(&case.why)),
        Outcome::Undecided => format!("undecided: {}", cell(&case.why)),
        Outcome::NotRun => format!("not run: {}", cell(&case.why)),
        Outcome::Broken => format!("**broken**: {}", cell(&case.why)),
    };
    format!("| {} `{}` | {} | {outcome} |\n", case.code, case.name, cell(&case.what))
}

/// Renders drawn runs as a section of the page. `command` is the command that made them.
pub(crate) fn drawn(outcomes: &Outcomes, command: &str, provenance: &str) -> String {
    let counts = Counts::of(outcomes.cases.iter());
    let mut section = format!(
        "Commands drawn from the option space of fio, iozone and bonnie++: honest ones by construction, and the same with \
         one property broken. An honest run must be left alone, answered, and confirmed with figures within 1 % of what \
         the device and fio's own log counted. A lie must be found under a code that speaks of it.\n\n\
         {}.\n\n`{command}`. Provenance: {provenance}.\n",
        table::sum_of_drawn(&counts)
    );
    let failed: Vec<&Case> = outcomes.cases.iter().filter(|case| case.failed).collect();
    if !failed.is_empty() {
        section.push_str("\n| run | what it does | outcome |\n| --- | --- | --- |\n");
        failed.into_iter().for_each(|case| section.push_str(&row(case)));
    }
    section
}

/// Renders the runs of advised commands as a section of the page.
pub(crate) fn advised(outcomes: &Outcomes, provenance: &str) -> String {
    let mut section = format!(
        "The command that the report of each lie advises, run in the same place after what disturbed it has ended. It \
         holds when it is verified or qualified, and when its passes are those of the lie: the same directions, the same \
         names, the same subjects.\n\n{}.\n\n`cargo xtask truth --advice`. Provenance: {provenance}.\n\n\
         | case | outcome |\n| --- | --- |\n",
        table::sum_of_advised(&Counts::of(outcomes.cases.iter()))
    );
    for case in &outcomes.cases {
        let outcome = match case.outcome {
            Outcome::Hit => "holds".to_owned(),
            Outcome::Miss => format!("**does not hold**: {}", cell(&case.why)),
            _ => cell(&case.why),
        };
        section.push_str(&format!("| {} `{}` | {outcome} |\n", case.code, case.name));
    }
    section
}

/// Renders the corpus as a tracer observed it as a section of the page.
pub(crate) fn without_rights(outcomes: &Outcomes, provenance: &str) -> String {
    let mut section = format!(
        "The same runs, observed by a tracer (`--backend trace`), which needs no rights: it sees calls, files, processes and \
         what storage gave to reads, and no device, page cache or processor time. What it does not find it leaves \
         undecided; the right that settles it is CAP_BPF with CAP_PERFMON.\n\n{}.\n\n\
         `cargo xtask truth --trace`. Provenance: {provenance}.\n\n| lie that is not found | outcome |\n| --- | --- |\n",
        table::sum(outcomes)
    );
    let is_open = |case: &&Case| case.kind == Kind::Lie && case.outcome != Outcome::Hit || case.failed;
    for case in outcomes.cases.iter().filter(is_open) {
        let outcome = match case.outcome {
            Outcome::Undecided => "undecided".to_owned(),
            Outcome::NotRun => "not run".to_owned(),
            Outcome::Miss => format!("**missed**: {}", cell(&case.why)),
            Outcome::Accused => format!("**accused**: {}", cell(&case.why)),
            _ => cell(&case.why),
        };
        section.push_str(&format!("| {} `{}` | {outcome} |\n", case.code, case.name));
    }
    section
}

/// Returns the page with this text in this section; a new section is appended.
pub(crate) fn with_section(page: &str, title: &str, text: &str) -> String {
    let heading = format!("\n## {title}\n");
    let (before, after) = match page.split_once(&heading) {
        Some((before, rest)) => (before, rest.find("\n## ").map_or("", |end| &rest[end..])),
        None => (page, ""),
    };
    format!("{before}{heading}\n{text}{after}")
}

/// Returns the sections of a page whose titles begin like this, with their headings.
pub(crate) fn sections(page: &str, title: &str) -> String {
    let parts = page.split("\n## ").skip(1).filter(|part| part.starts_with(title));
    parts.map(|part| format!("\n## {part}")).collect()
}

/// Escapes text for a table cell, and removes this host's paths.
fn cell(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(without_host_path).collect();
    words.join(" ").replace('|', "\\|")
}

/// Shortens a path to its last name.
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
    fn a_section_is_replaced_and_the_others_stay() {
        let page = "# A\n\n## B\n\nb\n";
        let once = with_section(page, "Drawn runs", "one\n");
        assert_eq!(once, "# A\n\n## B\n\nb\n\n## Drawn runs\n\none\n");
        let more = with_section(&once, "Drawn runs, busy", "two\n");
        let again = with_section(&more, "Drawn runs", "three\n");
        assert_eq!(again, "# A\n\n## B\n\nb\n\n## Drawn runs\n\nthree\n\n## Drawn runs, busy\n\ntwo\n");
        assert_eq!(sections(&again, "Drawn runs"), again.strip_prefix(page).expect("they are behind it"));
    }

    #[test]
    fn what_a_tracer_does_not_find_is_listed() {
        let outcomes =
            outcomes(&[("AB101", "lie", "hit"), ("AB102", "lie", "undecided"), ("AB103", "honest", "silent")]);
        let section = without_rights(&outcomes, "a machine");
        assert!(section.contains("| AB102 `lie-a` | undecided |"), "{section}");
        assert!(!section.contains("AB101 `") && !section.contains("honest-a"), "{section}");
    }

    #[test]
    fn drawn_runs_that_failed_are_listed() {
        let mut outcomes = outcomes(&[("drawn", "honest", "silent"), ("AB401", "lie", "miss")]);
        outcomes.cases[1].failed = true;
        let section = drawn(&outcomes, "cargo xtask truth --honest 1", "a machine");
        assert!(section.contains("| AB401 `lie-a` | A \\| b. | **missed**: because |"), "{section}");
        assert!(!section.contains("honest-a") && section.contains("accused: 0 of 1"), "{section}");
    }

    #[test]
    fn paths_of_the_host_stay_out() {
        assert_eq!(cell("the file lies at /tmp/x/mount, on zram1"), "the file lies at mount, on zram1");
    }
}
