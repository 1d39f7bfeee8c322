use activebench_model::claim::{Metric, Printed, SourceLine, Subject};
use activebench_model::command::CommandLine;

use proptest::prelude::*;

use super::*;
use activebench_model::activity::{CallSpan, OutputWrite};
use activebench_model::call::Op;
use activebench_model::direction::Direction;
use activebench_model::phase::{Pattern, Window};

const MIB: f64 = 1_048_576.0;
/// When every measurement began.
const STARTED_NS: u64 = 500;

/// A measurement with one rate, in bytes per second.
struct One {
    pass: &'static str,
    direction: Direction,
    pattern: Pattern,
    rate: f64,
    command: &'static str,
    block_bytes: Option<u64>,
    /// The rate as the tool prints it, with its unit; `None` for all digits.
    printed: Option<(&'static str, &'static str)>,
}

fn write(pass: &'static str, rate: f64) -> One {
    let (direction, pattern) = (Direction::Write, Pattern::Sequential);
    One { pass, direction, pattern, rate, command: "tool write", block_bytes: None, printed: None }
}

fn read(pass: &'static str, rate: f64) -> One {
    let (direction, pattern) = (Direction::Read, Pattern::Sequential);
    One { pass, direction, pattern, rate, command: "tool read", block_bytes: None, printed: None }
}

/// Traces the numbers of a text printed by a script that ran these.
fn traced(text: &str, ran: &[One]) -> Vec<ScriptFigure> {
    traced_as(Metric::Throughput, text, ran)
}

/// The same of measurements with another figure.
fn traced_as(metric: Metric, text: &str, ran: &[One]) -> Vec<ScriptFigure> {
    traced_at(metric, text, ran, &[], None)
}

