//! The library that notes calls of a traced tool: nothing is lost, nothing is taken for something else, and what does not
//! stop is cheap.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use activebench_e2e::{Verified, Volume, binary, needs, verify};
use serde_json::Value;

const TRACED: [&str; 4] = ["--backend", "trace", "--fail-on", "never"];

/// Calls on files, drawn by a seed, of the first process and thread alone, or of several at once. It opens, closes and
/// duplicates descriptors, changes their flags and positions, and syncs. It prints how many data calls it made.
const CALLS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long *made; /* read, write, pread, pwrite */

static void count(int kind) { __atomic_fetch_add(&made[kind], 1, __ATOMIC_RELAXED); }

static void *work(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    static __thread char data[16384];
    int fds[6] = { -1, -1, -1, -1, -1, -1 };
    for (int turn = 0; turn < 3000; turn++) {
        int *fd = &fds[rand_r(&seed) % 6];
        int what = rand_r(&seed) % 40;
        size_t bytes = 1 + rand_r(&seed) % 9000;
        off_t offset = rand_r(&seed) % (1 << 20);
        if (*fd < 0 || what == 0) {
            char name[3] = { 'f', '0' + rand_r(&seed) % 4, 0 };
            if (*fd >= 0)
                close(*fd);
            *fd = open(name, O_RDWR | O_CREAT | (rand_r(&seed) % 3 ? 0 : O_APPEND), 0644);
            continue;
        }
        int other = fds[rand_r(&seed) % 6];
        switch (what) {
        case 1: if (other >= 0 && other != *fd) dup2(other, *fd); break;
        case 2: fcntl(*fd, F_SETFL, rand_r(&seed) % 2 ? O_APPEND : 0); break;
        case 3: if (ftruncate(*fd, offset)) return NULL; break;
        case 4: lseek(*fd, offset, SEEK_SET); break;
        case 5: lseek(*fd, 0, SEEK_END); break;
        case 6: if (rand_r(&seed) % 10 == 0) fsync(*fd); break;
        default:
            count(what % 4);
            switch (what % 4) {
            case 0: if (read(*fd, data, bytes) < 0) return NULL; break;
            case 1: if (write(*fd, data, bytes) < 0) return NULL; break;
            case 2: if (pread(*fd, data, bytes, offset) < 0) return NULL; break;
            case 3: if (pwrite(*fd, data, bytes, offset) < 0) return NULL; break;
            }
        }
    }
    for (int place = 0; place < 6; place++)
        if (fds[place] >= 0)
            close(fds[place]);
    return NULL;
}

static void tick(int number) {
    static int fd = -1;
    int before = errno;
    (void)number;
    if (fd < 0)
        fd = open("tick", O_RDWR | O_CREAT, 0644);
    count(1);
    if (write(fd, "x", 1) < 0)
        abort();
    errno = before;
}

int main(int argc, char **words) {
    long seed = atol(words[1]), threads = atol(words[2]), forks = atol(words[3]), ticks = atol(words[4]);
    pthread_t others[200];
    int is_first = 1;
    (void)argc;
    made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ticks) {
        struct itimerval time = { { 0, 1000 }, { 0, 1000 } };
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &time, NULL);
    }
    for (long number = 1; number <= forks && is_first; number++)
        if (fork() == 0) {
            seed += 1000 * number;
            is_first = 0;
        }
    for (long number = 0; number < threads; number++)
        pthread_create(&others[number], NULL, work, (void *)(seed + 1 + number));
    work((void *)seed);
    for (long number = 0; number < threads; number++)
        pthread_join(others[number], NULL);
    if (!is_first)
        return 0;
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    if (ticks)
        signal(SIGALRM, SIG_IGN);
    printf("read %lu\nwrite %lu\npread %lu\npwrite %lu\n", made[0], made[1], made[2], made[3]);
    return 0;
}
"#;

/// Notes calls that it never makes, in the memory that the library shows to the tracer.
const FORGER: &str = r#"
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct note { uint64_t number, start_ns, end_ns; int64_t before, after; uint32_t requested; int32_t returned;
              uint32_t blocks, noting_ns; uint16_t fd, call; int32_t high; };
struct thread { int32_t tid; uint32_t unused; uint64_t head, tail, handed_ns, spare[4]; };

static void tracer(void) {
    close(1000); /* any call that stops */
}

