//! A run of a day stays within its bounds, and its report says from when on only sums were kept.

#[path = "../benches/long_run/day.rs"]
mod day;
#[path = "../benches/judging/heap.rs"]
mod heap;

use activebench_model::fact::FactName;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::{FORMATS, Format, Style};

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

/// Bytes of a small log: a quarter of a second of calls.
const LIMIT_BYTES: u64 = 1 << 20;

// One test: the peak of the heap is the whole process's.
#[test]
fn a_day_stays_within_its_bounds_and_says_from_when_on_it_has_only_sums() {
    let mut of_sizes = Vec::new();
    for calls_after_cut in [500_000, 1_000_000, 2_000_000] {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("run");
        let (day, recorded_bytes) = heap::peak_of(|| day::record(&directory, LIMIT_BYTES, calls_after_cut));
        assert!(day.packed_bytes < 2 * LIMIT_BYTES, "{} bytes of log", day.packed_bytes);
        assert!(day.directory_bytes < 6 * LIMIT_BYTES, "{} bytes in the run directory", day.directory_bytes);
        assert!(recorded_bytes < 64 << 20, "{recorded_bytes} bytes while recording");

        let ((run, reports), judged_bytes) = heap::peak_of(|| {
            let run = day::judge(&directory);
            let report = |format: &&Format| {
                let mut report = Vec::new();
                format.write(&run, Style::default(), &mut report).expect("memory");
                (format.name, String::from_utf8_lossy(&report).split_whitespace().collect::<Vec<_>>().join(" "))
            };
            let reports: Vec<_> = FORMATS.iter().map(report).collect();
            (run, reports)
        });
        assert!(judged_bytes < 64 << 20, "{judged_bytes} bytes while judging");

        // The sums go on to the last call.
        let reads = (day.calls as f64, (day.calls * 4096) as f64);
        let of_run = |name| run.run_facts.complete(name);
        assert_eq!((of_run(FactName::ReadCalls), of_run(FactName::ReadBytes)), (Ok(reads.0), Ok(reads.1)));

        // The job that was over before the cut is judged, the other one is not.
        let lost = run.findings.iter().find(|finding| finding.code == "AB902").expect("the detector speaks");
        let after = activebench_model::units::Quantity::ns(day.cut_after_ns);
        let says = format!("The log of single I/Os was cut {after} after the start");
        assert!(lost.message.sentence().starts_with(&says), "{}", lost.message.sentence());
        for (name, report) in reports.iter().filter(|(name, _)| matches!(*name, "text" | "json" | "markdown" | "html"))
        {
            assert!(report.contains(&says), "{name}: {report}");
        }
        assert_eq!(run.verdict, RunVerdict::Inconclusive);
        for claim in &run.parsed.claims {
            let is_long = claim.phase.contains("long");
            let verdict = run.judged.iter().find(|judged| judged.claim == claim.id).expect("judged").verdict();
            assert_eq!(lost.claims.contains(&claim.id), is_long, "{}", claim.id);
            assert_eq!(verdict == ClaimVerdict::Unverifiable, is_long, "{} is {verdict:?}", claim.id);
        }
        of_sizes.push((day.before_cut, day.packed_bytes, day.directory_bytes >> 12));
    }
    // Nothing but the sums depends on the calls after the cut.
    for of_size in &of_sizes {
        assert_eq!(of_size, &of_sizes[0]);
    }
}
