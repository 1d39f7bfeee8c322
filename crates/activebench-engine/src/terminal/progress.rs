//! Texts about a run while it goes on: one line, or a small screen of lines.

use std::time::Duration;

use activebench_model::phase::Phase;
use activebench_model::units::Quantity;
use activebench_probe::{LiveDetails, LiveFigures};

/// Work that the command asks for, as far as its words say so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// Bytes of all passes; `None` where a pass does not say how much it moves.
    pub(crate) bytes: Option<u64>,
    /// Time of all passes; `None` where a pass does not end by the clock.
    pub(crate) time: Option<Duration>,
}

impl Expected {
    /// Returns the work that these passes ask for.
    pub(crate) fn of(phases: &[Phase]) -> Self {
        if phases.is_empty() {
            return Self::default();
        }
        let time: Option<u64> = phases.iter().map(|phase| phase.time_limit_ns).sum();
        let bytes: Option<u64> = phases
            .iter()
            .map(|phase| phase.requested_bytes.filter(|_| phase.time_limit_ns.is_none()))
            .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?));
        Self { bytes, time: time.map(Duration::from_nanos) }
    }

    /// Returns the time that is left, when `moved` bytes took `elapsed`. `None` where it is not known yet.
    fn left(self, elapsed: Duration, moved: u64) -> Option<Duration> {
        let by_bytes = || {
            let all = self.bytes.filter(|all| moved > 0 && *all > moved)?;
            let ratio = (all - moved) as f64 / moved as f64;
            // The first moments say little about the rest.
            (elapsed >= Duration::from_secs(2)).then(|| elapsed.mul_f64(ratio.min(1e6)))
        };
        by_bytes().or_else(|| self.time?.checked_sub(elapsed))
    }
}

/// What was seen of a run by some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) elapsed: Duration,
    pub(super) figures: LiveFigures,
}

/// The time between two sights of a run, and what happened in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) before: Seen,
    pub(super) now: Seen,
}

impl Span {
    /// Returns the seconds of the span in ns; 0 where no time passed.
    fn ns(self) -> f64 {
        self.now.elapsed.saturating_sub(self.before.elapsed).as_nanos() as f64
    }

    /// Returns how much a counter grew.
    fn grown(self, counter: impl Fn(&LiveFigures) -> u64) -> u64 {
        counter(&self.now.figures).saturating_sub(counter(&self.before.figures))
    }

    /// Returns the rate of a counter of bytes; `-` where no time passed.
    fn rate(self, counter: impl Fn(&LiveFigures) -> u64) -> String {
        worded(Quantity::rate(self.grown(counter) as f64, self.ns()))
    }

    /// Returns the growth of a counter of the details; `None` where they are not counted.
    fn detail(self, counter: impl Fn(&LiveDetails) -> u64) -> Option<u64> {
        self.now.figures.details?;
        Some(self.grown(|figures| figures.details.as_ref().map_or(0, &counter)))
    }

    /// `0:03/0:08`, and what is left: `, ETA 5 s`; both as far as that is known.
    fn times(self, expected: Expected) -> (String, String) {
        let elapsed = self.now.elapsed;
        let left = expected.left(elapsed, self.moved());
        let end = left.map_or_else(String::new, |left| format!("/{}", minutes(elapsed + left)));
        let eta = left.map_or_else(String::new, |left| format!(", ETA {} s", left.as_secs().max(1)));
        (format!("{}{end}", minutes(elapsed)), eta)
    }

    /// Returns the bytes that calls moved since the run began.
    fn moved(self) -> u64 {
        self.now.figures.read_bytes.saturating_add(self.now.figures.write_bytes)
    }

    /// `853 MiB of 2 GiB moved`.
    fn progress(self, expected: Expected) -> String {
        let moved = self.moved();
        let of = match expected.bytes.filter(|all| *all >= moved) {
            Some(all) => format!(" of {}", Quantity::bytes(all)),
            None => String::new(),
        };
        format!("{}{of} moved", Quantity::bytes(moved))
    }

