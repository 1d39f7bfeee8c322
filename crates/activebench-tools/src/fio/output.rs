//! Converts fio's output to claims.

use activebench_model::claim::{
    Claim, Contradiction, Metric, Note, Parsed, Printed, Restated, SourceLine, Subject, UnmatchedNumber,
};
use activebench_model::output::ToolOutput;
use activebench_model::units::{Quantity, Unit};

use super::engine::{self, Kind};
use super::entries::{self, Paired};
use super::filter::sections;
use super::jobs::{Setup, last_component};
use super::normal_numbers::KILOBYTE;
use super::options::{Answer, JobOptions};
use super::report::{
    Directed, Entry, Figure, Head, Latencies, Report, Unread, Way, percentile_resolution, rate_resolution,
};
use super::{json, normal, subject, terse};

/// The reports read from the output, before any claim is made.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The report that claims are made from.
    pub(super) report: Report,
    /// The same report for people, if claims are made from another one.
    pub(super) restated: Option<Report>,
    /// The summaries of the groups beside the entries; empty where the claims are made from them, and where jobs may be
    /// missing from the entries.
    pub(super) summaries: Vec<Entry>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Vec<Note>,
}

/// What is said of figures whose job is not known: jobs are missing then.
const ORPHANS: &str = "figures behind a line that names no job, or only a part of it: they are not claimed";

/// Reads everything that fio wrote.
pub(super) fn read(setup: &Setup, output: &ToolOutput) -> Read {
    let mut read = Read::default();
    let (mut of_json, mut of_terse, mut of_people) = (None, None, None);
    let mut groups = Vec::new();
    let kilobyte = kilobyte(setup);
    let mut heads: Vec<(String, Head)> = Vec::new();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let written = setup.command.output.as_deref().and_then(|name| {
        let same = |file: &&activebench_model::output::ToolFile| file.name == name;
        let file = output.files.iter().find(same);
        file.or_else(|| output.files.iter().find(|file| file.file_name() == last_component(name)))
    });
    let file = written.map(|file| (String::from_utf8_lossy(&file.bytes), file.name.as_str()));
    let streams = std::iter::once((stdout, "stdout")).chain(file);
    for (text, stream) in streams {
        // The version is before the object, the report for people after it.
        let mut version: Option<String> = None;
        for section in sections(&text) {
            if section.is_object {
                match json::read(&section, stream) {
                    Ok(report) => of_json = Some(report),
                    Err(why) => read.notes.push(Note {
                        source: SourceLine {
                            stream: stream.to_owned(),
                            line: section.first_line,
                            text: "{".to_owned(),
                        },
                        message: format!("the output is not complete JSON and its figures are not claimed: {why}"),
                    }),
                }
                continue;
            }
            read_words(&mut read, section.text, section.first_line, stream);
            if let Some(report) = terse::read(&section, stream) {
                of_terse = Some(report);
            }
            let mut report = normal::read(&section, stream, kilobyte);
            if !report.groups.is_empty() {
                groups = std::mem::take(&mut report.groups);
            }
            if let Some(source) = report.orphans.take() {
                read.notes.push(Note { source, message: ORPHANS.to_owned() });
            }
            version = report.version.clone().or(version);
            heads.extend(report.heads.iter().cloned());
            if !report.entries.is_empty() {
                of_people = Some(Report { version: version.clone(), ..report });
            }
        }
        read.report.version = read.report.version.take().or(version);
    }
    read_words(&mut read, &String::from_utf8_lossy(&output.stderr), 1, "stderr");
    let version = read.report.version.take();
    let is_object = of_json.is_some();
    let of_terse = of_terse.map(|report| the_last(report, setup, &mut groups));
    let mut found = [of_json, of_terse, of_people].into_iter().flatten();
    if let Some(report) = found.next() {
        read.report = report;
        read.restated = found.next_back().filter(|other| other.entries.len() == read.report.entries.len());
    }
    read.report.version = read.report.version.take().or(version);
    name_headless(&mut read, setup);
    let is_whole = is_object || setup.open.is_none() && read.report.entries.len() == setup.entries().len();
    if read.report.entries.is_empty() {
        read.report.entries = groups;
    } else if is_whole && read.notes.iter().all(|note| note.message != ORPHANS) {
        read.summaries = groups;
    }
    if let Some(people) = &read.restated {
        read.report.entries.iter_mut().zip(&people.entries).for_each(|(entry, other)| join(entry, other));
    }
    for entry in &mut read.report.entries {
        let mut of_name = heads.iter().filter(|(name, _)| *name == entry.name).map(|(_, head)| head);
        // Jobs of one name may differ: it is unknown which of them this is.
        entry.head = of_name.next().filter(|first| of_name.all(|other| other == *first)).cloned();
    }
    read
}

