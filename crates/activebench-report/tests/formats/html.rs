//! `html`: its content for every sample, its well-formedness, and that it is self-contained.

use std::collections::BTreeSet;

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::claim::Metric;
use activebench_model::fact::Completeness;
use activebench_model::host::{ABOVE, Layer};
use activebench_model::remedy::{Advised, Applied, Beside, Left, Side, SideBySide};
use activebench_model::report::JudgedRun;
use activebench_model::timeline::{LatencyBucket, OffsetMap, Timeline, TimelineFigure};
use activebench_model::verdict::ClaimVerdict;
use scraper::{ElementRef, Html as Document, Selector};

use crate::{parts, samples, timelines};

fn render(run: &JudgedRun) -> String {
    samples::of_run("html", run)
}

fn select<'a>(document: &'a Document, selector: &str) -> Vec<ElementRef<'a>> {
    document.select(&Selector::parse(selector).expect("a selector")).collect()
}

fn words(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the visible text, one line per element, with the name of the element.
pub(crate) fn outline(report: &str) -> String {
    const BLOCKS: &str = "h1, h2, h3, h4, p, li, tr, dt, dd, summary, figcaption, .box, svg.chart > title";
    let document = Document::parse_document(report);
    let mut lines = String::new();
    for element in select(&document, BLOCKS) {
        if element.select(&Selector::parse(BLOCKS).expect("a selector")).next().is_some() {
            continue;
        }
        let name = element.value().name();
        let said = if name == "tr" {
            let cells = element.child_elements().map(words);
            cells.collect::<Vec<_>>().join(" | ")
        } else {
            words(element)
        };
        lines.push_str(&format!("{name}: {said}\n"));
    }
    lines
}

/// Checks properties of every report.
pub(crate) fn check(report: &str) {
    let document = Document::parse_document(report);
    assert_eq!(document.errors, Vec::<String>::new(), "the parser corrects nothing");
    let all = select(&document, "*");

    let ids: Vec<&str> = all.iter().filter_map(|element| element.value().id()).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "ids are unique: {ids:?}");

    for element in &all {
        let value = element.value();
        assert!(!["script", "link", "iframe", "object", "embed", "base", "form", "img"].contains(&value.name()));
        for (name, text) in value.attrs() {
            assert!(!name.starts_with("on") && name != "style" && name != "src" && name != "srcset", "{name}={text}");
            if matches!(name, "href" | "xlink:href") {
                let target = text.strip_prefix('#').unwrap_or_else(|| panic!("{text} leaves the file"));
                assert!(known.contains(target), "#{target} leads nowhere");
            }
            if matches!(name, "aria-labelledby" | "aria-describedby") {
                assert!(known.contains(text), "{name}={text} names nothing");
            }
        }
        match value.name() {
            "th" => assert!(value.attr("scope").is_some(), "{}", element.html()),
            "svg" if value.attr("aria-hidden") != Some("true") => {
                assert_eq!(value.attr("role"), Some("img"));
                let title = element.child_elements().find(|child| child.value().name() == "title");
                assert!(!words(title.expect("a chart has a title")).is_empty());
                let label = value.attr("aria-labelledby").expect("a chart has a name");
                assert!(known.contains(label));
            }
            _ => {}
        }
    }
    let style: String = select(&document, "style")[0].text().collect();
    assert!(!style.contains("url(") && !style.contains("@import"), "the style sheet fetches nothing");

    assert_eq!(select(&document, "html[lang=en]").len(), 1);
    for landmark in ["main", "h1", "body > header", "nav[aria-label]", "body > footer"] {
        assert_eq!(select(&document, landmark).len(), 1, "{landmark}");
    }
    let policy = select(&document, "meta[http-equiv=Content-Security-Policy]");
    let policy = policy[0].value().attr("content").expect("a policy");
    assert_eq!(policy, "default-src 'none'; style-src 'unsafe-inline'; img-src data:");

    let mut last = 1;
    for heading in select(&document, "h1, h2, h3, h4, h5, h6") {
        let level: u32 = heading.value().name()[1..].parse().expect("a level");
        assert!(level <= last + 1, "no level is left out before: {}", words(heading));
        last = level;
    }
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        let report = render(&run);
        check(&report);
        insta::assert_snapshot!(name, outline(&report));
    }
}

