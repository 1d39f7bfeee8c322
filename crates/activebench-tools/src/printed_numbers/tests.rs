use super::*;

fn numbers_of(text: &str) -> Vec<PrintedNumber> {
    printed_numbers(&ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() }).numbers
}

/// The numbers of a text as `text unit = readings`.
fn shown_of(text: &str) -> Vec<String> {
    let one = |number: &PrintedNumber| {
        let values: Vec<String> = number.readings.iter().map(|reading| reading.value.to_string()).collect();
        let direction = match number.direction {
            Some(Direction::Read) => " read",
            Some(Direction::Write) => " write",
            Some(Direction::Mixed) => " mixed",
            _ => "",
        };
        format!(
            "{} {} = {} {}{direction}",
            number.printed.text,
            number.printed.unit,
            values.join("|"),
            number.unit.as_str()
        )
    };
    numbers_of(text).iter().map(one).collect()
}

#[test]
fn a_unit_stands_behind_its_number() {
    for (text, expected) in [
        ("write: 500 MB/s", vec!["500 MB/s = 500000000|524288000 bytes_per_sec write"]),
        ("read 1.5 GiB/s", vec!["1.5 GiB/s = 1610612736 bytes_per_sec read"]),
        ("123456 bytes written", vec!["123456 bytes = 123456 bytes write"]),
        ("48.8k iops", vec!["48.8 k iops = 48800 ops_per_sec"]),
        ("12.5 kIOPS", vec!["12.5 kIOPS = 12500 ops_per_sec"]),
        ("20000 per second", vec!["20000 per second = 20000 ops_per_sec"]),
        ("125.76 megabytes per second", vec!["125.76 megabytes per second = 125760000|131868917.76 bytes_per_sec"]),
        ("84 usecs/op", vec!["84 usecs/op = 84000 ns"]),
        ("800 Mbit/s", vec!["800 Mbit/s = 100000000 bytes_per_sec"]),
        ("read: 142.3 ± 11.5 MB/s", vec!["142.3 MB/s = 142300000|149212364.8 bytes_per_sec read"]),
        ("142.3 +/- 11.5 us", vec!["142.3 us = 142300 ns"]),
        ("142.3 ± 11.5", vec![]),
        ("real\t1m2.345s", vec!["1m2.345 s = 62345000000 ns"]),
        ("real\t0m0,079s", vec!["0m0,079 s = 79000000 ns"]),
        ("0m61.5s", vec![]),
        ("2m5x", vec![]),
        ("1st run : \x1b[0;33;33m936 MB/s\x1b[0m", vec!["936 MB/s = 936000000|981467136 bytes_per_sec"]),
        ("\x1b]0;title\x07\x1b(B12.5 \x1b[1mkIOPS\x1b[m", vec!["12.5 kIOPS = 12500 ops_per_sec"]),
        ("\x1b[31", vec![]),
        (
            "read iops: 571  write iops: 243",
            vec!["571 iops = 571 ops_per_sec read", "243 iops = 243 ops_per_sec write"],
        ),
        ("random read 4k: 12 MiB/s", vec!["12 MiB/s = 12582912 bytes_per_sec read"]),
        ("took 2,5 s", vec!["2,5 s = 2500000000 ns"]),
        ("1,258,291,200 bytes", vec!["1,258,291,200 bytes = 1258291200 bytes"]),
        ("4.678e-05 s", vec!["4.678e-05 s = 46780 ns"]),
        ("600 writes/s", vec!["600 writes/s = 600 ops_per_sec write"]),
        ("fsyncs: 1727.5/s", vec!["1727.5 /s = 1727.5 ops_per_sec"]),
        // A letter alone before it: bytes, where nothing else is named.
        ("copied ( 100% ), 495 M/s", vec!["495 M/s = 495000000|519045120 bytes_per_sec"]),
        ("reads: 12.5k/s", vec!["12.5 k/s = 12500 ops_per_sec read"]),
        ("IOPS: 12 k/s", vec!["12 k/s = 12000 ops_per_sec"]),
        ("throughput (MiB/s): 12", vec!["12 MiB/s = 12582912 bytes_per_sec"]),
    ] {
        assert_eq!(shown_of(text), expected, "{text}");
    }
}

