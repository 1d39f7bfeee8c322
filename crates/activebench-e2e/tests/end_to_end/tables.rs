//! The tables of a real run, as other programs read them: the queries of `docs/queries.md`, and what a run takes on disk.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use activebench_e2e::{Verified, Volume, binary, needs, skip, verify};

/// A short run with everything in it: reads, writes and syncs, cached and at the device.
const FIO: [&str; 8] =
    ["fio", "--name=job", "--filename=data", "--rw=randrw", "--bs=4k", "--size=16m", "--ioengine=psync", "--fsync=64"];

/// Most bytes of such a run directory.
const MOST_BYTES: u64 = 5 << 20;

/// Names the Python that has `duckdb` and `polars`.
const PYTHON: &str = "ACTIVEBENCH_PYTHON";

/// Runs a program that is read from the standard input: DuckDB's SQL, or Python with polars. A query that returns nothing
/// is a query that nobody tried.
const RUNNER: &str = r#"
import sys
kind, text = sys.argv[1], sys.stdin.read()
if kind == "sql":
    import duckdb
    rows = duckdb.sql(text).fetchall()
    assert rows, "no rows"
    for row in rows[:20]:
        print(row)
else:
    exec(text)
"#;

fn run(volume: &Volume) -> Verified {
    let run = verify(volume, &[], &FIO);
    run.assert_nothing_lost();
    run
}

fn bytes_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.metadata().expect("a file") {
            folder if folder.is_dir() => bytes_of(&entry.path()),
            file => file.len(),
        })
        .sum()
}

#[test]
fn a_short_run_takes_less_than_5_mib() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let bytes = bytes_of(&run(&volume).run);
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}

/// Returns the programs of a page: the language and text of each fenced block of SQL or Python.
fn programs(page: &str) -> Vec<(String, String)> {
    let mut programs = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language @ ("sql" | "python")) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        programs.push((language.to_owned(), text.join("\n")));
    }
    programs
}

/// Returns the interpreter; the reason where there is none.
fn python() -> Result<PathBuf, String> {
    let named = std::env::var_os(PYTHON).ok_or_else(|| format!("{PYTHON} names no Python with duckdb and polars"))?;
    let path = PathBuf::from(named);
    let imported = Command::new(&path).args(["-c", "import duckdb, polars"]).output();
    match imported {
        Ok(output) if output.status.success() => Ok(path),
        Ok(output) => Err(format!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

#[test]
fn every_query_of_the_page_finds_something_in_a_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return skip(&reason),
    };
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = run(&volume);
    let folder = volume.beside("queries");
    fs::create_dir(&folder).expect("a folder");
    std::os::unix::fs::symlink(&run.run, folder.join("RUN")).expect("a link");
    let exported = Command::new(binary())
        .args(["report", "RUN", "--format", "claims-parquet=claims.parquet", "--format", "facts-parquet=facts.parquet"])
        .args(["--format", "timeline-parquet=timeline.parquet"])
        .current_dir(&folder)
        .output()
        .expect("the binary runs");
    assert!(folder.join("timeline.parquet").exists(), "{}", String::from_utf8_lossy(&exported.stderr));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queries.md");
    let programs = programs(&fs::read_to_string(page).expect("docs/queries.md"));
    assert!(programs.len() >= 16, "{} queries", programs.len());
    for (language, text) in programs {
        let mut child = Command::new(&python)
            .args(["-c", RUNNER, &language])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("python starts");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{text}\n{said}");
    }
}