#[test]
fn a_whole_page() {
    let report = render(&samples::misleading());
    let (before, rest) = report.split_once("<style>").expect("a style sheet");
    let (_, after) = rest.split_once("</style>").expect("its end");
    // One line per block, so that a changed snapshot is readable.
    let page = format!("{before}<style>...</style>{after}");
    let lines =
        ["<section", "<h2", "<h3", "<h4", "<p", "<figure", "<svg class=\"chart", "<path", "<text", "<tr", "<li", "<d"];
    let broken = lines.iter().fold(page, |page, start| page.replace(start, &format!("\n{start}")));
    insta::assert_snapshot!("whole_page", broken);
}

#[test]
fn every_claim_stands_with_its_verdict() {
    for (name, run) in samples::all() {
        let document = Document::parse_document(&render(&run));
        let rows = select(&document, "table.claims tbody tr");
        assert_eq!(rows.len(), run.parsed.claims.len(), "{name}");
        let mut shown: Vec<String> = rows
            .iter()
            .map(|row| words(row.select(&Selector::parse(".tag").expect("a selector")).next().expect("a verdict")))
            .collect();
        let mut expected: Vec<&str> = run.judged.iter().map(|judged| judged.verdict().words()).collect();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected, "{name}");
    }
}

/// The answer is in the header: each figure with both values, the command, and the environment.
#[test]
fn the_first_screen_has_figures_command_and_environment() {
    let mut run = samples::misleading();
    run.advised = Ok(Advised {
        argv: ["iozone", "-e", "a b"].map(str::to_owned).to_vec(),
        answers: "sequential write, fsync included".into(),
        seconds: Some(29.6),
        applied: vec![Applied { codes: vec!["AB302".into()], change: "added `-e`".into() }],
        left: Vec::new(),
    });
    let report = render(&run);
    check(&report);
    let document = Document::parse_document(&report);
    let rows: Vec<String> = select(&document, "header table.bars tbody th[scope=row]").into_iter().map(words).collect();
    assert_eq!(rows, ["write", "rewrite"]);
    let [command] = select(&document, "header .copied code")[..] else { panic!("one command") };
    assert_eq!(words(command), "activebench verify -- iozone -e 'a b'");
    assert!(report.contains("about 30 s"));
    // A ceiling is a line of its figure's bar, and not known is hatched.
    assert_eq!(select(&document, "svg.bar > line.ceiling").len(), 2);
    let labels: Vec<String> = select(&document, "header .strip dt").into_iter().map(words).collect();
    for label in ["Device", "Model", "Serial number", "File system", "Kernel", "Tool", "Date", "Run", "Signature"] {
        assert!(labels.iter().any(|known| known == label), "{labels:?}");
    }
    let cached = render(&samples::cached());
    assert_eq!(cached.matches("fill=\"url(#hatch)\"").count(), 3, "two figures and the legend");
}

#[test]
fn failures_are_open_and_each_finding_leads_to_its_evidence() {
    let document = Document::parse_document(&render(&samples::cached()));
    let open: Vec<String> =
        select(&document, "#findings > .columns > div > article > h3").into_iter().map(words).collect();
    assert!(open.iter().any(|title| title.contains("AB201")), "{open:?}");
    assert!(open.iter().all(|title| title.starts_with("fail")), "{open:?}");
    for finding in select(&document, "article.finding") {
        let link = finding.select(&Selector::parse("p.evidence a").expect("a selector")).next();
        assert!(link.is_some(), "{}", words(finding));
    }
}

