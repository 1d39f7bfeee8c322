//! Renders the results as a page of Markdown, with the table of kernels, and as lines for a terminal.

use std::fmt::Write as _;

use crate::kernels::results::{KernelResult, Trial};

/// Number of a kernel's complaints that are shown: a machine that hangs produces them endlessly.
const COMPLAINTS: usize = 5;

/// Renders the page.
pub(crate) fn render(trial: &Trial) -> String {
    let mut page = trial.set.introduction().to_owned();
    page.push_str(&provenance(trial));
    page.push_str(
        "\n| kernel | from | ran on | object loads | hooks attached | runs | records lost |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for kernel in &trial.kernels {
        page.push_str(&summary(kernel));
    }
    page.push_str(&runs(trial));
    for kernel in &trial.kernels {
        page.push_str(&section(kernel));
    }
    page
}

fn provenance(trial: &Trial) -> String {
    let mut parts = vec![format!("object with SHA-256 `{}`", trial.object_sha256)];
    parts.extend(trial.emulator.clone());
    parts.extend(trial.tool_versions.iter().cloned());
    parts.extend(trial.day.clone());
    let mut line = format!("Provenance: {}.\n", parts.join("; "));
    if let Some(why) = &trial.incomplete {
        writeln!(line, "\n**Incomplete**: {why}.").expect("a String takes every character");
    }
    line
}

fn summary(kernel: &KernelResult) -> String {
    let attached = kernel.hooks.iter().filter(|hook| hook.attached).count();
    let hooks = if kernel.hooks.is_empty() { "-".to_owned() } else { format!("{attached} of {}", kernel.hooks.len()) };
    let smoke = if kernel.steps.is_empty() {
        "not run".to_owned()
    } else {
        format!("{} of {} passed", kernel.passed(), kernel.steps.len())
    };
    let lost = kernel.records_lost.map_or_else(|| "-".to_owned(), |(lost, made)| format!("{lost} of {made}"));
    format!(
        "| {} | {} | {} | {} | {hooks} | {smoke} | {lost} |\n",
        cell(kernel.version.as_deref().and_then(release).unwrap_or(&kernel.name)),
        cell(&kernel.origin),
        cell(&kernel.machine),
        match &kernel.loads {
            Some(Ok(())) => "yes".to_owned(),
            Some(Err(why)) => format!("**no**: {}", cell(why)),
            None => "not tried".to_owned(),
        },
    )
}

/// Returns `6.1.0-50` of `Linux 6.1.0-50 #1 SMP ...`.
fn release(version: &str) -> Option<&str> {
    version.split_whitespace().nth(1)
}

fn runs(trial: &Trial) -> String {
    let mut text = format!("\n## {}\n\n", trial.set.title());
    let kernels: Vec<&KernelResult> = trial.kernels.iter().filter(|kernel| !kernel.steps.is_empty()).collect();
    if kernels.is_empty() {
        text.push_str("It was run nowhere.\n");
        return text;
    }
    text.push_str(trial.set.meaning());
    text.push_str("\n\n| run |");
    for kernel in &kernels {
        write!(text, " {} |", kernel.name).expect("a String takes every character");
    }
    text.push_str("\n| --- |");
    text.push_str(&" --- |".repeat(kernels.len()));
    text.push('\n');
    for step in &*trial.set.steps() {
        write!(text, "| {} |", cell(&step.title)).expect("a String takes every character");
        for kernel in &kernels {
            let passed =
                kernel.steps.iter().find(|result| result.name == step.name).map(|result| result.deviations.is_empty());
            text.push_str(match passed {
                Some(true) => " passed |",
                Some(false) => " **failed** |",
                None => " not run |",
            });
        }
        text.push('\n');
    }
    text
}