/// Returns the bytes of a KB in a report of fio 1 or 2; `None` if its jobs differ in it.
fn kilobyte(setup: &Setup) -> Option<f64> {
    let is_decimal = |job: &&super::jobs::Job| job.options.stated("kb_base") == Some("1000");
    match setup.jobs.iter().filter(is_decimal).count() {
        0 => Some(KILOBYTE),
        count if count == setup.jobs.len() => Some(1000.0),
        _ => None,
    }
}

/// Returns true if all jobs of an entry time their operations, or none does: then its latencies cover all of them.
fn is_timed_alike(paired: &Paired) -> bool {
    const OFF: [&str; 4] = ["gtod_reduce", "disable_lat", "disable_clat", "disable_slat"];
    let mut jobs = paired.jobs.iter().map(|job| OFF.map(|name| job.options.get(name)));
    let first = jobs.next();
    jobs.all(|other| Some(other) == first)
}

/// Returns true if all jobs of an entry wait for each operation, or none does: then their completion latencies mean the
/// same.
fn is_made_alike(paired: &Paired) -> bool {
    let mut waits = paired
        .jobs
        .iter()
        .map(|job| matches!(engine::kind(job.options.engine()), Kind::Synchronous | Kind::Mapped | Kind::Nothing));
    let first = waits.next();
    waits.all(|other| Some(other) == first)
}

/// Moves the combined figures of both directions to [`Way::Mixed`]: terse lines print them as reads if the job asks for
/// one figure of all directions.
fn as_one(entry: &Entry, paired: &Paired) -> Entry {
    let mut entry = entry.clone();
    let asked = matches!(paired.job().map(|job| job.get("unified_rw_reporting")), Some(Answer::Stated("mixed" | "1")));
    if asked && !entry.of(Way::Mixed).is_counted() {
        let both = std::mem::take(entry.of_mut(Way::Read));
        *entry.of_mut(Way::Mixed) = both;
    }
    entry
}

/// Says of which latency the percentiles of a terse line are: of the total one if the job asks for its percentiles, and
/// otherwise of the completion. Leaves them out if that is not known.
fn with_known_percentiles(entry: &Entry, paired: &Paired) -> Entry {
    let mut entry = entry.clone();
    if !entry.is_terse {
        return entry;
    }
    let mut asked = paired.jobs.iter().map(|job| job.options.is_on("lat_percentiles"));
    let of_total = asked.next().unwrap_or(Some(false)).filter(|first| asked.all(|other| other == Some(*first)));
    for directed in &mut entry.directed {
        match of_total {
            Some(false) => {}
            Some(true) => directed.total.percentiles = std::mem::take(&mut directed.completion.percentiles),
            None => directed.completion.percentiles = Default::default(),
        }
    }
    entry
}

