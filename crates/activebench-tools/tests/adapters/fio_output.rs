//! Parsing of fio's outputs: every fixture as a snapshot, and properties over cut and arbitrary
//! input.

use std::fmt::Write as _;

use crate::stored::{Fixture, command_line, compact};
use activebench_model::activity::Activity;
use activebench_model::claim::{Claim, Metric, Parsed, Restated, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::{Pattern, Phase};
use activebench_tools::{Adapter, adapter_by_name};
use proptest::prelude::*;

fn fio() -> &'static dyn Adapter {
    adapter_by_name("fio").expect("the adapter is registered")
}

fn fixtures() -> Vec<Fixture> {
    crate::stored::fixtures("fio")
}

fn fixture(name: &str) -> Fixture {
    crate::stored::fixture("fio", name)
}

/// Describes phases by their command.
fn planned(phases: &[Phase]) -> String {
    let mut text = String::new();
    for phase in phases {
        let promises: Vec<&str> = phase.promises.iter().map(|promise| promise.option.as_str()).collect();
        writeln!(
            text,
            "{} \"{}\" {:?} {:?} block {:?} of {:?} over {:?} x{} by {} {:?}: {}; promises {promises:?} limit {:?} verifies {:?} names {:?}",
            phase.id,
            phase.name,
            phase.direction,
            phase.pattern,
            phase.block_bytes,
            phase.requested_bytes,
            phase.region_bytes,
            phase.loops,
            phase.requested_tasks,
            phase.submission,
            phase.clock,
            phase.time_limit_ns,
            phase.verifies,
            phase.names,
        )
        .expect("a String takes everything");
    }
    text
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 30, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        let parsed = fixture.parsed();
        let plan = planned(&fio().plan(&fixture.command, &fixture.output.files).phases);
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("fio-{}", fixture.name), format!("{}plan\n{plan}", compact(&parsed)));
        });
    }
}