fn section(kernel: &KernelResult) -> String {
    let mut text = format!("\n## {}\n\n", title(kernel));
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    if let Some(version) = &kernel.version {
        line(format!("`{version}`; took {} s.\n", kernel.seconds));
    }
    if let Some(why) = &kernel.failure {
        line(format!("**It did not come to its end**: {why}.\n"));
    }
    if let Some(Err(why)) = &kernel.loads {
        line(format!("**The object does not load**: {why}.\n"));
    }
    for (why, names) in kernel.failures() {
        line(format!(
            "- **failed** {}: {why}",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ));
    }
    for hook in kernel.hooks.iter().filter(|hook| !hook.attached) {
        let why = hook.why_not.as_deref().unwrap_or("no reason was given");
        line(format!("- not attached: `{}`: {why}", hook.name));
    }
    for gap in &kernel.gaps {
        line(format!("- not seen there: {}: {}; {}", gap.name, gap.found, gap.meaning));
    }
    for hook in kernel.hooks.iter().filter(|hook| hook.missed > 0) {
        line(format!(
            "- `{}` missed {} events, because it was running on the same CPU already",
            hook.name, hook.missed
        ));
    }
    if kernel.inferred > 0 {
        line(format!(
            "- {} completions were seen by no hook and inferred: some machines hide interrupts from every tracer",
            kernel.inferred
        ));
    }
    match kernel.complaints.as_deref() {
        Some([]) => line("- the kernel's console reports no fault: no WARNING, BUG, oops or stall".to_owned()),
        Some(lines) => {
            lines
                .iter()
                .take(COMPLAINTS)
                .for_each(|complaint| line(format!("- **the kernel complained**: `{complaint}`")));
            if lines.len() > COMPLAINTS {
                line(format!("- and in {} lines more", lines.len() - COMPLAINTS));
            }
        }
        None => {}
    }
    text
}

fn title(kernel: &KernelResult) -> String {
    match kernel.name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("Linux {}", kernel.name),
        false => format!("This {}", kernel.name),
    }
}