#[test]
fn a_unit_stands_in_the_label_the_heading_or_the_column() {
    for (text, expected) in [
        ("Random read\n-----------\nIOPS: 16496.5\n", vec!["16496.5 IOPS = 16496.5 ops_per_sec read"]),
        ("    written, MiB/s:     465.5", vec!["465.5 MiB/s = 488112128 bytes_per_sec write"]),
        ("\"bw_mb\": 46.3,", vec!["46.3 mb = 46300000|48549068.8|5787500 bytes_per_sec"]),
        ("disk_mb: 46", vec![]),
        ("\"write_mb_s\": 500,", vec!["500 mb s = 500000000|524288000|62500000 bytes_per_sec write"]),
        (
            "{\"read\": {\"bytes_per_sec\": 5000, \"iops\": 12}}",
            vec!["5000 bytes per sec = 5000 bytes_per_sec read", "12 iops = 12 ops_per_sec read"],
        ),
        (
            "  write: IOPS=120, BW=465MiB/s",
            vec!["120 IOPS = 120 ops_per_sec write", "465 MiB/s = 487587840 bytes_per_sec write"],
        ),
        ("Latency (ms):\n   min:   0.25", vec!["0.25 ms = 250000 ns"]),
        (
            "Count   Files/sec     Seconds\n  500    299.8    1.6",
            vec!["500 Count = 500 count", "299.8 Files/sec = 299.8 ops_per_sec", "1.6 Seconds = 1600000000 ns"],
        ),
        (
            "access  bw(MiB/s)  total(s)\n------  ----  ----\nwrite  40  0.5",
            vec!["40 MiB/s = 41943040 bytes_per_sec write", "0.5 s = 500000000 ns write"],
        ),
        ("name,read MB/s\nx,12", vec!["12 MB/s = 12000000|12582912 bytes_per_sec read"]),
        ("Write test\n  Throughput: 5 MiB/s", vec!["5 MiB/s = 5242880 bytes_per_sec write"]),
    ] {
        assert_eq!(shown_of(text), expected, "{text}");
    }
}

#[test]
fn a_sentence_states_the_unit_of_the_columns_that_name_a_direction() {
    let head = "                                            random    random     bkwd\n\
        \x20             kB  reclen    write  rewrite    read    reread    read     write     read\n";
    let of_all = "            2048      64  2698856  1835140 11502234 12416686\n";
    let of_few = "            2048      64  2801852  2293214                   11706006  2240576\n";
    let shown = |unit: &str, rows: &str| -> Vec<String> {
        let shown = shown_of(&format!("\tOutput is in {unit}\n\tTime Resolution = 0.000001 seconds.\n{head}{rows}"));
        shown.into_iter().filter(|one| !one.contains("seconds") && !one.contains("kB =")).collect()
    };
    let ways = ["write", "write", "read", "read"];
    let numbers = ["2698856", "1835140", "11502234", "12416686"];
    let expected: Vec<String> = numbers
        .iter()
        .zip(ways)
        .map(|(number, way)| format!("{number} ops/sec = {number} ops_per_sec {way}"))
        .collect();
    assert_eq!(shown("ops/sec", of_all), expected);
    // Blank cells, so that only the place shows the column.
    let expected = [
        "2801852 kBytes/sec = 2801852000|2869096448 bytes_per_sec write",
        "2293214 kBytes/sec = 2293214000|2348251136 bytes_per_sec write",
        "11706006 kBytes/sec = 11706006000|11986950144 bytes_per_sec read",
        "2240576 kBytes/sec = 2240576000|2294349824 bytes_per_sec write",
    ];
    assert_eq!(shown("kBytes/sec", of_few), expected);
    assert_eq!(shown_of("Output is in a file\n a  b\n1  2\n"), [""; 0]);
}