#[test]
fn claims_and_phases_fit_each_other() {
    for fixture in fixtures() {
        let parsed = fixture.parsed();
        let phases = fio().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        let mut ids: Vec<_> = phases.iter().map(|phase| phase.id.as_str()).collect();
        for claim in &parsed.claims {
            assert!(ids.contains(&claim.phase.as_str()), "{}: no phase {}", fixture.name, claim.phase);
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        let plan = fio().plan(&fixture.command, &fixture.output.files);
        for phase in &phases {
            assert!(phase.parts.is_empty() && phase.incomplete.is_some(), "{}: {phase:?}", fixture.name);
            assert!(parsed.claims.iter().any(|claim| claim.phase == phase.id), "{}: {}", fixture.name, phase.id);
            // The plan matches the run.
            let planned = plan.phases.iter().find(|planned| planned.id == phase.id);
            let planned = planned.unwrap_or_else(|| panic!("{}: {} was not planned", fixture.name, phase.id));
            assert_eq!(planned, &Phase { incomplete: None, ..phase.clone() }, "{}", fixture.name);
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}: phase ids are not unique", fixture.name);
    }
}

/// Figures for people agree with those for machines within their digits, and each rate with the amount and the time
/// that fio divided.
#[test]
fn the_report_for_people_agrees_with_the_one_for_machines() {
    let mut compared = 0;
    for fixture in fixtures() {
        let parsed = fixture.parsed();
        for again in &parsed.restated {
            let claim = parsed.claims.iter().find(|claim| claim.id == again.claim).expect("its claim");
            let apart = (claim.value.value - again.value.value).abs();
            let open = 2.0 * (claim.resolution - again.shared_resolution + again.resolution) + 1.0;
            assert!(apart <= open, "{}: {apart} of {open}, {again:?}", fixture.name);
            compared += 1;
        }
    }
    assert!(compared > 30, "only {compared} were compared");
}

/// Changes the output of a fixture and reads it again.
fn changed(name: &str, change: impl Fn(&str) -> String) -> Parsed {
    let mut fixture = fixture(name);
    let text = String::from_utf8(fixture.output.stdout.clone()).expect("UTF-8");
    let changed = change(&text);
    assert_ne!(changed, text, "nothing was changed in {name}");
    fixture.output.stdout = changed.into_bytes();
    fixture.parsed()
}

/// The largest distance of two statements of one figure, beyond what their digits allow, as a share.
fn farthest(parsed: &Parsed) -> f64 {
    let again = parsed.restated.iter().map(|again| {
        let claim = parsed.claims.iter().find(|claim| claim.id == again.claim).expect("its claim");
        let open = 2.0 * (claim.resolution - again.shared_resolution + again.resolution);
        ((claim.value.value - again.value.value).abs() - open).max(0.0) / claim.value.value.abs().max(1e-9)
    });
    let of_groups = parsed.contradictions.iter().filter_map(|odd| odd.apart);
    again.chain(of_groups).fold(0.0, f64::max)
}

/// Every figure of the report for people is compared with the object, and the summaries with the jobs.
#[test]
fn a_changed_figure_in_either_report_contradicts_the_other() {
    let honest = fixture("normal-json").parsed();
    assert!(farthest(&honest) < 0.01 && honest.contradictions.is_empty(), "{:?}", honest.contradictions);
    for (from, to) in [
        ("avg=37.31", "avg=17.31"),
        ("99.00th=[   47]", "99.00th=[   27]"),
        ("total=0,256,", "total=0,956,"),
        ("usr=50.00%", "usr= 5.00%"),
        ("WRITE: bw=1455MiB/s", "WRITE: bw=2455MiB/s"),
        ("io=16.0MiB", "io=36.0MiB"),
        ("run=11-11msec", "run=4-4msec"),
        ("  WRITE: bw=", "   READ: bw=2455MiB/s (2574MB/s), io=16.0MiB (16.8MB), run=11-11msec\n  WRITE: bw="),
        ("\"bw\" : 1489454", "\"bw\" : 2489454"),
    ] {
        let parsed = changed("normal-json", |text| text.replacen(from, to, 1));
        assert!(farthest(&parsed) > 0.05, "{from} to {to}: {:?}", parsed.contradictions);
        assert_eq!(parsed.claims.len(), honest.claims.len(), "{from}");
    }
}

/// What is in the place of a figure and is not a number that it can have is kept, and no other number takes its place.
#[test]
fn a_figure_that_is_no_number_is_kept_as_one_that_was_not_read() {
    for (value, is_read) in [("1525201454", true), ("-1", false), ("null", false), ("\"1525201454\"", false)] {
        let parsed = fixture("normal-json").output.stdout;
        let text = String::from_utf8(parsed).expect("UTF-8");
        let line = text.lines().rfind(|line| line.contains("\"bw_bytes\" : 1")).expect("a rate");
        let name = line.split(':').next().expect("its name");
        let mut fixture = fixture("normal-json");
        fixture.output.stdout = text.replacen(line, &format!("{name}: {value},"), 1).into_bytes();
        let parsed = fixture.parsed();
        let unread: Vec<&str> = parsed.unmatched.numbers.iter().map(|number| number.printed.text.as_str()).collect();
        assert_eq!(unread, if is_read { vec![] } else { vec![value] }, "{value}");
        assert_eq!(parsed.unmatched.rates(), unread.len(), "{value}");
    }
}

/// An object has each job once: an added one is not a repetition.
#[test]
fn a_job_that_was_added_to_the_object_takes_no_other_s_place() {
    let name = |parsed: &Parsed| {
        let mut phases: Vec<String> = parsed.claims.iter().map(|claim| claim.phase.clone()).collect();
        phases.dedup();
        phases
    };
    let honest = name(&fixture("normal-json").parsed());
    let parsed = changed("normal-json", |text| {
        let begin = text.find("\"jobs\" : [").expect("the jobs") + "\"jobs\" : [".len();
        let end = begin + text[begin..].find("\n  ],").expect("their end");
        let added = text[begin..end].replacen("\"jobname\" : \"w\"", "\"jobname\" : \"other\"", 1);
        format!("{},{added}{}", &text[..end], &text[end..])
    });
    assert_eq!(name(&parsed), [honest, vec!["other-write".to_owned()]].concat());
}

/// The figures are the same with and without the object.
#[test]
fn a_report_without_the_object_makes_the_same_claims_more_coarsely() {
    for mut fixture in fixtures() {
        let whole = fixture.parsed();
        let of_people = |again: &Restated| !again.printed.text.contains(" in ") && again.printed.unit != "bw";
        let has_both = whole.restated.iter().any(of_people);
        if !has_both || !fixture.output.files.is_empty() {
            continue;
        }
        let mut filter = fio().output_filter(&command_line("fio --name=a")).expect("a filter");
        let mut plain = filter.pass(&fixture.output.stdout);
        plain.extend(filter.finish());
        fixture.output.stdout = plain;
        let coarse = fixture.parsed();
        let rate = |parsed: &Parsed| {
            let of = |metric| parsed.claims.iter().filter(|claim| claim.metric == metric).count();
            (of(Metric::Throughput), of(Metric::OperationRate), of(Metric::BytesMoved), of(Metric::OperationsDone))
        };
        assert_eq!(rate(&whole), rate(&coarse), "{}", fixture.name);
        for claim in &coarse.claims {
            let same = |other: &&Claim| other.phase == claim.phase && other.metric == claim.metric;
            let Some(exact) = whole.claims.iter().find(same) else { continue };
            let apart = (claim.value.value - exact.value.value).abs();
            assert!(apart <= 2.0 * (claim.resolution + exact.resolution), "{}: {claim:?} {exact:?}", fixture.name);
        }
    }
}

#[test]
fn line_ends_of_a_terminal_change_nothing() {
    for mut fixture in fixtures() {
        let plain = fixture.parsed();
        let text = String::from_utf8(fixture.output.stdout).expect("UTF-8").replace('\n', "\r\n");
        fixture.output.stdout = text.into_bytes();
        assert_eq!(compact(&plain), compact(&fixture.parsed()), "{}", fixture.name);
    }
}

#[test]
fn the_last_of_repeated_reports_counts() {
    let one = fixture("normal-json");
    let mut twice = fixture("normal-json");
    twice.output.stdout.extend_from_slice(&one.output.stdout);
    let values = |parsed: &Parsed| parsed.claims.iter().map(|claim| claim.value.value).collect::<Vec<_>>();
    assert_eq!(values(&one.parsed()), values(&twice.parsed()));
    assert!(twice.parsed().claims[0].source.line > one.parsed().claims[0].source.line);
    let status = fixture("eta-status-interval").parsed();
    assert_eq!(status.claims.iter().filter(|claim| claim.metric == Metric::Throughput).count(), 1);
}

#[test]
fn percentiles_of_a_terse_line_are_those_that_the_job_asks_for() {
    let fixture = fixture("terse-lat-percentiles");
    let medians = |argument: &str| -> Vec<Metric> {
        let command = command_line(&fixture.command.argv.join(" ").replace("--lat_percentiles=1", argument));
        let parsed = fio().parse(&command, &fixture.output, None);
        let of_median = |metric: &Metric| matches!(metric, Metric::LatencyP50 | Metric::CompletionLatencyP50);
        parsed.claims.iter().map(|claim| claim.metric).filter(of_median).collect()
    };
    assert_eq!(medians("--lat_percentiles=1"), [Metric::LatencyP50]);
    assert_eq!(medians("--lat_percentiles=0"), [Metric::CompletionLatencyP50]);
    assert_eq!(medians("--group_reporting=1"), [Metric::CompletionLatencyP50]);
}

#[test]
fn the_users_subject_goes_before_ours() {
    let fixture = fixture("end_fsync");
    let parsed = fio().parse(&fixture.command, &fixture.output, Some(Subject::Cpu));
    assert!(!parsed.claims.is_empty());
    assert!(parsed.claims.iter().all(|claim| claim.subject == Subject::Cpu && claim.subject_reason == "--subject"));
}

#[test]
fn what_is_added_is_what_is_taken_out() {
    for (line, added) in [
        ("fio --name=a --rw=read", Some("--output-format=normal,json")),
        ("fio j.fio", Some("--output-format=normal,json")),
        ("fio --minimal --name=a", Some("--output-format=terse,json")),
        ("fio --output-format=terse --name=a", Some("--output-format=terse,json")),
        ("fio --output-format=normal,terse --name=a", Some("--output-format=normal,terse,json")),
        ("fio --output=o.txt --name=a", Some("--output-format=normal,json")),
        ("fio --output-format=json --name=a", None),
        ("fio --output-format=json+ --name=a", None),
        ("fio --output-format=normal,json --name=a", None),
        ("fio --client=host j.fio", None),
        ("fio --server", None),
        ("fio --parse-only j.fio", None),
        ("fio --showcmd j.fio", None),
        ("fio --cmdhelp=rw", None),
        ("fio --enghelp", None),
        ("fio --version", None),
        ("fio", None),
    ] {
        let command = command_line(line);
        assert_eq!(fio().added_arguments(&command), Vec::from_iter(added.map(str::to_owned)), "{line}");
        let filtered = added.is_some() && !line.contains("--output=");
        assert_eq!(fio().output_filter(&command).is_some(), filtered, "{line}");
    }
    let file = ToolFile { name: "o.txt".to_owned(), bytes: fixture("normal-json").output.stdout };
    let without = fio().without_added(&command_line("fio --output=o.txt --name=a"), &file).expect("figures were in it");
    assert!(!String::from_utf8_lossy(&without).contains("fio version"));
    assert_eq!(fio().without_added(&command_line("fio --output=o.txt --output-format=json --name=a"), &file), None);
    assert_eq!(fio().without_added(&command_line("fio --output=other --name=a"), &file), None);
}

#[test]
fn files_of_the_tool_are_told_from_its_data() {
    for (line, name, read) in [
        ("fio --output=o.txt j.fio", "o.txt", true),
        ("fio --output=o.txt j.fio", "j.fio", true),
        ("fio --name=a --filename=data", "data", false),
        ("fio --section=x j.fio", "x", false),
    ] {
        assert_eq!(fio().reads_file(&command_line(line), name), read, "{line} {name}");
    }
    let script =
        CommandLine { argv: ["sh", "-c", "cd /x && fio j.fio"].map(str::to_owned).to_vec(), cwd: "/".to_owned() };
    assert!(fio().reads_file(&script, "j.fio"));
    assert!(!fio().reads_file(&command_line("cat j.fio"), "j.fio"));
    let file = ToolFile { name: "d/j.fio".to_owned(), bytes: b"[a]\ninclude more.fio\nbs=4k\n".to_vec() };
    assert_eq!(fio().included_files(&file), ["more.fio", "d/more.fio"]);
}

#[test]
fn patterns_are_those_that_the_options_ask_for() {
    for (options, pattern) in [
        ("--rw=read", Pattern::Sequential),
        ("--rw=read:8k", Pattern::Strided),
        ("--rw=randread", Pattern::RandomPermutation),
        ("--rw=randread --norandommap=1", Pattern::RandomIndependent),
        ("--rw=randread --norandommap=0", Pattern::RandomPermutation),
        (
            "--rw=randread --random_distribution=zipf:1.2 --nrfiles=2 --time_based --runtime=1",
            Pattern::RandomIndependent,
        ),
        ("--rw=randread --nrfiles=2 --time_based --runtime=1", Pattern::Unknown),
        ("--rw=randread --random_distribution=zipf:1.2", Pattern::RandomIndependent),
        ("--rw=randread --filename=f --numjobs=4 --group_reporting", Pattern::RandomIndependent),
        ("--rw=randread --percentage_random=50", Pattern::Unknown),
        ("--rw=randread --bs=4k --ba=64k", Pattern::Strided),
        ("--rw=read --read_iolog=log", Pattern::Unknown),
        ("--rw=randread --no_such_option=1", Pattern::Unknown),
    ] {
        let plan = fio().plan(&command_line(&format!("fio --name=a --size=1g {options}")), &[]);
        assert_eq!(plan.phases[0].pattern, pattern, "{options}");
    }
}

/// The two phases of a mix name each other, so that a job that drew only one direction is found in the other.
#[test]
fn each_direction_of_a_mix_names_the_other() {
    for (line, expected) in [
        ("fio --name=a --rw=randrw", &[("a-read", Some("a-write")), ("a-write", Some("a-read"))][..]),
        ("fio --name=a --rw=read", &[("a-read", None)]),
        ("fio --name=a --rw=rw --unified_rw_reporting=1", &[("a-mixed", None)]),
    ] {
        let phases = fio().plan(&command_line(line), &[]).phases;
        let named = phases
            .iter()
            .map(|phase| (phase.id.as_str(), phase.mix.as_ref().and_then(|mix| mix.other_phase.as_deref())));
        assert_eq!(named.collect::<Vec<_>>(), expected, "{line}");
    }
}

#[test]
fn amounts_are_those_that_fio_moves() {
    // Measured with 3.33.
    for (options, bytes) in [
        ("--size=64k --loops=3", Some(196_608)),
        ("--size=64k --io_size=32k --loops=3", Some(98_304)),
        ("--size=64k --io_size=384k --loops=3", Some(393_216)),
        ("--size=64k --io_size=96k --loops=4", Some(262_144)),
        ("--size=64KiB", Some(64_000)),
        ("--size=64k --kb_base=1000", Some(65_536)),
        ("--kb_base=1000 --size=64k", Some(64_000)),
        ("--size=64k --filename=f --filename=g", Some(65_536)),
        ("--filesize=64k --filename=f --filename=g", Some(131_072)),
        ("--size=64k --bs=,8k", Some(65_536)),
        ("--size=64k --bs=4k,8k --rw=randwrite", None),
        ("--size=64k --runtime=1", None),
        ("--size=64k --verify_only", None),
        ("--size=64k --rate=0 --number_ios=0", Some(65_536)),
        ("--size=64k --no_such_option=1", None),
    ] {
        let plan = fio().plan(&command_line(&format!("fio --name=a --rw=write {options}")), &[]);
        assert_eq!(plan.phases[0].requested_bytes, bytes, "{options}");
        assert!(plan.phases[0].own_limits.is_empty(), "{options}");
    }
}

#[test]
fn jobs_of_a_group_that_go_another_way_are_not_a_phases_tasks() {
    let line = "fio --group_reporting --size=1m --name=a --rw=write --numjobs=2 --name=b --rw=read --bs=8k";
    let plan = fio().plan(&command_line(line), &[]).phases;
    let seen: Vec<_> = plan.iter().map(|phase| (phase.id.as_str(), phase.requested_tasks, phase.block_bytes)).collect();
    assert_eq!(seen, [("a-read", 1, Some(8192)), ("a-write", 2, Some(4096))]);
}

/// Returns the claims of a report for people: phase, metric, value.
fn claimed(line: &str, report: &str) -> Vec<(String, Metric, f64)> {
    let output = ToolOutput { stdout: report.as_bytes().to_vec(), ..ToolOutput::default() };
    let claims = fio().parse(&command_line(line), &output, None).claims;
    claims.into_iter().map(|claim| (claim.phase, claim.metric, claim.value.value)).collect()
}

#[test]
fn what_is_left_of_a_report_is_claimed_where_the_command_says_whose_it_is() {
    let read = "  read: IOPS=1000, BW=1000KiB/s (1024kB/s)(1000KiB/1000msec)\n";
    let write = "  write: IOPS=500, BW=500KiB/s (512kB/s)(500KiB/1000msec)\n";
    for (line, report, phases) in [
        ("fio --name=a --rw=read", read.to_owned(), vec!["a-read"]),
        ("fio --name=a --rw=randrw", format!("{read}{write}"), vec!["a-read", "a-write"]),
        ("fio --name=a --rw=read --numjobs=2", format!("{read}{read}"), vec!["a.0-read", "a.1-read"]),
        // The figures cannot be assigned to a job.
        ("fio --name=a --rw=read --name=b --rw=write", read.to_owned(), vec![]),
        ("fio --name=a --rw=write", read.to_owned(), vec![]),
        ("fio -", read.to_owned(), vec![]),
    ] {
        let mut seen: Vec<String> = claimed(line, &report).into_iter().map(|(phase, ..)| phase).collect();
        seen.dedup();
        assert_eq!(seen, phases, "{line}");
    }
}

#[test]
fn units_are_those_of_iec_80000_13() {
    for (rate, expected) in
        [("BW=1000KiB/s", 1_024_000.0), ("BW=1000kB/s", 1e6), ("BW=13.2MB/s", 13.2e6), ("BW=1MiB/s", 1_048_576.0)]
    {
        let report = format!("a: (groupid=0, jobs=1): err= 0: pid=1: now\n  read: IOPS=9, {rate} (x)(1MB/1000msec)\n");
        let claims = claimed("fio --name=a", &report);
        assert!(claims.contains(&("a-read".to_owned(), Metric::Throughput, expected)), "{rate}: {claims:?}");
    }
}

#[test]
fn directions_that_are_reported_as_one_are_one_phase() {
    let report = "a: (groupid=0, jobs=1): err= 0: pid=1: now\n  mixed: IOPS=9, BW=36KiB/s (x)(36KiB/1000msec)\n     \
                  issued rwts: total=9,0,0,0 short=0\n";
    let line = "fio --name=a --rw=randrw --unified_rw_reporting=1";
    let claims = claimed(line, report);
    assert!(claims.iter().all(|(phase, ..)| phase == "a-mixed"), "{claims:?}");
    assert!(claims.contains(&("a-mixed".to_owned(), Metric::OperationsDone, 9.0)), "{claims:?}");
    let plan = fio().plan(&command_line(line), &[]).phases;
    let seen: Vec<_> = plan.iter().map(|phase| (phase.id.as_str(), phase.direction)).collect();
    assert_eq!(seen, [("a-mixed", activebench_model::phase::Direction::Mixed)]);
}

#[test]
fn a_json_that_another_program_laid_out_has_the_same_figures() {
    let fixture = fixture("json-plus");
    let text = String::from_utf8_lossy(&fixture.output.stdout).into_owned();
    let begin = text.find("{\n").expect("an object");
    let value: serde_json::Value =
        serde_json::Deserializer::from_str(&text[begin..]).into_iter().next().expect("an object").expect("JSON");
    let figures = |stdout: String| -> Vec<_> {
        let output = ToolOutput { stdout: stdout.into_bytes(), ..ToolOutput::default() };
        let claims = fio().parse(&fixture.command, &output, None).claims;
        claims.into_iter().map(|claim| (claim.phase, claim.metric, claim.value)).collect()
    };
    let own = figures(text[begin..].to_owned());
    assert!(!own.is_empty());
    // Another order of keys does not change the figures: `jq -S` sorts them, and so does this.
    assert_eq!(figures(serde_json::to_string_pretty(&value).expect("JSON")), own);
    let mut compact = serde_json::Map::new();
    let object = value.as_object().expect("an object");
    compact.insert("fio version".to_owned(), object["fio version"].clone());
    assert!(figures(serde_json::to_string(&compact).expect("JSON")).is_empty());
}

#[test]
fn without_the_command_the_report_itself_says_what_the_jobs_are() {
    for (name, metric, block) in [
        ("psync-write-normal", Metric::LatencyP50, Some(65536)),
        ("randrw-normal", Metric::CompletionLatencyP50, Some(4096)),
        ("synthetic-2.x-normal", Metric::CompletionLatencyP50, Some(4096)),
        ("jobfile", Metric::LatencyP50, Some(4096)),
    ] {
        let mut fixture = fixture(name);
        fixture.command = CommandLine::default();
        let parsed = fixture.parsed();
        assert!(parsed.claims.iter().any(|claim| claim.metric == metric), "{name}: {}", compact(&parsed));
        let phases = fio().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        assert_eq!(phases[0].block_bytes, block, "{name}");
    }
}

/// Returns the part of a claim that does not depend on how much of its line is present.
fn core(claim: &Claim) -> String {
    format!("{} {:?} {:?} {:?} {:?}", claim.phase, claim.metric, claim.value, claim.printed, claim.source.line)
}

#[test]
fn no_cut_of_a_fixture_invents_a_claim() {
    for fixture in fixtures() {
        let whole = fixture.parsed();
        // A report for machines is not claimed before its end, so the one for people may be the
        // first complete one; its figures are the same with fewer digits.
        let known: Vec<String> = whole.claims.iter().map(core).collect();
        for length in (0..=fixture.output.stdout.len()).step_by(7) {
            let output = ToolOutput { stdout: fixture.output.stdout[..length].to_vec(), ..fixture.output.clone() };
            let cut = fio().parse(&fixture.command, &output, None);
            let repeated = fixture.name == "eta-status-interval";
            for claim in cut.claims.iter().filter(|_| !repeated) {
                assert!(known.contains(&core(claim)), "{} cut at {length}: {claim:?}", fixture.name);
            }
            fio().phases(&fixture.command, &output, &cut, &Activity::default());
        }
    }
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "--(name|rw|bs|size|numjobs|loops|filename|runtime|nrfiles|io_size)=[0-9a-z%:,]{0,12}",
        "--(time_based|group_reporting|stonewall|thread|minimal|output|section)",
        "[0-9]{1,24}[kmgKMG]?",
        ".{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(
        stdout: Vec<u8>,
        stderr: Vec<u8>,
        argv in prop::collection::vec(argument(), 0..8),
    ) {
        let command = CommandLine { argv: [vec!["fio".to_owned()], argv].concat(), cwd: "/".to_owned() };
        let output = ToolOutput { stdout, stderr, files: Vec::new() };
        let parsed = fio().parse(&command, &output, None);
        fio().phases(&command, &output, &parsed, &Activity::default());
        fio().plan(&command, &[]);
    }

    #[test]
    fn garbled_reports_are_read_without_panic_and_claim_finite_figures(
        which in 0_usize..30,
        at in 0.0_f64..1.0,
        length in 0_usize..40,
        garbage in "[-0-9a-z{}\"\\[\\],.:;%= \n]{0,20}",
    ) {
        let all = fixtures();
        let fixture = &all[which % all.len()];
        let mut stdout = fixture.output.stdout.clone();
        let begin = (stdout.len() as f64 * at) as usize;
        let end = (begin + length).min(stdout.len());
        stdout.splice(begin..end, garbage.bytes());
        let output = ToolOutput { stdout, ..fixture.output.clone() };
        let parsed = fio().parse(&fixture.command, &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value >= 0.0, "{claim:?}");
            prop_assert!(claim.resolution.is_finite() && claim.resolution >= 0.0, "{claim:?}");
        }
        fio().phases(&fixture.command, &output, &parsed, &Activity::default());
    }

    #[test]
    fn any_report_for_people_is_read_without_panic(
        lines in prop::collection::vec(
            "  (read|write|trim) ?: (IOPS|io)=[0-9.kM]{0,400}, (BW|bw)=[0-9.]{0,9}(KiB|MB|)/s.{0,30}| {4}(slat|clat|lat) \\((nsec|usec|msec)\\): .{0,9}avg=[0-9. ]{0,9}| {5}\\| 50.00th=\\[[ 0-9]{0,30}\\],.{0,9}|Run status group|.{0,40}",
            0..12,
        ),
    ) {
        let stdout = format!("a: (groupid=0, jobs=1): err= 0: pid=1: now\n{}\n", lines.join("\n")).into_bytes();
        let output = ToolOutput { stdout, ..ToolOutput::default() };
        let parsed = fio().parse(&CommandLine::default(), &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value >= 0.0);
        }
    }
}
