//! Renders the measurement as a page of Markdown.

use std::fmt::Write as _;

use crate::overhead::offsets::OffsetsCheck;
use crate::overhead::results::{Aim, LossCheck, Measurement, Provenance, Standing, VariantResult, WorkloadResult};

/// Renders the page.
pub(crate) fn render(measurement: &Measurement) -> String {
    let mut page = String::from(
        "# What observing costs\n\n\
         Measured by `cargo xtask overhead`, which writes this page; nobody edits it.\n\n\
         Each round runs a workload once under every variant, in an order that turns from round to round; where an aim \
         speaks of a few variants, more rounds of these alone follow. \
         A call's time is the workload's own figure, that of our loop the median of its spans of 4,096 calls; starting \
         and ending the observer is not in it. \
         *Added* is the difference to the untraced run of the same round: its median, and its 5th percentile \
         (with fewer than 13 rounds the smallest). *Ratio* is the same as a quotient: median, and smallest to largest. \
         The floor is what the kernel takes for calling BPF programs that do nothing. \
         An aim is told by the 95 % confidence interval of the median over the rounds (the sign test's, from the \
         order of the values alone): within or beyond it when the whole interval is, otherwise it cannot be told.\n\n",
    );
    page.push_str(&provenance(&measurement.provenance));
    page.push_str("\n## Beside the aims\n\n| aim | measured | |\n| --- | --- | --- |\n");
    for aim in &measurement.aims {
        page.push_str(&aim_row(aim));
    }
    for workload in &measurement.workloads {
        page.push_str(&section(workload));
    }
    if let Some(check) = &measurement.loss {
        page.push_str(&loss(check));
    }
    if let Some(check) = &measurement.offsets {
        page.push_str(&offsets(check));
    }
    if let Some(check) = &measurement.unobserved {
        page.push_str(&check.section());
    }
    page.push_str(&commands(&measurement.workloads));
    page
}

fn provenance(provenance: &Provenance) -> String {
    let mut line = format!(
        "Provenance: {}; Linux {}; files on {}; {}; {}{} rounds with all variants",
        provenance.machine,
        provenance.kernel,
        provenance.file_system,
        provenance.build,
        provenance.tool_versions.iter().map(|version| format!("{version}, ")).collect::<String>(),
        provenance.rounds
    );
    if provenance.quick {
        line.push_str(" of a quick run (short runs: try it out, do not quote it)");
    }
    if let Some(load) = provenance.load_before {
        write!(line, "; load average before: {load:.2}").expect("a String takes every character");
    }
    if let Some(day) = &provenance.day {
        write!(line, "; {day}").expect("a String takes every character");
    }
    writeln!(line, "; took {} s.", provenance.seconds).expect("a String takes every character");
    if let Some(why) = &provenance.incomplete {
        writeln!(line, "\n**Incomplete**: {why}.").expect("a String takes every character");
    }
    line
}

fn aim_row(aim: &Aim) -> String {
    let measured = aim.measured.as_deref().unwrap_or("not measured");
    let standing = aim.standing.map_or("-", Standing::word);
    format!("| {} | {measured} | {standing} |\n", aim.aim)
}

fn section(workload: &WorkloadResult) -> String {
    let mut text = format!("\n## `{}`: {}\n\n", workload.name, workload.title);
    if let Some(reason) = &workload.reason {
        writeln!(text, "Not measured: {reason}.").expect("a String takes every character");
        return text;
    }
    if workload.rounds_beside_others > 0 {
        writeln!(
            text,
            "In {} of {} rounds others traced this machine too ({}), which changes every figure: measure again.\n",
            workload.rounds_beside_others,
            workload.rounds,
            workload.foreign_tracers.join(", ")
        )
        .expect("a String takes every character");
    }
    text.push_str(
        "| variant | ns a call | added, median | added, p5 | ratio | min..max | rounds | records lost |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in &workload.variants {
        text.push_str(&variant_row(row));
    }
    text
}

