//! Commands of the measurement without adapters: for each tool several of its modes, with drawn arguments. All are honest:
//! what is written is synced inside the clock, or is said to be about the file system with its cache.
//!
//! Seed and number decide everything about a run.

use fastrand::Rng;

use super::own;

/// One command to run.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The tool.
    pub tool: &'static str,
    /// Name of the run: tool, seed and number.
    pub name: String,
    /// Programs that it needs.
    pub needs: Vec<&'static str>,
    /// True if an adapter knows the tool.
    pub has_adapter: bool,
    /// Size of the volume in MiB.
    pub mib: u64,
    /// Shell scripts that run before it, in the volume.
    pub prepare: Vec<String>,
    /// Options of `activebench verify`.
    pub options: Vec<&'static str>,
    /// The command; `{mount}`, `{device}` and `{beside}` are places.
    pub command: Vec<String>,
}

/// Makes a command.
type Maker = fn(&mut Rng, &mut Draw);

/// The tools: the program, the number of runs, and what draws a command. The last four have no adapter, of which the last
/// two are our own.
const TOOLS: &[(&str, u32, Maker)] = &[
    ("dd", 10, dd),
    ("fio", 12, fio),
    ("iozone", 10, iozone),
    ("bonnie++", 6, bonnie),
    ("sysbench", 12, sysbench),
    ("ioping", 10, ioping),
    ("fs_mark", 10, fs_mark),
    ("pg_test_fsync", 2, pg_test_fsync),
    ("hdparm", 4, hdparm),
    ("stress-ng", 8, stress_ng),
    ("postmark", 4, postmark),
    ("f3", 4, f3),
    ("dbench", 3, dbench),
    ("db_bench", 4, db_bench),
    ("pace.py", 10, pace_py),
    ("pace.c", 10, pace_c),
];

/// Tools without an adapter.
const WITHOUT_ADAPTER: &[&str] = &[own::PYTHON, own::C];

/// Returns the runs of a seed: as many of each tool as its entry says, or that times `times`.
pub fn draws(seed: u64, times: u32) -> Vec<Draw> {
    let of_tool = |(tool, runs, make): &(&'static str, u32, Maker)| {
        let (tool, make) = (*tool, *make);
        (0..runs * times).map(move |number| draw(tool, make, seed, number))
    };
    TOOLS.iter().flat_map(of_tool).collect()
}

fn draw(tool: &'static str, make: Maker, seed: u64, number: u32) -> Draw {
    let of_tool = tool.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let mut rng = Rng::with_seed(seed ^ (u64::from(number) << 32) ^ (of_tool << 40));
    // Seeds that differ in few bits produce similar first numbers.
    let mut rng = Rng::with_seed((0..8).fold(0, |_, _| rng.u64(..)));
    let mut draw = Draw {
        tool,
        name: format!("{tool}-{seed}-{number}"),
        needs: vec![tool],
        has_adapter: !WITHOUT_ADAPTER.contains(&tool),
        mib: 384,
        prepare: Vec::new(),
        options: Vec::new(),
        command: Vec::new(),
    };
    make(&mut rng, &mut draw);
    draw
}

fn one_of<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    *rng.choice(of).expect("there is something to choose from")
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The figure is about the file system with its cache.
const CACHED: [&str; 2] = ["--subject", "cached-filesystem"];

/// Writes a file of this many MiB past the cache.
fn lay_out(name: &str, mib: u64) -> String {
    format!("dd if=/dev/urandom of={name} bs=1M count={mib} conv=fsync status=none")
}

fn dd(rng: &mut Rng, draw: &mut Draw) {
    let (block, count) = one_of(rng, &[("4k", 8192), ("64k", 1024), ("1M", 64), ("256k", 400), ("1M", 200)]);
    let line = match rng.u32(0..5) {
        0 => format!("dd if=/dev/zero of=data bs={block} count={count} conv=fsync"),
        1 => format!("dd if=/dev/zero of=data bs={block} count={count} conv=fdatasync"),
        2 => format!("dd if=/dev/zero of=data bs={block} count={count} oflag=direct"),
        3 => {
            draw.prepare.push(lay_out("data", 128));
            format!("dd if=data of=/dev/null bs={block} iflag=direct")
        }
        _ => {
            draw.options.extend(CACHED);
            format!("dd if=/dev/zero of=data bs={block} count={count}")
        }
    };
    draw.command = words(&line);
}