/// Names entries after the jobs if numbers and directions identify them; drops the entries otherwise.
fn name_headless(read: &mut Read, setup: &Setup) {
    read.restated = read.restated.take().filter(|report| !report.headless);
    if !read.report.headless {
        return;
    }
    let planned = setup.entries();
    let fits = |(entry, places): (&Entry, &Vec<usize>)| {
        let job = places.first().map(|place| &setup.jobs[*place].options);
        let does = |way| match way {
            Way::Read => job?.reads(),
            Way::Write => job?.writes(),
            Way::Trim => job?.trims(),
            Way::Mixed => Some(!job?.lacks("unified_rw_reporting")),
        };
        Way::ALL.into_iter().all(|way| does(way) == Some(entry.of(way).bandwidth.is_some()))
    };
    let entries = &mut read.report.entries;
    if setup.open.is_none() && planned.len() == entries.len() && entries.iter().zip(&planned).all(fits) {
        for (entry, places) in entries.iter_mut().zip(&planned) {
            entry.name = setup.jobs[places[0]].options.name().to_owned();
        }
        // The part that is present is complete.
        read.report.complete = true;
        return;
    }
    let of_entry = |entry: &Entry| Way::ALL.into_iter().find_map(|way| entry.of(way).bandwidth.clone());
    for figure in entries.drain(..).filter_map(|entry| of_entry(&entry)) {
        let message = "figures without the job that they are of: they are not claimed".to_owned();
        read.notes.push(Note { source: figure.source, message });
    }
}

/// Copies the number of jobs and the process from the report for people, which alone states them.
fn join(entry: &mut Entry, of_people: &Entry) {
    if entry.name == of_people.name {
        entry.jobs = entry.jobs.or(of_people.jobs);
        entry.pid = entry.pid.or(of_people.pid);
    }
}

/// Keeps the last report: terse lines repeat without a header, and each report has one entry per planned entry, of the
/// same names each time. If the jobs were not planned as they ran, it lacks some of them: no summary is compared with it.
fn the_last(mut report: Report, setup: &Setup, summaries: &mut Vec<Entry>) -> Report {
    let expected = setup.entries().len();
    let count = report.entries.len();
    if expected == 0 || count <= expected || !count.is_multiple_of(expected) {
        return report;
    }
    let last = &report.entries[count - expected..];
    let repeats = |part: &[Entry]| part.iter().zip(last).all(|(entry, last)| entry.name == last.name);
    if report.entries.chunks(expected).all(repeats) {
        report.entries.drain(..count - expected);
        summaries.clear();
    }
    report
}

/// Reads lines outside reports: errors and warnings.
fn read_words(read: &mut Read, text: &str, first_line: u64, stream: &str) {
    for (number, line) in (first_line..).zip(text.split_inclusive('\n')) {
        let whole = line.ends_with('\n') || stream == "stderr";
        let line = line.trim_end_matches(['\n', '\r']);
        let words = line.rsplit('\r').next().unwrap_or(line).trim();
        if words.is_empty() || !whole {
            continue;
        }
        let source = SourceLine { stream: stream.to_owned(), line: number, text: line.to_owned() };
        if let Some(rest) = words.strip_prefix("fio: ")
            && !is_remark(rest)
        {
            read.errors.push(Note { source, message: "error of the tool".to_owned() });
        } else if words.starts_with("verify: ") || words.contains(": verify failed at") {
            read.errors.push(Note { source, message: "data differ from what was written".to_owned() });
        } else if stream == "stderr" {
            read.notes.push(Note { source, message: "line on standard error that is not read".to_owned() });
        } else if let Some(message) = remark(words) {
            read.notes.push(Note { source, message: message.to_owned() });
        }
    }
}

/// Returns true if a line that begins with `fio: ` is not an error.
fn is_remark(rest: &str) -> bool {
    ["this platform", "file hash", "zeroes", "terminating on signal", "took too long", "clock setaffinity"]
        .iter()
        .any(|known| rest.starts_with(known))
}

fn remark(words: &str) -> Option<&'static str> {
    if words.starts_with("note: both iodepth >= 1 and synchronous I/O engine") {
        Some("the tool itself says that the queue depth has no effect")
    } else if words.starts_with("WARNING:") || words.starts_with("warning:") {
        Some("warning of the tool")
    } else {
        None
    }
}

