//! `verify --library`: calls of the C library and of libaio beside those of the kernel.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use activebench_e2e::{Verified, Volume, needs, verify};

/// A program that writes and reads a file byte after byte through the C library's buffer.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    FILE *file = fopen("x", "w");
    for (int byte = 0; byte < 1 << 20; byte++)
        putc(byte & 255, file);
    fflush(file);
    fsync(fileno(file));
    fclose(file);
    file = fopen("x", "r");
    while (getc(file) != EOF)
        ;
    return fclose(file);
}
"#;

/// Returns the calls of a function in a phase, all of which are certain.
#[track_caller]
fn calls(run: &Verified, phase: &str, function: &str) -> u64 {
    let phases = run.report["phases"].as_array().expect("phases");
    let phase = phases
        .iter()
        .find(|candidate| candidate["name"] == phase)
        .unwrap_or_else(|| panic!("{phase}: {}", run.story()));
    let library = phase["cpu"]["library"].as_array().unwrap_or_else(|| panic!("no library: {phase:#}"));
    let Some(counted) = library.iter().find(|counted| counted["name"] == function) else { return 0 };
    assert_eq!(counted["open_calls"], 0, "{counted}");
    counted["calls"].as_u64().expect("a number")
}

fn built(volume: &Volume, name: &str, options: &[&str]) {
    let source = volume.beside("program.c");
    fs::write(&source, PROGRAM).expect("a source");
    let built = Command::new("cc").args(options).arg("-o").arg(volume.path().join(name)).arg(&source).output();
    let built = built.expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

#[test]
fn bytes_that_a_program_puts_one_by_one_stand_behind_few_writes() {
    needs!(beside: "cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    built(&volume, "dynamic", &["-O0"]);
    let run = verify(&volume, &["--library"], &["./dynamic"]);
    run.assert_nothing_lost();
    assert_eq!(calls(&run, "write of x", "putc"), 1 << 20);
    assert_eq!(calls(&run, "read of x", "getc"), (1 << 20) + 1);
    let phases = run.report["phases"].as_array().expect("phases");
    let fact = |name: &str, fact: &str| {
        let phase = phases.iter().find(|phase| phase["name"] == name).expect("the phase");
        phase["facts"][fact]["value"].as_f64()
    };
    assert_eq!(fact("write of x", "library_write_calls"), Some(1_048_576.0));
    assert_eq!(fact("write of x", "library_read_calls"), Some(0.0));
    // The buffer of the C library has the size of a block of the file system.
    let block = fs::metadata(volume.path().join("x")).expect("the file").blksize();
    assert_eq!(fact("write of x", "write_calls"), Some((1 << 20) as f64 / block as f64));
    // Without the option nothing is said of it.
    let without = verify(&volume, &[], &["./dynamic"]);
    let phase = &without.report["phases"][0];
    assert!(phase["facts"]["library_write_calls"].is_null() && phase["cpu"]["library"].is_null(), "{phase:#}");
}

#[test]
fn a_program_with_a_library_of_its_own_has_no_count_and_not_zero() {
    needs!(beside: "cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    built(&volume, "static", &["-O0", "-static"]);
    let run = verify(&volume, &["--library"], &["./static"]);
    let phase = &run.report["phases"][0];
    let fact = &phase["facts"]["library_write_calls"];
    assert!(fact["value"].is_null(), "{fact}");
    assert!(fact.to_string().contains("linked statically"), "{fact}");
}

#[test]
fn passes_of_iozone_and_requests_of_fio_are_counted() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 128, "noatime");
    let run = verify(&volume, &["--library"], &["iozone", "-i6", "-i7", "-s16m", "-r64k"]);
    for (phase, function) in [("fwrite", "fwrite"), ("frewrite", "fwrite"), ("fread", "fread"), ("freread", "fread")] {
        assert_eq!(calls(&run, phase, function), 256, "{phase}: {}", run.story());
    }
    let fio = "fio --name=a --rw=write --bs=64k --size=16m --direct=1 --ioengine=libaio --iodepth=4";
    let run = verify(&volume, &["--library"], &fio.split(' ').collect::<Vec<_>>());
    let submits = run.fact("a-write", "library_submit_calls");
    assert!(submits >= 256.0, "{submits}: {}", run.story());
}
