//! Orion's options and the data points that they request.

use std::time::Duration;

/// The options of a command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) test_name: String,
    pub(crate) small_bytes: u64,
    pub(crate) large_bytes: u64,
    pub(crate) sequential: bool,
    pub(crate) requests_per_stream: u32,
    pub(crate) raid0: bool,
    pub(crate) stripe_bytes: u64,
    pub(crate) write_percent: u8,
    /// `None` when not given.
    pub(crate) cache_megabytes: Option<u64>,
    pub(crate) duration: Duration,
    pub(crate) repeats_offsets: bool,
    pub(crate) verbose: bool,
    run: Run,
    disks: Option<u32>,
    matrix: Option<Matrix>,
    small: Option<u32>,
    large: Option<u32>,
}

/// Requests outstanding in a data point: small ones, and large ones or sequential streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) large: u32,
    pub(crate) small: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Simple,
    Normal,
    Advanced,
    Dss,
    Oltp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matrix {
    Basic,
    Detailed,
    Point,
    Column,
    Row,
    Max,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            test_name: "orion".to_owned(),
            small_bytes: 8 << 10,
            large_bytes: 1 << 20,
            sequential: false,
            requests_per_stream: 4,
            raid0: false,
            stripe_bytes: 1 << 20,
            write_percent: 0,
            cache_megabytes: None,
            duration: Duration::from_secs(60),
            repeats_offsets: false,
            verbose: false,
            run: Run::Simple,
            disks: None,
            matrix: None,
            small: None,
            large: None,
        };
        let mut run = None;
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            let name = option.trim_start_matches('-');
            if name.len() == option.len() {
                return Err(format!("orion_parse_args: unknown option: {option}"));
            }
            match name {
                "hugenotneeded" => continue,
                "verbose" => {
                    options.verbose = true;
                    continue;
                }
                _ => {}
            }
            let value = rest.next().ok_or_else(|| format!("orion_parse_args: {option} needs a value"))?;
            let bad = || format!("orion_parse_args: {option} does not take {value}");
            let number = || value.parse::<u32>().map_err(|_| bad());
            let kilobytes = || match value.parse::<u32>() {
                Ok(kilobytes @ 1..=65_536) => Ok(u64::from(kilobytes) << 10),
                _ => Err(bad()),
            };
            match name {
                "run" => {
                    run = Some(match value.as_str() {
                        "simple" => Run::Simple,
                        "normal" => Run::Normal,
                        "advanced" => Run::Advanced,
                        "dss" => Run::Dss,
                        "oltp" => Run::Oltp,
                        _ => return Err(bad()),
                    });
                }
                "testname" => options.test_name = value.clone(),
                "num_disks" => options.disks = Some(number()?.max(1)),
                "size_small" => options.small_bytes = kilobytes()?,
                "size_large" => options.large_bytes = kilobytes()?,
                "type" => options.sequential = one_of(value, ["rand", "seq"]).ok_or_else(bad)?,
                "num_streamIO" => options.requests_per_stream = number()?.max(1),
                "simulate" => options.raid0 = one_of(value, ["concat", "raid0"]).ok_or_else(bad)?,
                "stripe" => options.stripe_bytes = kilobytes()?,
                "write" => {
                    options.write_percent =
                        value.parse().ok().filter(|percent: &u8| *percent <= 100).ok_or_else(bad)?;
                }
                "cache_size" => options.cache_megabytes = Some(value.parse().map_err(|_| bad())?),
                "duration" => options.duration = Duration::from_secs(u64::from(number()?.max(1))),
                "num_small" => options.small = Some(number()?),
                "num_large" => options.large = Some(number()?),
                "matrix" => {
                    options.matrix = Some(match value.as_str() {
                        "basic" => Matrix::Basic,
                        "detailed" => Matrix::Detailed,
                        "point" => Matrix::Point,
                        "col" => Matrix::Column,
                        "row" => Matrix::Row,
                        "max" => Matrix::Max,
                        _ => return Err(bad()),
                    });
                }
                "storax" => {}
                "defect" if value == "repeat" => options.repeats_offsets = true,
                _ => return Err(format!("orion_parse_args: unknown option: {option}")),
            }
        }
        options.run = run.ok_or_else(|| "orion_parse_args: -run is mandatory".to_owned())?;
        Ok(options)
    }

    /// Returns the loads of small and of large requests, including 0.
    pub(crate) fn loads(&self, volumes: usize) -> (Vec<u32>, Vec<u32>) {
        let disks = self.disks.unwrap_or(volumes as u32);
        let up_to = |most: u32| (0..=most).collect::<Vec<_>>();
        let (small, large) = (self.small.unwrap_or(0), self.large.unwrap_or(0));
        match (self.run, self.matrix) {
            (Run::Oltp, _) => ((0..=20).map(|step| step * disks).collect(), vec![0]),
            (Run::Dss, _) => (vec![0], (0..=15).map(|step| step * disks).collect()),
            (Run::Advanced, Some(Matrix::Point)) => (vec![small], vec![large]),
            (Run::Advanced, Some(Matrix::Row)) => (up_to(self.small.unwrap_or(5 * disks)), vec![large]),
            (Run::Advanced, Some(Matrix::Column)) => (vec![small], up_to(self.large.unwrap_or(2 * disks))),
            (Run::Advanced, Some(Matrix::Max)) => {
                (up_to(self.small.unwrap_or(5 * disks)), up_to(self.large.unwrap_or(2 * disks)))
            }
            _ => (up_to(5 * disks), up_to(2 * disks)),
        }
    }

    /// Returns the data points in their order: row by row of large loads.
    pub(crate) fn points(&self, volumes: usize) -> Vec<Point> {
        let (small, large) = self.loads(volumes);
        let apart = match (self.run, self.matrix) {
            (Run::Simple | Run::Oltp | Run::Dss, _) => true,
            (Run::Normal, _) => false,
            (Run::Advanced, matrix) => matches!(matrix, None | Some(Matrix::Basic)),
        };
        let all = large.iter().flat_map(|large| small.iter().map(|small| Point { small: *small, large: *large }));
        all.filter(|point| point.small + point.large > 0)
            .filter(|point| !apart || point.small == 0 || point.large == 0)
            .collect()
    }
}

/// Returns `true` when the value is the second of two words; `None` when it is neither.
fn one_of(value: &str, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|word| *word == value).map(|at| at == 1)
}