fn variant_row(row: &VariantResult) -> String {
    let lost = row.records.map_or_else(String::new, |records| format!("{} of {}", records.lost, records.calls_made));
    // A reason can appear beside figures too: some rounds may have failed.
    let reason = row.reason.as_deref().map(|reason| format!("not measured: {}", cell(reason)));
    match row.cost {
        None => format!("| {} | {} | | | | | 0 | {lost} |\n", row.title, reason.as_deref().unwrap_or("not measured")),
        Some(cost) => {
            let (added, p5) = match row.name {
                "untraced" => (String::new(), String::new()),
                _ => (nanoseconds(cost.added_ns_median), nanoseconds(cost.added_ns_p5)),
            };
            let note = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            format!(
                "| {}{note} | {} | {added} | {p5} | {:.2} | {:.2}..{:.2} | {} | {lost} |\n",
                row.title,
                nanoseconds(cost.ns_per_call),
                cost.ratio_median,
                cost.ratio_min,
                cost.ratio_max,
                cost.rounds
            )
        }
    }
}

/// Formats whole nanoseconds with thousands separators: the spread is far above 0.1 ns.
fn nanoseconds(value: f64) -> String {
    let whole = value.round() as i64;
    let digits = whole.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if whole < 0 { format!("-{text}") } else { text }
}

/// Escapes a tool's message for a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn offsets(check: &OffsetsCheck) -> String {
    let mut text = String::from("\n## Repeated offsets among recorded reads\n\n");
    let Some(found) = check.measured else {
        let reason = check.reason.as_deref().unwrap_or("no reason was given");
        writeln!(text, "Not measured: {reason}.").expect("a String takes every character");
        return text;
    };
    writeln!(
        text,
        "{} random reads of 8 KiB over 96 GiB, {} distinct offsets; both count the same. Once each, one after the \
         other.\n\n\
         | what | time | peak memory |\n| --- | ---: | ---: |\n\
         | `activebench show RUN --stage offsets`, from the run directory | {:.1} s | {} MiB |\n\
         | `LC_ALL=C sort \\| uniq -c`, from the offsets as text | {:.1} s | disk |\n\n\
         {:.0} times faster.",
        nanoseconds(check.reads as f64),
        nanoseconds(found.distinct as f64),
        found.ours_seconds,
        found.ours_peak_bytes >> 20,
        found.sort_seconds,
        found.factor()
    )
    .expect("a String takes every character");
    text
}

fn loss(check: &LossCheck) -> String {
    let mut text = String::from("\n## Records lost at a high rate of calls\n\n");
    let line = match (check.records, check.is_whole()) {
        (Some(records), Some(whole)) => {
            let rate =
                check.preads_per_sec.map_or_else(String::new, |rate| format!(" at {} per second", nanoseconds(rate)));
            format!(
                "{} threads made {} preads{rate}: {} records of calls made, {} received, {} lost. {}",
                check.threads,
                nanoseconds(check.preads as f64),
                nanoseconds(records.calls_made as f64),
                nanoseconds(records.calls_received as f64),
                nanoseconds(records.lost as f64),
                if whole { "Every pread has its record." } else { "**Not every pread has its record.**" }
            )
        }
        _ => format!("Not measured: {}.", check.reason.as_deref().unwrap_or("no reason was given")),
    };
    text.push_str(&line);
    text.push('\n');
    text
}