#[test]
fn a_head_of_several_lines_names_direction_unit_and_what_is_counted() {
    let data = "Version  2.00       ------Sequential Output------ --Sequential Input- --Random-\n\
        \x20                   -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
        Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
        testhost        64M 1330k  99 +++++ +++ 12.5m  31           2182k  99 289.1  10\n";
    let expected = [
        "1330 /sec = 1330000|1361920 bytes_per_sec write",
        "12.5 /sec = 12500000|13107200 bytes_per_sec write",
        "2182 /sec = 2182000|2234368 bytes_per_sec read",
        "289.1 /sec = 289.1 ops_per_sec",
    ];
    assert_eq!(shown_of(data), expected);
    let files = "Version  2.00       ------Sequential Create------ --------Random Create--------\n\
        testhost            -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n\
        \x20             files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
        \x20                16  1601  77 +++++ +++  1999  12  1599  80 +++++ +++ +++++ +++\n";
    let counted: Vec<Counted> = numbers_of(files).iter().map(|number| number.counted).collect();
    use Counted::{Creates, Deletes, Files};
    assert_eq!(counted, [Files, Creates, Deletes, Creates]);
    let log = "x: metrc: [12] stressor       bogo ops real time   bogo ops/s     bogo ops/s CPU used per\n\
        x: metrc: [12]                           (secs)   (real time) (usr+sys time) instance (%)\n\
        x: metrc: [12] hdd               24576      3.08      7974.14       15895.99        50.16\n";
    let units: Vec<&str> = numbers_of(log).iter().map(|number| number.unit.as_str()).collect();
    assert_eq!(units, ["count", "ns", "ops_per_sec", "ops_per_sec"]);
}

#[test]
fn a_letter_behind_a_number_scales_its_unit() {
    for (text, expected) in [
        (
            "write: IOPS=7.5k, BW=12MiB/s",
            vec!["7.5 IOPS = 7500 ops_per_sec write", "12 MiB/s = 12582912 bytes_per_sec write"],
        ),
        ("iops: 2M", vec!["2 iops = 2000000 ops_per_sec"]),
        ("Latency (ms):\n  x: 7k", vec![]),
    ] {
        assert_eq!(shown_of(text), expected, "{text}");
    }
}

#[test]
fn lines_of_a_block_have_its_direction_but_not_the_sum_of_all() {
    let text = "Children see throughput for 2 writers = 50 kB/sec\nMin throughput = 20 kB/sec\nTotal = 90 kB/sec\n\n\
        Max throughput = 8 kB/sec\n";
    let directions: Vec<Option<Direction>> = numbers_of(text)
        .into_iter()
        .filter(|number| number.unit == Unit::BytesPerSec)
        .map(|number| number.direction)
        .collect();
    assert_eq!(directions, [Some(Direction::Write), Some(Direction::Write), None, None]);
}

#[test]
fn the_bytes_before_the_end_of_a_number_are_known() {
    let text = "one\nread 5 MB/s\n\rread 1 MB/s\rread 6 MB/s\r\n";
    let found: Vec<&str> = numbers_of(text).iter().map(|number| &text[..number.printed_bytes as usize]).collect();
    assert_eq!(found, [&text[..10], &text[..text.len() - 7]]);
}

#[test]
fn a_rule_makes_the_line_above_it_a_head() {
    let head = "| metric | write 1M | read 4k |\n|:--|--:|--:|\n";
    let rows = "| bandwidth (MiB/s) | 1641.0 | 155.2 |\n| IOPS | 1641 | 39741 |\n| mean latency (us) | 4.5 | 197.6 |\n";
    let expected = [
        "1641.0 MiB/s = 1720713216 bytes_per_sec write",
        "155.2 MiB/s = 162738995.2 bytes_per_sec read",
        "1641 IOPS = 1641 ops_per_sec write",
        "39741 IOPS = 39741 ops_per_sec read",
        "4.5 us = 4500 ns write",
        "197.6 us = 197600 ns read",
    ];
    assert_eq!(shown_of(&format!("{head}{rows}")), expected);
    // A count of the first cell is not that of all, and no rule stands below a text.
    assert_eq!(shown_of("| test | a 1 | b 2 |\n|--|--|--|\n| files | 3 | 4 |\n"), ["3 files = 3 count"]);
    assert_eq!(shown_of("wrote 5 MB/s\n---|---\n"), ["5 MB/s = 5000000|5242880 bytes_per_sec write"]);
}