#[test]
fn every_chart_of_the_timeline_is_drawn_or_told() {
    let document = Document::parse_document(&render(&samples::misleading()));
    let titles: Vec<String> = select(&document, "#phase-1 svg.chart > title").into_iter().map(words).collect();
    assert_eq!(
        titles,
        [
            "Calls of write over time",
            "Device of write over time",
            "Page cache of write over time",
            "Dirty pages of the host of write over time",
            "Where the threads' time went in write",
            "Offsets of write in /mnt/bench/iozone.tmp over time",
            "Latency of calls of write",
        ]
    );
    // A missing chart has a reason.
    let told: Vec<String> = select(&document, "#phase-1 > p").into_iter().map(words).collect();
    for sentence in [
        "Queue depth at the device: not known: the device takes bios, no requests.",
        "Latency at the device: not known: the device takes bios, no requests.",
    ] {
        assert!(told.iter().any(|line| line == sentence), "{told:#?}");
    }
    // The sentence of a chart replaces the picture for those who cannot see it, and is beside it for everybody.
    for chart in select(&document, "svg.chart") {
        let described = chart.value().attr("aria-describedby").expect("a description");
        let said = words(select(&document, &format!("#{described}"))[0]);
        let figure = chart.ancestors().filter_map(ElementRef::wrap).find(|above| above.value().name() == "figure");
        assert!(words(figure.expect("a figure")).contains(&said), "{said}");
    }
}

#[test]
fn text_of_the_tool_makes_no_markup() {
    let report = render(&samples::hostile("\"'><script>alert(1)</script><b onclick=x></title></style></svg>&lt;"));
    check(&report);
    let document = Document::parse_document(&report);
    let plain = select(&document, "b[onclick]");
    assert!(plain.is_empty());
    assert!(report.contains("&lt;script&gt;"), "it is shown as it is");
}

#[test]
fn of_many_phases_those_with_findings_are_drawn() {
    let mut run = samples::many_claims();
    run.timelines =
        run.phases.iter().map(|phase| timelines::random(&phase.id, phase.window.expect("a window").start_ns)).collect();
    let report = render(&run);
    check(&report);
    let document = Document::parse_document(&report);
    let drawn: Vec<String> = select(&document, "section.phase > h3").into_iter().map(words).collect();
    assert_eq!(drawn.len(), 12);
    for finding in &run.findings {
        assert!(drawn.iter().any(|name| Some(name) == finding.phase.as_ref()), "{:?}", finding.phase);
    }
    assert_eq!(select(&document, "#phases-without-charts > .wide tbody tr").len(), run.phases.len() - drawn.len());
    // Twelve phases of random access to four files each are the maximum.
    assert!(report.len() < 3 << 20, "{} bytes", report.len());
}

#[test]
fn a_normal_report_is_small() {
    let report = render(&samples::cached());
    assert!(report.len() < 100_000, "{} bytes", report.len());
}

/// The report is complete for any time series, and reports what is not drawn.
#[test]
fn odd_timelines_break_nothing() {
    let odd = |change: &dyn Fn(&mut Timeline)| {
        let mut run = samples::misleading();
        run.timelines.iter_mut().for_each(change);
        let report = render(&run);
        check(&report);
        assert!(report.contains("id=\"the-tool-s-own-words\""), "the end is there");
        report
    };
    let fill = |timeline: &mut Timeline, value: Option<f64>| {
        let steps = timeline.steps;
        timeline.series.iter_mut().for_each(|series| {
            series.completeness = Completeness::Complete;
            series.values = vec![value; steps];
        });
    };
    let without = odd(&|timeline| timeline.steps = 0);
    assert!(without.contains("Phases without charts here"));
    odd(&|timeline| timeline.step_ns = 0);
    odd(&|timeline| timeline.series.clear());
    odd(&|timeline| timeline.maps.clear());
    odd(&|timeline| timeline.steps = 7);
    for value in [None, Some(0.0), Some(-1.0), Some(1e-300), Some(1e300), Some(f64::NAN), Some(f64::INFINITY)] {
        odd(&|timeline| fill(timeline, value));
    }
    odd(&|timeline| (timeline.start_ns, timeline.step_ns) = (u64::MAX - 5, u64::MAX));
    odd(&|timeline| timeline.syncs.iter_mut().for_each(|sync| (sync.start_ns, sync.end_ns) = (u64::MAX, 0)));
    let bucket = |from_ns, to_ns, count| LatencyBucket { from_ns, to_ns, count };
    for bucket in [bucket(0, 0, 1), bucket(5, 2, 3), bucket(0, u64::MAX, u64::MAX), bucket(7, 7, 7)] {
        odd(&|timeline| {
            timeline.latencies.iter_mut().for_each(|histogram| {
                histogram.completeness = Completeness::Complete;
                histogram.buckets = vec![bucket];
            })
        });
    }
    let map = |row_bytes, column_steps, hits| OffsetMap {
        file: FileId { s_dev: DeviceNumber::new(7, 0).0, ino: 1 },
        name: None,
        row_bytes,
        column_steps,
        hits,
    };
    for map in [
        map(0, 0, vec![vec![1]]),
        map(u64::MAX, usize::MAX, vec![vec![1, u64::MAX], vec![]]),
        map(1, 1, vec![Vec::new(); 3]),
        map(4096, 1, vec![vec![1; 500]; 500]),
    ] {
        odd(&|timeline| timeline.maps = vec![map.clone()]);
    }
}