/// The same of a text that was printed by these writes, of passes in this window.
fn traced_at(
    metric: Metric,
    text: &str,
    ran: &[One],
    writes: &[OutputWrite],
    window: Option<Window>,
) -> Vec<ScriptFigure> {
    let (mut measurements, mut outputs, mut claims, mut phases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (one, number) in ran.iter().zip(1..) {
        let argv = one.command.split(' ').map(str::to_owned).collect();
        let command = CommandLine { argv, ..CommandLine::default() };
        measurements.push(Measurement { number, command, started_ns: STARTED_NS, ..Measurement::default() });
        let (text, unit) = one.printed.map_or_else(
            || (one.rate.round().to_string(), "bytes/s".to_owned()),
            |(text, unit)| (text.to_owned(), unit.to_owned()),
        );
        let line = format!("bandwidth of run {number} was {text} {unit}");
        outputs.push(ToolOutput { stdout: format!("{line}\n").into_bytes(), ..ToolOutput::default() });
        let mut phase = Phase::planned(format!("{number}-{}", one.pass), one.pass.to_owned(), one.direction);
        phase.pattern = one.pattern;
        phase.block_bytes = one.block_bytes;
        phase.window = window;
        claims.push(Claim {
            id: format!("{number}-c1"),
            phase: phase.id.clone(),
            metric,
            value: match metric {
                Metric::BytesMoved => Quantity { value: one.rate, unit: Unit::Bytes },
                _ => Quantity::bytes_per_sec(one.rate.round()),
            },
            printed: Printed { text, unit },
            // A clock of milliseconds cannot tell figures of short runs apart; their digits can.
            resolution: one.rate * 0.03,
            subject: Subject::Device,
            subject_reason: String::new(),
            claimed_bytes: None,
            source: SourceLine { stream: "stdout".to_owned(), line: 1, text: line },
        });
        phases.push(phase);
    }
    let of_command = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
    let print_times = &PrintTimes::new(writes, &of_command);
    let (measurements, outputs) = (&measurements, &outputs);
    let measured = Measured { measurements, outputs, claims: &claims, phases: &phases, print_times };
    script_numbers(&of_command, measured).figures
}

/// How the only number of a text is derived, from how many figures, and its fault.
#[track_caller]
fn only(text: &str, ran: &[One]) -> (Option<(Derivation, usize)>, Option<Fault>) {
    let figures = traced(text, ran);
    let [figure] = &figures[..] else { panic!("{text}: {figures:?}") };
    let origin = figure.origin.as_ref().map(|origin| (origin.derivation, origin.claims.len()));
    (origin, figure.fault)
}

#[test]
fn a_number_without_a_unit_is_traced_where_it_has_the_digits_of_one_figure() {
    let ran = [write("write", 123_456_789.0), read("read", 412_345_678.0)];
    assert_eq!(only("123456789\n", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(only("speed: 412345678\n", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(traced("123456788\n", &ran), []);
    // Of two figures with these digits nothing says which.
    assert_eq!(traced("123456789\n", &[write("write", 123_456_789.0), read("read", 123_456_789.0)]), []);
    // Among so many numbers of three digits one is likely to have those of a figure.
    let many: String = (100..900).map(|number| format!("{number}\n")).collect();
    assert_eq!(traced(&many, &[write("write", 512.0)]), []);
    assert_eq!(only("512\n", &[write("write", 512.0)]), (Some((Derivation::Equal, 1)), None));
    assert_eq!(traced("12\n", &[write("write", 12.0)]), []);
}

#[test]
fn a_tools_own_line_with_another_number_is_altered() {
    let ran = [write("write", 123_456_789.0), read("read", 412_345_678.0)];
    let altered = Some(Fault::Altered);
    assert_eq!(only("bandwidth of run 1 was 246913578 bytes/s\n", &ran), (Some((Derivation::Equal, 1)), altered));
    // Blanks and punctuation do not count.
    assert_eq!(only("bandwidth  of run 1 was: 146913578 bytes/s\n", &ran), (Some((Derivation::Equal, 1)), altered));
    // The tool's own line is there: another program wrote the second one.
    let both = "bandwidth of run 1 was 123456789 bytes/s\nbandwidth of run 1 was 246913578 bytes/s\n";
    assert_eq!(only(both, &[write("write", 123_456_789.0)]), (None, None));
    // Rounded, the mean of both, in other words, the numbers of another line.
    assert_eq!(only("bandwidth of run 1 was 123000000 bytes/s\n", &ran), (None, None));
    assert_eq!(only("bandwidth of run 1 was 267901234 bytes/s\n", &ran), (Some((Derivation::Mean, 2)), None));
    assert_eq!(only("bandwidth of disk 1 was 246913578 bytes/s\n", &ran), (None, None));
    let one = [One { command: "tool", ..write("write", 123_456_789.0) }];
    assert_eq!(only("bandwidth: 246913578 bytes/s\n", &one), (None, None));
    assert_eq!(only("bandwidth of run 7 was 246913578 bytes/s\n", &ran[..1]), (None, None));
}

#[test]
fn a_report_that_was_set_anew_has_the_tools_lines() {
    let fio = "  \"iops_min\" : 706,\n  \"N\" : 1376,\n  \"ms\" : 4\n";
    let output = ToolOutput { stdout: fio.as_bytes().to_vec(), ..ToolOutput::default() };
    let lines = tool_lines::ToolLines::of(&[output], &[]);
    // By jq, by json.tool, by `jq -c`, as it was.
    for line in ["\"iops_min\": 706,", "    \"N\": 1376,", "\"ms\":4", "  \"iops_min\" : 706,"] {
        assert!(lines.include(line), "{line}");
    }
    for line in ["\"iops_min\": 806,", "\"iops_max\": 706,", "\"N\": 137,"] {
        assert!(!lines.include(line), "{line}");
    }
}

#[test]
fn a_row_of_numbers_with_another_number_is_altered() {
    let row = "  49152   64   236552   221927   365592   164452  ";
    let claim = |id: usize, number: u32| Claim {
        id: format!("c{id}"),
        phase: "write".to_owned(),
        metric: Metric::Throughput,
        value: Quantity::bytes_per_sec(f64::from(number) * 1024.0),
        printed: Printed { text: number.to_string(), unit: "kBytes/sec".to_owned() },
        resolution: 512.0,
        subject: Subject::Device,
        subject_reason: String::new(),
        claimed_bytes: None,
        source: SourceLine { stream: "stdout".to_owned(), line: 1, text: row.to_owned() },
    };
    let claims = [claim(1, 236_552), claim(2, 221_927), claim(3, 365_592), claim(4, 164_452)];
    let measurement = Measurement { number: 1, ..Measurement::default() };
    let of_tool = ToolOutput { stdout: row.as_bytes().to_vec(), ..ToolOutput::default() };
    let faulty = |text: &str| -> Vec<(String, String)> {
        let of_command = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let measured = Measured {
            measurements: std::slice::from_ref(&measurement),
            outputs: std::slice::from_ref(&of_tool),
            claims: &claims,
            phases: &[],
            print_times: &PrintTimes::default(),
        };
        let figures = script_numbers(&of_command, measured).figures;
        let altered = figures.into_iter().filter(|figure| figure.fault == Some(Fault::Altered));
        altered.map(|figure| (figure.printed.text, figure.origin.expect("it has one").claims.join(" "))).collect()
    };
    let pair = |number: &str, claim: &str| vec![(number.to_owned(), claim.to_owned())];
    assert_eq!(faulty("49152 64 473104 221927 365592 164452\n"), pair("473104", "c1"));
    assert_eq!(faulty("49152 64 236552 221927 365592 154452\n"), pair("154452", "c4"));
    // The same row, one in MiB/s, a column in MiB/s, rows of other runs.
    assert_eq!(faulty("49152 64 236552 221927 365592 164452\n"), []);
    assert_eq!(faulty("49152 64 231.0 216.7 357.0 160.6\n"), []);
    assert_eq!(faulty("49152 64 231 221927 365592 164452\n"), []);
    assert_eq!(faulty("49152 64 473104 421927 765592 364452\n"), []);
    assert_eq!(faulty("1 2 3 4 5 6\n"), []);
    // All but the numbers of the line are the tool's.
    assert_eq!(faulty("  49152   64   473104   421927   365593   764452\n").len(), 3);
}

/// A count has no unit, and the unit of a latency may be in the heading.
#[test]
fn a_number_without_a_unit_in_the_place_of_the_tool_s_is_another_number() {
    let of_tool = "sysbench 1.0.20 (pid 71)
started at 10:11:12
Latency (ms):
         min:                                    0.08
         avg:                                    1.20
    events (avg/stddev):           8337.0000/0.00
fsyncs: 128 of 9000
[71] worker done: 5 of 7
moved 300 keys at 0.1 MB/s and waited 2.65 s
";
    let measurement = Measurement { number: 1, ..Measurement::default() };
    let found = |outputs: &[&str], text: &str| -> Vec<(String, Fault)> {
        let output = |text: &&str| ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let outputs: Vec<ToolOutput> = outputs.iter().map(output).collect();
        let measurements = vec![measurement.clone(); outputs.len()];
        let measured = Measured {
            measurements: &measurements,
            outputs: &outputs,
            claims: &[],
            phases: &[],
            print_times: &PrintTimes::default(),
        };
        let figures = script_numbers(&output(&text), measured).figures;
        figures.into_iter().filter_map(|figure| Some((figure.printed.text, figure.fault?))).collect()
    };
    let changed = |from: &str, to: &str| found(&[of_tool], &of_tool.replace(from, to));
    let other = |number: &str| vec![(number.to_owned(), Fault::OtherNumber)];
    assert_eq!(changed("0.08", "0.02"), other("0.02"));
    assert_eq!(changed("8337.0000", "16337.0000"), other("16337.0000"));
    assert_eq!(changed("128 of", "12 of"), other("12"));
    assert_eq!(changed("128 of", "0 of"), other("0"));
    // One step of its last digit, and more.
    assert_eq!(changed("0.1 MB/s", "0.2 MB/s"), other("0.2"));
    assert_eq!(changed("2.65 s", "1.65 s"), vec![("1.65".to_owned(), Fault::Altered)]);
    assert_eq!(changed("2.65 s", "2.7 s"), []);
    // Nothing, rounded, in another unit, the number of a process, a time of day.
    assert_eq!(changed("x", "x"), []);
    assert_eq!(changed("0.08", "0.1"), []);
    assert_eq!(changed("0.08", "80"), []);
    assert_eq!(changed("71", "93"), []);
    assert_eq!(changed("10:11:12", "10:31:12"), []);
    // A line of the script among none of the tool's; the sum of two runs; the report of a helper.
    assert_eq!(found(&[of_tool], "fsyncs: 12 of 9000\n"), []);
    let second = of_tool.replace("128", "72");
    let sum = of_tool.replace("128 of", "200 of");
    assert_eq!(found(&[of_tool, &second], &sum), []);
    let dd = "600+0 records in\n600+0 records out\n629145600 bytes (629 MB, 600 MiB) copied, 1 s, 629 MB/s\n";
    let helper = "1+0 records in\n1+0 records out\n512 bytes copied, 0.1 s, 5.1 kB/s\n";
    let last = dd.lines().last().expect("three lines");
    assert_eq!(found(&[dd], &format!("{helper}{last}\n")), []);
    assert_eq!(found(&[dd], &dd.replace("600+0", "900+0")).len(), 2);
}

/// `awk '/reads/{$NF = 2 * $NF} {print}'` writes the words of a line with one blank between them.
#[test]
fn blanks_do_not_count_in_the_place_of_the_tool_s_line() {
    let of_tool = "File operations:\n    reads/s:                      3234.99\n    writes/s:                     0.00\n\n\
                   Throughput:\n    read, MiB/s:                  50.55\n    written, MiB/s:               0.00\n";
    let claim = |number: &str, unit: &str, line: &str| Claim {
        id: unit.to_owned(),
        phase: "read".to_owned(),
        metric: if unit == "MiB/s" { Metric::Throughput } else { Metric::OperationRate },
        value: match unit {
            "MiB/s" => Quantity::bytes_per_sec(50.55 * MIB),
            _ => Quantity { value: 3234.99, unit: Unit::OpsPerSec },
        },
        printed: Printed { text: number.to_owned(), unit: unit.to_owned() },
        resolution: 0.01,
        subject: Subject::Device,
        subject_reason: String::new(),
        claimed_bytes: None,
        source: SourceLine { stream: "stdout".to_owned(), line: 1, text: line.to_owned() },
    };
    let claims = [
        claim("3234.99", "reads/s", "    reads/s:                      3234.99"),
        claim("50.55", "MiB/s", "    read, MiB/s:                  50.55"),
    ];
    let measurement = Measurement { number: 1, ..Measurement::default() };
    let faulty = |text: &str| -> Vec<(String, String)> {
        let output = |text: &str| ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let outputs = [output(of_tool)];
        let measurements = std::slice::from_ref(&measurement);
        let measured = Measured {
            measurements,
            outputs: &outputs,
            claims: &claims,
            phases: &[],
            print_times: &PrintTimes::default(),
        };
        let altered = script_numbers(&output(text), measured).figures.into_iter();
        let altered = altered.filter(|figure| figure.fault == Some(Fault::Altered));
        altered.map(|figure| (figure.printed.text, figure.origin.expect("it has one").claims.join(" "))).collect()
    };
    let doubled = of_tool.replace("    reads/s:                      3234.99", "reads/s: 6469.98");
    assert_eq!(faulty(&doubled), [("6469.98".to_owned(), "reads/s".to_owned())]);
    let doubled = of_tool.replace("    read, MiB/s:                  50.55", "read, MiB/s: 101.1");
    assert_eq!(faulty(&doubled), [("101.1".to_owned(), "MiB/s".to_owned())]);
    // Every line with single blanks.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    let doubled: String = doubled.lines().map(words).collect();
    assert_eq!(faulty(&doubled).len(), 1, "{doubled}");
    // The same number, and words of a script's own where the tool's line is not.
    assert_eq!(faulty(&of_tool.lines().map(words).collect::<String>()), []);
    assert_eq!(faulty("reads/s: 6469.98\n"), []);
    assert_eq!(
        faulty(
            &of_tool
                .replace("    reads/s:                      3234.99\n", "")
                .replace("0.00\n\n", "0.00\n\nmean of all runs\nreads/s: 6469.98\nin all\n")
        ),
        []
    );
}

/// `sed 's/\[[0-9]*\]/[1]/'` masks the number of a process.
#[test]
fn a_number_in_a_line_of_which_something_else_was_changed_is_the_tool_s_own() {
    let of_tool = "metrc: [71] hdd  5852 ops at 21476.81 ops/s\n";
    let measurement = Measurement { number: 1, ..Measurement::default() };
    let found = |text: &str| {
        let output = |text: &str| ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let outputs = [output(of_tool)];
        let measured = Measured {
            measurements: std::slice::from_ref(&measurement),
            outputs: &outputs,
            claims: &[],
            phases: &[],
            print_times: &PrintTimes::default(),
        };
        let figures = script_numbers(&output(text), measured).figures;
        let rate = figures.into_iter().find(|figure| figure.printed.unit == "ops/s").expect("it has a rate");
        (rate.origin.is_some(), rate.fault)
    };
    assert_eq!(found("metrc: [1] hdd  5852 ops at 21476.81 ops/s\n"), (true, None));
    assert_eq!(found("metrc: [1] hdd  5852 ops at 31476.81 ops/s\n"), (false, None));
    assert_eq!(found("metrc: [71] hdd  5852 ops at 31476.81 ops/s\n"), (true, Some(Fault::Altered)));
    assert_eq!(found("we saw 21476.81 ops/s\n"), (false, None));
}

/// Numbers of a script that ran fio into a file and then printed this, which were altered.
fn altered_of_a_file(file: &str, printed: &str) -> Vec<String> {
    let files = vec![ToolFile { name: "o.json".to_owned(), bytes: file.as_bytes().to_vec() }];
    let argv = ["fio", "--name=a", "--rw=randread", "--output=o.json"].map(str::to_owned).to_vec();
    let command = CommandLine { argv, ..CommandLine::default() };
    let fio = ADAPTERS.iter().find(|adapter| adapter.name() == "fio").expect("it is registered");
    let of_tool = ToolOutput { stdout: file.as_bytes().to_vec(), ..ToolOutput::default() };
    let mut claims = fio.parse(&command, &of_tool, None).claims;
    claims.iter_mut().for_each(|claim| claim.phase = format!("1-{}", claim.phase));
    let measurement = Measurement { number: 1, tool: "fio".to_owned(), command, ..Measurement::default() };
    let measured = Measured {
        measurements: std::slice::from_ref(&measurement),
        outputs: &[ToolOutput::default()],
        claims: &claims,
        phases: &[],
        print_times: &PrintTimes::default(),
    };
    let of_command = ToolOutput { stdout: printed.as_bytes().to_vec(), files, ..ToolOutput::default() };
    let figures = script_numbers(&of_command, measured).figures;
    let altered = figures.into_iter().filter(|figure| figure.fault == Some(Fault::Altered));
    altered.map(|figure| figure.printed.text).collect()
}

#[test]
fn a_report_in_a_file_that_is_printed_with_another_number_is_altered() {
    let normal = "a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 27 15:12:03 2026
  read: IOPS=6300, BW=24.6MiB/s (25.8MB/s)(24.6MiB/1001msec)
    clat (usec): min=49, max=10865, avg=158.01, stdev=559.97
  cpu          : usr=0.00%, sys=12.10%, ctx=6310, majf=0, minf=14
     issued rwts: total=6307,0,0,0 short=0,0,0,0 dropped=0,0,0,0
";
    assert_eq!(altered_of_a_file(normal, &normal.replace("IOPS=6300", "IOPS=96300")), ["96300"]);
    assert_eq!(altered_of_a_file(normal, normal), [""; 0]);

    let json = r#"{
  "fio version" : "fio-3.33",
  "jobs" : [ { "jobname" : "a", "groupid" : 0, "error" : 0, "usr_cpu" : 1.3, "sys_cpu" : 10.1,
      "job options" : { "name" : "a", "rw" : "randread" },
      "read" : {
        "io_bytes" : 20443136,
        "bw_bytes" : 20422713,
        "iops" : 4986.013986,
        "runtime" : 1001,
        "total_ios" : 4991,
        "lat_ns" : { "min" : 50000, "max" : 9000000, "mean" : 199435.526949, "N" : 4991 }
      } } ]
}
"#;
    assert_eq!(altered_of_a_file(json, json), [""; 0]);
    assert_eq!(altered_of_a_file(json, &json.replace(['\n', ' '], "")), [""; 0]);
    assert_eq!(altered_of_a_file(json, &json.replace("4986.01", "14986.01")), ["14986.013986"]);
    let in_one_line = json.replace("4986.013986", "9972.02").replace('\n', "");
    assert_eq!(altered_of_a_file(json, &in_one_line), ["9972.02"]);
    // The report of another day.
    let other = json.replace("20443136", "31443136").replace("20422713", "31412713").replace("4986.0", "7669.0");
    let other = other.replace("4991", "7677").replace("199435", "129435");
    assert_eq!(altered_of_a_file(json, &format!("{json}{other}")), [""; 0]);
    assert_eq!(altered_of_a_file(json, &other), [""; 0]);
}

#[test]
fn an_honest_number_is_traced_in_any_unit() {
    let ran = [write("a", 812.4 * MIB), read("b", 1203.7 * MIB)];
    for text in
        ["write: 812.4 MiB/s", "write: 851.9 MB/s", "write 0.793 GiB/s", "WRITE = 831898 KiB/s", "851 MB/s written"]
    {
        assert_eq!(only(text, &ran), (Some((Derivation::Equal, 1)), None), "{text}");
    }
    assert_eq!(only("read and write together: 2016.1 MiB/s", &ran), (Some((Derivation::Sum, 2)), None));
    assert_eq!(only("total 2114 MB/s", &ran), (Some((Derivation::Sum, 2)), None));
}

#[test]
fn a_number_has_its_own_words_alone() {
    let ran = || [write("a", 812.4 * MIB), read("b", 1203.7 * MIB)];
    for text in [
        "write: 812.4 MiB/s, read: 1203.7 MiB/s",
        "write 812.4 MiB/s read 1203.7 MiB/s read and write together: 2016.1 MiB/s",
        "write: 831898 KiB/s (851.9 MB/s), read: 1203.7 MiB/s",
        "812.4 MiB/s written, 1203.7 MiB/s read",
    ] {
        let figures = traced(text, &ran());
        assert!(figures.iter().all(|figure| figure.origin.is_some() && figure.fault.is_none()), "{text}: {figures:?}");
    }
}

#[test]
fn what_a_script_computes_of_several_runs_is_traced() {
    let ran = || [write("a", 100.4 * MIB), write("a", 140.1 * MIB), write("a", 90.3 * MIB), write("a", 120.2 * MIB)];
    for (text, derivation) in [
        ("mean 112.75 MiB/s", Derivation::Mean),
        ("average: 118.2 MB/s", Derivation::Mean),
        ("total write 451.0 MiB/s", Derivation::Sum),
        ("slowest 90.3 MiB/s", Derivation::Smallest),
        ("best of four: 140.1 MiB/s", Derivation::Largest),
    ] {
        assert_eq!(only(text, &ran()), (Some((derivation, 4)), None), "{text}");
    }
    for median in ["100.4", "120.2", "110.3"] {
        let text = format!("median {median} MiB/s");
        assert_eq!(only(&text, &ran()), (Some((Derivation::Median, 4)), None), "{text}");
    }
    let two = [write("a", 100.4 * MIB), write("a", 140.1 * MIB)];
    assert_eq!(only("median of 2 runs 140.1 MiB/s", &two), (Some((Derivation::Median, 2)), None));
    assert_eq!(only("mean of 2 runs 140.1 MiB/s", &two).1, Some(Fault::OtherSummary));
    let odd = [write("a", 100.4 * MIB), write("a", 140.1 * MIB), write("a", 90.3 * MIB)];
    assert_eq!(only("median 100.4 MiB/s", &odd).0, Some((Derivation::Median, 3)));
}

#[test]
fn a_number_that_comes_from_no_figure_is_not_traced_and_not_accused() {
    let ran = [write("a", 812.4 * MIB), read("b", 1203.7 * MIB)];
    for text in ["write: 700.5 MiB/s", "network: 117.3 MB/s", "write: 5000 IOPS"] {
        assert_eq!(only(text, &ran), (None, None), "{text}");
    }
    assert!(traced("took 12.3 s for 64 MiB, and 3 files", &ran).is_empty());
}

#[test]
fn a_wrong_prefix_is_found_in_both_directions() {
    let ran = [write("a", 812.43 * MIB), read("b", 1203.7 * MIB)];
    let expected = (Some((Derivation::Equal, 1)), Some(Fault::OtherPrefix));
    assert_eq!(only("write: 812.4 MB/s", &ran), expected);
    assert_eq!(only("write: 851.9 MiB/s", &ran), expected);
    assert_eq!(only("write: 0.8124 MiB/s", &ran).1, Some(Fault::OtherMagnitude));
    assert_eq!(only("write: 812.4 GiB/s", &ran).1, Some(Fault::OtherMagnitude));
}

#[test]
fn the_wrong_pass_and_concealed_sums_are_found() {
    let random = |rate| One { pattern: Pattern::RandomPermutation, ..read("c", rate) };
    let ran = [write("a", 812.4 * MIB), read("b", 1203.7 * MIB), random(31.62 * MIB)];
    assert_eq!(only("write: 1203.7 MiB/s", &ran).1, Some(Fault::OtherPass));
    assert_eq!(only("random read: 1203.7 MiB/s", &ran).1, Some(Fault::OtherPass));
    assert_eq!(only("random read: 31.62 MiB/s", &ran).1, None);
    assert_eq!(only("disk: 2047.7 MiB/s", &ran).1, Some(Fault::AddedDirections));
    assert_eq!(only("write: 2047.7 MiB/s", &ran).1, Some(Fault::AddedDirections));
    assert_eq!(only("read+write: 2047.7 MiB/s", &ran).1, None);
    // The name of a row stands once.
    let faults = |text: &str| traced(text, &ran).iter().map(|figure| figure.fault).collect::<Vec<_>>();
    assert_eq!(faults("Total  | 1203.7 MiB/s | 2047.7 MiB/s"), [None, None]);
    assert_eq!(faults("disk | 1203.7 MiB/s | 2047.7 MiB/s"), [None, Some(Fault::AddedDirections)]);
    let named = [write("logs", 100.4 * MIB), write("database", 120.2 * MIB)];
    assert_eq!(only("database: 100.4 MiB/s", &named).1, Some(Fault::OtherPass));
    assert_eq!(only("database: 120.2 MiB/s", &named).1, None);
}

#[test]
fn the_best_of_several_runs_is_named() {
    let ran = || [write("a", 100.4 * MIB), write("a", 140.1 * MIB), write("a", 90.3 * MIB)];
    assert_eq!(only("write: 140.1 MiB/s", &ran()).1, Some(Fault::BestOfSeveral));
    assert_eq!(only("fastest write: 140.1 MiB/s", &ran()).1, None);
    // Neither the first, the last, nor one of several that are printed.
    assert_eq!(only("write: 90.3 MiB/s", &ran()).1, None);
    let listed = traced("write: 100.4 MiB/s\nwrite: 140.1 MiB/s\nwrite: 90.3 MiB/s", &ran());
    assert!(listed.iter().all(|figure| figure.fault.is_none()), "{listed:?}");
}

#[test]
fn the_best_of_several_runs_is_no_mean() {
    let ran = || [write("a", 100.4 * MIB), write("a", 140.1 * MIB), write("a", 90.3 * MIB)];
    for (text, expected) in [
        ("mean of 3 runs: 140.1 MiB/s", Some(Fault::OtherSummary)),
        ("write, average: 146.9 MB/s", Some(Fault::OtherSummary)),
        ("median write 140.1 MiB/s", Some(Fault::OtherSummary)),
        ("median write 100.4 MiB/s", None),
        ("3 runs of a write: 140.1 MiB/s on average", Some(Fault::OtherSummary)),
        ("mean of 3 runs: 110.3 MiB/s", None),
        // fio calls the rate of one run an average.
        ("average: 90.3 MiB/s", None),
        ("average: 100.4 MiB/s\naverage: 140.1 MiB/s\naverage: 90.3 MiB/s", None),
    ] {
        let fault = traced(text, &ran()).iter().find_map(|figure| figure.fault);
        assert_eq!(fault, expected, "{text}");
    }
    // The last one is what a variable holds in the end, unless the line speaks of runs.
    let rising = || [write("a", 90.3 * MIB), write("a", 100.4 * MIB), write("a", 140.1 * MIB)];
    assert_eq!(only("average 140.1 MiB/s", &rising()).1, None);
    assert_eq!(only("average of three 140.1 MiB/s", &rising()).1, Some(Fault::OtherSummary));
    // Below all three of them, it is that of the runs.
    for (text, expected) in [
        ("1st: 90.3 MiB/s\n2nd: 100.4 MiB/s\n3rd: 140.1 MiB/s\naverage: 140.1 MiB/s", Some(Fault::OtherSummary)),
        ("run 90.3 MiB/s\nrun 100.4 MiB/s\nrun 140.1 MiB/s\naverage: 110.3 MiB/s", None),
        ("run 90.3 MiB/s\nrun 100.4 MiB/s\naverage: 140.1 MiB/s", None),
        ("run 90.3 MiB/s\nrun 100.4 MiB/s\nrun 140.1 MiB/s\nbest: 140.1 MiB/s", None),
        ("run 90.3 MiB/s\nrun 100.4 MiB/s\nrun 140.1 MiB/s\nmedian: 100.4 MiB/s", None),
    ] {
        let fault = traced(text, &rising()).iter().find_map(|figure| figure.fault);
        assert_eq!(fault, expected, "{text}");
    }
    // Two may be equally good.
    let tied = [write("a", 140.1 * MIB), write("a", 90.3 * MIB), write("a", 140.1 * MIB)];
    assert_eq!(only("mean of 3 runs: 140.1 MiB/s", &tied).1, Some(Fault::OtherSummary));
    assert_eq!(only("write: 140.1 MiB/s", &tied).1, None);
    let alike = [write("a", 140.1 * MIB), write("a", 140.1 * MIB)];
    assert_eq!(only("mean of 2 runs: 140.1 MiB/s", &alike).1, None);
    // A run of another command may be as fast.
    let other = |rate: f64| One { command: "tool write --other", ..write("b", rate) };
    let beside = [other(140.1 * MIB), write("a", 100.4 * MIB), write("a", 140.1 * MIB), write("a", 90.3 * MIB)];
    assert_eq!(only("mean of 3 runs: 140.1 MiB/s", &beside).1, Some(Fault::OtherSummary));
    assert_eq!(only("average: 140.1 MiB/s", &beside).1, None);
    // Jobs with numbers in their names repeat a command; a sweep of queue depths does not.
    let named = |command: [&'static str; 3]| {
        let passes = ["job1-write", "job2-write", "job3-write"];
        let rates = [100.4 * MIB, 140.1 * MIB, 90.3 * MIB];
        [0, 1, 2].map(|place| One { command: command[place], ..write(passes[place], rates[place]) })
    };
    let jobs = named(["tool --name=job1", "tool --name=job2", "tool --name=job3"]);
    assert_eq!(only("mean of 3 runs: 140.1 MiB/s", &jobs).1, Some(Fault::OtherSummary));
    let depths = named(["tool --iodepth=1", "tool --iodepth=8", "tool --iodepth=32"]);
    assert_eq!(only("write: 140.1 MiB/s", &depths).1, None);
}

#[test]
fn kibibytes_divided_by_a_thousand_are_neither_prefix() {
    let ran = [write("a", 812.43 * MIB), read("b", 1203.7 * MIB)];
    assert_eq!(only("write: 831.93 MB/s", &ran), (Some((Derivation::Equal, 1)), Some(Fault::OtherPrefix)));
    assert_eq!(only("write: 831.93 MiB/s", &ran), (Some((Derivation::Equal, 1)), Some(Fault::OtherPrefix)));
}

#[test]
fn kilobytes_of_1024_bytes_are_usual() {
    let ran = [write("a", 65_536.0 * 1024.0), read("b", 1203.7 * MIB)];
    assert_eq!(only("write: 65536 kB/s", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(only("write: 67108.9 kB/s", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(only("write: 64.00 MB/s", &ran).1, Some(Fault::OtherPrefix));
}

#[test]
fn the_median_of_all_is_no_excuse_for_the_figure_of_another_pass() {
    let random = |rate| One { pattern: Pattern::RandomPermutation, ..read("c", rate) };
    let ran = [write("a", 1812.4 * MIB), read("b", 903.71 * MIB), random(31.62 * MIB)];
    assert_eq!(only("random read: 903.71 MiB/s", &ran).1, Some(Fault::OtherPass));
    assert_eq!(only("database write: 903.71 MiB/s", &ran).1, Some(Fault::OtherPass));
}

#[test]
fn figures_that_are_alike_are_told_apart_by_their_digits() {
    let ran = [write("a", 1525.20e6), write("b", 1572.86e6), write("c", 1170.50e6)];
    let figures = traced("b: 1572.9 MB/s", &ran);
    assert_eq!(figures[0].origin.as_ref().map(|origin| origin.claims.clone()), Some(vec!["2-c1".to_owned()]));
    assert_eq!(only("b: 1500.0 MB/s", &ran), (Some((Derivation::Equal, 1)), Some(Fault::OtherPrefix)));
}

#[test]
fn a_coarse_number_is_judged_where_its_words_leave_one_figure() {
    let ran = [write("a", 1.72e9), read("b", 2.4e9)];
    assert_eq!(only("write: 1 GB/s", &ran).1, Some(Fault::Rounded));
    assert_eq!(only("read: 2 GB/s", &ran), (Some((Derivation::Equal, 1)), None));
    let slow = [write("a", 76.8e6), read("b", 51e6)];
    assert_eq!(only("write: 0.1 GB/s", &slow).1, None);
    assert_eq!(only("read: 0.1 GB/s", &slow).1, Some(Fault::Rounded));
    assert!(traced("speed: 2 GB/s", &ran).is_empty());
}

#[test]
fn lines_of_the_tools_are_not_the_script_s() {
    let ran = [write("a", 812.4 * MIB)];
    let line = format!("bandwidth of run 1 was {} bytes/s", (812.4 * MIB).round());
    for text in [line.clone(), format!("  {line}"), format!("disk one: {line}")] {
        assert!(traced(&text, &ran).is_empty(), "{text}");
    }
}

#[test]
fn an_output_that_was_not_kept_whole_traces_nothing() {
    let measurements = [Measurement { missing_output_bytes: 1, ..Measurement::default() }];
    let measured = Measured {
        measurements: &measurements,
        outputs: &[],
        claims: &[],
        phases: &[],
        print_times: &PrintTimes::default(),
    };
    let output = ToolOutput { stdout: b"write: 3.5 MB/s\n".to_vec(), ..ToolOutput::default() };
    assert!(script_numbers(&output, measured).figures.is_empty());
}

/// Names of passes that have no words in common.
const NAMES: [&str; 6] = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];

fn runs(rates: &[(bool, f64)]) -> Vec<One> {
    let run = |(name, (is_write, rate)): (&&'static str, &(bool, f64))| match is_write {
        true => write(name, *rate),
        false => read(name, *rate),
    };
    NAMES.iter().zip(rates).map(run).collect()
}

proptest! {
    #[test]
    fn a_number_that_is_computed_and_named_rightly_is_traced_and_never_accused(
        rates in prop::collection::vec((any::<bool>(), prop_oneof![1e7_f64..5e9, 9e8_f64..1.1e9]), 1..6),
        how in 0..5_usize,
        unit in 0..4_usize,
        decimals in 1..4_usize,
    ) {
        let values: Vec<f64> = rates.iter().map(|(_, rate)| rate.round()).collect();
        let (label, value) = match how {
            0 if rates[0].0 => ("write", values[0]),
            0 => ("read", values[0]),
            1 => ("total", values.iter().sum()),
            2 => ("mean", values.iter().sum::<f64>() / values.len() as f64),
            3 => ("best", values.iter().copied().fold(0.0, f64::max)),
            _ => ("worst", values.iter().copied().fold(f64::MAX, f64::min)),
        };
        let (unit, factor) = [("MB/s", 1e6), ("MiB/s", MIB), ("KiB/s", 1024.0), ("GB/s", 1e9)][unit];
        let text = format!("{label}: {:.decimals$} {unit}", value / factor);
        let figures = traced(&text, &runs(&rates));
        // One digit can be half of the figure away, which is a fault.
        prop_assume!(value / factor > 0.1);
        prop_assert!(figures.iter().all(|figure| figure.fault.is_none()), "{text} of {rates:?}: {figures:?}");
        // With one digit, the words have to leave one figure.
        if value / factor > 10.0 {
            prop_assert!(figures.len() == 1 && figures[0].origin.is_some(), "{text} of {rates:?}: {figures:?}");
        }
    }
}

#[test]
fn a_number_of_something_else_is_hardly_ever_accused() {
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    const TRIALS: u32 = 2000;
    let mut accused = 0;
    for trial in 0..TRIALS {
        let rates: Vec<(bool, f64)> = (0..4).map(|_| (uniform() < 0.5, 10_f64.powf(6.5 + 3.0 * uniform()))).collect();
        let unit = ["MB/s", "MiB/s"][trial as usize % 2];
        let label = ["network", "write", "read", "disk"][trial as usize % 4];
        let text = format!("{label}: {:.1} {unit}", 10_f64.powf(0.5 + 3.0 * uniform()));
        accused += traced(&text, &runs(&rates)).iter().filter(|figure| figure.fault.is_some()).count();
    }
    assert!(accused < TRIALS as usize / 50, "{accused} of {TRIALS}");
}

#[test]
fn the_report_of_a_program_that_prepared_a_file_is_not_the_scripts() {
    let report = "104857600 bytes (105 MB, 100 MiB) copied, 1 s, 105 MB/s\n";
    assert!(traced(report, &[write("write", 105e6)]).is_empty());
    assert_eq!(traced("105 MB/s", &[write("write", 105e6)]).len(), 1);
}

#[test]
fn a_block_size_belongs_to_the_label() {
    let random = One { pattern: Pattern::RandomPermutation, ..read("c", 31.62 * MIB) };
    let ran = [read("b", 1203.7 * MIB), random];
    assert_eq!(only("random read 4k: 1203.7 MiB/s", &ran).1, Some(Fault::OtherPass));
    assert_eq!(only("random read, 4 KiB: 1203.7 MiB/s", &ran).1, Some(Fault::OtherPass));
    assert_eq!(only("random read 4k: 31.62 MiB/s", &ran), (Some((Derivation::Equal, 1)), None));
}

#[test]
fn a_time_in_the_line_of_a_tool_is_no_claim_and_must_be_the_tools_own() {
    let row = "314572800 bytes (315 MB, 300 MiB) copied, 0.358116 s, 878 MB/s";
    let claim = Claim {
        id: "c1".to_owned(),
        phase: "copy".to_owned(),
        metric: Metric::Throughput,
        value: Quantity::bytes_per_sec(314_572_800.0 / 0.358_116),
        printed: Printed { text: "878".to_owned(), unit: "MB/s".to_owned() },
        resolution: 500_000.0,
        subject: Subject::Device,
        subject_reason: String::new(),
        claimed_bytes: None,
        source: SourceLine { stream: "stderr".to_owned(), line: 3, text: row.to_owned() },
    };
    let measurement = Measurement { number: 1, ..Measurement::default() };
    let of_tool = ToolOutput { stderr: row.as_bytes().to_vec(), ..ToolOutput::default() };
    let altered = |text: &str| -> Vec<String> {
        let measured = Measured {
            measurements: std::slice::from_ref(&measurement),
            outputs: std::slice::from_ref(&of_tool),
            claims: std::slice::from_ref(&claim),
            phases: &[],
            print_times: &PrintTimes::default(),
        };
        let of_command = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let figures = script_numbers(&of_command, measured).figures.into_iter();
        let altered = figures.filter(|figure| figure.fault == Some(Fault::Altered));
        altered.map(|figure| format!("{} {}", figure.printed.text, figure.printed.unit)).collect()
    };
    assert_eq!(altered("314572800 bytes (315 MB, 300 MiB) copied, 0.0512 s, 878 MB/s\n"), ["0.0512 s"]);
    assert_eq!(altered("314572800 bytes (915 MB, 300 MiB) copied, 0.358116 s, 878 MB/s\n"), ["915 MB"]);
    // Rounded and cut.
    for seconds in ["0.358116", "0.36", "0.35", "0.4"] {
        assert_eq!(altered(&format!("314572800 bytes (315 MB, 300 MiB) copied, {seconds} s, 878 MB/s\n")), [""; 0]);
    }
}

/// Traces the numbers of a text printed by a script that ran a tool with latencies of reads and of writes, in ns.
fn traced_latencies(text: &str) -> Vec<(Option<String>, Option<Fault>)> {
    let passes = [
        (Direction::Read, "read", [94_812.37, 56_064.0, 121_344.0, 897_024.0]),
        (Direction::Write, "write", [84_113.91, 56_064.0, 118_272.0, 888_832.0]),
    ];
    let metrics = [
        Metric::CompletionLatencyMean,
        Metric::CompletionLatencyP50,
        Metric::CompletionLatencyP95,
        Metric::CompletionLatencyP99,
    ];
    let (mut claims, mut phases) = (Vec::new(), Vec::new());
    for (direction, pass, values) in passes {
        let phase = Phase::planned(pass.to_owned(), pass.to_owned(), direction);
        for (metric, ns) in metrics.into_iter().zip(values) {
            let text = format!("{ns}");
            claims.push(Claim {
                id: format!("{pass}-{}", metric.as_str().trim_start_matches("completion-latency-")),
                phase: phase.id.clone(),
                metric,
                value: Quantity { value: ns, ..Quantity::ns(0) },
                printed: Printed { text: text.clone(), unit: "ns".to_owned() },
                resolution: 0.5,
                subject: Subject::Device,
                subject_reason: String::new(),
                claimed_bytes: None,
                source: SourceLine { stream: "stdout".to_owned(), line: 1, text },
            });
        }
        phases.push(phase);
    }
    let measurements = [Measurement { number: 1, ..Measurement::default() }];
    let outputs = [ToolOutput { stdout: b"the tool's own\n".to_vec(), ..ToolOutput::default() }];
    let of_command = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
    let measured = Measured {
        measurements: &measurements,
        outputs: &outputs,
        claims: &claims,
        phases: &phases,
        print_times: &PrintTimes::default(),
    };
    let figures = script_numbers(&of_command, measured).figures.into_iter();
    figures.map(|figure| (figure.origin.map(|origin| origin.claims.join(" ")), figure.fault)).collect()
}

#[test]
fn a_latency_is_the_statistic_that_its_words_name() {
    let of = |text: &str| traced_latencies(text).pop();
    let known = |claim: &str, fault| Some((Some(claim.to_owned()), fault));
    for (text, expected) in [
        ("read p99 latency: 897.0 us\n", known("read-p99", None)),
        ("read latency, 99th percentile: 0.897 ms\n", known("read-p99", None)),
        ("read latency: avg=94.81us\n", known("read-mean", None)),
        ("read latency 94.8 us\n", known("read-mean", None)),
        // The median behind p99, a mean that is a percentile, the reads behind writes.
        ("read p99 latency: 121.34 us\n", known("read-p95", Some(Fault::OtherStatistic))),
        ("avg read latency: 121.34 us\n", known("read-p95", Some(Fault::OtherStatistic))),
        ("write p99 latency: 897.02 us\n", known("read-p99", Some(Fault::OtherPass))),
        // Units of a thousand too much or too little.
        ("read p99 latency: 897.0 ms\n", known("read-p99", Some(Fault::OtherMagnitude))),
        ("mean latency of reads: 94.812 ns\n", known("read-mean", Some(Fault::OtherMagnitude))),
        // No figure of this statistic is known, and latencies are put into classes.
        ("write p90: 121.34 us\n", None),
        ("write latency: 897.02 us\n", None),
        // Times of something else.
        ("took 897.0 ms\n", None),
        ("sleeping for 94.8 s\n", None),
    ] {
        match expected {
            Some(_) => assert_eq!(of(text), expected, "{text}"),
            None => assert!(of(text).is_none_or(|(_, fault)| fault.is_none()), "{text}: {:?}", of(text)),
        }
    }
}

#[test]
fn words_stand_before_their_numbers_or_behind_all_of_them() {
    let ran = || [read("seq", 123_456_789.0), write("seq", 98_765_432.0)];
    let faults = |text: &str| -> Vec<Option<Fault>> {
        traced(text, &ran()).into_iter().filter(|figure| figure.origin.is_some()).map(|figure| figure.fault).collect()
    };
    let other = Some(Fault::OtherPass);
    for (text, expected) in [
        ("123.46 MB/s read 98.77 MB/s write\n", [None, None]),
        ("123.46 MB/s read, 98.77 MB/s write\n", [None, None]),
        ("123.46 MB/s (read) 98.77 MB/s (write)\n", [None, None]),
        ("read 123.46 MB/s write 98.77 MB/s\n", [None, None]),
        ("read 98.77 MB/s write 123.46 MB/s\n", [other, other]),
        ("read_bytes_per_second{bs=\"4k\"} 123456789\nwrite_bytes_per_second 98765432\n", [None, None]),
        ("read_bytes_per_second{bs=\"4k\"} 98765432\nwrite_bytes_per_second 123456789\n", [other, other]),
        ("READ=98765432\nWRITE=123456789\n", [other, other]),
        ("READ=123456789 WRITE=98765432\n", [None, None]),
        ("READ=98765432 WRITE=123456789\n", [other, other]),
        ("read:\n  rate 98765432\nwrite:\n  rate 123456789\n", [other, other]),
    ] {
        assert_eq!(faults(text), expected, "{text}");
    }
}

#[test]
fn columns_and_objects_name_what_a_number_is() {
    let ran = || [read("seq", 123_456_789.0), write("seq", 98_765_432.0)];
    let faults = |text: &str| -> Vec<Option<Fault>> {
        traced(text, &ran()).into_iter().filter(|figure| figure.origin.is_some()).map(|figure| figure.fault).collect()
    };
    let other = Some(Fault::OtherPass);
    for (text, expected) in [
        ("| test | read MB/s | write MB/s |\n|---|---|---|\n| 4k | 123.46 | 98.77 |\n", [None, None]),
        ("| test | read MB/s | write MB/s |\n|---|---|---|\n| 4k | 98.77 | 123.46 |\n", [other, other]),
        ("read,write\n123.46 MB/s,98.77 MB/s\n", [None, None]),
        ("read,write\n98.77 MB/s,123.46 MB/s\n", [other, other]),
        ("read:\n  rate: 123.46 MB/s\nwrite:\n  rate: 98.77 MB/s\n", [None, None]),
        ("read:\n  rate: 98.77 MB/s\nwrite:\n  rate: 123.46 MB/s\n", [other, other]),
        (
            "{\n \"read\": {\n  \"mb_per_sec\": 98.77\n },\n \"write\": {\n  \"mb_per_sec\": 123.46\n }\n}\n",
            [other, other],
        ),
        // Its own words go before those around it.
        ("read:\n  write rate: 98.77 MB/s\n  read rate: 123.46 MB/s\n", [None, None]),
        ("| metric | read 4k | write 1M |\n|---|---|---|\n| rate (MB/s) | 123.46 | 98.77 |\n", [None, None]),
        ("| metric | read 4k | write 1M |\n|---|---|---|\n| rate (MB/s) | 98.77 | 123.46 |\n", [other, other]),
        ("<tr><th>test<th>read MB/s</th><th>write MB/s</th>\n<tr><td>a<td>98.77</td><td>123.46</td>\n", [other, other]),
        // A head with another number of cells is not the head of the row.
        ("read,write\n98.77 MB/s,123.46 MB/s,1\n", [None, None]),
    ] {
        assert_eq!(faults(text), expected, "{text}");
    }
}

#[test]
fn headings_and_objects_of_a_line_name_what_a_number_is() {
    let ran = || [read("seq", 123_456_789.0), write("seq", 98_765_432.0)];
    let faults = |text: &str| -> Vec<Option<Fault>> {
        traced(text, &ran()).into_iter().filter(|figure| figure.origin.is_some()).map(|figure| figure.fault).collect()
    };
    let other = Some(Fault::OtherPass);
    let of = |one: &str, two: &str| {
        [
            format!("Read test\n---------\nBandwidth: {one} MB/s\n\nWrite test\n----------\nBandwidth: {two} MB/s\n"),
            format!("# Read\n{one} MB/s\n\n# Write\n{two} MB/s\n"),
            format!("Read:\nbandwidth {one} MB/s\n\nWrite:\nbandwidth {two} MB/s\n"),
            format!("{{\"read\": {{\"mb_s\": {one}}}, \"write\": {{\"mb_s\": {two}}}}}\n"),
        ]
    };
    for text in of("123.46", "98.77") {
        assert_eq!(faults(&text), [None, None], "{text}");
    }
    for text in of("98.77", "123.46") {
        assert_eq!(faults(&text), [other, other], "{text}");
    }
}

#[test]
fn a_number_of_more_digits_than_the_tool_printed_is_known_by_its_own() {
    let coarse = |one: One, text| One { printed: Some((text, "GB/s")), ..one };
    let ran = || [coarse(write("w", 1_541_800_123.0), "1.5"), coarse(read("r", 1_527_812_345.0), "1.5")];
    let other = Some(Fault::OtherPass);
    for (text, expected) in [
        ("write: 1541.8 MB/s\nread: 1527.8 MB/s\n", [None, None]),
        ("write: 1527.8 MB/s\nread: 1541.8 MB/s\n", [other, other]),
        // As the tool printed both.
        ("write: 1.5 GB/s\nread: 1.5 GB/s\n", [None, None]),
        ("write: 1500 MB/s\nread: 1500 MB/s\n", [None, None]),
    ] {
        let faults: Vec<_> = traced(text, &ran()).into_iter().map(|figure| figure.fault).collect();
        assert_eq!(faults, expected, "{text}");
    }
}

#[test]
fn a_row_names_the_blocks_of_all_of_its_numbers() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let ran = || [of(write("w", 61_234_567.0), 4096), of(write("w", 1_234_567_890.0), 1 << 20)];
    let faults =
        |text: &str| -> Vec<Option<Fault>> { traced(text, &ran()).iter().map(|figure| figure.fault).collect() };
    let (small, large) = ("61.23 MB/s 14950 IOPS", "1234.57 MB/s 1177 IOPS");
    let cells = |row: &str| row.replace(" MB/s ", ",").replace(" IOPS", "");
    let shapes = |one: &str, two: &str| {
        [
            format!("4k {one}\n1M {two}\n"),
            format!("blocks of 4 KiB: {one}\nblocks of 1 MiB: {two}\n"),
            format!("bs,MB/s,IOPS\n4k,{}\n1M,{}\n", cells(one), cells(two)),
            format!("bs,MB/s,IOPS\n4096,{}\n1048576,{}\n", cells(one), cells(two)),
            format!("bs: 4k\n  rate: {}\n\nbs: 1M\n  rate: {}\n", &one[..one.len() - 11], &two[..two.len() - 10]),
        ]
    };
    for text in shapes(small, large) {
        assert!(faults(&text).iter().all(Option::is_none) && !faults(&text).is_empty(), "{text} {:?}", faults(&text));
        let known = traced(&text, &ran()).iter().all(|figure| figure.origin.is_some());
        assert!(known, "{text}");
    }
    for text in &shapes(large, small)[..4] {
        assert_eq!(faults(text), vec![Some(Fault::OtherPass); 4], "{text} {:?}", traced(text, &ran()));
    }
    // The operations of no pass: the script divided by another block size.
    let figures = traced("1M 1234.57 MB/s 301408 IOPS\n", &ran());
    assert_eq!(figures[1].origin, None);
    // A size that is no block of a pass names none.
    assert_eq!(faults("wrote 64k of 61.23 MB/s\n"), [None]);
    // The digits of the rate stand in the block size, too.
    let ran = [of(write("w", 64_300_000.0), 64 << 10), of(write("w", 128_600_000.0), 4096)];
    let faults = |text: &str| -> Vec<Option<Fault>> { traced(text, &ran).iter().map(|figure| figure.fault).collect() };
    assert_eq!(faults("4k 128.6 MB/s\n64k 64.3 MB/s\n"), [None; 2]);
    assert_eq!(faults("64k 64 MB/s\n"), [None]);
    assert_eq!(faults("128k read, 4k 64.3 MB/s\n"), [Some(Fault::OtherPass)]);
}

#[test]
fn rates_and_operations_share_a_cell() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let ran = [
        of(read("r", 154_613_200.0), 4096),
        of(write("w", 161_123_400.0), 4096),
        of(read("r", 1_373_412_000.0), 65536),
        of(write("w", 1_583_456_000.0), 65536),
    ];
    let table = |row: &str| {
        let head = "Block Size | 4k            (IOPS) | 64k           (IOPS)\n  ------   | ---            ----  | ----           ---- \n";
        let faults = traced(&format!("{head}{row}\n"), &ran);
        faults.iter().map(|figure| (figure.origin.is_some(), figure.fault)).collect::<Vec<_>>()
    };
    let (right, other) = ((true, None), (true, Some(Fault::OtherPass)));
    assert_eq!(table("Read       | 154.61 MB/s  (37.7k) | 1.37 GB/s    (21.0k)"), [right; 4]);
    assert_eq!(table("Write      | 161.12 MB/s  (39.3k) | 1.58 GB/s    (24.2k)"), [right; 4]);
    // The operations of the other direction, and of none.
    assert_eq!(table("Read       | 154.61 MB/s  (39.3k) | 1.37 GB/s    (24.2k)"), [right, other, right, other]);
    assert_eq!(table("Read       | 154.61 MB/s  (75.1k) | 1.37 GB/s    (21.0k)")[1], (false, None));
    // The rates of the other row.
    assert_eq!(table("Write      | 154.61 MB/s  (39.3k) | 1.58 GB/s    (24.2k)"), [other, right, right, right]);
}

#[test]
fn members_of_an_object_name_its_numbers() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let ran = || [of(read("a", 61_234_567.0), 4096), of(write("b", 98_765_432.0), 1 << 20)];
    let object = |rw: &str, bs: &str, rate: &str| {
        format!("{{\"rw\": \"{rw}\", \"bs\": \"{bs}\", \"n\": 3, \"mb_s\": {rate}}}\n")
    };
    for (text, expected) in [
        (object("read", "4k", "61.23"), None),
        (object("write", "1m", "61.23"), Some(Fault::OtherPass)),
        (object("x", "1m", "61.23"), Some(Fault::OtherPass)),
        (object("x", "64k", "61.23"), None),
        // No pass is that.
        (object("write", "4k", "61.23"), None),
    ] {
        let faults: Vec<_> = traced(&text, &ran()).into_iter().map(|figure| figure.fault).collect();
        assert_eq!(faults, [expected], "{text}");
    }
}

#[test]
fn a_table_has_its_unit_in_a_corner_and_its_passes_in_rows() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let ran = || {
        let random = One { pattern: Pattern::RandomPermutation, ..read("random-read", 91_234_567.0) };
        [of(read("read", 123_456_789.0), 4096), of(random, 4096), of(read("read", 345_678_901.0), 65536)]
    };
    let faults =
        |text: &str| -> Vec<Option<Fault>> { traced(text, &ran()).iter().map(|figure| figure.fault).collect() };
    let other = Some(Fault::OtherPass);
    for (text, expected) in [
        ("MB/s           4k    64k\nread         123.46  345.68\n", vec![None, None]),
        ("MB/s           4k    64k\nread         345.68  123.46\n", vec![other, other]),
        ("MB/s,4k,64k\nread,123.46,345.68\n", vec![None, None]),
        ("MB/s,4k,64k\nread,345.68,123.46\n", vec![other, other]),
        ("| test | MB/s | IOPS |\n|---|---|---|\n| random read | 91.23 | 22274 |\n", vec![None, None]),
        ("| test | IOPS | MB/s |\n|---|---|---|\n| random read | 22274 | 123.46 |\n", vec![None, other]),
        ("test         IOPS   MB/s\nrandom read  22274  123.46\n", vec![None, other]),
    ] {
        assert_eq!(faults(text), expected, "{text} {:?}", traced(text, &ran()));
    }
}

#[test]
fn names_of_passes_and_counted_things_tell_figures_of_one_measurement_apart() {
    let ran = || [write("write", 98_765_432.0), write("rewrite", 123_456_789.0), read("data-db", 55_555_555.0)];
    let faults =
        |text: &str| -> Vec<Option<Fault>> { traced(text, &ran()).iter().map(|figure| figure.fault).collect() };
    let other = Some(Fault::OtherPass);
    for (text, expected) in [
        ("write 98.77 MB/s, rewrite 123.46 MB/s\n", [None, None]),
        // A rewrite is a write, too.
        ("write 123.46 MB/s, rewrite 98.77 MB/s\n", [None, other]),
        ("db: 55.556 MB/s\ndata: 55.556 MB/s\n", [None, None]),
        ("db: 98.765 MB/s\ndisk: 98.765 MB/s\n", [other, None]),
    ] {
        assert_eq!(faults(text), expected, "{text} {:?}", traced(text, &ran()));
    }
}

#[test]
fn a_rate_that_is_not_traced_has_the_passes_that_its_words_may_mean() {
    let ran = || [write("write", 98_765_432.0), write("rewrite", 123_456_789.0), read("read", 555_555_555.0)];
    for (text, expected) in [
        ("rewrite: 150 MB/s\n", &["2-c1"][..]),
        ("write: 150 MB/s\n", &["1-c1", "2-c1"]),
        ("speed: 150 MB/s\n", &[]),
        // Traced.
        ("rewrite: 123.46 MB/s\n", &[]),
    ] {
        let figures = traced(text, &ran());
        assert_eq!(figures[0].meant, expected, "{text}");
    }
}

#[test]
fn words_around_a_number_say_that_it_is_no_result() {
    let ran = || [write("write", 98_765_432.0), read("read", 555_555_555.0)];
    for (text, expected) in [
        ("write: 150 MB/s\n", &[false][..]),
        ("write, max: 150 MB/s\n", &[true]),
        ("previous write: 150 MB/s, read 700 MB/s\n", &[true, true]),
        // What stands between two numbers may be about either.
        ("write 150 MB/s (limit of the link), read 700 MB/s\n", &[true, true]),
        ("network 10 Gb/s\n", &[true]),
        ("Requirement: at least 500 MB/s and 5000 IOPS\n", &[true, true]),
        ("ACME X100, rated 3500 MB/s read, 3000 MB/s write\n", &[true, true]),
        ("| pass | rated MB/s | MB/s |\n|---|---|---|\n| write | 150 | 160 |\n", &[true, false]),
        // A mean of the tool's samples, whatever else the line has.
        ("{\"iops\": 1500.5, \"iops_max\": 1668, \"iops_mean\": 1666.0}\n", &[false, true, true]),
        ("  \"iops_mean\" : 1666.0,\n", &[true]),
        // An extreme of something else.
        ("write: 150 MB/s, latency max 3 ms\n", &[false]),
    ] {
        let figures = traced(text, &ran());
        assert_eq!(figures.iter().map(|figure| figure.is_no_result).collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn what_was_printed_before_any_pass_had_ended_is_no_result() {
    let text = "write: 900 MB/s\nwrite: 98.76 MB/s\n";
    let line = |start_ns, returned| OutputWrite {
        span: CallSpan { start_ns, end_ns: start_ns + 1, tid: 1, op: Op::Write, returned },
        file: None,
        tgid: 1,
        fd: 1,
    };
    let window = Some(Window { start_ns: 600, end_ns: 1_000 });
    for (first_ns, window, expected) in [
        (900, window, true),
        (1_100, window, false),
        // When the pass ended is not known.
        (STARTED_NS - 1, None, true),
        (900, None, false),
    ] {
        let writes = [line(first_ns, 16), line(2_000, 18)];
        let figures = traced_at(Metric::Throughput, text, &[write("write", 98_765_432.0)], &writes, window);
        assert_eq!((figures[0].is_no_result, figures[1].is_no_result), (expected, false), "{first_ns} {window:?}");
        assert!(figures[1].origin.is_some(), "{figures:?}");
    }
}

#[test]
fn words_of_metrics_and_sizes_of_files_name_no_other_pass() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let ran = || [of(write("write_throughput", 234_567_890.0), 1 << 20), of(write("write_iops", 61_234_567.0), 4096)];
    for text in [
        "| test | iops | throughput |\n|---|---|---|\n| write_throughput | 223.7 | 234.57 MB/s |\n",
        "write iops\nthroughput 61.235 MB/s\n",
        "iops test: throughput 234.57 MB/s\n",
    ] {
        let figures = traced(text, &ran());
        assert!(figures.iter().any(|figure| figure.origin.is_some()), "{text} {figures:?}");
        assert!(figures.iter().all(|figure| figure.fault.is_none()), "{text} {figures:?}");
    }
    // Text above a row is no head of columns.
    let ran = || [write("write", 98_765_432.0), read("read", 123_456_789.0)];
    let faults =
        |text: &str| -> Vec<Option<Fault>> { traced(text, &ran()).iter().map(|figure| figure.fault).collect() };
    assert_eq!(faults("writing is done   reading comes next\nrate    98.77 MB/s\n"), [None]);
}

#[test]
fn each_table_of_several_has_its_own_columns() {
    let of = |one: One, block_bytes| One { block_bytes: Some(block_bytes), ..one };
    let sizes = [4096, 65536, 524_288, 1 << 20];
    let rates = [61_234_567.0, 413_360_123.0, 623_456_789.0, 1_234_567_890.0];
    let ran = || sizes.into_iter().zip(rates).map(|(size, rate)| of(read("r", rate), size)).collect::<Vec<_>>();
    let faults = |text: &str| -> Vec<Option<Fault>> {
        let found = traced(text, &ran());
        found.into_iter().filter(|figure| figure.value.unit == Unit::BytesPerSec).map(|figure| figure.fault).collect()
    };
    let table = |one: &str, two: &str, first: &str, second: &str| {
        format!(
            "Block Size | {one}            (IOPS) | {two}           (IOPS)\n  ------   | ---            ---- | ----    ----\n\
             Read       | {first}   (1.5k) | {second}   (6.3k)\n           |                      |               \n"
        )
    };
    let honest = table("4k", "64k", "61.23 MB/s", "413.36 MB/s") + &table("512k", "1m", "623.46 MB/s", "1.235 GB/s");
    assert_eq!(faults(&honest), [None; 4], "{honest}");
    let unmarked = honest.replace("           |                      |               \n", "");
    assert_eq!(faults(&unmarked), [None; 4], "{unmarked}");
    let other = Some(Fault::OtherPass);
    let swapped = table("4k", "64k", "413.36 MB/s", "61.23 MB/s") + &table("512k", "1m", "1.235 GB/s", "623.46 MB/s");
    assert_eq!(faults(&swapped), [other; 4], "{swapped}");
    // A head that is not understood: the one before it is not that of its rows.
    let unknown = table("4k", "64k", "61.23 MB/s", "413.36 MB/s")
        .replace("           |                      |               \n", "")
        + "Blocks | of run 3, large | of run 4, huge\nRead       | 623.46 MB/s   (1.5k) | 1.235 GB/s   (6.3k)\n";
    assert_eq!(faults(&unknown), [None; 4], "{unknown}");
}

/// The faults of the numbers of a text, with their text.
fn faults(text: &str, ran: &[One]) -> Vec<String> {
    let faulty = traced(text, ran).into_iter().filter(|figure| figure.fault.is_some());
    faulty.map(|figure| figure.printed.text).collect()
}

#[test]
fn the_pass_before_the_first_number_of_a_line_is_that_of_all() {
    let ran = [write("write", 640.0e6), read("read", 811.5e6)];
    assert_eq!(faults("Write: 48 MiB in 0.079 s, 640.0 MB/s\nRead: 48 MiB in 0.062 s, 811.5 MB/s\n", &ran), [""; 0]);
    assert_eq!(
        faults("Read: 48 MiB in 0.079 s, 640.0 MB/s\nWrite: 48 MiB in 0.062 s, 811.5 MB/s\n", &ran),
        ["640.0", "811.5"]
    );
    let behind = ["640.0 MB/s 48 MiB  # sequential write\n", "811.5 MB/s 48 MiB  # sequential read\n"];
    assert_eq!(faults(&behind.concat(), &ran), [""; 0]);
    let exchanged = ["640.0 MB/s 48 MiB  # sequential read\n", "811.5 MB/s 48 MiB  # sequential write\n"];
    assert_eq!(faults(&exchanged.concat(), &ran), ["640.0", "811.5"]);
    // Not where other words stand between, or another pass is named later.
    assert_eq!(faults("After the read of 3 files, copied at 640.0 MB/s\n", &ran), [""; 0]);
    assert_eq!(faults("read 48 MiB in 0.062 s, 640.0 MB/s written\n", &ran), [""; 0]);
}

#[test]
fn the_words_with_strokes_name_the_numbers_with_strokes() {
    let ran = [write("write", 640.0e6), read("read", 811.5e6)];
    assert_eq!(faults("Sequential (read/write): 811.5 / 640.0 MB/s\n", &ran), [""; 0]);
    assert_eq!(faults("Sequential (read/write): 640.0 / 811.5 MB/s\n", &ran), ["640.0", "811.5"]);
    assert_eq!(faults("640.0/811.5 MB/s (write/read)\n", &ran), [""; 0]);
    assert_eq!(faults("640.0/811.5 MB/s\n", &ran), [""; 0]);
}

#[test]
fn the_head_of_a_column_names_the_numbers_without_a_unit_below_it() {
    let printed = |one: One, text: &'static str| One { printed: Some((text, "kB/s")), ..one };
    let ran = [printed(write("write", 709_128.0e3), "709128"), printed(read("read", 980_958.0e3), "980958")];
    for (head, separator) in [("write,read", ","), ("write;read", ";"), ("| write | read", " | ")] {
        let rows = |one: &str, other: &str| format!("{head}\n{one}{separator}{other}\n");
        let row = rows("709128", "980958").replace("\n709128 |", "\n| 709128 |");
        assert_eq!(faults(&row, &ran), [""; 0], "{row}");
        let row = rows("980958", "709128").replace("\n980958 |", "\n| 980958 |");
        assert_eq!(faults(&row, &ran), ["980958", "709128"], "{row}");
    }
    // Another number of cells, or a line between: the head is that of something else.
    for text in ["write,read\n980958,709128,3\n", "write,read\nother text\n980958,709128\n"] {
        assert_eq!(faults(text, &ran), [""; 0], "{text}");
    }
}

#[test]
fn lines_of_numbers_without_a_unit_are_compared_with_nothing_and_said() {
    let noted = |text: &str| {
        let of_command = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        let measured =
            Measured { measurements: &[], outputs: &[], claims: &[], phases: &[], print_times: &PrintTimes::default() };
        let notes = script_numbers(&of_command, measured).notes;
        notes.into_iter().map(|note| note.source.line).collect::<Vec<_>>()
    };
    assert_eq!(noted("1) write 2) read (MB/s)\n2396.7 1258.3\n"), [2]);
    // A date, a time, a year and a number of one digit are no figures; a number with a unit is one.
    assert_eq!(noted("Sat Nov 28 05:38:01 UTC 2026\n1764308281\nrun 3 of 5\nread 640 MB/s\n"), [0_u64; 0]);
}

#[test]
fn a_line_of_a_tool_that_was_cut_off_is_the_tools() {
    let line = "  read: IOPS=12.9k, BW=811.5MB/s (774MiB/s)(48.0MiB/62msec), p99 1909 usec";
    let printed = ToolOutput { stdout: format!("{line}\n").into_bytes(), ..ToolOutput::default() };
    let lines = ToolLines::of(&[printed], &[]);
    for cut in [
        "  read: IOPS=12.9k, BW=811.5MB/s",
        "read: IOPS=12.9k, BW=811.",
        "MB/s (774MiB/s)(48.0MiB/62msec), p99 1909 usec",
        "p99 1909 usec",
    ] {
        assert!(lines.include(cut), "{cut}");
    }
    let quoted = format!("'{line}\\n'");
    let joined = format!("job a: {} other words {}", line.trim().replace("  ", " "), line.trim().to_uppercase());
    assert!(lines.include(&quoted) && lines.include(&joined));
    // Other numbers are not the tool's.
    assert!(!lines.include(&format!("{joined}, 3 more")));
    for cut in [
        "read: IOPS=12.9k, BW=81",
        "read: IOPS=1",
        ".0MiB/62msec), p99 1909 usec",
        "909 usec",
        "MiB/s)(48.0MiB/62msec), p99 190",
    ] {
        assert!(!lines.include(cut), "{cut}");
    }
}

#[test]
fn the_numbers_of_the_script_in_a_line_with_those_of_a_tool_are_its_own() {
    let line = "READ: bw=811.5MB/s (774MiB/s), 811.5MB/s-811.5MB/s";
    let printed = ToolOutput { stdout: format!("{line}\n").into_bytes(), ..ToolOutput::default() };
    let lines = ToolLines::of(&[printed], &[]);
    let mut own = OwnNumbers::of(&lines, |_| false);
    let text = format!("write 640 MB/s, {line}");
    let source = SourceLine { stream: "stdout".to_owned(), line: 1, text: text.clone() };
    let place = |number: &str| text.find(number).map(|at| at..at + number.len()).expect("it is in the text");
    assert!(own.include(&source, &place("640")));
    assert!(!own.include(&source, &place("811.5")));
}

#[test]
fn the_size_of_a_file_that_was_read_and_written_is_no_sum_of_directions() {
    let mib = |one: One| One { printed: Some(("24", "MiB")), rate: 24.0 * MIB, ..one };
    let ran = [mib(write("write", 0.0)), mib(read("read", 0.0))];
    for text in ["Laying out IO file (1 file / 48MiB)", "read of a file of 48MiB"] {
        let figures = traced_as(Metric::BytesMoved, text, &ran);
        assert!(figures.iter().all(|figure| figure.fault.is_none()), "{figures:?}");
    }
}

#[test]
fn a_comma_before_three_digits_may_be_that_of_a_decimal_fraction() {
    let ran = [write("write", 196.422e6)];
    assert_eq!(only("write: 196,422 MB/s", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(only("write: 196,422 kB/s", &ran), (Some((Derivation::Equal, 1)), None));
    assert_eq!(only("write: 196422 MB/s", &ran).1, Some(Fault::OtherMagnitude));
}

#[test]
fn words_that_name_both_orders_name_none() {
    let random = |one: One| One { pattern: Pattern::RandomPermutation, ..one };
    let ran = [write("seq", 640.0e6), random(write("randwrite", 230.5e6))];
    assert_eq!(faults("random write after the sequential fill: 230.5 MB/s\n", &ran), [""; 0]);
    assert_eq!(faults("sequential write: 230.5 MB/s\n", &ran), ["230.5"]);
}