#[test]
fn rows_of_html_are_those_of_a_table() {
    let text = "<table><tr><th>Test</th><th>MB/s</th><th>IOPS</th></tr>\n\
                <tr><td>write</td><td>1720.74</td><td>1641</td></tr>\n\
                <tr class=\"x\"><td>read</td><td><b>162.50</b></td><td>39673</td></tr></table>\n";
    let expected = [
        "1720.74 MB/s = 1720740000|1804326666.24 bytes_per_sec write",
        "1641 IOPS = 1641 ops_per_sec write",
        "162.50 MB/s = 162500000|170393600 bytes_per_sec read",
        "39673 IOPS = 39673 ops_per_sec read",
    ];
    assert_eq!(shown_of(text), expected);
}

#[test]
fn points_between_groups_of_digits_are_no_decimals() {
    for (text, expected) in [
        ("write: 1.917,40 MB/s", "1.917,40 MB/s = 1917400000|2010539622.4 bytes_per_sec write"),
        ("1.258.291,5 kB/s", "1.258.291,5 kB/s = 1258291500|1288490496 bytes_per_sec"),
    ] {
        assert_eq!(shown_of(text), [expected]);
    }
    // It may be two numbers, or is no number.
    assert_eq!(number_at("1.917,400", 0).0, 5);
    assert_eq!(number_at("1.91,4", 0).0, 4);
    assert_eq!(number_at("1.917,4,5", 0).0, 5);
}

