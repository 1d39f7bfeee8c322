use activebench_model::activity::{CallSpan, OutputWrite};
use activebench_model::call::Op;
use activebench_model::observed_pass::{ObservedWindow, TaskClock, TaskEnd, TaskStart};
use activebench_model::phase::NameOperation;
use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

fn pass(name: &str, direction: Direction, bytes: u64, calls: u64, spans_ns: &[(u64, u64)]) -> ObservedPass {
    let window = |(place, (start_ns, end_ns)): (usize, &(u64, u64))| ObservedWindow {
        phase: format!("{name}-{place}"),
        clock: "first to last".to_owned(),
        start_ns: *start_ns,
        end_ns: *end_ns,
        has_sync: place == 1,
    };
    ObservedPass {
        name: name.to_owned(),
        direction,
        names: None,
        bytes,
        calls,
        opens: 1,
        is_direct: false,
        is_synchronous: false,
        task_clocks: Vec::new(),
        windows: spans_ns.iter().enumerate().map(window).collect(),
        parent: None,
    }
}

fn of(text: &str, passes: &[ObservedPass]) -> Parsed {
    of_stated(text, &[], passes)
}

fn of_stated(text: &str, stated: &[&str], passes: &[ObservedPass]) -> Parsed {
    of_printed(text, &[], stated, passes)
}

/// As above, with the text in parts that were printed at a time in ns each.
fn of_printed(text: &str, prints: &[(usize, u64)], stated: &[&str], passes: &[ObservedPass]) -> Parsed {
    let write = |(bytes, at_ns): &(usize, u64)| OutputWrite {
        span: CallSpan { start_ns: *at_ns, end_ns: at_ns + 1, tid: 1, op: Op::Write, returned: *bytes as i64 },
        file: None,
        tgid: 1,
        fd: 1,
    };
    let writes: Vec<OutputWrite> = prints.iter().map(write).collect();
    let stated: Vec<StatedClaim> = stated.iter().map(|one| StatedClaim::parse(one).expect("good")).collect();
    let output = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
    let known = Known { program: "./mine", subject: None, print_times: &PrintTimes::new(&writes, &output) };
    matched(&output, &stated, passes, known).parsed
}

/// The claims as `metric of phase`.
fn claims(parsed: &Parsed) -> Vec<String> {
    parsed.claims.iter().map(|claim| format!("{} of {}", claim.metric.as_str(), claim.phase)).collect()
}

/// Writes of 64 MiB in 500 ms without and 800 ms with the sync, and reads of as much in 100 ms.
fn two() -> Vec<ObservedPass> {
    vec![
        pass("write", Direction::Write, 64 * MIB, 64, &[(0, 500_000_000), (0, 800_000_000)]),
        pass("read", Direction::Read, 64 * MIB, 64, &[(900_000_000, 1_000_000_000)]),
    ]
}

#[test]
fn the_figure_of_a_copy_is_that_of_its_write() {
    let copy = [
        pass("read", Direction::Read, 64 * MIB, 64, &[(0, 100_000_000)]),
        pass("write", Direction::Write, 64 * MIB, 64, &[(50_000, 100_100_000)]),
    ];
    assert_eq!(claims(&of("640.0 MiB/s\n", &copy)), ["throughput of write-0"]);
    assert_eq!(claims(&of("read: 640.0 MiB/s\n", &copy)), ["throughput of read-0"]);
}

#[test]
fn a_rate_is_the_claim_of_the_pass_and_window_that_it_agrees_with() {
    assert_eq!(claims(&of("write: 128.0 MiB/s\n", &two())), ["throughput of write-0"]);
    assert_eq!(claims(&of("write: 80.02 MiB/s\n", &two())), ["throughput of write-1"]);
    assert_eq!(claims(&of("read: 640.1 MiB/s\n", &two())), ["throughput of read-0"]);
    let parsed = of("write: 134.2 MB/s\n", &two());
    assert_eq!(claims(&parsed), ["throughput of write-0"]);
    // 10^6, as that agrees.
    assert_eq!(parsed.claims[0].value.value.round(), 134_200_000.0);
    assert!(parsed.claims[0].subject_reason.contains("by chance with a probability of"), "{parsed:?}");
}

