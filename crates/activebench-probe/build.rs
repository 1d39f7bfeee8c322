//! Compiles the library that stands before calls of traced tools ([`interposer/interposer.c`](interposer/interposer.c)).

use std::env;
use std::path::PathBuf;

const SOURCE: &str = "interposer/interposer.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let library = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("interposer.so");
    // On other architectures there is no tracer either.
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        std::fs::write(library, []).expect("the file is written");
        return;
    }
    let compiler = cc::Build::new().opt_level(2).debug(false).warnings(true).extra_warnings(true).get_compiler();
    let mut command = compiler.to_command();
    command.args(["-shared", "-fPIC", "-fno-stack-protector", "-mno-red-zone", "-nostdlib", "-Wl,-s"]);
    command.args(["-Wl,-soname,activebench-interposer.so", SOURCE, "-o"]).arg(library);
    let status = command.status().expect("the C compiler that other crates need, too");
    assert!(status.success(), "{SOURCE} does not compile");
}
