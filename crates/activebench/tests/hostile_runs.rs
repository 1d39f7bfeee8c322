//! Run directories as a stranger might hand them over: damaged, tampered with, and made to hurt whoever opens them.
//!
//! `recheck` runs as a child with bounded memory. Whatever the directory holds, it ends with a code of its own, prints no
//! panic, touches nothing outside, and gives no other verdict than before without saying why.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use activebench_model::call::{Call, FileId};
use activebench_model::event::{BlockEvent, CacheEvent, CpuEvent, NameEvent, SampleEvent, StealEvent, TaskEvent};
use activebench_record::{MANIFEST, RunReader, RunWriter, SEAL, sha256};
use fastrand::Rng;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;

/// Mutations of a test run.
const FEW: u64 = 240;
/// Mutations of the long run: `cargo test --test hostile_runs -- --ignored`.
const MANY: u64 = 10_000;
/// Address space of a child: a larger request fails, which ends it by a signal. What is mapped is more than what is used:
/// each thread has its own heap.
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// Most memory that a child may use.
const RESIDENT_BYTES: u64 = 256 << 20;
/// Content of a file outside that a run must neither show nor change.
const SECRET: &str = "the secret of somebody else\n";

/// How a child ended.
struct Ended {
    code: Option<i32>,
    /// Standard output and standard error.
    said: String,
    resident_bytes: u64,
}

#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and returns the memory that it used")]
fn recheck(run: &Path) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_activebench"))
        .args(["recheck", "--format", "json"])
        .arg(run)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("RUST_BACKTRACE", "0")
        .spawn()
        .expect("activebench starts");
    let pid = Pid::from_child(&child);
    let limit = Rlimit { current: Some(ADDRESS_SPACE_BYTES), maximum: Some(ADDRESS_SPACE_BYTES) };
    prlimit(Some(pid), Resource::As, limit).expect("a limit");
    let (mut out, mut err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let errors = std::thread::spawn(move || {
        let mut said = Vec::new();
        err.read_to_end(&mut said).expect("it is read");
        said
    });
    let mut said = Vec::new();
    out.read_to_end(&mut said).expect("it is read");
    said.extend(errors.join().expect("it is read"));
    let mut status = 0;
    // SAFETY: an all-zero `rusage` is one; both pointers are to locals, and the child is ours and not waited for yet.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let waited = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid.as_raw_nonzero().get());
    Ended {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        said: String::from_utf8_lossy(&said).into_owned(),
        resident_bytes: usage.ru_maxrss as u64 * 1024,
    }
}

/// A made-up run of Orion: it has claims, a phase, and figures that the judgement confirms or not.
fn stored(root: &Path) -> PathBuf {
    let run = root.join("run");
    let written = Command::new(env!("CARGO_BIN_EXE_activebench"))
        .args(["__recorded", "--reads", "3000", "--blocks", "4096", "--orion-set", "1000"])
        .arg(&run)
        .status();
    assert!(written.expect("activebench starts").success());
    run
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let at = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copied(&entry.path(), &at),
            false => fs::copy(entry.path(), &at).map(drop).expect("a copy"),
        }
    }
}

fn files(run: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(run).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort_unstable();
    found
}

/// Makes the manifest agree with what is there, and seals it: the work of somebody who knows how a run is made.
fn resealed(run: &Path) {
    if !run.join(MANIFEST).symlink_metadata().is_ok_and(|about| about.is_file() && about.len() < 1 << 30) {
        return;
    }
    let Ok(Ok(mut manifest)) = fs::read(run.join(MANIFEST)).map(|bytes| serde_json::from_slice::<Value>(&bytes)) else {
        return;
    };
    if let Some(sums) = manifest.get_mut("sha256").and_then(Value::as_object_mut) {
        let is_plain =
            |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() < 1 << 30);
        sums.retain(|name, _| run.join(name).symlink_metadata().is_ok());
        for (name, sum) in sums.iter_mut().filter(|(name, _)| is_plain(&run.join(name))) {
            *sum = sha256(&fs::read(run.join(name)).expect("a file")).into();
        }
    }
    let bytes = serde_json::to_vec_pretty(&manifest).expect("JSON");
    let seal = format!("{}  {MANIFEST}\n", sha256(&bytes));
    fs::write(run.join(MANIFEST), bytes).expect("it is written");
    if run.join(SEAL).symlink_metadata().is_ok_and(|about| about.is_file()) {
        fs::write(run.join(SEAL), seal).expect("it is written");
    }
}

