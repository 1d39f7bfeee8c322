//! Calls that a benchmark makes seldom and that an observer could misread or be kept busy with: lists of any length,
//! and the calls of 32-bit programs.

use std::collections::{BTreeSet, HashMap};

use activebench_e2e::{Verified, Volume, binary, needs, verify, verify_in_pid_namespace};

const UNIT: usize = 4096;
/// Above what 32 bits hold.
const FAR: usize = 5 << 30;

/// Runs a workload of our own on a folder of the volume.
fn workload(volume: &Volume, arguments: &[&str]) -> Verified {
    let (program, folder) = (binary(), volume.path());
    let mut command = vec![program.to_str().expect("UTF-8"), "__workload"];
    command.extend(arguments);
    command.push(folder.to_str().expect("UTF-8"));
    let run = verify(volume, &[], &command);
    assert_eq!(run.report["run"]["child"]["exit_code"], 0, "{}", run.stderr());
    run.assert_nothing_lost();
    run
}

/// The calls on each file, by its name.
struct CallsByFile {
    calls: Vec<HashMap<String, String>>,
    names: Vec<HashMap<String, String>>,
}

impl CallsByFile {
    fn of(run: &Verified) -> Self {
        Self { calls: run.rows("calls"), names: run.rows("names") }
    }

    /// Offset, requested and returned bytes of each call of a kind: the negative error for one that failed, -1 for what is
    /// unknown.
    fn on(&self, name: &str, op: &str) -> Vec<[i64; 3]> {
        let figures = |row: &HashMap<String, String>| {
            ["offset", "requested", "returned"].map(|name| match (row[name].as_str(), row["error"].as_str()) {
                ("", "EFAULT") if name == "returned" => -14,
                ("", "EINVAL") if name == "returned" => -22,
                ("", "ECANCELED") if name == "returned" => -125,
                ("", error) if name == "returned" && !error.is_empty() => panic!("{error} in {row:?}"),
                ("", _) => -1,
                (number, _) => number.parse().expect("a number"),
            })
        };
        self.rows_on(name, op).map(figures).collect()
    }

    /// The records of each call of a kind on a file.
    fn rows_on<'a>(&'a self, name: &str, op: &'a str) -> impl Iterator<Item = &'a HashMap<String, String>> {
        let end = format!("/{name}");
        let is_it = |row: &&HashMap<String, String>| row["op"] == "open" && row["name"].ends_with(&end);
        let opened = self.names.iter().find(is_it).unwrap_or_else(|| panic!("{name} was not seen to be opened"));
        let is_same = move |row: &HashMap<String, String>, part: &str| row[part] == opened[part];
        self.calls.iter().filter(move |row| row["op"] == op && is_same(row, "file_s_dev") && is_same(row, "file_ino"))
    }

    /// As [`Self::on`], where the records of several threads are not in order.
    fn sorted_on(&self, name: &str, op: &str) -> Vec<[i64; 3]> {
        sorted(self.on(name, op).into_iter())
    }
}

fn sorted(figures: impl Iterator<Item = [i64; 3]>) -> Vec<[i64; 3]> {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable();
    figures
}

fn blind_paths(run: &Verified) -> Vec<(String, u64)> {
    let paths = run.report["coverage"]["blind_paths"].as_array().expect("blind paths").iter();
    paths
        .map(|path| (path["path"].as_str().expect("a name").to_owned(), path["calls"].as_u64().expect("calls")))
        .collect()
}

/// The states of a fact in all phases.
fn states_of(run: &Verified, fact: &str) -> BTreeSet<String> {
    let phases = run.report["phases"].as_array().expect("phases").iter();
    phases.map(|phase| phase["facts"][fact]["completeness"]["state"].as_str().unwrap_or("none").to_owned()).collect()
}

