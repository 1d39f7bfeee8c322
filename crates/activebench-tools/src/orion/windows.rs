//! The windows of the data points among the observed requests.
//!
//! Orion prints nothing while it runs. A point is visible only in its requests: they begin, last for
//! `-duration`, and end with nothing outstanding. A point's window begins with its first request and
//! lasts for the duration; it includes pauses inside that time. Before a sequential point
//! Orion fills the array's cache at random; these requests belong to no point.

use activebench_model::activity::{Activity, Burst};

use super::points::Point;
use super::settings::Settings;

/// Time for which the cache is filled if `-cache_size` is not given (Orion's manual: two minutes).
const CACHE_FILL_NS: u64 = 120_000_000_000;
/// Share of its size at which a cache counts as filled: the tool's own count may round.
const FILLED_PERCENT: u64 = 99;
/// Requests that continue past a point's end for longer than this share of the duration belong to the next
/// point: waiting for the outstanding ones does not take longer than they do.
const LONGEST_DRAIN_PERCENT: u64 = 50;
/// Single requests before a point do not belong to it up to this share of the duration: a tool may
/// look at each volume after opening it.
const STRAY_PERCENT: u64 = 1;
/// A tool's clock starts at most this long before its first request; stray requests are skipped on this assumption.
const CLOCK_LEAD_NS: u64 = 5_000_000;
/// A point whose requests end before this share of the duration was cut short.
const LEAST_LENGTH_PERCENT: u64 = 90;

/// The window of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// First submission.
    pub(super) start_ns: u64,
    /// End of the duration, or of the requests if they ended early.
    pub(super) end_ns: u64,
    /// The last completion.
    pub(super) last_ns: u64,
    /// The processes that made the requests.
    pub(super) tgids: Vec<u32>,
    /// Reason why it is not the whole point.
    pub(super) incomplete: Option<String>,
}

/// The result of the search for each point, in the order given.
pub(super) type Places = Vec<(Point, Result<Place, String>)>;

/// Finds the points. Orion's order is not documented for every matrix: of the two orders, by rows and by
/// columns, the one in which more points fit the requests is used.
pub(super) fn find(points: &[Point], settings: &Settings, activity: &Activity) -> Places {
    let mut by_rows = points.to_vec();
    by_rows.sort_unstable();
    let mut by_columns = points.to_vec();
    by_columns.sort_unstable_by_key(|point| (point.small, point.large));
    let by_rows = in_order(&by_rows, settings, &activity.bursts);
    let by_columns = in_order(&by_columns, settings, &activity.bursts);
    let fitting = |places: &Places| places.iter().filter(|(_, place)| place.is_ok()).count();
    if fitting(&by_columns) > fitting(&by_rows) { by_columns } else { by_rows }
}

fn in_order(points: &[Point], settings: &Settings, bursts: &[Burst]) -> Places {
    let mut rest = Rest { bursts, settings };
    let mut lost: Option<String> = None;
    let mut place = |point: &Point| match &lost {
        Some(why) => Err(why.clone()),
        None => {
            let found = rest.take(*point);
            // After a missing point, the following ones cannot be identified.
            lost = found.as_ref().err().map(|why| format!("a data point before it was not found: {why}"));
            found
        }
    };
    points.iter().map(|point| (*point, place(point))).collect()
}

/// The bursts not yet assigned, ordered by start.
struct Rest<'a> {
    bursts: &'a [Burst],
    settings: &'a Settings,
}