#[test]
fn a_series_that_is_cut_short_is_not_drawn() {
    let mut run = samples::misleading();
    for series in &mut run.timelines[0].series {
        if series.name == TimelineFigure::CallWriteRate {
            series.values.pop();
        }
    }
    let document = Document::parse_document(&render(&run));
    let titles: Vec<String> = select(&document, "#phase-1 svg.chart > title").into_iter().map(words).collect();
    assert!(!titles.iter().any(|title| title.starts_with("Calls")), "{titles:?}");
}

#[test]
fn the_stack_is_a_tree() {
    let mut run = samples::verified();
    let target = &mut run.manifest.host.targets[0];
    target.fs_type = "btrfs".into();
    let member = |name: &str, kind: &str, above: &str| Layer {
        name: name.into(),
        kind: kind.into(),
        backing_file: None,
        loop_direct_io: None,
        attributes: [(ABOVE.to_owned(), above.to_owned())].into(),
        ..parts::host().targets[0].layers[0].clone()
    };
    target.layers = vec![
        member("sda1", "partition", "btrfs"),
        member("sda", "scsi", "sda1"),
        member("sdb", "scsi", "btrfs"),
        // A layer that claims to be below itself or below an unknown layer is shown below the file system.
        member("sdc", "scsi", "sdc"),
    ];
    let document = Document::parse_document(&render(&run));
    let under = |path: &str| select(&document, path).into_iter().map(words).collect::<Vec<_>>();
    let top = under("figure.stack > ul > li > ul > li > .box > b");
    assert_eq!(top, ["sda1", "sdb", "sdc"]);
    assert_eq!(under("figure.stack > ul > li > ul > li > ul > li > .box > b"), ["sda"]);
}

#[test]
fn a_run_with_the_advice_is_the_last_part_of_the_page() {
    let side = |verdict, honest: Option<f64>| Side {
        claimed: parts::kib_rate(3_273_804.0),
        honest: honest.map(parts::kib_rate),
        verdict,
    };
    let hostile = "<b>\u{1b}[31m`-e -c`";
    let sides = SideBySide {
        as_given: samples::misleading(),
        with_advice: samples::verified(),
        advised: Advised {
            argv: samples::verified().manifest.command.argv,
            answers: "sequential write, fsync included".into(),
            seconds: Some(10.0),
            applied: vec![Applied { codes: vec!["AB302".into()], change: format!("added {hostile}") }],
            left: vec![Left { code: "AB404".into(), why: "no option fixes it".into() }],
        },
        figures: vec![Beside {
            phase: "write".into(),
            metric: Metric::Throughput,
            as_given: side(ClaimVerdict::Misleading, Some(434_921.0)),
            with_advice: Some(side(ClaimVerdict::Confirmed, None)),
            why: None,
        }],
        holding: 1,
    };
    let report = samples::rendered("html", &sides);
    check(&report);
    assert!(!report.contains('\u{1b}'));
    let document = Document::parse_document(&report);
    let last = select(&document, "main > section:last-child");
    let said = outline(&last[0].html());
    insta::assert_snapshot!("with_the_advice", said);
}