/// 8 Mi iovecs cost a walk of 0.3 s in the kernel, for a call that moves nothing.
#[test]
fn lists_are_walked_no_further_than_the_kernel_takes_them_and_the_rest_is_named() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = workload(&volume, &["lists"]);
    let calls = CallsByFile::of(&run);
    let unit = UNIT as i64;
    // Too many iovecs: refused, and nothing was asked for. As many as the kernel takes: all are added up.
    assert_eq!(calls.on("vectors", "writev"), [[0, 0, -22], [0, 0, -22], [0, unit, unit]]);
    // Iovecs that are not in memory at the entry are read at the exit.
    assert_eq!(calls.on("absent_vectors", "writev"), [[0, 4, 4]]);
    assert_eq!(calls.on("huge_number", "aio_write"), (0..16).map(|index| [index * 4, 4, 4]).collect::<Vec<_>>());
    // 65,536 steps: 63 requests, each with 1,024 iovecs and the 16 steps of a request itself.
    let decoded = calls.on("product", "aio_write");
    assert_eq!(decoded, (0..63).map(|index| [index * unit, unit, unit]).collect::<Vec<_>>());
    // The other 37, and the one in a mapped file that was not in memory.
    let named = [("mmap".to_owned(), 1), ("libaio requests in lists too long or unreadable".to_owned(), 38)];
    assert_eq!(blind_paths(&run), named, "{}", run.story());
    // The walk of the product is a part of our cost, whether or not a slice of the measurement met it: it reads 65,536
    // places of memory, and no machine reads one within a nanosecond.
    let programs_ns = run.report["coverage"]["overhead"]["bpf_run_ns"].as_u64().expect("a run time");
    assert!(programs_ns > 65_536, "{programs_ns}");
    // What they moved is unknown.
    assert!(states_of(&run, "write_bytes").into_iter().eq(["partial"]), "{}", run.report["phases"]);
}

/// Requests that complete in the call that submits them alone join groups; a wrong member would have the offset, length
/// or result of another. Thousands in flight share places.
#[test]
fn requests_of_io_uring_are_seen_once_each_with_what_they_asked_for_and_got() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = workload(&volume, &["rings"]);
    let calls = CallsByFile::of(&run);
    let unit = UNIT as i64;
    // Writes and reads in between, past the end, and from memory that is not there.
    let single = |index: i64| match index % 8 {
        3 => ("uring_read", [index * unit, 1 + index, 0]),
        5 => ("uring_read", [index << 30, 1 + index, 0]),
        7 => ("uring_write", [index * unit, 1 + index, -14]),
        _ => ("uring_write", [index * unit, 1 + index, 1 + index]),
    };
    for op in ["uring_read", "uring_write"] {
        let of_op = (0..2000).map(single).filter(|(of, _)| *of == op);
        assert_eq!(calls.sorted_on("single", op), sorted(of_op.map(|(_, figures)| figures)), "{op}");
    }
    // The same through libaio, some of it collected by the call behind the next submission.
    let pair = |index: i64| match index % 8 {
        3 => ("aio_read", [index * unit, 1 + index, 0]),
        7 => ("aio_write", [index * unit, 1 + index, -14]),
        _ => ("aio_write", [index * unit, 1 + index, 1 + index]),
    };
    for op in ["aio_read", "aio_write"] {
        let of_op = (0..2000).map(pair).filter(|(of, _)| *of == op);
        assert_eq!(calls.sorted_on("pairs", op), sorted(of_op.map(|(_, figures)| figures)), "{op}");
    }
    let of_call = |op: &str| calls.calls.iter().filter(|call| call["op"] == op).count();
    assert_eq!(of_call("io_submit"), 2000);
    let events = calls.calls.iter().filter(|call| call["op"] == "io_getevents");
    let collected: i64 = events.map(|call| call["returned"].parse::<i64>().expect("a number")).sum();
    assert_eq!(collected, 2000);
    let lengths = |from: i64, to: i64| (from..to).map(|index| 1 + index % 1000);
    let deep = lengths(0, 4000).map(|length| [0, length, 0]).chain(lengths(4000, 4020).map(|length| [0, length, -125]));
    assert_eq!(calls.sorted_on("deep", "uring_read"), sorted(deep));
    assert_eq!(calls.on("linked", "uring_read"), [[0, unit, unit]]);
    let written = [[0, unit, unit], [unit, unit, -14], [2 * unit, unit, -125]];
    assert_eq!(calls.sorted_on("linked", "uring_write"), written);
    let registered = (0..64).map(|index| [index * unit, unit, unit]);
    assert_eq!(calls.sorted_on("registered", "uring_write"), sorted(registered));
    let enters = calls.calls.iter().filter(|call| call["op"] == "io_uring_enter" && call["requested"] == "1").count();
    assert!(enters >= 2000, "{enters}");
    assert_eq!(blind_paths(&run), [("io_uring requests without a completion entry".to_owned(), 20)], "{}", run.story());
}