    /// One line: `0:03/0:08 reading 284 MiB/s, device 284 MiB/s, ETA 5 s, 853 MiB moved`, and the details if they are
    /// counted.
    pub(super) fn line(self, expected: Expected) -> String {
        let (read, written) = (self.rate(|of| of.read_bytes), self.rate(|of| of.write_bytes));
        let doing = match (self.grown(|of| of.read_bytes) > 0, self.grown(|of| of.write_bytes) > 0) {
            (false, false) => "no data calls".to_owned(),
            (false, true) => format!("writing {written}"),
            (true, false) => format!("reading {read}"),
            (true, true) => format!("reading {read}, writing {written}"),
        };
        let (times, eta) = self.times(expected);
        let device = self.rate(|of| of.device_bytes);
        let details = match self.now.figures.details {
            Some(_) => {
                let [calls, latency, depth, hits] = self.details();
                format!(", {calls}, p99 {latency}, depth {depth}, cache hits {hits}")
            }
            None => String::new(),
        };
        format!("{times} {doing}, device {device}{details}{eta}, {}", self.progress(expected))
    }

    /// The same as a small screen, for a terminal with room for it. `-` is what is not known.
    pub(super) fn screen(self, expected: Expected) -> Vec<String> {
        let (times, eta) = self.times(expected);
        let [calls, latency, depth, hits] = self.details();
        let device = |counter: fn(&LiveDetails) -> u64| {
            worded(self.detail(counter).and_then(|bytes| Quantity::rate(bytes as f64, self.ns())))
        };
        let row = |name: &str, read: &str, written: &str, more: String| {
            format!("  {name:<8}{read:<14}{written:<14}{more}").trim_end().to_owned()
        };
        let (read, written) = (self.rate(|of| of.read_bytes), self.rate(|of| of.write_bytes));
        let device_read = device(|details| details.device_read_bytes);
        vec![
            format!("{times}{eta}, {}", self.progress(expected)),
            row("", "read", "written", String::new()),
            row("calls", &read, &written, format!("{calls}, p99 {latency}")),
            row("device", &device_read, &device(|details| details.device_write_bytes), format!("queue depth {depth}")),
            row("cache", &hits, "", "of buffered reads were hits".to_owned()),
        ]
    }

    /// Returns calls per second, their p99, the mean queue depth, and the share of cache hits.
    fn details(self) -> [String; 4] {
        let calls = self.detail(|details| details.data_calls);
        let p99 = self.now.figures.details.and_then(|details| details.latency_p99_ns);
        let in_flight_ns = self.detail(|details| details.in_flight_ns).filter(|_| self.ns() > 0.0);
        let depth = in_flight_ns.map(|in_flight_ns| in_flight_ns as f64 / self.ns());
        let hits = self.detail(|details| details.buffered_read_bytes).filter(|read| *read > 0).map(|read| {
            let added = self.detail(|details| details.cache_added_bytes).unwrap_or(0);
            // Readahead may have added more than was read yet.
            read.saturating_sub(added) as f64 / read as f64
        });
        [
            worded(calls.and_then(|calls| Quantity::op_rate(calls as f64, self.ns()))),
            worded(p99.map(Quantity::ns)),
            depth.map_or_else(unknown, |depth| format!("{depth:.1}")),
            hits.map_or_else(unknown, |hits| format!("{:.0} %", hits * 100.0)),
        ]
    }
}

fn worded(quantity: Option<Quantity>) -> String {
    quantity.map_or_else(unknown, |quantity| quantity.to_string())
}

fn unknown() -> String {
    "-".to_owned()
}