/// See [`crate::Adapter::parse`].
pub(super) fn parse(setup: &Setup, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let Read { report, restated, summaries, notes, errors } = read(setup, output);
    let paired = entries::pair(setup, &report.entries);
    let mut claims = Claims {
        parsed: Parsed {
            tool: "fio".to_owned(),
            version: report.version.clone(),
            complete: report.complete,
            notes,
            errors,
            ..Parsed::default()
        },
        chosen,
    };
    for (index, (entry, paired)) in report.entries.iter().zip(&paired).enumerate() {
        let beside = restated.as_ref().and_then(|report| report.entries.get(index));
        claims.of_entry(entry, paired, beside.filter(|other| other.name == entry.name));
    }
    claims.of_unread(report.unread);
    claims.compare_summaries(&summaries, &report.entries, &paired);
    claims.parsed
}

struct Claims {
    parsed: Parsed,
    chosen: Option<Subject>,
}

impl Claims {
    fn of_entry(&mut self, entry: &Entry, paired: &Paired, beside: Option<&Entry>) {
        let entry = &with_known_percentiles(&as_one(entry, paired), paired);
        let beside = beside.map(|other| with_known_percentiles(other, paired));
        let beside = beside.as_ref();
        if let Some((number, source)) = &entry.error {
            let message = format!("error {number} of the job");
            self.parsed.errors.push(Note { source: source.clone(), message });
        }
        for way in Way::ALL {
            let directed = entry.of(way);
            // It repeats the figures of the directions, and fio 3.33 prints zeros there for people.
            if way == Way::Mixed && Way::DIRECTIONS.iter().any(|way| entry.of(*way).is_counted()) {
                continue;
            }
            if directed.happened() {
                self.of_way(entry, paired, way, beside);
            } else if let Some(figure) = directed.operations.as_ref().filter(|_| directed.is_counted()) {
                self.note(figure, "operations without a clock: their figures are not claimed");
            }
        }
        self.of_syncs(entry, paired, beside);
        self.of_processor(entry, paired, beside);
    }