fn fio(rng: &mut Rng, draw: &mut Draw) {
    let way = one_of(rng, &["write", "read", "randread", "randwrite", "randrw", "rw"]);
    let block = one_of(rng, &["4k", "16k", "64k", "1m"]);
    let engine = one_of(rng, &["--ioengine=psync", "--ioengine=libaio --iodepth=8", "--ioengine=io_uring --iodepth=4"]);
    let jobs = one_of(rng, &["", "", "--numjobs=2 --group_reporting"]);
    let size = if block == "4k" { "32m" } else { "96m" };
    let line = format!("fio --name=job --rw={way} --bs={block} --size={size} --direct=1 {engine} {jobs}");
    draw.command = words(&line);
}

fn iozone(rng: &mut Rng, draw: &mut Draw) {
    let record = one_of(rng, &["4k", "16k", "64k", "1m"]);
    let size = one_of(rng, &["16m", "32m", "64m"]);
    let tests = one_of(rng, &["-i0", "-i0 -i1", "-i0 -i1 -i2", "-i0 -i1 -i5", "-i0 -i1 -i2 -i3 -i8", "-i0 -i2"]);
    let how = match rng.u32(0..4) {
        0 => "-e",
        1 if record != "4k" => {
            draw.options.extend(CACHED);
            ""
        }
        _ => "-I",
    };
    let tests = if how == "-e" { "-i0" } else { tests };
    let form = one_of(rng, &["", "", "", "-O", "-c", "-w", "-t 2 -F one two"]);
    draw.command = words(&format!("iozone {tests} {how} -s {size} -r {record} {form}"));
}

fn bonnie(rng: &mut Rng, draw: &mut Draw) {
    draw.mib = 1536;
    let data =
        one_of(rng, &["-s 512:64k -n 0 -f -D", "-s 400:32k -n 0 -f -b", "-s 0 -n 4:4096:0:4 -b", "-s 0 -n 2 -b"]);
    let data = if draw.name.ends_with('0') { "-s 512:64k -n 0 -f -D" } else { data };
    draw.options.extend(CACHED);
    draw.command = words(&format!("bonnie++ -u root -d {{mount}} -r 0 -m host {data}"));
}

fn sysbench(rng: &mut Rng, draw: &mut Draw) {
    let mode = one_of(rng, &["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw", "prepare"]);
    let total = one_of(rng, &["32M", "64M"]);
    let files = one_of(rng, &[1, 4, 16]);
    let common = format!("sysbench fileio --file-total-size={total} --file-num={files}");
    if mode == "prepare" {
        draw.command = words(&format!("{common} prepare"));
        return;
    }
    let threads = one_of(rng, &[1, 1, 2]);
    let block = one_of(rng, &["16K", "4K"]);
    let sync = if mode.ends_with("rd") { "" } else { one_of(rng, &["", "--file-fsync-freq=0 --file-fsync-end=on"]) };
    let interval = one_of(rng, &["", "", "--report-interval=1"]);
    draw.prepare.push(format!("{common} prepare"));
    draw.command = words(&format!(
        "{common} --file-test-mode={mode} --file-block-size={block} --file-extra-flags=direct --threads={threads} \
         --time=2 {sync} {interval} run"
    ));
}

fn ioping(rng: &mut Rng, draw: &mut Draw) {
    let count = one_of(rng, &[100, 200, 1000]);
    let size = one_of(rng, &["", "", "-s 16k", "-s 256k"]);
    let line = match rng.u32(0..4) {
        0 => format!("ioping -c {count} -i 0 -D {size} data"),
        1 => format!("ioping -q -c {count} -i 0 -D {size} data"),
        2 => format!("ioping -q -c {count} -i 0 -WWW -D {size} data"),
        _ => format!("ioping -q -c {count} -i 2ms -D {size} data"),
    };
    draw.prepare.push(lay_out("data", 64));
    draw.command = words(&line);
}

fn fs_mark(rng: &mut Rng, draw: &mut Draw) {
    let files = one_of(rng, &[200, 500, 1000]);
    let size = one_of(rng, &[0, 4096, 16384, 100_000]);
    let sync = one_of(rng, &["-S 1", "-S 1", "-S 2", "-S 3", "-S 0"]);
    if sync == "-S 0" {
        draw.options.extend(CACHED);
    }
    let more = one_of(rng, &["", "", "-L 2", "-d sub"]);
    draw.prepare.push("mkdir -p files sub".to_owned());
    draw.command = words(&format!("fs_mark -d files {more} -n {files} -s {size} {sync}"));
}