impl Rest<'_> {
    fn take(&mut self, point: Point) -> Result<Place, String> {
        if self.settings.sequential && point.large > 0 {
            self.skip_cache_fill();
        }
        self.skip_strays();
        let duration_ns = self.settings.duration_ns;
        let start_ns = self.bursts.first().ok_or("no further requests were observed")?.start_ns;
        let end_ns = start_ns.saturating_add(duration_ns);
        let count = self.bursts.partition_point(|burst| burst.start_ns < end_ns);
        let (taken, rest) = self.bursts.split_at(count);
        let last_ns = taken.iter().map(|burst| burst.end_ns).max().unwrap_or(start_ns);
        let seconds = |ns: u64| ns as f64 / 1e9;
        if last_ns > end_ns.saturating_add(percent(duration_ns, LONGEST_DRAIN_PERCENT)) {
            return Err(format!(
                "its requests go on without a pause for {:.1} s, a data point lasts {:.1} s",
                seconds(last_ns - start_ns),
                seconds(duration_ns)
            ));
        }
        self.check_sizes(point, taken)?;
        self.bursts = rest;
        let mut tgids: Vec<u32> = taken.iter().map(|burst| burst.tgid).collect();
        tgids.sort_unstable();
        tgids.dedup();
        let short = last_ns - start_ns < percent(duration_ns, LEAST_LENGTH_PERCENT);
        let incomplete = short.then(|| {
            format!("its requests end after {:.1} s of {:.1} s", seconds(last_ns - start_ns), seconds(duration_ns))
        });
        Ok(Place { start_ns, end_ns: if short { last_ns } else { end_ns }, last_ns, tgids, incomplete })
    }

    /// Skips single requests before a point if the later requests alone fill its duration. A
    /// point that was stalled right after its start ends too early for that.
    fn skip_strays(&mut self) {
        let duration_ns = self.settings.duration_ns;
        let (mut busy_ns, mut strays) = (0, 0);
        for (index, pair) in self.bursts.windows(2).enumerate() {
            let (stray, next) = (pair[0], pair[1]);
            busy_ns += stray.end_ns.saturating_sub(stray.start_ns);
            if stray.end_ns >= next.start_ns || busy_ns > percent(duration_ns, STRAY_PERCENT) {
                break;
            }
            let end_ns = next.start_ns.saturating_add(duration_ns);
            let of_point = self.bursts[index + 1..].iter().take_while(|burst| burst.start_ns < end_ns);
            let last_ns = of_point.map(|burst| burst.end_ns).max().unwrap_or(0);
            if last_ns.saturating_add(CLOCK_LEAD_NS) >= end_ns {
                strays = index + 1;
            }
        }
        self.bursts = &self.bursts[strays..];
    }

    /// Checks that requests of the point's sizes were made, and none of the other size.
    fn check_sizes(&self, point: Point, taken: &[Burst]) -> Result<(), String> {
        let Settings { small_bytes, large_bytes, .. } = *self.settings;
        if small_bytes == large_bytes {
            return Ok(());
        }
        let made = |bytes: u64| taken.iter().any(|burst| burst.requested == bytes);
        for (bytes, asked, what) in [(small_bytes, point.small, "small"), (large_bytes, point.large, "large")] {
            if made(bytes) != (asked > 0) {
                let were = if asked > 0 { "none were" } else { "some were" };
                return Err(format!("it asks for {asked} {what} requests of {bytes} bytes, and {were} observed"));
            }
        }
        Ok(())
    }

    /// Skips the random reads before a sequential point.
    fn skip_cache_fill(&mut self) {
        let Some(first) = self.bursts.first() else { return };
        let until_ns = first.start_ns.saturating_add(CACHE_FILL_NS);
        let mut filled = 0_u64;
        let count = self.bursts.iter().take_while(|burst| match self.settings.cache_bytes {
            Some(wanted) => {
                let more = filled < percent(wanted, FILLED_PERCENT);
                filled = filled.saturating_add(burst.bytes);
                more
            }
            None => burst.start_ns < until_ns,
        });
        self.bursts = &self.bursts[count.count()..];
    }
}

fn percent(of: u64, percent: u64) -> u64 {
    (u128::from(of) * u128::from(percent) / 100) as u64
}

#[cfg(test)]
mod tests {
    use activebench_model::call::Op;

    use super::super::options::Options;
    use super::super::settings::Stated;
    use super::*;

    const SMALL: u64 = 8192;
    const LARGE: u64 = 1 << 20;

    /// Bursts are `(start, end, bytes of a request, total bytes)`, times in milliseconds.
    fn activity(bursts: &[(u64, u64, u64, u64)]) -> Activity {
        let burst = |(start_ms, end_ms, requested, bytes): &(u64, u64, u64, u64)| Burst {
            tgid: 7,
            op: Op::AioRead,
            requested: *requested,
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            calls: bytes / requested,
            bytes: *bytes,
        };
        Activity { bursts: bursts.iter().map(burst).collect(), ..Activity::default() }
    }

    /// A point and its window in milliseconds, if it was found.
    type Found = ((u32, u32), Option<(u64, u64)>);

