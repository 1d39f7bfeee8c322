//! Data points: those that a command asks for, and their names.

use super::options::Matrix;
use super::settings::Settings;

/// Maximum number of planned loads of one kind: far above what storage sustains.
const MOST_LOADS: u32 = 512;
/// Most points of a plan, row by row: at a minute each they take three days.
pub(super) const MOST_POINTS: usize = 4096;
/// Number of small loads up to which Orion runs every one (5 disks in the public outputs). Beyond it Orion
/// skips some; which ones is not documented.
pub(super) const EVERY_LOAD_UP_TO: u32 = 25;

/// Requests outstanding in a data point. Ordered as Orion runs them: row by row of large loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Point {
    /// Large requests, or sequential streams.
    pub(super) large: u32,
    /// Small requests.
    pub(super) small: u32,
}

/// Requests of one size in a data point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Size {
    Small,
    Large,
}

/// Directions of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Which {
    All,
    Reads,
    Writes,
}

impl Point {
    /// Parses `Small=16 and Large=0`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (small, large) = text.trim().strip_prefix("Small=")?.split_once(" and Large=")?;
        Some(Self::new(small.parse().ok()?, large.parse().ok()?))
    }

    pub(super) fn new(small: u32, large: u32) -> Self {
        Self { large, small }
    }

    /// Returns true if requests of both sizes are outstanding.
    pub(super) fn is_mixed(self) -> bool {
        self.small > 0 && self.large > 0
    }

    /// Returns `small-16-large-0`, with a suffix if the phase covers only a part of the point.
    pub(super) fn id(self, size: Size, which: Which) -> String {
        let mut id = format!("small-{}-large-{}", self.small, self.large);
        if self.is_mixed() {
            id.push_str(if size == Size::Small { "-small-ios" } else { "-large-ios" });
        }
        match which {
            Which::All => {}
            Which::Reads => id.push_str("-reads"),
            Which::Writes => id.push_str("-writes"),
        }
        id
    }

    /// Returns the same for people.
    pub(super) fn name(self, size: Size, which: Which) -> String {
        let of = match (self.is_mixed(), size, which) {
            (false, _, Which::All) => "",
            (false, _, Which::Reads) => ", reads",
            (false, _, Which::Writes) => ", writes",
            (true, Size::Small, Which::All) => ", small I/Os",
            (true, Size::Small, Which::Reads) => ", small reads",
            (true, Size::Small, Which::Writes) => ", small writes",
            (true, Size::Large, Which::All) => ", large I/Os",
            (true, Size::Large, Which::Reads) => ", large reads",
            (true, Size::Large, Which::Writes) => ", large writes",
        };
        format!("Small={} and Large={}{of}", self.small, self.large)
    }
}

/// Returns the points that a command asks for, row by row; `None` if the loads are unknown.
pub(super) fn planned(settings: &Settings) -> Option<Vec<Point>> {
    let options = &settings.options;
    let (num_small, num_large) = (options.number::<u32>("num_small"), options.number::<u32>("num_large"));
    let up_to = |most: u32| (0..=most.min(MOST_LOADS)).collect::<Vec<_>>();
    let of_disks = |factor: u32| settings.disks.map(|disks| disks.saturating_mul(factor));
    // For basic and detailed matrices, only the number of disks determines the loads.
    let by_disks = !matches!(options.value("matrix"), Some("row" | "col" | "max"));
    let small = || num_small.filter(|_| !by_disks).or_else(|| of_disks(5)).map(up_to);
    let large = || num_large.filter(|_| !by_disks).or_else(|| of_disks(2)).map(up_to);
    let steps =
        |count: u32| settings.disks.map(|disks| (0..=count).map(|step| disks.saturating_mul(step)).collect::<Vec<_>>());
    let matrix = options.matrix()?;
    let (small, large) = match (options.run(), matrix) {
        // 1 to 20 times and 1 to 15 times the disks, the columns listed in public summaries of 12c.
        ("oltp", _) => (steps(20)?, vec![0]),
        ("dss", _) => (vec![0], steps(15)?),
        (_, Matrix::Point) => (vec![num_small.unwrap_or(0)], vec![num_large.unwrap_or(0)]),
        (_, Matrix::Row) => (small()?, vec![num_large.unwrap_or(0)]),
        (_, Matrix::Column) => (vec![num_small.unwrap_or(0)], large()?),
        (_, Matrix::Basic | Matrix::Detailed) => (small()?, large()?),
    };
    let all = large.iter().flat_map(|large| small.iter().map(|small| Point::new(*small, *large)));
    let apart = matrix == Matrix::Basic;
    let asked = all.filter(|point| (point.small > 0 || point.large > 0) && !(apart && point.is_mixed()));
    Some(asked.take(MOST_POINTS).collect())
}

#[cfg(test)]
mod tests {
    use super::super::options::Options;
    use super::super::settings::Stated;
    use super::*;

    fn check(words: &str, expected: &[(u32, u32)]) {
        let settings = Settings::new(&Options::parse(words.split(' ')), &Stated::default());
        let found: Option<Vec<_>> =
            planned(&settings).map(|points| points.iter().map(|point| (point.small, point.large)).collect());
        assert_eq!(found.as_deref(), Some(expected), "{words}");
    }

    #[test]
    fn the_matrix_says_which_points_are_run() {
        check("-run simple -num_disks 1", &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (0, 2)]);
        check("-run advanced -matrix point -num_small 16 -num_large 2", &[(16, 2)]);
        check("-run advanced -matrix point -num_small 16", &[(16, 0)]);
        check("-run advanced -matrix row -num_small 3 -num_large 0", &[(1, 0), (2, 0), (3, 0)]);
        check("-run advanced -matrix col -num_small 1 -num_large 2", &[(1, 0), (1, 1), (1, 2)]);
        check("-run advanced -matrix max -num_small 1 -num_large 1", &[(1, 0), (0, 1), (1, 1)]);
        let none = Settings::new(&Options::parse(["-run", "simple"]), &Stated::default());
        assert_eq!(planned(&none), None, "the number of disks is that of the volumes, which are not known");
    }

    #[test]
    fn a_matrix_of_any_size_has_a_bounded_plan() {
        let words = "-run advanced -matrix detailed -num_disks 4000000000";
        let settings = Settings::new(&Options::parse(words.split(' ')), &Stated::default());
        assert_eq!(planned(&settings).map(|points| points.len()), Some(MOST_POINTS));
    }

    #[test]
    fn the_public_outputs_lie_in_their_plans() {
        for (words, point, count) in [
            ("-run oltp -num_disks 1", (17, 0), 20),
            ("-run oltp -num_disks 4", (68, 0), 20),
            ("-run advanced -matrix row -num_disks 5 -num_large 0", (16, 0), 25),
        ] {
            let settings = Settings::new(&Options::parse(words.split(' ')), &Stated::default());
            let points = planned(&settings).expect("the disks are known");
            assert!(points.contains(&Point::new(point.0, point.1)), "{words}: {points:?}");
            assert_eq!(points.len(), count, "{words}");
        }
    }
}
