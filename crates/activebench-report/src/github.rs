//! Annotations for GitHub Actions: a line for each failure and warning of a run, which a workflow shows beside its
//! result (docs.github.com: *Workflow commands for GitHub Actions*).

use activebench_model::finding::Severity;
use activebench_model::report::JudgedRun;

use crate::escape::terminal;
use crate::findings::{self, Group};
use crate::headline;

/// Annotations of one kind that GitHub shows per step.
const SHOWN: usize = 10;

/// Returns the annotations of a run, one line each.
pub fn annotations(run: &JudgedRun) -> String {
    let mut lines = String::new();
    let kind = if run.exit_code == 0 { "notice" } else { "error" };
    let verdict = format!("activebench: {}", run.verdict.as_str());
    lines.push_str(&annotation(kind, &verdict, &format!("{}: {}.", headline::tool(run), headline::why(run))));
    if let Some(target) = run.target.as_ref().filter(|target| target.met != Some(true)) {
        lines.push_str(&annotation("error", "activebench: target not met", &target.sentence));
    }
    let of = |severity: Severity| findings::firing(run).into_iter().filter(move |group| group.severity == severity);
    for (severity, kind) in [(Severity::Fail, "error"), (Severity::Warn, "warning")] {
        for Group { code, name, phases, statement, .. } in of(severity).take(SHOWN) {
            lines.push_str(&annotation(kind, &format!("{code} {name} ({phases})"), &statement));
        }
    }
    lines
}

/// One workflow command. What it quotes has no line break and no end of a property of its own.
fn annotation(kind: &str, title: &str, text: &str) -> String {
    let data = |text: &str| terminal(text).replace('%', "%25");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    format!("::{kind} title={}::{}\n", property(title), data(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_gives_no_command_of_its_own() {
        let line = annotation("error", "a, b: c\n::warning::x", "100 %\r\n::set-output name=x::y");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.starts_with("::error title=a%2C b%3A c\\u{a}%3A%3Awarning%3A%3Ax::100 %25\\u{d}"), "{line}");
    }
}