#[test]
fn calls_of_32_bit_programs_are_seen_with_their_bytes_offsets_and_files() {
    needs!(beside: "mkfs.ext4", "losetup");
    const COUNT: usize = 100;
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = workload(&volume, &["narrow", "--count", "100"]);
    let calls = CallsByFile::of(&run);
    let whole = |at: usize| (0..COUNT).map(move |index| [(at + index * UNIT) as i64, UNIT as i64, UNIT as i64]);
    for (name, op, at) in [
        ("narrow", "write", 0),
        ("narrow", "read", 0),
        ("narrow_at", "pwrite", FAR),
        ("narrow_at", "pread", FAR),
        ("narrow_vectors", "writev", 0),
        ("narrow_vectors", "readv", 0),
        ("narrow_vectors_at", "pwritev", FAR),
        ("narrow_vectors_at", "preadv", FAR),
        ("narrow_target", "sendfile_to", 0),
        ("narrow_aio", "aio_write", 0),
    ] {
        assert!(calls.on(name, op).into_iter().eq(whole(at)), "{name} {op}: {:?}", calls.on(name, op));
    }
    assert!(calls.on("narrow_source", "sendfile").iter().all(|call| *call == [0, UNIT as i64, UNIT as i64]));
    for (name, op) in [("narrow", "fsync"), ("narrow", "close"), ("narrow_at", "fdatasync")] {
        assert_eq!(calls.on(name, op).len(), 1, "{name} {op}");
    }
    assert_eq!(calls.on("narrow", "lseek"), [[0, 0, 0]]);
    assert_eq!(blind_paths(&run), [], "{}", run.story());
    assert!(states_of(&run, "write_bytes").into_iter().eq(["complete"]), "{}", run.report["phases"]);
}

#[test]
fn calls_that_are_not_decoded_are_named() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = workload(&volume, &["narrow", "--count", "1", "--undecoded"]);
    let mut expected = vec![("32-bit calls that are not decoded".to_owned(), 1)];
    // Without the ABI the kernel refuses its calls, and nothing can have moved.
    if run.stderr().contains("x32: taken") {
        expected.push(("x32 calls".to_owned(), 1));
    }
    assert_eq!(blind_paths(&run), expected, "{}", run.story());
    assert!(states_of(&run, "write_bytes").into_iter().eq(["partial"]), "{}", run.report["phases"]);
}

#[test]
fn a_pid_namespace_changes_nothing() {
    needs!(beside: "mkfs.ext4", "losetup", "unshare");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let (program, file) = (binary(), volume.path().join("data"));
    let (program, file) = (program.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    let command = [program, "__workload", "syncs", "--count", "4", "--by", "fsync", file];
    let inside = ["unshare", "--pid", "--fork", "--mount-proc"].iter().chain(&command).copied().collect::<Vec<_>>();
    for run in [verify_in_pid_namespace(&volume, &command), verify(&volume, &[], &inside)] {
        run.assert_nothing_lost();
        let calls = CallsByFile::of(&run);
        let unit = UNIT as i64;
        assert_eq!(calls.on("data", "pwrite"), (0..4).map(|index| [index * unit, unit, unit]).collect::<Vec<_>>());
        assert_eq!(calls.on("data", "fsync").len(), 4);
        // One name for each process: what is born also executes, ends, and makes the calls.
        let tasks = run.rows("tasks");
        let of_kind = |kind: &str| -> BTreeSet<String> {
            tasks.iter().filter(|row| row["kind"] == kind).map(|row| row["tgid"].clone()).collect()
        };
        let callers: BTreeSet<String> = calls.calls.iter().map(|row| row["tgid"].clone()).collect();
        assert_eq!(of_kind("born"), of_kind("exited"));
        assert!(of_kind("executed").is_subset(&of_kind("born")) && callers.is_subset(&of_kind("born")), "{tasks:?}");
    }
}

/// Writes 8 blocks through the page cache, reads them with `O_DIRECT` set on the open file, and again with it cleared.
const CHANGES_FLAGS: &str = "
import fcntl, mmap, os, sys
block = mmap.mmap(-1, 1 << 16)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o644)
for place in range(8):
    os.pwrite(fd, block, place << 16)
flags = fcntl.fcntl(fd, fcntl.F_GETFL)
for flags in flags | os.O_DIRECT, flags:
    fcntl.fcntl(fd, fcntl.F_SETFL, flags)
    for place in range(8):
        os.preadv(fd, [block], place << 16)
";

#[test]
fn direct_io_that_is_set_and_cleared_on_an_open_file_counts_from_then_on() {
    needs!("python3", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let program = volume.beside("flags.py");
    std::fs::write(&program, CHANGES_FLAGS).expect("the program");
    let file = volume.path().join("data");
    let run = verify(&volume, &[], &["python3", program.to_str().expect("UTF-8"), file.to_str().expect("UTF-8")]);
    run.assert_nothing_lost();
    let calls = CallsByFile::of(&run);
    let direct = |op| {
        let own = calls.rows_on("data", op);
        own.map(|row| row["open_flags"].contains("direct")).collect::<Vec<_>>()
    };
    assert_eq!(direct("pwrite"), [false; 8]);
    assert_eq!(direct("preadv"), [[true; 8], [false; 8]].concat());
}