/// 134.2 MB/s are 0.8 % beside the pass, where a unit that may be 10^6 or 2^20 has to agree more closely.
#[test]
fn an_amount_in_bytes_and_its_time_show_what_the_unit_of_their_rate_is() {
    let slower = [pass("write", Direction::Write, 64 * MIB, 64, &[(0, 504_000_000)])];
    let rate = |text: &str| {
        let parsed = of(text, &slower);
        let rate = parsed.claims.iter().find(|claim| claim.metric == Metric::Throughput);
        rate.map(|claim| claim.value.value.round())
    };
    assert_eq!(rate("write: 134.22 MB/s\n"), None);
    assert_eq!(rate("write: 67108864 bytes in 0.5000 s, 134.22 MB/s\n"), Some(134_220_000.0));
    assert_eq!(rate("write: 67108864 bytes in 0.5000 s, 128.00 MB/s\n"), Some(134_217_728.0));
    // A rate that does not follow from them shows nothing, nor does one of another line.
    assert_eq!(rate("write: 67108864 bytes in 0.4900 s, 134.22 MB/s\n"), None);
    assert_eq!(rate("write: 67108864 bytes in 0.5000 s\nwrite: 134.22 MB/s\n"), None);
}

#[test]
fn a_number_of_another_direction_or_distance_is_unverifiable_and_names_the_nearest_pass() {
    for text in ["read: 128.0 MiB/s\n", "write: 140.0 MiB/s\n", "write: 640.0 MiB/s\n"] {
        let parsed = of(text, &two());
        assert_eq!(claims(&parsed), Vec::<String>::new(), "{text}");
        assert_eq!(parsed.unmatched.numbers.len(), 1);
        assert!(parsed.unmatched.numbers[0].nearest.is_some(), "{text}");
    }
    let far = of("write: 140.0 MiB/s\n", &two()).unmatched.numbers.remove(0);
    assert!((far.nearest.expect("one").excess - 0.094).abs() < 0.001);
}

/// An amount and its time are a rate.
#[test]
fn a_time_that_nothing_explains_beside_a_claimed_amount_is_a_rate_that_nobody_compared() {
    let rates = |text: &str| {
        let parsed = of(text, &two()[..1]);
        (claims(&parsed).len(), parsed.unmatched.rates())
    };
    assert_eq!(rates("took 0.571 s for 67108864 bytes\n"), (1, 1));
    assert_eq!(rates("67108864 bytes written in 357.2 ms\n"), (1, 1));
    // The time of the pass with and without its sync, one that has more in it, one of another line.
    assert_eq!(rates("67108864 bytes written in 0.500 s\n").1, 0);
    assert_eq!(rates("67108864 bytes written in 0.800 s\n").1, 0);
    assert_eq!(rates("67108864 bytes written in 0.970 s\n").1, 0);
    assert_eq!(rates("67108864 bytes written\nstarted after 0.571 s\n").1, 0);
    // The line says what its amount was divided by.
    assert_eq!(rates("67108864 bytes written in 0.500 s, started after 0.371 s\n").1, 0);
}

#[test]
fn a_coarse_number_could_agree_by_chance() {
    let parsed = of("write: 0.1 GB/s\n", &two());
    assert_eq!(claims(&parsed), Vec::<String>::new());
    let why = &parsed.unmatched.numbers[0].reason;
    assert!(why.contains("by chance"), "{why}");
}

#[test]
fn numbers_of_a_line_support_each_other() {
    let parsed = of("67108864 bytes copied, 0.8 s, 84 MB/s\n", &two()[..1]);
    assert_eq!(claims(&parsed), ["bytes-moved of write-1", "throughput of write-1"]);
    assert_eq!(parsed.unmatched.numbers, []);
    assert_eq!(parsed.claims[1].claimed_bytes, Some(64 * MIB));
    // The same rate alone in a long output is not enough.
    let others: String = (10..50).map(|place| format!("7.1{place} MB/s\n")).collect();
    let alone = format!("{others}84 MB/s\n");
    assert_eq!(claims(&of(&alone, &two()[..1])), Vec::<String>::new());
}

#[test]
fn where_two_passes_agree_it_is_undecided_and_both_are_named() {
    let mut passes = two();
    passes[1] = pass("read", Direction::Read, 64 * MIB, 64, &[(900_000_000, 1_400_000_000)]);
    let parsed = of("128.0 MiB/s\n", &passes);
    assert_eq!(claims(&parsed), Vec::<String>::new());
    assert_eq!(parsed.unmatched.numbers[0].reason, "2 passes agree with it: write, read");
    // One that contains the other and hardly more is the same thing.
    passes[1] = pass("all", Direction::Write, 65 * MIB, 65, &[(0, 507_800_000)]);
    passes[0].parent = Some(1);
    assert_eq!(claims(&of("128.0 MiB/s\n", &passes)), ["throughput of all-0"]);
    passes[1] = pass("all", Direction::Write, 128 * MIB, 128, &[(0, 1_000_000_000)]);
    assert_eq!(claims(&of("128.0 MiB/s\n", &passes)), [""; 0]);
    // One agrees to the last digit, the other one does not.
    passes[1] = pass("all", Direction::Write, 128 * MIB, 128, &[(0, 1_010_000_000)]);
    assert_eq!(claims(&of("128.00 MiB/s\n", &passes)), ["throughput of write-0"]);
}