    fn of_way(&mut self, entry: &Entry, paired: &Paired, way: Way, beside: Option<&Entry>) {
        let Directed { bandwidth, bandwidth_again, rate, bytes, operations, runtime_ms, total, completion } =
            entry.of(way);
        let target = Target { paired, way };
        let moved = bytes.as_ref().map(|figure| figure.value as u64);
        let kind = paired.kind();
        let beside = beside.map(|entry| entry.of(way));
        // For an engine that moves no data, fio computes the bytes from the block size.
        let moves = !matches!(kind, Some(Kind::Names(_)));
        if moves {
            let id = self.claim(target, Metric::Throughput, Unit::BytesPerSec, bandwidth.as_ref(), moved);
            let of_the_other = beside.and_then(|other| Some((other.bandwidth.as_ref()?, other.runtime_ms)));
            for again in [bandwidth_again.as_ref().map(|again| (again, *runtime_ms)), of_the_other] {
                self.restate_rate(id.clone(), Unit::BytesPerSec, again);
            }
            self.divide(id, Unit::BytesPerSec, bytes.as_ref(), *runtime_ms);
        } else if let Some(figure) = bandwidth {
            self.note(figure, "the engine moves no data: its bandwidth is not claimed");
        }
        let id = self.claim(target, Metric::OperationRate, Unit::OpsPerSec, rate.as_ref(), moved.filter(|_| moves));
        let of_the_other = beside.and_then(|other| Some((other.rate.as_ref()?, other.runtime_ms)));
        self.restate_rate(id.clone(), Unit::OpsPerSec, of_the_other);
        self.divide(id, Unit::OpsPerSec, operations.as_ref(), *runtime_ms);
        if moves {
            let again = beside.and_then(|other| other.bytes.as_ref());
            self.claim_twice(target, Metric::BytesMoved, bytes.as_ref(), again, moved);
        }
        let again = beside.and_then(|other| other.operations.as_ref());
        self.claim_twice(target, Metric::OperationsDone, operations.as_ref(), again, None);
        if let Some(0..=1) = runtime_ms
            && let Some(figure) = bandwidth
        {
            self.note(figure, "the clock ran for one millisecond, its own step: the rate may be any larger one");
        }
        if !moves {
            return;
        }
        if let Some(figure) = operations.as_ref().filter(|_| !is_timed_alike(paired)) {
            self.note(
                figure,
                "not all jobs of the group take the times of their operations: latencies are not claimed",
            );
            return;
        }
        if let Some(figure) = operations.as_ref().filter(|_| !is_made_alike(paired)) {
            self.note(
                figure,
                "the jobs of the group wait for their operations in different ways: latencies are not claimed",
            );
            return;
        }
        // A latency of 0 was not measured (`gtod_reduce`, `disable_lat`).
        let timed = |latencies: &Latencies| latencies.mean.as_ref().is_none_or(|mean| mean.value > 0.0);
        if !timed(total) {
            return;
        }
        let total_again = beside.map(|other| &other.total);
        let mean_again = total_again.and_then(|other| other.mean.as_ref());
        self.claim_twice(target, Metric::LatencyMean, total.mean.as_ref(), mean_again, None);
        const TOTAL: [Metric; 4] = [Metric::LatencyP50, Metric::LatencyP95, Metric::LatencyP99, Metric::LatencyP999];
        const COMPLETION: [Metric; 4] = [
            Metric::CompletionLatencyP50,
            Metric::CompletionLatencyP95,
            Metric::CompletionLatencyP99,
            Metric::CompletionLatencyP999,
        ];
        if way == Way::Mixed && paired.perhaps_of_one(|job| job.mixes() != Some(false)) {
            if let Some(figure) = operations {
                self.note(figure, "percentiles of reads and writes together are not claimed");
            }
            return;
        }
        let synchronous = matches!(kind, Some(Kind::Synchronous | Kind::Mapped | Kind::Nothing));
        let completion_again = beside.map(|other| &other.completion);
        // A synchronous operation is a single call: the two clocks agree.
        if !synchronous && way != Way::Mixed {
            let again = completion_again.and_then(|other| other.mean.as_ref());
            self.claim_twice(target, Metric::CompletionLatencyMean, completion.mean.as_ref(), again, None);
        }
        let twice = synchronous && total.percentiles.iter().any(Option::is_some);
        if !twice {
            self.percentiles(target, if synchronous { TOTAL } else { COMPLETION }, completion, completion_again);
        }
        self.percentiles(target, TOTAL, total, total_again);
    }

    fn percentiles(
        &mut self,
        target: Target<'_>,
        metrics: [Metric; 4],
        latencies: &Latencies,
        beside: Option<&Latencies>,
    ) {
        for (place, (metric, figure)) in metrics.into_iter().zip(&latencies.percentiles).enumerate() {
            let again = beside.and_then(|other| other.percentiles[place].as_ref());
            let Some(id) = self.claim(target, metric, Unit::Ns, figure.as_ref(), None) else { continue };
            // Both are the middle of one bin of the histogram.
            let of_bin = percentile_resolution(figure.as_ref().map_or(0.0, |figure| figure.value));
            if let Some(again) = again {
                self.restate(id, metric.unit(), again, of_bin);
            }
        }
    }

    fn of_syncs(&mut self, entry: &Entry, paired: &Paired, beside: Option<&Entry>) {
        let Some(syncs) = &entry.syncs else { return };
        let way = Way::Write;
        if !entry.of(way).happened() {
            return self.note(syncs, "syncs without writes are not claimed");
        }
        let target = Target { paired, way };
        // Syncs that fio makes and does not count, and those that are not syncs to the kernel.
        let others = paired.perhaps_of_one(|job| {
            ["end_fsync", "fsync_on_close"].iter().any(|name| job.is_on(name) != Some(false))
                || !job.lacks("sync_file_range")
        });
        if others {
            self.note(syncs, "syncs beside those that are counted: their number and latencies are not claimed");
            return;
        }
        let again = beside.and_then(|other| other.syncs.as_ref());
        self.claim_twice(target, Metric::SyncsDone, Some(syncs), again, None);
        let latencies = &entry.sync_latencies;
        let again = beside.map(|other| &other.sync_latencies);
        let mean_again = again.and_then(|other| other.mean.as_ref());
        self.claim_twice(target, Metric::SyncLatencyMean, latencies.mean.as_ref(), mean_again, None);
        const SYNC: [Metric; 4] =
            [Metric::SyncLatencyP50, Metric::SyncLatencyP95, Metric::SyncLatencyP99, Metric::SyncLatencyP999];
        self.percentiles(target, SYNC, latencies, again);
    }

