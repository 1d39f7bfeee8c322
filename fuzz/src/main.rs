//! One program for all targets. The arguments are libFuzzer's; the environment says what is fed.
//!
//! * `ACTIVEBENCH_FUZZ_TARGET` names the target.
//! * `ACTIVEBENCH_FUZZ_SAMPLES` is a folder with a stored run (`run`) and its bundle (`bundle.tar.zst`).
//! * `ACTIVEBENCH_FUZZ_SEEDS`: the first inputs of the target are written into this folder, and the program ends.
//! * `ACTIVEBENCH_FUZZ_LIST`: the names of all targets are printed, and the program ends.

#![no_main]

mod memory;
mod targets;

use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use targets::Target;

#[global_allocator]
static MEMORY: memory::Bounded = memory::Bounded;

static FED: OnceLock<Box<dyn Fn(&[u8]) + Send + Sync>> = OnceLock::new();

/// Returns what the environment says.
fn environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// Ends the program; libFuzzer takes a plain exit for a finding.
fn end() -> ! {
    std::io::stdout().flush().expect("standard output takes it");
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(0) }
}

fn prepare() {
    if environment("ACTIVEBENCH_FUZZ_LIST").is_some() {
        targets::all().iter().for_each(|target| println!("{}", target.name));
        end();
    }
    let name = std::env::var("ACTIVEBENCH_FUZZ_TARGET").expect("ACTIVEBENCH_FUZZ_TARGET names the target");
    let target: Target = targets::all().into_iter().find(|target| target.name == name).expect("a target of this name");
    let samples = environment("ACTIVEBENCH_FUZZ_SAMPLES").expect("ACTIVEBENCH_FUZZ_SAMPLES names a folder");
    if let Some(folder) = environment("ACTIVEBENCH_FUZZ_SEEDS") {
        for (name, bytes) in (target.seeds)(&samples) {
            std::fs::write(folder.join(name), bytes).expect("the first input is written");
        }
        end();
    }
    if target.expects_panics {
        // A panic of a library, which the product catches, is no finding; one of the product's own code is.
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.location().is_some_and(|at| at.file().contains("activebench")) {
                earlier(panic);
            }
        }));
    }
    let feed = (target.feed)(&samples);
    assert!(FED.set(feed).is_ok(), "it is prepared once");
}

libfuzzer_sys::fuzz_target!(init: prepare(), |input: &[u8]| {
    let feed = FED.get().expect("it was prepared");
    memory::watched(|| feed(input));
});
