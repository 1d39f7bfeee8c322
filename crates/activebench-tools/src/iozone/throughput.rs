//! The lines of the throughput mode (`-t`, `-l`, `-u`).

/// The content of a line of a throughput block. Numbers and units are as printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// `Children see throughput for N TEST = X UNIT`: opens a block.
    Children { tasks: u32, test: &'a str, rate: Figure<'a> },
    /// `Parent sees throughput for N TEST = X UNIT`.
    Parent { tasks: u32, test: &'a str, rate: Figure<'a> },
    /// `Min throughput per process = X UNIT`.
    Min(Figure<'a>),
    /// `Max throughput per process = X UNIT`.
    Max(Figure<'a>),
    /// `Avg throughput per process = X UNIT`.
    Mean(Figure<'a>),
    /// `Min xfer = X UNIT`.
    MinMoved(Figure<'a>),
    /// `Child[I] xfer count = X UNIT, Throughput = X UNIT`.
    Child { index: u32, moved: Figure<'a>, rate: Figure<'a> },
}

/// A printed number and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figure<'a> {
    /// As printed.
    pub number: &'a str,
    /// As printed.
    pub unit: &'a str,
}

impl<'a> Figure<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (number, unit) = (words.next()?, words.next()?);
        words.next().is_none().then_some(Figure { number, unit })
    }
}

/// Parses a line; `None` if it does not belong to this mode. The line must be whole: a cut one
/// could show a part of a number.
pub(super) fn read_line(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Child[") {
        let (index, rest) = rest.split_once("] xfer count =")?;
        let (moved, rest) = rest.split_once(',')?;
        let rate = rest.trim_start().strip_prefix("Throughput =")?;
        // With -+u the CPU time of the child follows.
        let rate = rate.split(',').next()?;
        return Some(Line::Child { index: index.parse().ok()?, moved: Figure::of(moved)?, rate: Figure::of(rate)? });
    }
    let (label, figure) = line.split_once('=')?;
    let figure = Figure::of(figure)?;
    let label = label.trim_end();
    if let Some(test) = label.strip_prefix("Children see throughput for") {
        let (tasks, test) = tasks_and_test(test)?;
        Some(Line::Children { tasks, test, rate: figure })
    } else if let Some(test) = label.strip_prefix("Parent sees throughput for") {
        let (tasks, test) = tasks_and_test(test)?;
        Some(Line::Parent { tasks, test, rate: figure })
    } else if label == "Min xfer" {
        Some(Line::MinMoved(figure))
    } else {
        let (which, per) = label.split_once(" throughput per ")?;
        if per != "process" && per != "thread" {
            return None;
        }
        match which {
            "Min" => Some(Line::Min(figure)),
            "Max" => Some(Line::Max(figure)),
            "Avg" => Some(Line::Mean(figure)),
            _ => None,
        }
    }
}

fn tasks_and_test(text: &str) -> Option<(u32, &str)> {
    let (tasks, test) = text.trim().split_once(' ')?;
    let test = test.trim();
    (!test.is_empty()).then_some(())?;
    Some((tasks.parse().ok()?, test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_number_and_unit_as_printed() {
        let rate = |number| Figure { number, unit: "kB/sec" };
        for (line, expected) in [
            (
                "\tChildren see throughput for  2 initial writers \t= 3075736.50 kB/sec",
                Some(Line::Children { tasks: 2, test: "initial writers", rate: rate("3075736.50") }),
            ),
            (
                "\tParent sees throughput for 16 re-readers \t= 1754908.19 kB/sec",
                Some(Line::Parent { tasks: 16, test: "re-readers", rate: rate("1754908.19") }),
            ),
            ("\tMin throughput per process \t\t\t=       0.00 kB/sec ", Some(Line::Min(rate("0.00")))),
            (
                "\tAvg throughput per thread \t\t\t=   19157.69 ops/sec",
                Some(Line::Mean(Figure { number: "19157.69", unit: "ops/sec" })),
            ),
            ("\tMin xfer \t\t\t\t\t=    2048.00 kB", Some(Line::MinMoved(Figure { number: "2048.00", unit: "kB" }))),
            (
                "\tChild[1] xfer count =     256.00 kB, Throughput = 3087188.75 kB/sec, wall= 0.000, cpu= 0.000, %= 97.79",
                Some(Line::Child {
                    index: 1,
                    moved: Figure { number: "256.00", unit: "kB" },
                    rate: rate("3087188.75"),
                }),
            ),
            ("\tMin process = 1 ", None),
            ("\tTime Resolution = 0.000001 seconds.", None),
            ("Child[", None),
        ] {
            assert_eq!(read_line(line), expected, "{line}");
        }
    }
}