#[test]
fn a_number_is_not_about_what_ended_after_it_was_printed() {
    let text = "write: 128.0 MiB/s\n";
    let at = |at_ns| claims(&of_printed(text, &[(text.len(), at_ns)], &[], &two()));
    assert_eq!(at(500_000_001), ["throughput of write-0"]);
    assert_eq!(at(499_999_999), [""; 0]);
    // Another program printed to it as well: the times are not known.
    assert_eq!(claims(&of_printed(text, &[(3, 1)], &[], &two())), ["throughput of write-0"]);
}

#[test]
fn a_row_that_is_printed_test_by_test_is_about_the_tests_and_not_their_sum() {
    let mut passes = vec![
        pass("first", Direction::Write, 64 * MIB, 64, &[(0, 500_000_000)]),
        pass("second", Direction::Write, 64 * MIB, 64, &[(600_000_000, 1_104_000_000)]),
        pass("both", Direction::Write, 128 * MIB, 128, &[(0, 1_008_000_000)]),
    ];
    passes[0].parent = Some(2);
    passes[1].parent = Some(2);
    let text = "Output is in MiB/sec\n\n   write  rewrite\n 128.002 126.985\n";
    let (head, row) = (text.find(" 128").expect("a row"), " 128.002".len());
    let prints = [(head, 1), (row, 510_000_000), (text.len() - head - row, 1_200_000_000)];
    let expected = ["throughput of first-0", "throughput of second-0"];
    assert_eq!(claims(&of_printed(text, &prints, &[], &passes)), expected);
    // Printed at once, the second one may be the sum.
    assert_eq!(claims(&of(text, &passes)), ["throughput of first-0"]);
}

#[test]
fn numbers_of_a_row_that_were_printed_together_are_about_the_passes_in_their_order() {
    let one =
        |name: &str, start_ns: u64| pass(name, Direction::Read, 64 * MIB, 64, &[(start_ns, start_ns + 500_000_000)]);
    let both = pass("both", Direction::Read, 128 * MIB, 128, &[(200, 1_000_000_200)]);
    let mut passes = vec![one("first", 200), one("second", 500_000_200), both];
    passes[0].parent = Some(2);
    passes[1].parent = Some(2);
    let text = "begin: 7 kB\nfirst read 128.1 MiB/s, second read 127.9 MiB/s\n";
    let head = text.find("first").expect("a row");
    let prints = [(head, 100), (text.len() - head, 1_100_000_000)];
    let expected = ["throughput of first-0", "throughput of second-0"];
    assert_eq!(claims(&of_printed(text, &prints, &[], &passes)), expected);
    passes.push(one("third", 1_000_000_300));
    assert_eq!(claims(&of_printed(text, &[(head, 100), (text.len() - head, 1_600_000_000)], &[], &passes)), [""; 0]);
}

#[test]
fn a_row_that_is_printed_behind_new_io_is_not_about_what_ended_before_the_row_above() {
    // The second pass has another figure than its row, and the first one agrees by chance.
    let passes = [
        pass("first", Direction::Write, 64 * MIB, 64, &[(0, 500_000_000), (0, 509_000_000)]),
        pass("second", Direction::Write, 64 * MIB, 64, &[(600_000_000, 1_200_000_000)]),
    ];
    let rows = |second: &str| {
        let (first, second) = ("128.00 MiB/s\n".to_owned(), format!("{second} MiB/s\n"));
        let prints = [(first.len(), 550_000_000), (second.len(), 1_300_000_000)];
        claims(&of_printed(&format!("{first}{second}"), &prints, &[], &passes))
    };
    assert_eq!(rows("125.74"), ["throughput of first-0"]);
    assert_eq!(rows("106.67"), ["throughput of first-0", "throughput of second-0"]);
    // A figure that is printed again is the same one.
    assert_eq!(rows("128.00"), ["throughput of first-0", "throughput of first-0"]);
}

