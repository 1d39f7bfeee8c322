//! A test program in the place of Oracle's Orion, which is proprietary and cannot be run here.
//!
//! It takes Orion's options and `.lun` file, and does real I/O in Orion's way: libaio on files opened with `O_DIRECT`,
//! a constant number of requests outstanding, one data point after another. It writes its figures in the formats of
//! Orion 12.2. Every figure is measured. It names itself `orion-stand-in` wherever it gives a name. `-defect repeat`
//! makes it draw its offsets from a small set, as the random generator of Orion 11.2.0.1 did.

mod aio;
mod options;
mod point;
mod results;
mod tally;
mod volumes;

use std::process::ExitCode;
use std::time::Duration;

use options::{Options, Point};
use point::Outcome;
use volumes::Volumes;

/// Pause between data points, with no request outstanding. Orion's activity between two points is not documented. It
/// must at least wait for the requests of one point before it begins the next, and it prepares the next point's
/// buffers. The pause makes the gap visible on storage that answers in microseconds.
const REST: Duration = Duration::from_millis(100);

const HELP: &str = "orion-stand-in: a test program that does I/O as Oracle's Orion does; it is not Oracle's Orion

  -run simple|normal|advanced|dss|oltp   (mandatory)
  -testname NAME      reads NAME.lun, writes NAME_<date>_<time>_*   [orion]
  -num_disks N        [volumes in the .lun file]
  -size_small KB      [8]
  -size_large KB      [1024]
  -type rand|seq      of large I/Os [rand]
  -num_streamIO N     outstanding I/Os of a sequential stream [4]
  -simulate concat|raid0   -stripe KB
  -write PERCENT      [0]
  -cache_size MB      read before sequential data points, not measured [what 2 minutes give]
  -duration SECONDS   of a data point [60]
  -matrix basic|detailed|point|col|row|max   -num_small N   -num_large N
  -defect repeat      draws random offsets from 1/128 of the blocks, as Orion 11.2.0.1 did
  -verbose   -help   -hugenotneeded
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() || arguments.iter().any(|argument| argument.trim_start_matches('-') == "help") {
        print!("{HELP}");
        return ExitCode::from(u8::from(arguments.is_empty()));
    }
    println!(
        "orion-stand-in: not Oracle's ORION, writes what it measures as ORION does -- Version {}",
        results::VERSION
    );
    match Options::parse(&arguments).and_then(|options| run(&options, &arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            println!("{words}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options, arguments: &[String]) -> Result<(), String> {
    let stem = results::stem(&options.test_name);
    println!("{stem}");
    let volumes = Volumes::open(options)?;
    let points = options.points(volumes.count());
    let seconds = options.duration.as_secs() * points.len() as u64;
    println!("Calibration will take approximately {} minutes.", seconds.div_ceil(60));
    println!("Using a large value for -cache_size may take longer.\n");
    println!("Setting ftype=0");
    let mut outcomes: Vec<(Point, Outcome)> = Vec::new();
    for (number, point) in points.iter().enumerate() {
        if options.verbose {
            println!("Running point: Small={}, Large={}", point.small, point.large);
            println!("Point {} out of {}", number + 1, points.len());
        }
        if options.sequential && point.large > 0 && options.cache_megabytes != Some(0) {
            point::fill_cache(options, &volumes)?;
            std::thread::sleep(REST);
        }
        outcomes.push((*point, point::run(options, &volumes, *point)?));
        std::thread::sleep(REST);
    }
    results::write(&stem, options, arguments, &volumes, &outcomes)
        .map_err(|error| format!("orion_main: cannot write the results: {error}"))
}
