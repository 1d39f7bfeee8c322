//! The tables and their CSV: snapshots, equal column lengths, and missing values that are not zero.

use activebench_model::report::JudgedRun;
use activebench_model::table::Values;
use activebench_report::tables::TABLES;
use activebench_report::{FORMATS, Style, format_by_name};

use crate::samples;

fn csv(table: &str, run: &JudgedRun) -> String {
    format_by_name(&format!("{table}-csv")).expect("there is such a format").render(run, Style::default())
}

/// Returns the records of a CSV file, the head first.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = |record: Result<csv::StringRecord, csv::Error>| {
        record.expect("every record has the fields of the head").iter().map(str::to_owned).collect()
    };
    reader.records().map(record).collect()
}

#[test]
fn only_formats_that_say_so_show_timeline() {
    let run = samples::misleading();
    let without = JudgedRun { timelines: Vec::new(), ..run.clone() };
    for format in FORMATS {
        let [with, without] = [&run, &without].map(|run| format.render(run, Style::default()));
        assert_eq!(with != without, format.shows_timelines, "{}", format.name);
    }
}

#[test]
fn every_sample_reads_as_intended() {
    for table in TABLES {
        // Samples with the same text are named together.
        let mut texts: Vec<(Vec<&str>, String)> = Vec::new();
        for (name, run) in samples::all() {
            // 200 claims would only make the snapshot longer.
            if name == "many_claims" {
                continue;
            }
            let text = csv(table.name, &run);
            match texts.iter_mut().find(|(_, other)| *other == text) {
                Some((names, _)) => names.push(name),
                None => texts.push((vec![name], text)),
            }
        }
        let section = |(names, text): &(Vec<&str>, String)| format!("# {}\n{text}", names.join(", "));
        let sections: Vec<String> = texts.iter().map(section).collect();
        insta::assert_snapshot!(table.name, sections.join("\n"));
    }
}

#[test]
fn every_table_is_rectangular_and_can_be_read_again() {
    for (name, run) in samples::all() {
        for table in TABLES {
            let made = (table.of)(&run);
            let rows: Vec<usize> = made.columns.iter().map(|column| column.values.len()).collect();
            assert!(rows.iter().all(|count| *count == rows[0]), "{name}, {}: {rows:?}", table.name);
            let records = records(&csv(table.name, &run));
            assert_eq!(records.len(), 1 + rows[0], "{name}, {}", table.name);
            assert_eq!(records[0].len(), made.columns.len(), "{name}, {}", table.name);
        }
    }
}

#[test]
fn a_table_says_what_it_holds() {
    let run = samples::qualified();
    let rows: Vec<usize> = TABLES.iter().map(|table| (table.of)(&run).columns[0].values.len()).collect();
    let facts: usize = run.phases.iter().map(|phase| phase.facts.0.len()).sum::<usize>() + run.run_facts.0.len();
    let steps: usize = run.timelines.iter().map(|timeline| timeline.steps).sum();
    assert_eq!(rows, [run.parsed.claims.len(), facts, steps]);
}

#[test]
fn a_missing_value_is_empty_and_a_zero_is_zero() {
    let run = samples::qualified();
    let timeline = records(&csv("timeline", &run));
    let column = |name: &str| timeline[0].iter().position(|head| head == name).expect("such a column");
    let values = |name: &str| -> Vec<&str> { timeline[1..5].iter().map(|row| row[column(name)].as_str()).collect() };
    assert_eq!(values("device_queue_depth"), ["0", "0.25", "", "31.5"]);
    assert_eq!(values("call_read_bytes_per_sec"), ["", "", "", ""]);
    assert_eq!(values("start_ns"), ["1000000000", "1100000000", "1200000000", "1300000000"]);
}

#[test]
fn a_step_before_the_start_of_the_run_has_a_negative_time() {
    let mut run = samples::qualified();
    run.timelines[0].start_ns = run.manifest.clocks.started_ns - 50_000_000;
    let timeline = records(&csv("timeline", &run));
    assert_eq!((timeline[1][1].as_str(), timeline[2][1].as_str()), ("-50000000", "50000000"));
}

#[test]
fn a_number_that_is_none_is_missing() {
    let mut run = samples::qualified();
    run.timelines[0].series[1].values[0] = Some(f64::NAN);
    run.parsed.claims[0].value.value = f64::INFINITY;
    for table in TABLES {
        for column in (table.of)(&run).columns {
            if let Values::Numbers(values) = column.values {
                assert!(values.iter().flatten().all(|value| value.is_finite()), "{}", column.about.name);
            }
        }
    }
}

#[test]
fn text_of_the_tool_is_no_formula() {
    for text in ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(1)"] {
        for table in ["claims", "facts", "timeline"] {
            let mut run = samples::hostile("");
            for phase in &mut run.phases {
                phase.id = text.into();
            }
            run.parsed.claims[0].printed.text = text.into();
            run.timelines = samples::qualified().timelines;
            run.timelines[0].phase = text.into();
            for record in &records(&csv(table, &run))[1..] {
                // Only times and rates may start like this, and they are numbers.
                let formula =
                    |field: &&String| field.starts_with(['=', '+', '-', '@']) && field.parse::<f64>().is_err();
                assert_eq!(record.iter().find(formula), None, "{table}");
            }
            assert!(csv(table, &run).contains(&format!("'{text}")), "{table}: {text}");
        }
    }
}