#[test]
fn a_rate_behind_others_that_were_printed_in_the_middle_of_the_pass_may_be_about_a_part() {
    let all = [pass("all", Direction::Write, 512 * MIB, 512, &[(0, 4_000_000_000)])];
    let progress = "at once 140.00 MiB/s\n";
    let found = |last: &str| {
        let prints = [(progress.len(), 1_000_000_000), (last.len(), 4_100_000_000)];
        claims(&of_printed(&format!("{progress}{last}"), &prints, &[], &all))
    };
    assert_eq!(found("Throughput 128.00 MiB/s\n"), Vec::<String>::new());
    // The time of all says so, and that of a part does not.
    assert_eq!(found("Throughput 128.00 MiB/s\ntotal time 4.0003 s\n"), ["throughput of all-0"]);
    assert_eq!(found("Throughput 128.00 MiB/s\ntotal time 3.0003 s\n"), Vec::<String>::new());
    // A time of whole seconds could be that of a part.
    assert_eq!(found("cleanup 4 s\nThroughput 128.00 MiB/s\n"), Vec::<String>::new());
    // With its amount it is about all.
    assert_eq!(found("Throughput 512 MiB, 128.00 MiB/s\n"), ["bytes-moved of all-0", "throughput of all-0"]);
}

#[test]
fn what_is_printed_is_about_most_of_the_io_unless_a_small_pass_agrees_better() {
    // A program that also writes many small files, each with windows of its own.
    let small = |place: u64| {
        let ends =
            (0..6).map(|window| (place * 1_000_000, place * 1_000_000 + (70_000 + window * 37_000) * (place + 3)));
        pass("small", Direction::Write, 13 + place * 7, 1, &ends.collect::<Vec<_>>())
    };
    let mut passes: Vec<ObservedPass> = (0..40).map(small).collect();
    passes.push(pass("log", Direction::Write, 8 * MIB, 2000, &[(50_000_000, 1_430_000_000)]));
    let text = "fill: 690.003 micros/op 1449 ops/sec 1.380 seconds 2000 operations\n";
    assert!(claims(&of(text, &passes)).contains(&"operation-rate of log-0".to_owned()));
    // 1.8 % away, and exact for another one.
    passes.push(pass("other", Direction::Write, 64, 1, &[(0, 678_000)]));
    assert_eq!(claims(&of("fill: 1474.926 ops/sec\n", &passes)), Vec::<String>::new());
}

#[test]
fn a_statement_whose_amount_is_nearly_that_of_the_calls_is_about_them() {
    let passes = [
        pass("main", Direction::Mixed, 263_000_000, 4115, &[(0, 1_999_600_000), (0, 1_998_200_000)]),
        pass("part", Direction::Read, 131_000_000, 2050, &[(0, 900_000_000)]),
    ];
    let line = |amount: u32, rate: &str| format!("it did {amount} ops in 2.00 s: {rate} ops/s\n");
    assert_eq!(claims(&of(&line(4097, "2048.50"), &passes)), ["operation-rate of main-0"]);
    // By more than two percent it is another count.
    assert_eq!(claims(&of(&line(4020, "2010.00"), &passes)), Vec::<String>::new());
}

#[test]
fn an_operation_may_be_several_calls_of_a_stated_size() {
    let passes = [pass("write", Direction::Write, 8192 * 4000, 4000, &[(0, 1_000_000_000)])];
    let of_heading = "Compare methods using two 8kB writes:\n    fsync       2000.123 ops/sec\n";
    assert_eq!(claims(&of(of_heading, &passes)), ["operation-rate of write-0-by-2"]);
    assert_eq!(claims(&of(" 4 *  8kB writes   1000.123 ops/sec\n", &passes)), ["operation-rate of write-0-by-4"]);
    // Another size, and another number of calls.
    assert_eq!(claims(&of(" 4 *  4kB writes   1000.123 ops/sec\n", &passes)), [""; 0]);
    assert_eq!(claims(&of(" 2 *  8kB writes   1000.123 ops/sec\n", &passes)), [""; 0]);
    let files = pass("files", Direction::Write, 16_384 * 100, 700, &[(0, 1_000_000_000)]);
    let files = [ObservedPass { opens: 100, ..files }];
    assert_eq!(claims(&of("100.012 files/sec\n", &files)), ["operation-rate of files-0-by-7"]);
}

#[test]
fn a_size_of_the_output_shows_whether_k_is_1000_or_1024() {
    let passes = [pass("write", Direction::Write, 64 * MIB, 64, &[(0, 497_000_000)])];
    // 131072 KiB/s is 0.6 % away and 131072 kB/s 2.9 %; both may be the clock's fault.
    let rate = "write: 131072 kB/sec\n";
    assert_eq!(claims(&of(rate, &passes)), [""; 0]);
    let parsed = of(&format!("Record size 1024 kB\n{rate}"), &passes);
    assert_eq!(parsed.claims[0].value.value, 131_072.0 * 1024.0);
    let decimal = [pass("write", Direction::Write, 64_000_000, 64, &[(0, 497_000_000)])];
    let parsed = of("Record size 1000 kB\nwrite: 129000 kB/sec\n", &decimal);
    assert_eq!(parsed.claims[0].value.value, 129_000_000.0);
}