int main(void) {
    struct thread *threads = (struct thread *)(0x1ab500001000 + 64 + 4096);
    struct note *rings = (struct note *)0x1ab500010000;
    char data[4096] = { 0 };
    int fd = open("forged", O_RDWR | O_CREAT, 0644);
    if (write(fd, data, sizeof data) < 0 || pread(fd, data, sizeof data, 0) < 0)
        return 1;
    tracer();
    for (int turn = 0; turn < 4096; turn++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t ns = now.tv_sec * 1000000000ull + now.tv_nsec, number = threads[0].head;
        struct note note = { number + 1, ns - 2000, ns - 1000, (turn % 1024) * 65536l, 0, 65536, 65536, 128, 0, fd, 17, 0 };
        rings[number % 1024] = note;
        threads[0].head = number + 1;
        if (turn % 512 == 0)
            tracer();
    }
    return 0;
}
"#;

/// Writes what it likes into the memory that the library shows to the tracer, and lets the tracer read it.
const SCRIBBLER: &str = r#"
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **words) {
    unsigned seed = atoi(words[1]);
    uint64_t *threads = (uint64_t *)(0x1ab500001000 + 64 + 4096), *rings = (uint64_t *)0x1ab500010000;
    char data[4096] = { 0 };
    int fd = open("scribbled", O_RDWR | O_CREAT, 0644);
    (void)argc;
    for (int turn = 0; turn < 2000; turn++) {
        uint64_t number = ((uint64_t)rand_r(&seed) << 33) ^ ((uint64_t)rand_r(&seed) << 11) ^ rand_r(&seed);
        if (rand_r(&seed) % 2)
            number %= 2000;
        if (rand_r(&seed) % 16 == 0)
            number = -1 - number % 3;
        int thread = rand_r(&seed) % 3;
        switch (rand_r(&seed) % 4) {
        case 0: threads[thread * 8 + rand_r(&seed) % 4] = number; break;
        case 1: rings[thread * 8192 + rand_r(&seed) % 8192] = number; break;
        case 2: { /* a note that counts, of any content */
            uint64_t head = threads[thread * 8 + 1], *note = rings + thread * 8192 + head % 1024 * 8;
            for (int word = 1; word < 8; word++)
                note[word] = rand_r(&seed) % 3 ? number : (uint64_t)rand_r(&seed);
            note[0] = head + 1;
            threads[thread * 8 + 1] = head + 1;
            break;
        }
        default:
            if (pwrite(fd, data, sizeof data, turn * 4096l) < 0 || (turn % 64 == 0 && fsync(fd)))
                return 1;
        }
        close(1000);
    }
    return 0;
}
"#;

fn built(volume: &Volume, program: &str, options: &[&str]) {
    let source = volume.beside("program.c");
    fs::write(&source, program).expect("a source");
    let binary = volume.path().join("program");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread"]).args(options).arg("-o").args([&binary, &source]);
    let built = compiler.output().expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Returns the calls of a run on regular files, one row each, by its columns.
fn calls(run: &Verified) -> Vec<BTreeMap<String, String>> {
    let mut show = Command::new(binary());
    show.args(["show", "--stage", "calls", "--format", "csv"]).arg(&run.run);
    let shown = show.output().expect("it starts");
    let text = String::from_utf8(shown.stdout).expect("text");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = lines.next().unwrap_or_else(|| panic!("no calls: {}", run.story()));
    let rows = lines.map(|row| head.iter().cloned().zip(row).collect::<BTreeMap<_, _>>());
    rows.filter(|row| row["file_kind"] == "regular").collect()
}

fn coverage(run: &Verified) -> Value {
    let text = fs::read_to_string(run.run.join("run.json")).expect("the manifest");
    serde_json::from_str::<Value>(&text).expect("JSON")["coverage"].clone()
}

/// Nothing was lost, and most calls did not stop.
#[track_caller]
fn is_noted_whole(run: &Verified) {
    let coverage = coverage(run);
    let account = &coverage["records"]["calls"];
    assert_eq!((&account["lost"], &account["made"]), (&0.into(), &account["received"]), "{}", run.story());
    assert!(coverage["undecoded"].as_array().is_none_or(Vec::is_empty), "{coverage}");
    assert_eq!(coverage["traced"]["storage_unread_calls"], 0, "{coverage}");
    let noted = coverage["traced"]["noted_calls"].as_u64().expect("a number");
    assert!(noted > account["made"].as_u64().expect("a number") / 2, "{coverage}");
}

#[test]
fn noted_calls_are_those_that_kernel_programs_see() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    built(&volume, CALLS, &[]);
    for seed in ["1", "2"] {
        let [noted, seen] = [&TRACED[..], &["--backend", "bpf", "--fail-on", "never"]].map(|options| {
            for name in ["f0", "f1", "f2", "f3"] {
                let file = volume.path().join(name);
                if file.exists() {
                    fs::remove_file(file).expect("it is removed");
                }
            }
            let run = verify(&volume, options, &["./program", seed, "0", "0", "0"]);
            let columns = ["op", "fd", "offset", "requested", "returned", "error", "open_flags"];
            let of_program = calls(&run).into_iter().filter(|row| row["open_flags"].contains("writable"));
            let mut rows: Vec<(u64, Vec<String>)> = of_program
                .map(|row| (row["start_ns"].parse().expect("ns"), columns.map(|name| row[name].clone()).to_vec()))
                .collect();
            rows.sort();
            (run, rows.into_iter().map(|(_, row)| row).collect::<Vec<_>>())
        });
        is_noted_whole(&noted.0);
        assert!(noted.1.len() > 2000, "{}", noted.1.len());
        let differ = noted.1.iter().zip(&seen.1).position(|(noted, seen)| noted != seen);
        assert_eq!(differ.map(|place| (&noted.1[place], &seen.1[place])), None);
        assert_eq!(noted.1.len(), seen.1.len());
    }
}