/// Escapes a message for a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Returns one line per kernel, for a terminal, with its failures below it.
pub(crate) fn lines(trial: &Trial) -> String {
    let mut text = String::new();
    for kernel in &trial.kernels {
        let loads = match &kernel.loads {
            Some(Ok(())) => "loads",
            Some(Err(_)) => "does not load",
            None => "was not tried",
        };
        let attached = kernel.hooks.iter().filter(|hook| hook.attached).count();
        writeln!(
            text,
            "{:>5}  {:<28}  object {loads}; {attached} of {} hooks; {} of {} runs passed; {} s",
            kernel.name,
            kernel.version.as_deref().and_then(release).unwrap_or("version unknown"),
            kernel.hooks.len(),
            kernel.passed(),
            kernel.steps.len(),
            kernel.seconds
        )
        .expect("a String takes every character");
        let reasons = kernel.failure.iter().cloned();
        let refusals = kernel.loads.iter().filter_map(|loads| loads.as_ref().err().cloned());
        let complaints =
            kernel.complaints.iter().flatten().take(COMPLAINTS).map(|line| format!("the kernel complained: {line}"));
        let failed = kernel.failures().into_iter().map(|(why, names)| format!("{}: {why}", names.join(", ")));
        for reason in reasons.chain(refusals).chain(failed).chain(complaints) {
            writeln!(text, "       {reason}").expect("a String takes every character");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::results::{Gap, Hook, Place, SCHEMA, StepResult};
    use crate::kernels::set::Set;
    use crate::kernels::steps::Step;

    fn place(name: &str) -> Place {
        Place { name: name.to_owned(), origin: "Debian 12".to_owned(), machine: "emulated".to_owned() }
    }

    fn trial() -> Trial {
        let mut good = KernelResult::failed(place("6.1"), String::new());
        good.failure = None;
        good.version = Some("Linux 6.1.0-50 #1 SMP".to_owned());
        good.loads = Some(Ok(()));
        good.seconds = 400;
        good.complaints = Some(Vec::new());
        good.records_lost = Some((0, 1234));
        let hook = |name: &str, attached| Hook { name: name.to_owned(), attached, why_not: None, missed: 0 };
        good.hooks = vec![hook("tp_btf/sys_exit", true), hook("tp_btf/sys_enter", true)];
        let passed = |step: &Step| StepResult { name: step.name.to_string(), deviations: Vec::new(), seconds: Some(3) };
        good.steps = Set::Smoke.steps().iter().map(passed).collect();
        let mut bad = KernelResult::failed(place("6.12"), "it did not end within 40 minutes".to_owned());
        bad.loads = Some(Err("verifier | refused".to_owned()));
        bad.hooks =
            vec![Hook { why_not: Some("no type".to_owned()), missed: 3, ..hook("tp_btf/io_uring_complete", false) }];
        bad.gaps =
            vec![Gap { name: "lockdown".to_owned(), found: "on".to_owned(), meaning: "nothing loads".to_owned() }];
        bad.complaints = Some(vec!["WARNING: x".to_owned(); 7]);
        bad.inferred = 7;
        bad.steps = good.steps.clone();
        bad.steps[0].deviations = vec!["exit code 5, expected [1]".to_owned()];
        Trial {
            schema: SCHEMA,
            set: Set::Smoke,
            object_sha256: "ab".to_owned(),
            day: Some("2026-11-21".to_owned()),
            emulator: None,
            tool_versions: vec!["fio-3.33".to_owned()],
            kernels: vec![good, bad, KernelResult::failed(place("host"), "no loop device".to_owned())],
            incomplete: None,
        }
    }

    #[test]
    fn every_kernel_has_a_row_and_no_failure_is_hidden() {
        let page = render(&trial());
        let count = Set::Smoke.steps().len();
        for expected in [
            format!("| 6.1.0-50 | Debian 12 | emulated | yes | 2 of 2 | {count} of {count} passed | 0 of 1234 |"),
            format!(
                "| 6.12 | Debian 12 | emulated | **no**: verifier \\| refused | 0 of 1 | {} of {count} passed | - |",
                count - 1
            ),
            "| host | Debian 12 | emulated | not tried | - | not run | - |".to_owned(),
            "| run | 6.1 | 6.12 |".to_owned(),
            "expected code 1 | passed | **failed** |".replace("expected", "misleading, exit"),
            "**It did not come to its end**: it did not end within 40 minutes.".to_owned(),
            "- **failed** `iozone-default`: exit code 5, expected [1]".to_owned(),
            "- not attached: `tp_btf/io_uring_complete`: no type".to_owned(),
            "- not seen there: lockdown: on; nothing loads".to_owned(),
            "missed 3 events".to_owned(),
            "- 7 completions".to_owned(),
            "- **the kernel complained**: `WARNING: x`\n- and in 2 lines more".to_owned(),
            "- the kernel's console reports no fault: no WARNING, BUG, oops or stall".to_owned(),
            "## This host".to_owned(),
        ] {
            assert!(page.contains(&expected), "no {expected:?} in:\n{page}");
        }
        let lines = lines(&trial());
        assert!(lines.contains("       iozone-default: exit code 5, expected [1]"), "{lines}");
        assert!(lines.contains("       no loop device"), "{lines}");
    }

    #[test]
    fn only_a_kernel_with_nothing_amiss_is_good() {
        let mut trial = trial();
        let good: Vec<bool> = trial.kernels.iter().map(KernelResult::is_good).collect();
        assert_eq!(good, [true, false, false]);
        // A hook that is not attached has to be one that the kernel does not have.
        let first = &mut trial.kernels[0];
        first.hooks[1].attached = false;
        assert!(!first.is_good());
        let (name, found) = ("sys_enter".to_owned(), "not in this kernel".to_owned());
        first.gaps = vec![Gap { name, found, meaning: String::new() }];
        assert!(first.is_good());
    }
}