#[test]
fn a_number_whose_base_is_unknown_has_to_agree_closely() {
    let passes = [pass("write", Direction::Write, 64 * MIB, 64, &[(0, 500_000_000)])];
    assert_eq!(claims(&of("128.30 MB/s\n", &passes)), ["throughput of write-0"]);
    // 129.02 MiB/s are 0.8 % away; 129.02 * 10^6 would be about something else.
    assert_eq!(claims(&of("129.02 MB/s\n", &passes)), [""; 0]);
    assert_eq!(claims(&of("129.02 MiB/s\n", &passes)), ["throughput of write-0"]);
}

#[test]
fn a_mean_of_several_is_the_figure_of_no_pass() {
    let passes = [pass("read", Direction::Read, 64 * MIB, 64, &[(0, 500_000_000)])];
    assert_eq!(claims(&of("128.01 MiB/s read rate (mean of 1 instances)\n", &passes)), ["throughput of read-0"]);
    assert_eq!(claims(&of("128.01 MiB/s read rate (mean of 2 instances)\n", &passes)), [""; 0]);
    // The number behind `of` is the mean.
    assert_eq!(claims(&of("average of 128.01 MiB/s\n", &passes)), ["throughput of read-0"]);
    assert_eq!(claims(&of("mean of 3.5 and 2: 128.01 MiB/s\n", &passes)), ["throughput of read-0"]);
}

#[test]
fn a_rate_of_files_is_not_about_a_pass_with_other_files_than_its_line_counts() {
    let made = pass("create", Direction::None, 0, 945, &[(0, 1_000_000_000)]);
    let passes = [ObservedPass { names: Some(NameOperation::Create), opens: 945, ..made }];
    assert_eq!(claims(&of("Count  Files/sec\n  945     945.04\n", &passes)), ["operation-rate of create-0"]);
    assert_eq!(claims(&of("Count  Files/sec\n 1000     945.04\n", &passes)), [""; 0]);
    // A count that grows from row to row.
    let grown = of("Count  Files/sec\n  500     811.51\n 1445     945.04\n", &passes);
    assert_eq!(claims(&grown), ["operation-rate of create-0"]);
}

#[test]
fn figures_of_single_processes_are_compared_with_theirs() {
    let rates = vec![60.0 * MIB as f64, 70.0 * MIB as f64];
    let clock =
        TaskClock { start: TaskStart::FirstCall, end: TaskEnd::LastCall, rates, end_ns: 1_000_000_000, unsure: 0.0 };
    let all = pass("write", Direction::Write, 128 * MIB, 128, &[(0, 1_000_000_000)]);
    let passes = [ObservedPass { task_clocks: vec![clock], opens: 2, ..all }];
    let parsed = of(
        "Writers see 130.01 MiB/s\nMin throughput per process = 60.01 MiB/s\nAvg throughput per process = 65.01 MiB/s\n",
        &passes,
    );
    let expected = [
        "sum-of-task-throughput of write-0-of-each",
        "min-task-throughput of write-0-of-each",
        "mean-task-throughput of write-0-of-each",
    ];
    assert_eq!(claims(&parsed), expected);
}

#[test]
fn files_without_data_are_counted_by_their_names() {
    let made = pass("create", Direction::None, 0, 200, &[(0, 1_000_000_000)]);
    let made = ObservedPass { names: Some(NameOperation::Create), opens: 200, ..made };
    let deleted = pass("delete", Direction::None, 0, 300, &[(1_100_000_000, 2_100_000_000)]);
    let deleted = ObservedPass { names: Some(NameOperation::Delete), opens: 300, ..deleted };
    let passes = [made, deleted];
    let parsed = of("200.04 files created per second\n", &passes);
    assert_eq!(claims(&parsed), [""; 0], "the unit does not stand behind the number");
    let parsed = of("created: 200.04 files/s, deleted: 300.04 files/s\n", &passes);
    assert_eq!(claims(&parsed), ["operation-rate of create-0", "operation-rate of delete-0"]);
    assert!(parsed.claims.iter().all(|claim| claim.subject == Subject::Metadata));
    assert_eq!(claims(&of("200.04 files/s\n", &passes)), ["operation-rate of create-0"]);
    assert_eq!(claims(&of("300.04 files/s\n", &passes)), [""; 0]);
    let data = pass("write", Direction::Write, 4096 * 200, 200, &[(0, 1_100_000_000)]);
    let with_data = [passes[0].clone(), ObservedPass { opens: 200, ..data }];
    assert_eq!(claims(&of("200.04 files/s\n", &with_data)), [""; 0]);
}