#[test]
fn of_threads_processes_and_signal_handlers_no_call_is_lost() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    built(&volume, CALLS, &[]);
    // More threads than the library has room for, too.
    for [threads, forks, ticks] in [["3", "0", "0"], ["1", "3", "0"], ["2", "2", "1"], ["90", "0", "0"]] {
        let run = verify(&volume, &TRACED, &["./program", "5", threads, forks, ticks]);
        is_noted_whole(&run);
        let printed = String::from_utf8(fs::read(run.run.join("stdout.txt")).expect("its output")).expect("text");
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        let rows = calls(&run);
        for row in rows.iter().filter(|row| row["open_flags"].contains("writable")) {
            *counted.entry(&row["op"]).or_default() += 1;
        }
        for line in printed.lines() {
            let (op, made) = line.split_once(' ').expect("two words");
            assert_eq!(counted.get(op), made.parse().ok().as_ref(), "{op}, {threads} {forks} {ticks}");
        }
        assert_eq!(printed.lines().count(), 4, "{}", run.story());
    }
}

#[test]
fn a_program_without_the_library_stops_at_each_call() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let made = |name: &str, options: &[&str]| {
        built(&volume, CALLS, options);
        fs::rename(volume.path().join("program"), volume.path().join(name)).expect("it is renamed");
    };
    made("static", &["-static"]);
    made("dynamic", &[]);
    let refused = [&TRACED[..], &["--no-preload"]].concat();
    let copies = ["env", "-i", "dd", "if=/dev/zero", "of=x", "bs=4k", "count=500"];
    for (options, command) in [
        (&TRACED[..], &["./static", "1", "0", "0", "0"][..]),
        (&TRACED, &copies),
        (&refused, &["./dynamic", "1", "0", "0", "0"]),
    ] {
        let run = verify(&volume, options, command);
        let coverage = coverage(&run);
        assert_eq!(coverage["records"]["calls"]["lost"], 0, "{coverage}");
        let stops = coverage["traced"]["stops"].as_u64().expect("a number");
        assert!(stops > coverage["records"]["calls"]["made"].as_u64().expect("a number"), "{coverage}");
    }
}

#[test]
fn notes_of_calls_that_were_never_made_are_found() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    built(&volume, FORGER, &[]);
    let run = verify(&volume, &TRACED, &["./program"]);
    let coverage = coverage(&run);
    let paths = coverage["undecoded"].as_array().expect("a list");
    let unmade = |path: &Value| path["path"].as_str().is_some_and(|path| path.contains("never made"));
    assert!(paths.iter().any(unmade), "{coverage}");
    assert!(coverage["traced"]["storage_unread_calls"].as_u64() > Some(0), "{coverage}");
    let findings = run.report["findings"].as_array().expect("findings");
    assert!(
        findings.iter().any(|finding| finding["code"] == "AB901" && finding["outcome"] == "fires"),
        "{}",
        run.story()
    );
}

#[test]
fn a_program_that_scribbles_over_its_notes_is_judged_to_the_end() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    built(&volume, SCRIBBLER, &[]);
    for seed in 1..=8 {
        let run = verify(&volume, &TRACED, &["./program", &seed.to_string()]);
        assert!(matches!(run.output.status.code(), Some(0 | 3 | 4)), "{seed}: {}", run.story());
        assert_eq!(coverage(&run)["backend"], "ptrace", "{seed}: {}", run.story());
        assert_eq!(run.report["verdict"], "inconclusive", "{seed}: {}", run.story());
    }
}