    fn check(what: &str, words: &str, bursts: &[(u64, u64, u64, u64)], expected: &[Found]) {
        let settings = Settings::new(&Options::parse(words.split(' ')), &Stated::default());
        let points = super::super::points::planned(&settings).expect("the loads are given");
        let found: Vec<_> = find(&points, &settings, &activity(bursts))
            .into_iter()
            .map(|(point, place)| {
                let window = |place: Place| (place.start_ns / 1_000_000, place.end_ns / 1_000_000);
                ((point.small, point.large), place.ok().map(window))
            })
            .collect();
        assert_eq!(found, expected, "{what}");
    }

    #[test]
    fn points_are_found_by_their_duration() {
        let row = "-run advanced -matrix row -num_small 2 -num_large 0 -duration 1";
        let (small, some) = (SMALL, SMALL * 100);
        check(
            "two points",
            row,
            &[(10, 1012, small, some), (1500, 2503, small, some)],
            &[((1, 0), Some((10, 1010))), ((2, 0), Some((1500, 2500)))],
        );
        check(
            "a point that a stall cut in two",
            row,
            &[(10, 400, small, some), (450, 1012, small, some), (1500, 2503, small, some)],
            &[((1, 0), Some((10, 1010))), ((2, 0), Some((1500, 2500)))],
        );
        check(
            "a look at the volume before each, long before the first",
            row,
            &[(10, 11, small, small), (700, 1702, small, some), (1800, 1801, small, small), (1850, 2851, small, some)],
            &[((1, 0), Some((700, 1700))), ((2, 0), Some((1850, 2850)))],
        );
        check(
            "a stall right after the start",
            row,
            &[(10, 15, small, small), (40, 1012, small, some), (1500, 2503, small, some)],
            &[((1, 0), Some((10, 1010))), ((2, 0), Some((1500, 2500)))],
        );
        check("without a pause between them", row, &[(10, 2012, small, some)], &[((1, 0), None), ((2, 0), None)]);
        check(
            "killed in the second",
            row,
            &[(10, 1012, small, some), (1500, 1900, small, some)],
            &[((1, 0), Some((10, 1010))), ((2, 0), Some((1500, 1900)))],
        );
        check("none", row, &[], &[((1, 0), None), ((2, 0), None)]);
    }

    #[test]
    fn both_orders_of_a_matrix_are_known() {
        let max = "-run advanced -matrix max -num_small 1 -num_large 1 -duration 1";
        let small = |start: u64| (start, start + 1000, SMALL, SMALL * 9);
        let large = |start: u64| (start, start + 1000, LARGE, LARGE * 9);
        check(
            "by rows",
            max,
            &[small(0), large(1100), small(2200), large(2201)],
            &[((1, 0), Some((0, 1000))), ((0, 1), Some((1100, 2100))), ((1, 1), Some((2200, 3200)))],
        );
        check(
            "by columns",
            max,
            &[large(0), small(1100), small(2200), large(2201)],
            &[((0, 1), Some((0, 1000))), ((1, 0), Some((1100, 2100))), ((1, 1), Some((2200, 3200)))],
        );
        check(
            "of the wrong sizes",
            max,
            &[(0, 1000, 4096, 4096 * 9), small(1100), large(2200)],
            &[((1, 0), None), ((0, 1), None), ((1, 1), None)],
        );
    }

    #[test]
    fn filling_the_cache_is_nobodys() {
        let with =
            |cache: &str| format!("-run advanced -matrix col -num_small 0 -num_large 1 -type seq -duration 1{cache}");
        let (fill, point) = ((0, 700, LARGE, LARGE << 6), (800, 1800, LARGE, LARGE << 8));
        check("64 MB", &with(" -cache_size 64"), &[fill, point], &[((0, 1), Some((800, 1800)))]);
        let cut = [(0, 300, LARGE, LARGE << 5), (350, 700, LARGE, LARGE << 5), point];
        check("64 MB with a stall", &with(" -cache_size 64"), &cut, &[((0, 1), Some((800, 1800)))]);
        check("none", &with(" -cache_size 0"), &[point], &[((0, 1), Some((800, 1800)))]);
        let long = [(0, 120_003, LARGE, LARGE << 20), (120_100, 121_100, LARGE, LARGE << 8)];
        check("two minutes", &with(""), &long, &[((0, 1), Some((120_100, 121_100)))]);
    }
}