#[test]
fn words_that_say_that_nothing_is_synced_make_a_figure_one_of_the_cache() {
    let passes = [pass("write", Direction::Write, 8192 * 4000, 4000, &[(0, 1_000_000_000)])];
    let parsed = of("Non-sync'ed 8kB writes:\n   write to disk   4000.123 ops/sec\n", &passes);
    assert_eq!(parsed.claims[0].subject, Subject::CachedFilesystem);
}

#[test]
fn a_statement_of_the_user_names_a_number() {
    let stated = [r"write=speed: ([\d.]+) MiB/s"];
    let parsed = of_stated("speed: 128.0 MiB/s read\n", &stated, &two());
    assert_eq!(claims(&parsed), ["throughput of write-0"]);
    let latency = of_stated("99th: 12 ms\n", &[r"write p99=99th: (\d+) ms"], &two());
    assert_eq!(claims(&latency), ["latency-p99 of write-0"]);
    let nowhere = of_stated("speed: 5 MiB/s\n", &stated, &two());
    assert!(nowhere.claims.is_empty() && nowhere.unmatched.numbers[0].is_stated);
}

/// Writes of different amounts, one after the other, of which the first moved 64 MiB in 500 ms.
fn many() -> Vec<ObservedPass> {
    let one = |place: u64| {
        let start_ns = place * 1_000_000_000;
        let length_ns = (500_000_000.0 * 1.1_f64.powi(place as i32)) as u64;
        pass("write", Direction::Write, (64 + 3 * place) * MIB, 64 + 3 * place, &[(start_ns, start_ns + length_ns)])
    };
    (0..60).map(one).collect()
}

#[test]
fn a_number_beside_a_claim_is_compared_with_its_pass() {
    let line = "write: 67108864 bytes in 0.500 s: 128.01 MiB/s";
    assert_eq!(claims(&of(&format!("{line}\n"), &many())), ["bytes-moved of write-0", "throughput of write-0"]);
    // Alone it may be any of many passes.
    let others: String = (10..30).map(|place| format!("write: 7{place}.3125 IOPS\n")).collect();
    assert_eq!(claims(&of(&format!("{others}write: 128.10 IOPS\n"), &many())), [""; 0]);
    let expected = ["bytes-moved of write-0", "throughput of write-0", "operation-rate of write-0"];
    assert_eq!(claims(&of(&format!("{line}\nwrite: 128.10 IOPS\n"), &many())), expected);
    // Too far away for a number without a relation to the claim.
    let far = format!("{line}\n\n\n\n\n{others}write: 128.10 IOPS\n");
    assert!(!claims(&of(&far, &many())).contains(&expected[2].to_owned()));
    // 2 % is not enough.
    assert_eq!(claims(&of(&format!("{line}\nwrite: 130.50 IOPS\n"), &many())), expected[..2]);
}

#[test]
fn another_throughput_beside_a_claim_is_not_about_its_pass() {
    let line = "write: 67108864 bytes in 0.500 s: 128.01 MiB/s";
    let others: String = (10..30).map(|place| format!("write: 7{place}.3125 MiB/s\n")).collect();
    let found = claims(&of(&format!("{others}{line}\nrewrite: 127.90 MiB/s\n"), &many()));
    assert_eq!(found, ["throughput of write-0"]);
}

#[test]
fn a_count_of_what_another_column_states_the_rate_of_supports_it() {
    let files = |place: u64| {
        let bytes = 4096 * (400 + 7 * place);
        let length_ns = 500_000_000 + 37_000_000 * place;
        ObservedPass {
            opens: 400 + 7 * place,
            ..pass("write", Direction::Write, bytes, 400 + 7 * place, &[(0, length_ns)])
        }
    };
    let passes: Vec<ObservedPass> = (0..40).map(files).collect();
    assert_eq!(claims(&of("  Size  Files/sec\n  4096      802.3\n", &passes)), [""; 0]);
    let parsed = of("  Count  Size  Files/sec\n    400  4096      802.3\n", &passes);
    assert_eq!(claims(&parsed), ["operation-rate of write-0"]);
}

