//! Parsers of the measured tools' outputs for one figure: nanoseconds per call.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

/// Field of bonnie++'s CSV with the per-character output rate, by format.
const PUTC_FIELDS: &[(&str, usize)] = &[("1.98", 9), ("1.97", 7), ("1.96", 7)];

/// Returns the figure from the line of `activebench __workload preads`.
///
/// # Errors
/// When the line is missing.
pub(crate) fn preads_ns_per_call(output: &str) -> Result<f64> {
    let document: Value = serde_json::from_str(output.trim()).context("cannot read the loop's line")?;
    positive(document["ns_per_call"].as_f64(), "ns_per_call")
}

/// Returns the figure from fio's JSON: the run time of its one reading job over its completed reads.
///
/// # Errors
/// When fio reports an error, or its run time or number of reads is not positive.
pub(crate) fn fio_ns_per_call(output: &str) -> Result<f64> {
    // Notes of fio may precede the document.
    let start = output.find('{').context("fio printed no JSON")?;
    let document: Value = serde_json::from_str(&output[start..]).context("cannot read fio's JSON")?;
    let job = &document["jobs"][0];
    if let Some(error) = job["error"].as_i64()
        && error != 0
    {
        bail!("fio's job ended with error {error}");
    }
    let runtime_ms = positive(job["read"]["runtime"].as_f64(), "runtime")?;
    let reads = positive(job["read"]["total_ios"].as_f64(), "total_ios")?;
    Ok(runtime_ms * 1e6 / reads)
}

/// Returns the median time of fio's reads, from the histogram of `json+`; `None` without one.
///
/// Between two runs the mean of reads from a device scatters with its few slowest reads, but the median hardly does. A
/// bin of the histogram is at most 1/64 wide (axboe/fio, stat.h). That is more than the differences of interest, so the
/// median is interpolated inside its bin.
pub(crate) fn fio_median_ns(output: &str) -> Option<f64> {
    let document: Value = serde_json::from_str(&output[output.find('{')?..]).ok()?;
    let bins = document["jobs"][0]["read"]["clat_ns"]["bins"].as_object()?;
    let mut bins: Vec<(u64, u64)> =
        bins.iter().map(|(ns, count)| Some((ns.parse().ok()?, count.as_u64()?))).collect::<Option<_>>()?;
    bins.sort_unstable();
    let half = bins.iter().map(|(_, count)| count).sum::<u64>() as f64 / 2.0;
    let mut before = 0.0;
    for (ns, count) in bins {
        let count = count as f64;
        if before + count >= half && count > 0.0 {
            let (start, width) = bin_of(ns);
            return Some(start as f64 + width as f64 * (half - before) / count);
        }
        before += count;
    }
    None
}

/// Returns the start and the width of the bin with this middle: 64 bins between two powers of two, 1 ns below 128.
fn bin_of(ns: u64) -> (u64, u64) {
    let width = 1 << (64 - ns.leading_zeros()).saturating_sub(7);
    (ns / width * width, width)
}

/// Returns the time of one character from bonnie++'s CSV line, which has a rate in KiB/s.
///
/// # Errors
/// When there is no such line, its format is not known, or the phase was too short for a figure.
pub(crate) fn bonnie_ns_per_character(output: &str) -> Result<f64> {
    let line = output.lines().rfind(|line| line.contains(',')).context("bonnie++ printed no CSV line")?;
    let fields: Vec<&str> = line.split(',').collect();
    let format = fields[0];
    let Some((_, index)) = PUTC_FIELDS.iter().find(|(known, _)| *known == format) else {
        bail!("bonnie++'s CSV format {format} is not known");
    };
    let field = fields.get(*index).copied().unwrap_or_default();
    if field.starts_with('+') {
        bail!("bonnie++ gives no figure for a phase under half a second");
    }
    let rate = positive(field.parse().ok(), "the per-character rate")?;
    Ok(1e9 / (rate * 1024.0))
}

fn positive(value: Option<f64>, name: &str) -> Result<f64> {
    value.filter(|value| value.is_finite() && *value > 0.0).with_context(|| format!("{name} is missing or not above 0"))
}

/// Counts of the records of one observed run, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Records {
    /// Records of calls that the kernel side made.
    pub(crate) calls_made: u64,
    /// Records of calls that arrived.
    pub(crate) calls_received: u64,
    /// Records of every class that were lost.
    pub(crate) lost: u64,
}