/// Puts an extreme in the place of some number of a JSON document; returns how many numbers it has.
fn with_extreme(value: &mut Value, at: &mut usize, extreme: &Value) {
    match value {
        Value::Number(_) => {
            if *at == 0 {
                *value = extreme.clone();
            }
            *at = at.wrapping_sub(1);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| with_extreme(value, at, extreme)),
        Value::Object(fields) => fields.values_mut().for_each(|value| with_extreme(value, at, extreme)),
        _ => {}
    }
}

const EXTREMES: [u64; 8] = [0, 1, u32::MAX as u64, 1 << 40, 1 << 62, i64::MAX as u64, (i64::MAX as u64) + 1, u64::MAX];

/// Writes the run anew with extreme numbers in some events, as somebody would who has our own writer.
fn extreme_events(run: &Path, rng: &mut Rng) {
    let reader = RunReader::open(run).expect("a run");
    let mut calls: Vec<Call> = reader.calls().flat_map(|part| part.expect("calls")).collect();
    let number = |rng: &mut Rng| EXTREMES[rng.usize(..EXTREMES.len())];
    for _ in 0..rng.usize(1..8) {
        let place = rng.usize(..calls.len());
        let call = &mut calls[place];
        let value = number(rng);
        match rng.u32(..11) {
            0 => call.start_ns = value,
            1 => call.end_ns = value,
            2 => call.offset = value as i64,
            3 => call.requested = value,
            4 => call.returned = value as i64,
            5 => call.storage_read_bytes = value,
            6 => call.cached_bytes = value,
            7 => call.cpu_ns = value,
            8 => call.user_before_ns = value,
            9 => call.fd = value as i32,
            _ => call.file = Some(FileId { s_dev: value as u32, ino: value }),
        }
    }
    if rng.bool() {
        // Sums that overflow, and not single numbers.
        let value = number(rng);
        calls.iter_mut().for_each(|call| (call.cpu_ns, call.cached_bytes) = (value, value));
    }
    let mut blocks: Vec<BlockEvent> = reader.block().flat_map(|part| part.expect("events")).collect();
    if !blocks.is_empty() {
        for _ in 0..rng.usize(..4) {
            let place = rng.usize(..blocks.len());
            let (value, block) = (number(rng), &mut blocks[place]);
            match rng.u32(..4) {
                0 => block.at_ns = value,
                1 => block.bytes = value,
                2 => block.sector = value,
                _ => block.latency_ns = value,
            }
        }
    }
    let others = run.with_extension("new");
    let mut writer = RunWriter::create(&others).expect("a run");
    writer.append(&calls);
    writer.append(&blocks);
    macro_rules! kept {
        ($($method:ident: $event:ty,)*) => {
            $(for part in reader.$method() {
                let part: Vec<$event> = part.expect("events");
                writer.append(&part);
            })*
        };
    }
    kept! {
        names: NameEvent, tasks: TaskEvent, cache: CacheEvent, cpu: CpuEvent, samples: SampleEvent, steal: StealEvent,
    }
    for name in ["stdout.txt", "stderr.txt", "output-lines.json", "stacks.json"] {
        if let Some(bytes) = reader.file(name).expect("a file") {
            writer.write_file(name, &bytes).expect("it is written");
        }
    }
    writer.write_tool_files(&reader.output().expect("output").files).expect("they are written");
    writer.finish(reader.manifest().clone()).expect("a run");
    fs::remove_dir_all(run).expect("it is removed");
    fs::rename(others, run).expect("it moves");
}

