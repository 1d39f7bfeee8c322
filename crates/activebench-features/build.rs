//! Does nothing: cargo takes `[build-dependencies]` from packages with a build script alone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