impl Records {
    /// Reads the counts from `run.json` of a run directory.
    ///
    /// # Errors
    /// When the counts are missing: without them the loss is unknown.
    pub(crate) fn read(manifest: &str) -> Result<Records> {
        let document: Value = serde_json::from_str(manifest).context("cannot read the run's manifest")?;
        let classes = document["coverage"]["records"].as_object().context("the manifest has no account of records")?;
        let number = |class: &Value, name: &str| {
            class[name].as_u64().with_context(|| format!("the account of records lacks {name}"))
        };
        let calls = classes.get("calls").context("the manifest has no account of calls")?;
        let mut records =
            Records { calls_made: number(calls, "made")?, calls_received: number(calls, "received")?, lost: 0 };
        for class in classes.values() {
            records.lost += number(class, "lost")?;
        }
        Ok(records)
    }

    /// Adds another run's account.
    pub(crate) fn add(&mut self, other: Records) {
        self.calls_made += other.calls_made;
        self.calls_received += other.calls_received;
        self.lost += other.lost;
    }
}

/// The observer's own figures on its cost, over one run or several. Unlike the difference of two runs they do not
/// scatter. But they exclude the cost of a hook outside its program: the entry and the exit, and the tool's cache lines
/// that it evicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OwnAccount {
    /// Wall time of the observed commands.
    pub(crate) run_ns: u64,
    /// Run time of the kernel programs in them, the sum over all CPUs; `None` when one run did not measure it.
    pub(crate) bpf_run_ns: Option<u64>,
    /// CPU time of our own process in them; `None` when one run did not measure it.
    pub(crate) observer_cpu_ns: Option<u64>,
}

impl OwnAccount {
    /// Reads the figures from `run.json` of a run directory.
    ///
    /// # Errors
    /// When the length of the run is missing.
    pub(crate) fn read(manifest: &str) -> Result<OwnAccount> {
        let document: Value = serde_json::from_str(manifest).context("cannot read the run's manifest")?;
        let overhead = &document["coverage"]["overhead"];
        Ok(OwnAccount {
            run_ns: overhead["run_ns"].as_u64().context("the manifest does not say how long the run was")?,
            bpf_run_ns: overhead["bpf_run_ns"].as_u64(),
            observer_cpu_ns: overhead["observer_cpu_ns"].as_u64(),
        })
    }

    /// Returns the sum of this account and another run's.
    pub(crate) fn and(self, other: OwnAccount) -> OwnAccount {
        let sum = |left: Option<u64>, right: Option<u64>| Some(left? + right?);
        OwnAccount {
            run_ns: self.run_ns + other.run_ns,
            bpf_run_ns: sum(self.bpf_run_ns, other.bpf_run_ns),
            observer_cpu_ns: sum(self.observer_cpu_ns, other.observer_cpu_ns),
        }
    }

    /// Returns the kernel programs' run time as a share of the runs; `None` when it was not measured.
    pub(crate) fn bpf_share(self) -> Option<f64> {
        Some(self.bpf_run_ns? as f64 / self.run_ns as f64).filter(|share| share.is_finite())
    }

