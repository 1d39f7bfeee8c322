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
        "Commands drawn from the option spaces of the tools: honest ones by construction, and the same with \
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

/// Renders the page on the corpus as an ordinary user runs it.
pub(crate) fn without_rights(outcomes: &Outcomes, provenance: &str) -> String {
    let all = Counts::of(outcomes.cases.iter());
    let lies = || outcomes.cases.iter().filter(|case| case.kind == Kind::Lie);
    let played = Counts::of(lies().filter(|case| case.outcome != Outcome::NotRun)).lies;
    let twins = outcomes.cases.iter().filter(|case| case.kind == Kind::Honest);
    let open_twins = twins.filter(|case| case.outcome == Outcome::Undecided).count();
    let open = || lies().filter(|case| case.outcome == Outcome::Undecided);
    let confirmed: usize = lies().map(|case| case.falsely_confirmed).sum();
    let mut page = format!(
        "# Planted lies without rights\n\n\
         Run by `cargo xtask truth --trace`, which writes this page; nobody edits it.\n\n\
         The corpus of [truth.md](truth.md), run by an ordinary user: not root, without a capability and without a way to \
         get one. The kernel permits this user no kernel programs, so a tracer observes ([rights.md](rights.md)). Root only \
         sets up what such a user finds: devices, file systems, control groups, and what other processes do meanwhile.\n\n\
         What a tracer does not see is missing, and a figure that needs it is undecided: never confirmed and never \
         contradicted. A lie is found when its detector finds it as it has to, or when each figure that it is about is \
         contradicted.\n\n\
         | runs | count |\n| --- | ---: |\n\
         | lies that could run | {played} |\n\
         | found | {} ({:.0} %) |\n\
         | undecided | {} |\n\
         | missed | {} |\n\
         | figures of lies that are said to hold | {confirmed} |\n\
         | honest runs | {} |\n\
         | accused | {} |\n\
         | left alone by their detector | {} |\n\
         | undecided | {open_twins} |\n\
         | lies and honest runs that could not run | {} |\n\
         | broken | {} |\n\n\
         Provenance: {provenance}.\n",
        all.hits,
        100.0 * all.hits as f64 / played.max(1) as f64,
        open().count(),
        all.misses,
        all.twins,
        all.accused,
        all.silent,
        all.not_run,
        all.broken,
    );
    let mut section = |title: &str, says: &str, columns: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            let line = "| --- ".repeat(columns.matches('|').count() - 1);
            page.push_str(&format!("\n## {title}\n\n{says}{columns}\n{line}|\n{}", rows.concat()));
        }
    };
    let failed = outcomes.cases.iter().filter(|case| case.failed).map(row).collect();
    section("What has to be mended", "", "| case | what it does | outcome |", failed);
    let row_of = |case: &Case| {
        let right = case.right.as_deref().map_or_else(|| "none is named".to_owned(), cell);
        format!("| {} `{}` | {} | {right} |\n", case.code, case.name, cell(&case.why))
    };
    let says = "The right is the one that the report names.\n\n";
    section("Lies that are undecided", says, "| case | why | what would settle it |", open().map(row_of).collect());
    let counts = outcomes.by_detector();
    let rows = counts.iter().filter(|(_, counts)| counts.lies + counts.twins > 0).map(|(detector, counts)| {
        let Counts { lies, hits, misses, twins, silent, accused, undecided, not_run, .. } = counts;
        let (code, name) = (&detector.code, &detector.name);
        format!(
            "| [{code}](detectors/{code}-{name}.md) `{name}` | {hits} of {lies} | {silent} of {twins} | {misses} | {accused} | \
             {undecided} | {not_run} |\n"
        )
    });
    let columns = "| detector | lies found | twins left alone | missed | accused | undecided | not run |";
    section("By detector", "", columns, rows.collect());
    let not_run = outcomes.cases.iter().filter(|case| case.outcome == Outcome::NotRun);
    let row_of = |case: &Case| format!("| {} `{}` | {} |\n", case.code, case.name, cell(&case.why));
    section("Not run", "", "| case | why |", not_run.map(row_of).collect());
    page
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
    fn what_an_ordinary_user_does_not_find_is_listed_with_the_right_that_settles_it() {
        let mut outcomes = outcomes(&[
            ("AB101", "lie", "hit"),
            ("AB102", "lie", "undecided"),
            ("AB102", "lie", "not run"),
            ("AB103", "honest", "undecided"),
        ]);
        outcomes.cases[1].right = Some("CAP_BPF and CAP_PERFMON".to_owned());
        let page = without_rights(&outcomes, "a machine");
        assert!(page.contains("| AB102 `lie-a` | because | CAP_BPF and CAP_PERFMON |"), "{page}");
        assert!(page.contains("| lies that could run | 2 |\n| found | 1 (50 %) |\n| undecided | 1 |"), "{page}");
        assert!(page.contains("| honest runs | 1 |\n| accused | 0 |"), "{page}");
        assert!(!page.contains("honest-a") && !page.contains("mended"), "{page}");
        outcomes.cases[3].failed = true;
        assert!(without_rights(&outcomes, "a machine").contains("## What has to be mended"));
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
