//! Renders the measurement as a page of Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::buildtime::{Cost, Measured};

/// Number of listed crates.
const CRATES: usize = 25;

/// Renders the page.
pub(crate) fn render(measured: &[Measured], provenance: &str) -> String {
    let mut page = String::from(
        "# What building and testing cost\n\n\
         Written by `cargo xtask buildtime`; do not edit it.\n\n\
         Each revision is built as on a new machine: a fresh clone, an empty target folder, an empty registry. The \
         steps follow one another; each finds what those before it built. *CPU* is user and kernel time of all \
         processes of the step. *Crates* counts those that were compiled or checked, our own included. \
         What was tried and why: [design/build.md](design/build.md).\n\n",
    );
    writeln!(page, "Provenance: {provenance}.\n").expect("a String takes every character");
    for (number, revision) in measured.iter().enumerate() {
        let name = column(number, measured.len());
        writeln!(page, "- {name}: `{}`", revision.revision.replace('`', "'")).expect("a String takes every character");
    }
    page.push_str("\n## Steps\n\n");
    page.push_str(&steps(measured));
    if let Some(last) = measured.last() {
        page.push_str(&crates(last));
    }
    page
}

fn column(number: usize, of: usize) -> &'static str {
    if number + 1 == of { "now" } else { "before" }
}

fn steps(measured: &[Measured]) -> String {
    let mut table = String::from("| step |");
    let mut rule = String::from("| --- |");
    for number in 0..measured.len() {
        write!(table, " {0}: wall | CPU | crates |", column(number, measured.len())).expect("a String takes it");
        rule.push_str(" ---: | ---: | ---: |");
    }
    if measured.len() > 1 {
        table.push_str(" wall, now / before |");
        rule.push_str(" ---: |");
    }
    let mut table = format!("{table}\n{rule}\n");
    let Some(last) = measured.last() else { return table };
    for (what, _) in &last.costs {
        write!(table, "| {what} |").expect("a String takes it");
        let costs: Vec<Option<&Cost>> = measured.iter().map(|revision| cost(revision, what)).collect();
        for cost in &costs {
            table.push_str(&cells(*cost));
        }
        if let [Some(before), Some(now)] = costs[..] {
            table.push_str(&match before.succeeded && now.succeeded {
                true => format!(" {:.0} % |", 100.0 * now.wall.as_secs_f64() / before.wall.as_secs_f64()),
                false => " |".to_owned(),
            });
        }
        table.push('\n');
    }
    table
}

fn cost<'a>(measured: &'a Measured, what: &str) -> Option<&'a Cost> {
    measured.costs.iter().find(|(name, _)| *name == what).map(|(_, cost)| cost)
}

fn cells(cost: Option<&Cost>) -> String {
    match cost {
        Some(cost) if cost.succeeded => {
            format!(" {} | {} | {} |", duration(cost.wall), duration(cost.cpu), cost.crates)
        }
        Some(_) => " failed | | |".to_owned(),
        None => " | | |".to_owned(),
    }
}

/// Formats a duration: `7.4 s`, `12 min 05 s`.
fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 100.0 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round() as u64;
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

fn crates(measured: &Measured) -> String {
    let total: f64 = measured.crates.iter().map(|entry| entry.seconds).sum();
    let mut table = format!(
        "\n## Crates\n\nThe {} longest of {} until the tests are compiled, {total:.0} s in all: wall time by cargo's own \
         account, added up over a crate's units. Two crates are compiled at once on two CPUs.\n\n\
         | crate | seconds |\n| --- | ---: |\n",
        CRATES.min(measured.crates.len()),
        measured.crates.len()
    );
    for entry in measured.crates.iter().take(CRATES) {
        writeln!(table, "| {} {} | {:.1} |", entry.name, entry.version, entry.seconds).expect("a String takes it");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buildtime::timings::CrateTime;

    fn cost(wall: u64, succeeded: bool) -> Cost {
        Cost { wall: Duration::from_secs(wall), cpu: Duration::from_secs(2 * wall), crates: 3, succeeded }
    }

    #[test]
    fn two_revisions_stand_side_by_side_and_a_failed_step_is_no_time() {
        let crates = vec![CrateTime { name: "polars".into(), version: "1.0.0".into(), seconds: 40.0 }];
        let before =
            Measured { revision: "abc Old".into(), costs: vec![("demo", cost(200, true))], crates: Vec::new() };
        let costs = vec![("demo", cost(50, true)), ("clippy", cost(9, false))];
        let now = Measured { revision: "def New".into(), costs, crates };
        let page = render(&[before, now], "2 processors");
        assert!(page.contains("| demo | 3 min 20 s | 6 min 40 s | 3 | 50.0 s | 1 min 40 s | 3 | 25 % |"), "{page}");
        assert!(page.contains("| clippy | | | | failed | | |\n"), "{page}");
        assert!(page.contains("- before: `abc Old`\n- now: `def New`\n"), "{page}");
        assert!(page.contains("| polars 1.0.0 | 40.0 |"), "{page}");
    }

    #[test]
    fn minutes_are_written_out() {
        assert_eq!(duration(Duration::from_millis(7_430)), "7.4 s");
        assert_eq!(duration(Duration::from_secs(725)), "12 min 05 s");
    }
}