    /// Returns our process's CPU time as a share of the runs; `None` when it was not measured.
    pub(crate) fn observer_share(self) -> Option<f64> {
        Some(self.observer_cpu_ns? as f64 / self.run_ns as f64).filter(|share| share.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Result<f64>, expected: Result<f64, &str>) {
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert!((found - expected).abs() < 0.01, "{found}, expected {expected}"),
            (Err(error), Err(part)) => assert!(format!("{error:#}").contains(part), "{error:#} lacks {part:?}"),
            (found, expected) => panic!("{found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn the_loop_says_what_a_call_took() {
        let line = r#"{"calls":1000000,"elapsed_ns":393059106,"ns_per_call":393.059106}"#;
        check(preads_ns_per_call(&format!("{line}\n")), Ok(393.06));
        check(preads_ns_per_call(""), Err("cannot read"));
        check(preads_ns_per_call(&line[..30]), Err("cannot read"));
        check(preads_ns_per_call(r#"{"ns_per_call":0}"#), Err("ns_per_call"));
    }

    #[test]
    fn fio_counts_reads_in_its_run_time() {
        let document = |error: i64, runtime: u64, reads: u64| {
            format!(
                r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":"r","error":{error},
                "read":{{"io_bytes":89522176,"runtime":{runtime},"total_ios":{reads}}}}}]}}"#
            )
        };
        check(fio_ns_per_call(&document(0, 1001, 21_856)), Ok(45_799.78));
        check(fio_ns_per_call(&format!("note: something\n{}", document(0, 1000, 1000))), Ok(1e6));
        check(fio_ns_per_call(&document(22, 1001, 21_856)), Err("error 22"));
        check(fio_ns_per_call(&document(0, 0, 0)), Err("runtime"));
        check(fio_ns_per_call(&document(0, 10, 0)), Err("total_ios"));
        check(fio_ns_per_call("fio: engine io_uring not loadable\n"), Err("no JSON"));
    }

    #[test]
    fn the_median_lies_inside_of_a_bin() {
        let output = |bins: &str| format!(r#"{{"jobs":[{{"read":{{"clat_ns":{{"bins":{{{bins}}}}}}}}}]}}"#);
        #[track_caller]
        fn check(output: &str, expected: Option<f64>) {
            assert_eq!(fio_median_ns(output), expected, "{output}");
        }
        // Bins of 512 ns begin at 39,424 and 39,936; JSON sorts their keys as text.
        check(&output(r#""40192": 60, "39680": 40, "100352": 0"#), Some(39_936.0 + 512.0 * 10.0 / 60.0));
        check(&output(r#""39680": 100"#), Some(39_424.0 + 256.0));
        check(&output(r#""90": 4"#), Some(90.5));
        check(&output(""), None);
        check(r#"{"jobs":[{"read":{"clat_ns":{}}}]}"#, None);
        check("no JSON", None);
    }

    /// The line of 2.00a is real; that of 1.97 is made up from its list of fields.
    #[test]
    fn bonnie_gives_a_rate_of_characters() {
        let of_2_00a = "1.98,2.00a,vm,1,1795234839,8M,,8192,5,3578,99,+++++,+++,+++++,+++,5562,99,+++++,+++,+++++,\
                        +++,,,,,,,,,,,,,,,,,,3013us,72us,7us,1673us,34us,3359us,,,,,,";
        check(bonnie_ns_per_character(of_2_00a), Ok(272.93));
        check(bonnie_ns_per_character(&of_2_00a.replace(",3578,", ",+++++,")), Err("half a second"));
        check(bonnie_ns_per_character(&of_2_00a.replace(",3578,", ",,")), Err("missing"));
        check(bonnie_ns_per_character("1.97,1.97,vm,1,1437498274,8M,,1024,99,138838,12"), Ok(953.67));
        check(bonnie_ns_per_character("vm,1G,1024,99"), Err("format vm"));
        check(bonnie_ns_per_character("1.98,2.00a"), Err("missing"));
        check(bonnie_ns_per_character(""), Err("no CSV"));
    }

    #[test]
    fn a_share_that_one_run_did_not_measure_is_unknown_of_all() {
        let read = |text: &str| OwnAccount::read(text).expect("an account");
        let whole = read(r#"{"coverage":{"overhead":{"run_ns":1000,"bpf_run_ns":4,"observer_cpu_ns":10}}}"#);
        let part = read(r#"{"coverage":{"overhead":{"run_ns":3000,"bpf_run_ns":null,"observer_cpu_ns":10}}}"#);
        assert_eq!((whole.bpf_share(), whole.observer_share()), (Some(0.004), Some(0.01)));
        let both = whole.and(part);
        assert_eq!((both.run_ns, both.bpf_share(), both.observer_share()), (4000, None, Some(0.005)));
        assert!(OwnAccount::read(r#"{"coverage":{}}"#).is_err());
    }

    #[test]
    fn records_are_accounted_over_all_classes() {
        let manifest = r#"{"coverage":{"records":{
            "calls":{"made":1001067,"received":1001060,"lost":7,"inferred":0},
            "block":{"made":20,"received":18,"lost":2}}}}"#;
        let expected = Records { calls_made: 1_001_067, calls_received: 1_001_060, lost: 9 };
        assert_eq!(Records::read(manifest).expect("an account"), expected);
        let mut sum = expected;
        sum.add(expected);
        assert_eq!(sum, Records { calls_made: 2_002_134, calls_received: 2_002_120, lost: 18 });
        for damaged in ["", "{}", r#"{"coverage":{"records":{}}}"#, r#"{"coverage":{"records":{"calls":{}}}}"#] {
            assert!(Records::read(damaged).is_err(), "{damaged}");
        }
    }
}