#[test]
fn a_rate_of_files_without_a_unit_is_read_of_a_line_for_a_machine() {
    let names = |operation, calls: u64, start_ns: u64, length_ns: u64| {
        let one = pass("names", Direction::None, 0, calls, &[(start_ns, start_ns + length_ns)]);
        ObservedPass { names: Some(operation), opens: calls, ..one }
    };
    let passes = [
        names(NameOperation::Create, 2048, 0, 1_691_000_000),
        names(NameOperation::Delete, 2048, 2_000_000_000, 1_230_000_000),
    ];
    let parsed = of("1.98,2.00a,host,1,1795757639,,,,2,,,1211,6,+++++,+++,1665,6,12us\n", &passes);
    assert_eq!(claims(&parsed), ["operation-rate of names-0", "operation-rate of names-0"]);
    assert!(parsed.unmatched.numbers.iter().all(|number| !number.printed.unit.is_empty()), "{parsed:?}");
    // A line for a person, and one with a head.
    assert_eq!(claims(&of("made 1211, deleted 1665\n", &passes)), [""; 0]);
    assert_eq!(claims(&of("a,b,c,d,e,f,g,h\n1,2,3,4,5,6,1211,1665\n", &passes)), [""; 0]);
    // As a rate of both it says nothing.
    let alike = [passes[0].clone(), names(NameOperation::Delete, 2048, 2_000_000_000, 1_691_000_000)];
    assert_eq!(claims(&of("1.98,2.00a,host,1,,,,,2,,,1211,6,+++++,+++\n", &alike)), [""; 0]);
    // As a rate of deletes it may be that of two passes, and as one of creates it agrees by chance.
    let four = [
        names(NameOperation::Create, 2048, 0, 1_085_000_000),
        names(NameOperation::Delete, 2048, 2_000_000_000, 773_500_000),
        names(NameOperation::Create, 2048, 4_000_000_000, 773_000_000),
        names(NameOperation::Delete, 2048, 6_000_000_000, 780_000_000),
    ];
    let parsed = of("1.98,2.00a,host,1,,,,,2,,,1887,8,+++++,+++,2648,8,2652,10,+++++,+++,2626,8\n", &four);
    let printed: Vec<&str> = parsed.claims.iter().map(|claim| claim.printed.text.as_str()).collect();
    assert_eq!(printed, ["1887"], "{parsed:?}");
}

#[test]
fn a_figure_that_is_printed_in_two_units_is_not_a_row_of_two_passes() {
    let one =
        |name: &str, start_ns: u64| pass(name, Direction::Write, 64 * MIB, 64, &[(start_ns, start_ns + 500_000_000)]);
    let both = pass("both", Direction::Write, 128 * MIB, 128, &[(200, 1_000_000_200)]);
    let mut passes = vec![one("first", 200), one("second", 500_000_200), both];
    passes[0].windows[0].end_ns = 400_000_000;
    passes[0].parent = Some(2);
    passes[1].parent = Some(2);
    let text = "begin: 7 kB\nwrite: 160.00 MiB/s (167.8 MB/s)\n";
    let head = text.find("write").expect("a row");
    let prints = [(head, 100), (text.len() - head, 1_100_000_000)];
    assert_eq!(claims(&of_printed(text, &prints, &[], &passes)), ["throughput of first-0"]);
}

#[test]
fn reads_without_their_first_call_are_no_other_pass() {
    let all = pass("read", Direction::Read, 64 * MIB, 64, &[(0, 500_000_000)]);
    let spans = [(25_000_000, 500_000_000), (25_000_000, 515_000_000)];
    let without = pass("later", Direction::Read, 63 * MIB, 63, &spans);
    let passes = [all, without];
    // 128.0 of all, 132.6 and 128.6 of those behind the first call.
    assert_eq!(claims(&of("read: 128.02 MiB/s\n", &passes)), ["throughput of read-0"]);
    assert_eq!(claims(&of("read: 132.61 MiB/s\n", &passes)), ["throughput of later-0"]);
}

/// Passes with random amounts and times.
fn random_passes() -> impl Strategy<Value = Vec<ObservedPass>> {
    let one = (any::<bool>(), 20.0..34.0_f64, 1_u64..5000, 17.0..23.0_f64, 0.0..1.0_f64).prop_map(
        |(writes, bytes, calls, duration, more)| {
            let direction = if writes { Direction::Write } else { Direction::Read };
            let name = if writes { "write" } else { "read" };
            let duration_ns = duration.exp() as u64;
            let longer_ns = (duration_ns as f64 * (1.0 + more)) as u64;
            pass(name, direction, bytes.exp2() as u64, calls, &[(0, duration_ns), (0, longer_ns)])
        },
    );
    prop::collection::vec(one, 1..6)
}

