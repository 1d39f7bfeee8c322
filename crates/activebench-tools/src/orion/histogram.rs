//! Latency histograms: in summaries of the point with the smallest latency, in `_hist.txt` of every point.

use super::points::{Point, Size};

/// A histogram in buckets of powers of two microseconds, separate for reads and writes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Histogram {
    pub(super) point: Point,
    pub(super) size: Size,
    pub(super) reads: Counted,
    pub(super) writes: Counted,
    /// True if its end was seen. A share of 100.00 % does not prove it: it is rounded.
    pub(super) is_whole: bool,
}

/// Upper border of the last bucket, in microseconds.
const LAST_BORDER_US: u64 = 1 << 28;

/// One column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// Borders of the first non-empty bucket, in microseconds.
    pub(super) lowest: Option<(u64, u64)>,
    /// Borders of the last non-empty bucket, in microseconds.
    pub(super) highest: Option<(u64, u64)>,
}

impl Histogram {
    /// Creates a histogram from its first line: `Small Read / Write Latency Histogram @ Small=2 and Large=0`.
    pub(super) fn begin(text: &str) -> Option<Self> {
        let (what, point) = text.split_once("Latency Histogram @")?;
        let size = if what.starts_with("Large") { Size::Large } else { Size::Small };
        let (reads, writes) = (Counted::default(), Counted::default());
        Some(Self { point: Point::parse(point)?, size, reads, writes, is_whole: false })
    }

    /// Reads a line; returns `false` if it does not belong to the histogram.
    pub(super) fn read(&mut self, text: &str) -> bool {
        if text.starts_with("Latency:") {
            return true;
        }
        let Some(row) = row(text) else { return false };
        let (borders, columns) = row;
        self.is_whole |= borders.1 >= LAST_BORDER_US;
        self.reads.add(borders, columns[0]);
        self.writes.add(borders, columns[1]);
        true
    }
}

impl Counted {
    fn add(&mut self, borders: (u64, u64), (count, _): (u64, f64)) {
        if count > 0 {
            self.lowest.get_or_insert(borders);
            self.highest = Some(borders);
        }
    }
}

type Columns = [(u64, f64); 2];

/// Parses `64 - 128        us:         1112243 ( 91.12%)              0 (  0.00%)`.
fn row(text: &str) -> Option<((u64, u64), Columns)> {
    let (borders, counts) = text.split_once("us:")?;
    let (low, high) = borders.split_once('-')?;
    let borders = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    let mut words = counts.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '%')).filter(|w| !w.is_empty());
    let mut column = || -> Option<(u64, f64)> { Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?)) };
    let columns = [column()?, column()?];
    Some((borders, columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_borders_and_two_columns() {
        assert_eq!(
            row("64 - 128        us:         1112243 ( 91.12%)              0 (  0.00%)"),
            Some(((64, 128), [(1_112_243, 91.12), (0, 0.0)]))
        );
        assert_eq!(row("64 - 128        us:         1112243 ( 91.12%)"), None);
        assert_eq!(row("Latency:  # of IOs (read)   # of IOs (write)"), None);
    }
}
