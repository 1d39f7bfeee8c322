//! Checks that nothing is compiled twice: `xtask`, the product and the tests use the same features of every third-party
//! crate that they share.
//!
//! Cargo compiles a crate once for each set of features. Crates that depend on one compiled twice are also compiled
//! twice. `crates/activebench-features` makes the sets equal; this test names the line that is missing there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Name and version, and each set of features with which the crate is compiled. A set for the product can differ from
/// one for procedural macros and build scripts.
type Builds = BTreeMap<String, BTreeSet<String>>;

/// Returns the third-party crates that cargo compiles for a selection of packages.
fn builds(selection: &[&str]) -> Builds {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(selection)
        .output()
        .expect("cargo tree");
    assert!(output.status.success(), "cargo tree {selection:?}: {}", String::from_utf8_lossy(&output.stderr));
    read(&String::from_utf8_lossy(&output.stdout))
}

/// Parses `cargo tree`: `NAME vVERSION[ (proc-macro)][ (PATH)]<tab>FEATURES[ (*)]`. Crates with a path are our own.
fn read(tree: &str) -> Builds {
    let mut builds = Builds::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('\t') else { continue };
        let package = package.trim_end_matches(" (proc-macro)");
        if package.contains('(') {
            continue;
        }
        let features = features.trim_end_matches(" (*)").trim();
        builds.entry(package.to_owned()).or_default().insert(features.to_owned());
    }
    builds
}

/// Returns a line for each crate that the tests would compile once more, with the features that it lacks.
fn compiled_again(first: &Builds, then: &Builds) -> Vec<String> {
    let mut lines = Vec::new();
    for (package, sets) in first {
        let Some(wanted) = then.get(package) else { continue };
        for set in sets.difference(wanted) {
            let has: BTreeSet<&str> = set.split(',').collect();
            let lacks: BTreeSet<&str> =
                wanted.iter().flat_map(|set| set.split(',')).filter(|feature| !has.contains(feature)).collect();
            lines.push(format!("{package} lacks {lacks:?}"));
        }
    }
    lines
}

/// Returns names and versions of the third-party crates that become a part of a program, which those that only procedural
/// macros and build scripts use do not: cargo compiles the latter for link-time optimisation, and again where the
/// selection uses them in a program too.
fn linked(selection: &[&str], edges: &str) -> BTreeSet<String> {
    builds(&[selection, &["--edges", edges]].concat()).into_keys().collect()
}

#[test]
fn what_the_demo_compiled_is_not_compiled_again_for_the_tests() {
    let tests = builds(&["--workspace", "--edges", "normal,build,dev"]);
    let linked_in_tests = linked(&["--workspace"], "normal,dev,no-proc-macro");
    for package in ["xtask", "activebench"] {
        let alone = builds(&["--package", package, "--edges", "normal,build"]);
        assert!(alone.len() > 20, "{package} has only {} third-party crates", alone.len());
        let again = compiled_again(&alone, &tests);
        assert!(again.is_empty(), "{package} (hint: name them in crates/activebench-features/Cargo.toml): {again:#?}");
        let linked = linked(&["--package", package], "normal,no-proc-macro");
        let of_macros: Vec<&String> =
            alone.keys().filter(|name| !linked.contains(*name) && linked_in_tests.contains(*name)).collect();
        assert!(of_macros.is_empty(), "{package} uses these in macros alone (the same hint): {of_macros:#?}");
    }
}

#[test]
fn a_crate_with_fewer_features_is_compiled_again() {
    let product =
        read("syn v2.0.1 (proc-macro)\tfull\nserde v1.0.0\tderive,std (*)\nown v0.1.0 (/folder)\t\nlog v0.4.0\t\n");
    assert_eq!(product.keys().collect::<Vec<_>>(), ["log v0.4.0", "serde v1.0.0", "syn v2.0.1"]);
    let tests = read("syn v2.0.1\tfull,visit\nserde v1.0.0\tderive,std\nserde v1.0.0\tstd\n");
    assert_eq!(compiled_again(&product, &tests), [r#"syn v2.0.1 lacks {"visit"}"#]);
}