proptest! {
    #[test]
    fn no_number_is_claimed_under_another_direction(passes in random_passes(), which in 0_usize..6, is_write: bool) {
        let one = &passes[which % passes.len()];
        let rate = one.bytes as f64 * 1e9 / one.windows[0].duration_ns() as f64;
        let (word, direction) = if is_write { ("write", Direction::Write) } else { ("read", Direction::Read) };
        let parsed = of(&format!("{word}: {rate:.1} bytes/s\n"), &passes);
        for claim in &parsed.claims {
            let claimed = passes.iter().filter(|pass| pass.windows.iter().any(|window| window.phase == claim.phase));
            prop_assert!(claimed.into_iter().all(|pass| pass.direction == direction), "{parsed:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_numbers_are_compared_without_a_panic(
        passes in random_passes(),
        text in "((read|write|io|in|at|total|bs)?[ :=]?[0-9]{1,7}([.,][0-9]{1,4})?[ ,/]?(B|bytes|kB|MiB|MB/s|GB/s|s|ms|us|iops|files/s|ops)?[ ,;|\\n]{0,2}){0,30}"
    ) {
        let parsed = of(&text, &passes);
        prop_assert!(parsed.claims.iter().all(|claim| claim.value.value > 0.0), "{parsed:?}");
    }
}

#[test]
fn a_size_between_whole_bytes_is_that_of_nothing() {
    assert_eq!(claims(&of("write 12.25 bytes, 0.5 B\n", &two())), Vec::<String>::new());
}

/// One percent of 4000 runs, and three standard deviations of such a draw.
const MOST_RUNS: usize = 59;

/// How many of 4000 runs with random passes have a claim, if their text is drawn without a look at them.
fn runs_with_match(text: impl Fn(&mut dyn FnMut() -> f64, &[ObservedPass]) -> (String, usize)) -> usize {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let runner = |algorithm| TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(algorithm));
    let (mut numbers, mut other) = (runner(RngAlgorithm::ChaCha), runner(RngAlgorithm::XorShift));
    let uniform = (0.0..1.0_f64).boxed();
    let passes = random_passes().boxed();
    let mut draw = || uniform.new_tree(&mut numbers).expect("a value").current();
    (0..4000)
        .filter(|_| {
            let passes = passes.new_tree(&mut other).expect("passes").current();
            let (text, own) = text(&mut draw, &passes);
            of(&text, &passes).claims.len() > own
        })
        .count()
}

#[test]
fn random_rows_match_random_passes_in_less_than_one_percent() {
    let with_match = runs_with_match(|draw, _| {
        let mut text = "Count  MB/s  kIOPS  us/op  MB/s  Files/sec\n".to_owned();
        for _ in 0..1 + (draw() * 3.0) as usize {
            let mut row = String::new();
            for _ in 0..5 {
                let decimals = (draw() * 3.0) as usize;
                row.push_str(&format!("  {:.decimals$}", 10_f64.powf(draw() * 6.0)));
            }
            text.push_str(&format!("{:.0}{row}\n", 10_f64.powf(draw() * 5.0)));
        }
        (text, 0)
    });
    assert!(with_match < MOST_RUNS, "{with_match} of 4000");
}

#[test]
fn random_numbers_beside_a_claim_match_its_pass_in_less_than_one_percent() {
    let with_match = runs_with_match(|draw, passes| {
        let one = &passes[0];
        let word = if one.direction == Direction::Write { "write" } else { "read" };
        let seconds = one.windows[0].duration_ns() as f64 / 1e9;
        let rate = one.bytes as f64 / seconds;
        let line = format!("{word}: {} bytes in {seconds:.6} s: {rate:.1} bytes/s\n", one.bytes);
        let own = of(&line, passes).claims.len();
        let iops = |draw: &mut dyn FnMut() -> f64| format!("{word}: {:.1} IOPS\n", 10_f64.powf(draw() * 6.0));
        (format!("{line}{}{}", iops(draw), iops(draw)), own)
    });
    assert!(with_match < MOST_RUNS, "{with_match} of 4000");
}

#[test]
fn random_numbers_match_random_passes_in_less_than_one_percent() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut draw = |strategy: &BoxedStrategy<f64>| strategy.new_tree(&mut runner).expect("a value").current();
    let rate = (0.0..6.0_f64).prop_map(|exponent| 10_f64.powf(exponent)).boxed();
    let uniform = (0.0..1.0_f64).boxed();
    let passes = random_passes().boxed();
    let mut other = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::XorShift));
    let (mut runs, mut with_match) = (0, 0);
    for _ in 0..4000 {
        let passes = passes.new_tree(&mut other).expect("passes").current();
        let mut text = String::new();
        for _ in 0..1 + (draw(&uniform) * 4.0) as usize {
            let unit = ["MB/s", "MiB/s", "kIOPS", "us/op"][(draw(&uniform) * 4.0) as usize];
            let word = ["", "read ", "write "][(draw(&uniform) * 3.0) as usize];
            let decimals = (draw(&uniform) * 3.0) as usize;
            text.push_str(&format!("{word}{:.decimals$} {unit}, {:.3} s\n", draw(&rate), draw(&rate) / 1e3));
        }
        runs += 1;
        with_match += usize::from(!of(&text, &passes).claims.is_empty());
    }
    println!("{with_match} of {runs}");
    assert!(with_match * 100 < runs, "{with_match} of {runs}");
}