/// Changes a run at random; returns what was done, and whether a knowing hand hid it.
fn mutate(run: &Path, secret: &Path, rng: &mut Rng) -> (String, bool) {
    let files = files(run);
    let any = |rng: &mut Rng| files[rng.usize(..files.len())].clone();
    let file = any(rng);
    let name = file.strip_prefix(run).expect("inside").display().to_string();
    let length = fs::metadata(&file).expect("a file").len();
    let kind = rng.u32(..14);
    let what = match kind {
        0..3 if length > 0 => {
            let at = rng.u64(..length);
            let mut bytes = fs::read(&file).expect("a file");
            bytes[at as usize] ^= 1 << rng.u32(..8);
            fs::write(&file, bytes).expect("it is written");
            format!("bit at {at} of {name}")
        }
        3 => {
            let length = rng.u64(..=length);
            fs::File::options().write(true).open(&file).expect("a file").set_len(length).expect("it is cut");
            format!("{name} cut to {length}")
        }
        4 => {
            let other = any(rng);
            let (one, two) = (fs::read(&file).expect("a file"), fs::read(&other).expect("a file"));
            fs::write(&file, two).expect("it is written");
            fs::write(&other, one).expect("it is written");
            format!("{name} and {} swapped", other.display())
        }
        5 => {
            let target = [secret, Path::new("/proc/self/environ"), Path::new("/dev/zero"), Path::new("/proc/kmsg")];
            let target = target[rng.usize(..4)];
            fs::remove_file(&file).expect("it is removed");
            symlink(target, &file).expect("a link");
            format!("{name} is a link to {}", target.display())
        }
        6 => {
            fs::remove_file(&file).expect("it is removed");
            mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
            format!("{name} is a pipe")
        }
        7 => {
            fs::remove_file(&file).expect("it is removed");
            format!("{name} is gone")
        }
        8 => {
            fs::File::options().write(true).open(&file).expect("a file").set_len(1 << 42).expect("a hole");
            format!("{name} has a hole")
        }
        9 | 10 => {
            let path = run.join(MANIFEST);
            let mut manifest: Value = serde_json::from_slice(&fs::read(&path).expect("it is there")).expect("JSON");
            let extreme = [Value::from(EXTREMES[rng.usize(..8)]), (-1).into(), f64::MAX.into(), i64::MIN.into()];
            let extreme = &extreme[rng.usize(..4)];
            let mut at = rng.usize(..120);
            with_extreme(&mut manifest, &mut at, extreme);
            fs::write(&path, serde_json::to_vec(&manifest).expect("JSON")).expect("it is written");
            format!("{extreme} in {MANIFEST}")
        }
        11 => {
            let target = run.join("figures.parquet");
            if target.symlink_metadata().is_ok() {
                fs::remove_file(&target).expect("it is removed");
            }
            symlink(secret, &target).expect("a link");
            if run.join("figures.parquet.new").symlink_metadata().is_err() {
                symlink(secret, run.join("figures.parquet.new")).expect("a link");
            }
            "figures.parquet is a link".to_owned()
        }
        12 => {
            extreme_events(run, rng);
            return ("extreme events".to_owned(), true);
        }
        _ => {
            let bytes: Vec<u8> = (0..64).map(|_| rng.u8(..)).collect();
            let at = rng.u64(..=length);
            fs::File::options().write(true).open(&file).expect("a file").write_all_at(&bytes, at).expect("written");
            format!("64 bytes at {at} of {name}")
        }
    };
    let hidden = kind != 11 && rng.bool();
    if hidden {
        resealed(run);
    }
    (what, hidden)
}

fn check(seed: u64, original: &Path, plain: &Ended, root: &Path) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let folder = root.join(seed.to_string());
    fs::create_dir(&folder).expect("a folder");
    let (run, secret) = (folder.join("run"), folder.join("secret"));
    copied(original, &run);
    fs::write(&secret, SECRET).expect("it is written");
    let (what, hidden) = mutate(&run, &secret, &mut rng);
    let ended = recheck(&run);
    let said = &ended.said;
    let about = format!("seed {seed}: {what}{}", if hidden { ", hidden" } else { "" });
    assert!(matches!(ended.code, Some(0..=4)), "{about}: {:?}\n{said}", ended.code);
    assert!(!said.contains("panicked") && !said.contains("backtrace"), "{about}:\n{said}");
    assert!(!said.contains(SECRET.trim()), "{about}:\n{said}");
    assert_eq!(fs::read_to_string(&secret).expect("it is there"), SECRET, "{about}");
    assert!(ended.resident_bytes < RESIDENT_BYTES, "{about}: {} MiB", ended.resident_bytes >> 20);
    // What is not hidden is either of no effect or told.
    let words = ["not what was recorded", "cannot be read", "has no seal"];
    let is_told = ended.code == Some(2) || words.iter().any(|word| said.contains(word));
    assert!(hidden || is_told || ended.code == plain.code, "{about}: {:?} instead of {:?}", ended.code, plain.code);
    fs::remove_dir_all(&folder).expect("it is removed");
    ended.resident_bytes
}

fn mutations(count: u64) {
    let root = tempfile::tempdir().expect("a folder");
    let original = stored(root.path());
    let plain = recheck(&original);
    assert!(matches!(plain.code, Some(0 | 1 | 3)), "{:?}\n{}", plain.code, plain.said);
    let (next, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        break;
                    }
                    most.fetch_max(check(seed, &original, &plain, root.path()), Ordering::Relaxed);
                }
            });
        }
    });
    println!("{count} mutations, at most {} MiB", most.into_inner() >> 20);
}

#[test]
fn a_run_from_a_stranger_does_no_harm() {
    mutations(FEW);
}

#[test]
#[ignore = "10,000 changes instead of a few hundred: `cargo test --workspace --test hostile_runs -- --ignored`"]
fn many_runs_from_strangers_do_no_harm() {
    mutations(MANY);
}