    /// CPU times cover the job from its start to its end, whatever it did: they are claimed if that is one pass.
    fn of_processor(&mut self, entry: &Entry, paired: &Paired, beside: Option<&Entry>) {
        let happened: Vec<Way> = Way::ALL.into_iter().filter(|way| entry.of(*way).happened()).collect();
        let one_pass = paired.of_each(|job| {
            job.verifies_after() == Some(false)
                && job.seconds_as_ns("ramp_time") == Some(0)
                && job.trims() == Some(false)
                && (happened.len() == 1 || job.mixes() == Some(true))
        });
        let (Some(way), true) = (happened.first(), one_pass) else { return };
        // Helpers make the calls and only the job's own time is counted; or there are no calls.
        let own_calls = |job: &JobOptions| {
            job.engine() != Some("posixaio")
                && (job.is_on("sqthread_poll") == Some(false) || job.engine() != Some("io_uring"))
                && matches!(engine::kind(job.engine()), Kind::Synchronous | Kind::Asynchronous | Kind::Libaio)
        };
        if !paired.of_each(own_calls) {
            return;
        }
        // The figure is the mean over the jobs of a group.
        let Some(jobs) = paired.jobs_of(entry) else { return };
        let target = Target { paired, way: *way };
        // On most machines the kernel samples at its timer ticks how a task's time divides into user and system.
        // Measured on direct reads: 26.9 % of system time reported, 17.4 % actual.
        let both: f64 = [&entry.user, &entry.system].into_iter().flatten().map(|figure| figure.value).sum();
        let sampled = both / 4.0;
        let of_all = |figure: &Figure| Figure {
            value: figure.value * f64::from(jobs),
            resolution: figure.resolution * f64::from(jobs),
            ..figure.clone()
        };
        let sampled = sampled * f64::from(jobs);
        let shares = [
            (Metric::CpuUser, &entry.user, beside.and_then(|other| other.user.as_ref())),
            (Metric::CpuSystem, &entry.system, beside.and_then(|other| other.system.as_ref())),
        ];
        for (metric, figure, again) in shares {
            let Some(mut figure) = figure.as_ref().map(of_all) else { continue };
            figure.resolution += sampled;
            let id = self.claim(target, metric, Unit::Ratio, Some(&figure), None);
            // Both are rounded from one account of the kernel.
            if let (Some(id), Some(again)) = (id, again.map(of_all)) {
                self.restate(id, Unit::Ratio, &Figure { resolution: again.resolution + sampled, ..again }, sampled);
            }
        }
    }

    /// Makes a claim from a figure that another report may repeat: both were computed from the same amounts, so only
    /// their digits differ.
    fn claim_twice(
        &mut self,
        target: Target<'_>,
        metric: Metric,
        figure: Option<&Figure>,
        again: Option<&Figure>,
        claimed_bytes: Option<u64>,
    ) {
        let id = self.claim(target, metric, metric.unit(), figure, claimed_bytes);
        if let (Some(id), Some(again)) = (id, again) {
            self.restate(id, metric.unit(), again, 0.0);
        }
    }