/// Minutes and seconds: `0:03`.
fn minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use activebench_model::direction::Direction;

    use super::*;

    #[test]
    fn the_end_is_known_where_every_pass_says_how_much_it_does() {
        let pass = |bytes: Option<u64>, time: Option<u64>| Phase {
            requested_bytes: bytes,
            time_limit_ns: time.map(|seconds| seconds * 1_000_000_000),
            ..Phase::planned("p", "p", Direction::Read)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (phases, elapsed_s, moved, left) in [
            (vec![], 5, 100, None),
            (vec![pass(Some(100), None), pass(Some(100), None)], 5, 50, seconds(15)),
            (vec![pass(Some(100), None), pass(None, None)], 5, 50, None),
            (vec![pass(Some(100), None)], 1, 50, None),
            (vec![pass(Some(100), None)], 5, 0, None),
            (vec![pass(Some(100), None)], 5, 400, None),
            (vec![pass(None, Some(10)), pass(None, Some(10))], 5, 50, seconds(15)),
            (vec![pass(Some(100), Some(10))], 4, 50, seconds(6)),
            (vec![pass(None, Some(10))], 50, 50, None),
        ] {
            let found = Expected::of(&phases).left(Duration::from_secs(elapsed_s), moved);
            assert_eq!(found, left, "{elapsed_s} s, {moved} bytes");
        }
    }

    fn seen(seconds: u64, read_bytes: u64, details: Option<LiveDetails>) -> Seen {
        let figures = LiveFigures { read_bytes, details, ..LiveFigures::default() };
        Seen { elapsed: Duration::from_secs(seconds), figures }
    }

    #[test]
    fn a_line_says_what_moves_and_when_it_ends() {
        let expected = Expected { bytes: Some(1 << 30), time: None };
        let (before, now) = (seen(4, 256 << 20, None), seen(5, 512 << 20, None));
        let line = Span { before, now }.line(expected);
        assert_eq!(line, "0:05/0:10 reading 256 MiB/s, device 0 B/s, ETA 5 s, 512 MiB of 1 GiB moved");
        let idle = Span { before: now, now }.line(expected);
        assert_eq!(idle.split(',').next(), Some("0:05/0:10 no data calls"));
    }

    #[test]
    fn the_screen_has_calls_device_depth_latency_and_hits() {
        let of = |part: u64| LiveDetails {
            data_calls: part * 4000,
            latency_p99_ns: (part > 1).then_some(412_000),
            buffered_read_bytes: part << 20,
            cache_added_bytes: part << 18,
            device_read_bytes: part << 27,
            device_write_bytes: part << 12,
            in_flight_ns: part * 3_900_000_000,
        };
        let (before, now) = (seen(4, 256 << 20, Some(of(1))), seen(5, 512 << 20, Some(of(2))));
        let span = Span { before, now };
        let expected = Expected { bytes: Some(1 << 30), time: None };
        let screen = span.screen(expected);
        assert_eq!(
            screen,
            [
                "0:05/0:10, ETA 5 s, 512 MiB of 1 GiB moved",
                "          read          written",
                "  calls   256 MiB/s     0 B/s         4 k IOPS, p99 412 µs",
                "  device  128 MiB/s     4 KiB/s       queue depth 3.9",
                "  cache   75 %                        of buffered reads were hits",
            ]
        );
        assert!(screen.iter().all(|line| line.chars().count() < 80), "{screen:?}");
        let line = span.line(expected);
        assert!(line.contains(", 4 k IOPS, p99 412 µs, depth 3.9, cache hits 75 %, ETA"), "{line}");
    }

    #[test]
    fn what_was_not_seen_is_not_a_zero() {
        let idle =
            Span { before: seen(4, 0, Some(LiveDetails::default())), now: seen(5, 0, Some(LiveDetails::default())) };
        let screen = idle.screen(Expected::default()).join("\n");
        assert!(screen.contains("0 IOPS, p99 -") && screen.contains("cache   - "), "{screen}");
        let no_time = Span { before: idle.now, ..idle };
        assert!(no_time.screen(Expected::default()).join("\n").contains("queue depth -"));
    }
}
