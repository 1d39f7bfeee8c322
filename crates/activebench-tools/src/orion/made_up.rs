//! A made-up output of Orion 11.2: one data point of small random reads.

use activebench_model::output::ToolFile;

/// The figures that Orion states for the run.
#[derive(Clone, Debug)]
pub struct MadeUpOutput {
    /// The path of the volume.
    pub volume: String,
    /// Its size in bytes.
    pub volume_bytes: u64,
    /// Requests outstanding.
    pub depth: u64,
    /// Duration of the data point in seconds.
    pub seconds: u64,
    /// Reads per second.
    pub iops: u64,
    /// Mean latency of a read in microseconds.
    pub mean_us: f64,
}

impl MadeUpOutput {
    /// Returns its standard output.
    pub fn stdout(&self) -> String {
        format!(
            "ORION: ORacle IO Numbers -- Version 11.2.0.1.0\nmytest_20100101_0000\nCalibration will take \
             approximately {} minutes.\nUsing a large value for -cache_size may take longer.\n\n",
            self.seconds.div_ceil(60)
        )
    }

    /// Returns the files that it reads and writes.
    pub fn files(&self) -> Vec<ToolFile> {
        let Self { volume, depth, seconds, iops, mean_us, .. } = self;
        let matrix = |cell: String| format!("Large/Small,{depth:>7}\n{:>11},{cell:>7}\n", 0);
        let at = format!("@ Small={depth} and Large=0");
        let summary = format!(
            "ORION VERSION 11.2.0.1.0\n\nCommand line:\n{}\n\nThese options enable these settings:\nTest: mytest\n\
             Small IO size: 8 KB\nLarge IO size: 1024 KB\nIO types: small random IOs, large random IOs\n\
             Sequential stream pattern: RAID-0 striping for all streams\nWrites: 0%\nCache size: 51200 MB\n\
             Duration for each data point: {seconds} seconds\nSmall Columns:,{depth:>7}\nLarge Columns:,{:>7}\n\
             Total Data Points: 1\n\nName: {volume}\tSize: {}\n1 files found.\n\nMaximum Small IOPS={iops} {at}\n\
             Minimum Small Latency={mean_us:.2} usecs {at}\n",
            made_up_arguments(*depth, *seconds).join(" "),
            0,
            self.volume_bytes,
        );
        [
            ("mytest.lun", format!("{volume}\n")),
            ("mytest_20100101_0000_iops.csv", matrix(iops.to_string())),
            ("mytest_20100101_0000_lat.csv", matrix(format!("{mean_us:.2}"))),
            ("mytest_20100101_0000_summary.txt", summary),
        ]
        .map(|(name, text)| ToolFile { name: name.to_owned(), bytes: text.into_bytes() })
        .into()
    }
}

/// Returns the arguments of the run.
pub fn made_up_arguments(depth: u64, seconds: u64) -> Vec<String> {
    let words = format!(
        "-testname mytest -run advanced -matrix point -num_small {depth} -num_large 0 -num_disks 5 -cache_size 51200 \
         -duration {seconds} -simulate raid0 -write 0"
    );
    words.split(' ').map(str::to_owned).collect()
}