    /// Makes a claim from a figure, if there is one; returns its id.
    fn claim(
        &mut self,
        target: Target<'_>,
        metric: Metric,
        unit: Unit,
        figure: Option<&Figure>,
        claimed_bytes: Option<u64>,
    ) -> Option<String> {
        let figure = figure?;
        let (subject, subject_reason) = subject::subject(target.paired, target.way, self.chosen);
        let id = format!("c{}", self.parsed.claims.len() + 1);
        self.parsed.claims.push(Claim {
            id: id.clone(),
            phase: target.paired.phase_id(target.way),
            metric,
            value: Quantity { value: figure.value, unit },
            printed: Printed { text: figure.text.clone(), unit: figure.unit.clone() },
            resolution: figure.resolution,
            subject,
            subject_reason,
            claimed_bytes,
            source: figure.source.clone(),
        });
        Some(id)
    }

    /// Restates a rate from the other report: it is computed over the same clock, so only its digits differ.
    fn restate_rate(&mut self, claim: Option<String>, unit: Unit, figure: Option<(&Figure, Option<u64>)>) {
        let (Some(claim), Some((figure, runtime_ms))) = (claim, figure) else { return };
        let of_clock = runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        self.restate(claim, unit, figure, of_clock);
    }

    /// Restates a claim; `shared` is the part of both resolutions that cannot make the numbers differ.
    fn restate(&mut self, claim: String, unit: Unit, figure: &Figure, shared: f64) {
        self.parsed.restated.push(Restated {
            claim,
            value: Quantity { value: figure.value, unit },
            printed: Printed { text: figure.text.clone(), unit: figure.unit.clone() },
            resolution: (figure.resolution - shared).max(0.0),
            shared_resolution: shared,
            known_defect: None,
            source: figure.source.clone(),
        });
    }

    /// States a rate as the amount over the time that fio prints beside it, from which fio computed the rate (stat.c,
    /// `show_ddir_status`, 3.33).
    fn divide(&mut self, claim: Option<String>, unit: Unit, amount: Option<&Figure>, runtime_ms: Option<u64>) {
        let (Some(claim), Some(amount), Some(ms @ 2..)) = (claim, amount, runtime_ms) else { return };
        let per_second = 1e3 / ms as f64;
        let value = amount.value * per_second;
        self.parsed.restated.push(Restated {
            claim,
            value: Quantity { value, unit },
            printed: Printed { text: format!("{} {} in {ms}", amount.text, amount.unit), unit: "ms".to_owned() },
            resolution: amount.resolution * per_second,
            shared_resolution: rate_resolution(value, ms),
            known_defect: None,
            source: amount.source.clone(),
        });
    }

    /// Keeps what is printed in the place of a figure and is not a number that it can have: whoever reads the output
    /// sees it, and nothing says if it is true.
    fn of_unread(&mut self, unread: Vec<Unread>) {
        for Unread { text, unit, source } in unread {
            self.parsed.unmatched.numbers.push(UnmatchedNumber {
                is_rate: RATES.contains(&unit.as_str()),
                printed: Printed { text, unit },
                is_stated: false,
                reason: "not a number that this figure can have".to_owned(),
                nearest: None,
                source,
            });
        }
    }

    /// Compares the summary of each group with its jobs: the bytes of all of them over the longest clock (stat.c,
    /// `__show_run_stats`, 3.33).
    fn compare_summaries(&mut self, summaries: &[Entry], entries: &[Entry], paired: &[Paired]) {
        for summary in summaries {
            let own = || entries.iter().zip(paired).filter(|(entry, _)| entry.group == summary.group);
            // Figures of all directions together have lines of their own, which differ between versions.
            let as_one = own().any(|(entry, _)| entry.of(Way::Mixed).is_counted());
            if summary.group.is_none() || as_one || own().next().is_none() {
                continue;
            }
            for way in Way::DIRECTIONS {
                let line = summary.of(way);
                let Some(bandwidth) = &line.bandwidth else { continue };
                let parts = || own().filter(|(entry, _)| entry.of(way).happened());
                let Some(jobs) = Jobs::of(parts().map(|(entry, _)| entry.of(way))) else { continue };
                let ids: Vec<String> = parts().map(|(_, paired)| paired.phase_id(way)).collect();
                let concerned = self.parsed.claims.iter();
                let concerned =
                    concerned.filter(|claim| claim.metric == Metric::Throughput && ids.contains(&claim.phase));
                let claims: Vec<String> = concerned.map(|claim| claim.id.clone()).collect();
                for (printed, apart, of_jobs) in jobs.differences(line, bandwidth) {
                    self.parsed.contradictions.push(Contradiction {
                        source: bandwidth.source.clone(),
                        message: format!("the summary of the group says {printed}, and its jobs make {of_jobs}"),
                        claims: claims.clone(),
                        apart: Some(apart),
                    });
                }
            }
        }
    }