fn pg_test_fsync(_: &mut Rng, draw: &mut Draw) {
    draw.command = words("pg_test_fsync -s 1 -f data");
}

fn hdparm(rng: &mut Rng, draw: &mut Draw) {
    // A file system on it would be read while it is mounted.
    let line = one_of(rng, &["hdparm -t {device}", "hdparm -t --direct {device}", "hdparm -T {device}"]);
    let line = if draw.name.ends_with('0') { "hdparm -t --direct {device}" } else { line };
    draw.prepare.push(lay_out("data", 300));
    draw.command = words(line);
}

fn stress_ng(rng: &mut Rng, draw: &mut Draw) {
    let options = one_of(rng, &["direct", "fsync", "dsync", "wr-seq,fsync", "rd-rnd,direct", "direct,wr-rnd"]);
    let bytes = one_of(rng, &["16m", "64m"]);
    let hogs = one_of(rng, &[1, 1, 2]);
    draw.command =
        words(&format!("stress-ng --hdd {hogs} --hdd-bytes {bytes} --hdd-opts {options} --timeout 2s --metrics"));
}

fn postmark(rng: &mut Rng, draw: &mut Draw) {
    let number = one_of(rng, &[500, 1000, 2000]);
    let transactions = one_of(rng, &[1000, 2000, 4000]);
    let size = one_of(rng, &["set size 500 10000", "set size 1000 20000", "set read 4096\\nset write 4096"]);
    let location = "set location {mount}/pm";
    draw.options.extend(CACHED);
    draw.prepare.push(format!(
        "mkdir pm; printf 'set number {number}\\nset transactions {transactions}\\n{size}\\n{location}\\nrun\\nquit\\n' \
         > {{beside}}/config.pm"
    ));
    draw.command = words("postmark {beside}/config.pm");
}

fn f3(rng: &mut Rng, draw: &mut Draw) {
    draw.needs = vec!["f3write", "f3read"];
    draw.mib = one_of(rng, &[96, 160, 224]);
    draw.prepare.push("mkdir f3".to_owned());
    if rng.bool() {
        draw.command = words("f3write f3");
    } else {
        draw.prepare.push("f3write f3 > /dev/null".to_owned());
        draw.command = words("f3read f3");
    }
}

fn dbench(rng: &mut Rng, draw: &mut Draw) {
    let clients = one_of(rng, &[1, 2]);
    let sync = one_of(rng, &["", "-s", "-S"]);
    draw.options.extend(CACHED);
    draw.command = words(&format!("dbench -t 3 {sync} {clients}"));
}

fn db_bench(rng: &mut Rng, draw: &mut Draw) {
    let what = one_of(rng, &["fillseq", "fillrandom,readrandom", "fillsync", "fillseq,readseq", "fillseq,overwrite"]);
    let number = if what == "fillsync" { 2000 } else { one_of(rng, &[20_000, 50_000]) };
    draw.options.extend(CACHED);
    draw.command = words(&format!("db_bench --db={{mount}}/db --benchmarks={what} --num={number} --value_size=400"));
}

fn pace_py(rng: &mut Rng, draw: &mut Draw) {
    draw.needs = vec!["python3"];
    let (block, count) = one_of(rng, &[(4096, 8192), (65_536, 1024), (1 << 20, 64), (1 << 20, 200), (12_345, 4000)]);
    let form = one_of(rng, &["json", "table", "sentence", "write-only"]);
    draw.command = words(&format!("python3 {{beside}}/{} data {block} {count} {form}", own::PYTHON));
}

fn pace_c(rng: &mut Rng, draw: &mut Draw) {
    draw.needs = vec!["cc"];
    let (block, count) = one_of(rng, &[(4096, 4096), (16_384, 2048), (65_536, 1024), (1 << 20, 128)]);
    let form = one_of(rng, &["kib", "iops", "csv"]);
    draw.prepare.push(format!("cc -O1 -o {{beside}}/pace {{beside}}/{}", own::C));
    draw.command = words(&format!("{{beside}}/pace data {block} {count} {form}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_a_hundred_runs_which_the_seed_decides() {
        let drawn = draws(1, 1);
        assert!(drawn.len() >= 100, "{}", drawn.len());
        assert_eq!(format!("{drawn:?}"), format!("{:?}", draws(1, 1)));
        assert_ne!(format!("{drawn:?}"), format!("{:?}", draws(2, 1)));
        assert!(drawn.iter().all(|draw| !draw.command.is_empty()));
    }
}