#[test]
fn objects_and_metrics_of_a_line_state_their_units() {
    let object = r#"{"results": [{"op": "write", "value": 291.6, "unit": "MB/s"}, {"op": "read", "value": 660, "unit": "IOPS"}]}"#;
    let expected = ["291.6 MB/s = 291600000|305764761.6 bytes_per_sec write", "660 IOPS = 660 ops_per_sec read"];
    assert_eq!(shown_of(object), expected);
    // Another member than that of the value.
    assert_eq!(shown_of(r#"{"runs": 3, "unit": "MB/s"}"#), Vec::<String>::new());
    let metric = "# TYPE write_bytes_per_second gauge\ndisk_read_iops{bs=\"4k\"} 42779\nwrite_bytes_per_second{bs=\"1m\",n=\"3\"} 175218966\n";
    let expected =
        ["42779 iops = 42779 ops_per_sec read", "175218966 bytes per second = 175218966 bytes_per_sec write"];
    assert_eq!(shown_of(metric), expected);
}

#[test]
fn a_number_in_brackets_has_the_unit_in_the_brackets_of_its_head() {
    let head =
        "Block | 4k            (IOPS) | 64k           (IOPS)\n ---- | ---            ----  | ----           ---- \n";
    let row = "Read  | 154.61 MB/s  (38.6k) | 1.37 GB/s    (21.4k)\n";
    let expected = [
        "154.61 MB/s = 154610000|162120335.36 bytes_per_sec read",
        "38.6 IOPS = 38600 ops_per_sec read",
        "1.37 GB/s = 1370000000|1471026298.88 bytes_per_sec read",
        "21.4 IOPS = 21400 ops_per_sec read",
    ];
    assert_eq!(shown_of(&format!("{head}{row}")), expected);
    // A column that names no unit in brackets, and a number outside of brackets.
    for text in [
        "Block | 4k | 64k\nRead | 1 MB/s (38.6k) | 2 MB/s (21.4k)\n",
        "Block | 4k (IOPS) | 64k (IOPS)\nRead | 1 MB/s 38.6k | 2 MB/s 21.4k\n",
        "Block | 4k (IOPS) more | 64k\nRead | 1 MB/s (38.6k) | 2 MB/s (21.4k)\n",
    ] {
        assert!(shown_of(text).iter().all(|one| one.ends_with("bytes_per_sec read")), "{:?}", shown_of(text));
    }
}

#[test]
fn numbers_with_strokes_between_them_share_a_unit() {
    let read_and_write =
        ["812.4 MB/s = 812400000|851863142.4 bytes_per_sec read", "640 MB/s = 640000000|671088640 bytes_per_sec write"];
    for text in [
        "sequential (read/write): 812.4 / 640 MB/s",
        "read/write: 812.4/640 MB/s",
        "812.4 / 640 MB/s (read / write)",
        "large blocks: 812.4/640 MB/s read/write",
    ] {
        assert_eq!(shown_of(text), read_and_write, "{text}");
    }
    for text in ["read/write 60.2k / 1.5k IOPS", "read/write: 60.2k/1.5k IOPS"] {
        let expected = ["60.2 IOPS = 60200 ops_per_sec read", "1.5 k IOPS = 1500 ops_per_sec write"];
        assert_eq!(shown_of(text), expected, "{text}");
    }
    let times = shown_of("lat min/avg/max: 41/60.5/99 us");
    assert_eq!(times, ["41 us = 41000 ns", "60.5 us = 60500 ns", "99 us = 99000 ns"]);
    assert_eq!(numbers_of("lat min/avg/max: 41/60.5/99 us")[1].column.as_deref(), Some("avg"));
    // A list of another length is not what the words name.
    assert_eq!(numbers_of("read/write: 1/2/3 MB/s").iter().filter(|number| number.column.is_some()).count(), 0);
    for text in ["11/28/2026 10 things", "disk 1/2", "step 1/3 done"] {
        assert_eq!(shown_of(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_heading_with_a_colon_ends_where_a_line_is_indented_less() {
    let text =
        "  read: 90 MiB in 162 msec\n    clat percentiles (usec):\n      30016 usec\n  write: 101 MiB in 162 msec\n";
    let is_statistic = |text: &str| numbers_of(text).iter().map(|number| number.is_statistic).collect::<Vec<_>>();
    assert_eq!(is_statistic(text), [false, false, true, false, false]);
    assert_eq!(is_statistic("  latency:\n  write: 101 MiB\n"), [true]);
}

#[test]
fn a_unit_in_brackets_before_the_first_number_goes_before_that_of_a_heading() {
    let text = "clat percentiles (usec):\n   lat (nsec) = min=10145, max=52388, avg=12676.5\n";
    let times = ["10145 nsec = 10145 ns", "52388 nsec = 52388 ns", "12676.5 nsec = 12676.5 ns"];
    assert_eq!(shown_of(text), times);
}

#[test]
fn a_head_of_two_lines_may_repeat_its_columns() {
    let columns = |text: &str| -> Vec<String> {
        let of = |number: PrintedNumber| {
            format!("{} {} {}", number.printed.text, number.printed.unit, number.column.unwrap_or_default())
        };
        numbers_of(text).into_iter().map(of).collect()
    };
    let by_unit =
        "         Read             Write\n     MB/s   IOPS      MB/s   IOPS\nseq  1136.5   1084   1935.8   1846\n";
    assert_eq!(
        columns(by_unit),
        ["1136.5 MB/s Read MB/s", "1084 IOPS Read IOPS", "1935.8 MB/s Write MB/s", "1846 IOPS Write IOPS"]
    );
    let by_row = "          Sequential        Random\n        Read    Write    Read    Write\nMB/s    811.5   640.0    61.2   59.9\n";
    assert_eq!(
        columns(by_row),
        [
            "811.5 MB/s Sequential Read",
            "640.0 MB/s Sequential Write",
            "61.2 MB/s Random Read",
            "59.9 MB/s Random Write"
        ]
    );
}

#[test]
fn a_number_below_two_units_has_neither() {
    let head = "# test bw_MBps iops lat_us\n";
    let first = numbers_of(&format!("{head}0 1623.60 1548.4 2219.35 # Sequential write\n"));
    assert!(first.iter().all(|number| number.printed.text == "1623.60"), "{first:?}");
    assert_eq!(shown_of(&format!("{head}1 967.92 923.1 4219.35 # Sequential read\n")), [""; 0]);
    let text = "# test bw_MBps iops lat_us\n0 1623.60 1548.4 2219.35\n";
    assert_eq!(
        numbers_of(text).iter().map(|number| number.unit).collect::<Vec<_>>(),
        [Unit::BytesPerSec, Unit::OpsPerSec, Unit::Ns]
    );
}

#[test]
fn options_versions_dates_percentages_settings_and_zeros_are_not_figures() {
    for text in [
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
        "2026-11-25 19:16:07 start",
        "CPU 50 %, 12% s",
        "--size=64MB --bs=4kB",
        "-s 4096 -n 12",
        "tool: [23816] pid 23816 s",
        "version 3 s",
        "Block size 1MiB",
        "reads/s:   0.00",
        "v1.5 MB",
        "file-12 s",
        "3/4 s",
        "12_000 s",
        "-5 s",
        "95th percentile",
        "F3 write 8.0",
        "Creating file 1.h2w ... OK!",
    ] {
        assert_eq!(numbers_of(text), Vec::new(), "{text}");
    }
}

#[test]
fn an_amount_over_a_time_is_no_setting() {
    let shown = shown_of("Timing cached reads: 34692 MB in  1.98 seconds");
    assert!(shown[0].starts_with("34692 MB"), "{shown:?}");
    assert_eq!(shown_of("34692 MB cached in memory"), Vec::<String>::new());
}

#[test]
fn of_an_overwritten_line_the_last_text_counts() {
    let text = "\r10 MB/s\r20 MB/s\r\n";
    assert_eq!(shown_of(text), ["20 MB/s = 20000000|20971520 bytes_per_sec"]);
}

#[test]
fn the_resolution_is_half_a_printed_step() {
    let of = |text: &str| numbers_of(text)[0].readings[0].resolution;
    assert_eq!(of("609 B/s"), 0.5);
    assert_eq!(of("1.25 kbit/s"), 0.625);
    assert!((of("4.67e-05 s") - 50.0).abs() < 1e-6);
}

#[test]
fn the_nearest_direction_counts() {
    let directions =
        |text: &str| -> Vec<Option<Direction>> { numbers_of(text).iter().map(|number| number.direction).collect() };
    use Direction::{Mixed, Read, Write};
    assert_eq!(directions("read 5 MB/s, write 6 MB/s"), [Some(Read), Some(Write)]);
    assert_eq!(directions("5 MB/s read, 6 MB/s write"), [Some(Read), Some(Write)]);
    assert_eq!(directions("2923 MB/sec read/write combined rate"), [Some(Mixed)]);
    assert_eq!(directions("5 MB/s"), [None]);
}

#[test]
fn hostile_output_is_bounded() {
    let many = "1 MB/s ".repeat(100_000);
    assert!(numbers_of(&many).len() <= MOST_NUMBERS);
    let lines = "5 MB/s\n".repeat(5_000);
    let found = printed_numbers(&ToolOutput { stdout: lines.into_bytes(), ..ToolOutput::default() });
    assert_eq!((found.numbers.len(), found.left_out), (MOST_NUMBERS, 5_000 - MOST_NUMBERS as u64));
    assert_eq!(found.numbers[MOST_NUMBERS - 1].source.line, 5_000);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(stdout in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        for number in printed_numbers(&ToolOutput { stdout, ..ToolOutput::default() }).numbers {
            proptest::prop_assert!(number.readings.iter().all(|reading| reading.value > 0.0 && reading.resolution > 0.0));
        }
    }

    #[test]
    fn any_text_of_numbers_and_units_is_read(text in "([0-9.,e+-]{0,6}[ /()\\[\\]:=_\\r\\n\t]?(MB|s|µs|per|read|iops|k|bytes|é)?){0,40}") {
        let _ = numbers_of(&text);
    }
}