    fn note(&mut self, figure: &Figure, message: &str) {
        self.parsed.notes.push(Note { source: figure.source.clone(), message: message.to_owned() });
    }
}

/// The units of rates, as fio's formats name them.
const RATES: [&str; 5] = ["bw_bytes", "bw", "iops", "KiB/s", "IOPS"];

/// What the jobs of a group moved in one direction.
struct Jobs {
    bytes: f64,
    /// Half a step of the sum.
    resolution: f64,
    longest_ms: u64,
}

impl Jobs {
    /// Adds up the jobs; `None` where one of them states no bytes or no time.
    fn of<'e>(jobs: impl Iterator<Item = &'e Directed>) -> Option<Self> {
        let mut all = Self { bytes: 0.0, resolution: 0.0, longest_ms: 0 };
        for job in jobs {
            let bytes = job.bytes.as_ref()?;
            all.bytes += bytes.value;
            all.resolution += bytes.resolution;
            all.longest_ms = all.longest_ms.max(job.runtime_ms?);
        }
        Some(all)
    }

    /// Compares the line of a group: each number as printed, its distance from that of the jobs as a share of the latter,
    /// and the latter.
    fn differences(&self, line: &Directed, bandwidth: &Figure) -> Vec<(String, f64, Quantity)> {
        // Half a step on each side; a number may be truncated.
        let apart = |printed: f64, own: f64, open: f64| match ((printed - own).abs() - 2.0 * open).max(0.0) {
            0.0 => 0.0,
            _ if own == 0.0 => 1.0,
            apart => apart / own,
        };
        let printed = |figure: &Figure| format!("{} {}", figure.text, figure.unit);
        let mut found = Vec::new();
        if let Some(bytes) = &line.bytes {
            let apart = apart(bytes.value, self.bytes, bytes.resolution + self.resolution);
            found.push((printed(bytes), apart, Quantity { value: self.bytes, ..Quantity::bytes(0) }));
        }
        let longest_ms = self.longest_ms as f64;
        if let Some(ms) = line.runtime_ms {
            found.push((
                format!("{ms} msec"),
                apart(ms as f64, longest_ms, 0.5),
                Quantity::ns(self.longest_ms * 1_000_000),
            ));
        }
        // One clock step more or less makes a rate of a few milliseconds anything.
        let per_second = if self.longest_ms > 0 { 1e3 / longest_ms } else { 0.0 };
        let rate = self.bytes * per_second;
        let of_clock = rate_resolution(bandwidth.value, self.longest_ms);
        let open = bandwidth.resolution.max(of_clock) + self.resolution * per_second;
        found.push((printed(bandwidth), apart(bandwidth.value, rate, open), Quantity::bytes_per_sec(rate)));
        found.retain(|(_, apart, _)| *apart > 0.0);
        found
    }
}

/// The entry and direction of a figure.
#[derive(Clone, Copy)]
struct Target<'a> {
    paired: &'a Paired,
    way: Way,
}

impl Paired {
    fn kind(&self) -> Option<Kind> {
        self.job().map(|job: &JobOptions| engine::kind(job.engine()))
    }
}

/// Returns true if fio wrote this output: its JSON, or its version on a line of its own before a report.
pub(super) fn is_of_fio(output: &ToolOutput) -> bool {
    let stdout = String::from_utf8_lossy(&output.stdout);
    sections(&stdout).iter().any(|section| match section.is_object {
        true => true,
        false => {
            let report = normal::read(section, "stdout", Some(KILOBYTE));
            report.version.is_some() && report.complete
        }
    })
}