/// Lists the command of each variant once: the commands differ only in bpftrace's program.
fn commands(workloads: &[WorkloadResult]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in workloads.iter().flat_map(|workload| &workload.variants) {
        let line = format!("{}: {}", row.name, row.command);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\n## Commands\n\n```\n{}\n```\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::outputs::Records;
    use crate::overhead::results::tests::result;
    use crate::overhead::results::{SCHEMA, aims};
    use crate::overhead::variants::{ALL, Variant};

    fn measurement() -> Measurement {
        let mut preads = result(
            "preads",
            &[
                (Variant::Untraced, &[Some(400.0), Some(402.0)]),
                (Variant::Activebench, &[Some(550.0), Some(555.0)]),
                (Variant::Strace, &[Some(48_123.0)]),
            ],
        );
        let row = |variant| ALL.iter().position(|one| *one == variant).expect("a variant");
        preads.variants[row(Variant::Activebench)].records =
            Some(Records { calls_made: 2_000_100, calls_received: 2_000_100, lost: 0 });
        preads.variants[row(Variant::PerfTrace)].reason =
            Some("perf ended with 255: access denied | paranoid".to_owned());
        let mut loop_device = result("direct-loop", &[]);
        loop_device.reason = Some("cannot set up a loop device".to_owned());
        let workloads = vec![preads, loop_device];
        Measurement {
            schema: SCHEMA,
            provenance: Provenance {
                machine: "2 processors (model), 24 GiB".to_owned(),
                kernel: "6.18".to_owned(),
                file_system: "ext4".to_owned(),
                build: "development build".to_owned(),
                tool_versions: vec!["fio-3.33".to_owned()],
                rounds: 2,
                quick: true,
                day: Some("2026-11-21".to_owned()),
                load_before: Some(0.5),
                seconds: 12,
                incomplete: None,
            },
            aims: aims(&workloads, None, None),
            offsets: None,
            unobserved: None,
            workloads,
            loss: Some(LossCheck {
                threads: 8,
                preads: 4_000_000,
                preads_per_sec: Some(2_100_000.4),
                records: Some(Records { calls_made: 4_000_200, calls_received: 4_000_200, lost: 0 }),
                reason: None,
            }),
        }
    }

    #[test]
    fn a_row_has_figures_or_a_reason() {
        let page = render(&measurement());
        for expected in [
            "| untraced | 401 |  |  | 1.00 | 1.00..1.00 | 2 |  |",
            "| **activebench** | 553 | 152 | 150 | 1.38 | 1.38..1.38 | 2 | 0 of 2000100 |",
            "| perf trace -s | not measured: perf ended with 255: access denied \\| paranoid | | | | | 0 |  |",
            "| strace -f | 48,123 | 47,723 | 47,723 | 120.31 | 120.31..120.31 | 1 |  |",
            "| at most 150 ns added to a cached pread | 152 ns (2 rounds, too few for an interval; p5 150 ns) | cannot tell |",
            "| bpftrace, count by process: its tutorial's one-liner | not measured",
            "| at most 1 % added to direct reads of a loop device | not measured | - |",
            "Not measured: cannot set up a loop device.",
            "8 threads made 4,000,000 preads at 2,100,000 per second: 4,000,200 records",
            "2 rounds with all variants of a quick run",
        ] {
            assert!(page.contains(expected), "no {expected:?} in:\n{page}");
        }
    }

    #[test]
    fn foreign_tracers_and_an_early_end_are_said() {
        let mut measurement = measurement();
        measurement.workloads[0].foreign_tracers = vec!["sys_exit".to_owned()];
        (measurement.workloads[0].rounds, measurement.workloads[0].rounds_beside_others) = (2, 1);
        measurement.provenance.incomplete = Some("interrupted".to_owned());
        let page = render(&measurement);
        assert!(page.contains("In 1 of 2 rounds others traced this machine too (sys_exit)"), "{page}");
        assert!(page.contains("**Incomplete**: interrupted."), "{page}");
    }

    #[test]
    fn thousands_stand_apart() {
        for (value, expected) in
            [(0.0, "0"), (-12.4, "-12"), (999.6, "1,000"), (1_234_567.0, "1,234,567"), (-1000.0, "-1,000")]
        {
            assert_eq!(nanoseconds(value), expected);
        }
    }
}
