//! Checks that crates keep their boundaries: no crate depends on one that `docs/architecture.md` does not allow.
//!
//! The tables of that page are the rule; this test reads them and `cargo metadata`. A new edge requires a change of the
//! page, with its reason in the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Names of crates.
type Names = BTreeSet<String>;

/// One row of the page's table of crates.
#[derive(Debug, PartialEq, Eq)]
struct CrateRow {
    name: String,
    may_depend_on: Names,
    in_tests_also: Names,
}

/// A package of the workspace as cargo reports it.
#[derive(Debug)]
struct Package {
    name: String,
    /// Normal and build dependencies, including external ones.
    dependencies: Names,
    dev_dependencies: Names,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn architecture_page() -> String {
    std::fs::read_to_string(root().join("docs/architecture.md")).expect("docs/architecture.md")
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON of cargo metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().map(package).collect()
}

fn package(package: &Value) -> Package {
    let dependencies = package["dependencies"].as_array().expect("dependencies");
    let names = |dev: bool| {
        dependencies
            .iter()
            .filter(|dependency| (dependency["kind"] == "dev") == dev)
            .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let name = package["name"].as_str().expect("a name").to_owned();
    Package { name, dependencies: names(false), dev_dependencies: names(true) }
}

/// Returns the rows of the table whose first column has this title, without their back quotes.
fn table(page: &str, title: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    page.lines()
        .skip_while(|line| !(line.starts_with('|') && cells(line).first().is_some_and(|cell| cell == title)))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

/// Parses `a, b` as names; an empty cell and a dash contain none.
fn names(cell: &str) -> Names {
    cell.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "-").map(str::to_owned).collect()
}

fn rows(page: &str) -> Vec<CrateRow> {
    table(page, "crate")
        .into_iter()
        .map(|row| match row.as_slice() {
            [name, _, may, tests] => {
                CrateRow { name: name.clone(), may_depend_on: names(may), in_tests_also: names(tests) }
            }
            other => panic!("a row of the table of crates has four cells, this one: {other:?}"),
        })
        .collect()
}

/// Returns edges that the rows do not allow, and rows and packages without their counterpart.
fn violations(rows: &[CrateRow], packages: &[Package]) -> Vec<String> {
    let by_name: BTreeMap<&str, &CrateRow> = rows.iter().map(|row| (row.name.as_str(), row)).collect();
    let of_workspace: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut sentences = Vec::new();
    for package in packages {
        let Some(row) = by_name.get(package.name.as_str()) else {
            sentences.push(format!("{} is not in the table", package.name));
            continue;
        };
        let is_ours = |name: &&String| of_workspace.contains(name.as_str());
        for name in package.dependencies.iter().filter(is_ours) {
            if !row.may_depend_on.contains(name) {
                sentences.push(format!("{} depends on {name}", package.name));
            }
        }
        for name in package.dev_dependencies.iter().filter(is_ours) {
            if !row.may_depend_on.contains(name) && !row.in_tests_also.contains(name) {
                sentences.push(format!("the tests of {} depend on {name}", package.name));
            }
        }
    }
    let gone = rows.iter().filter(|row| !of_workspace.contains(row.name.as_str()));
    sentences.extend(gone.map(|row| format!("{} is in the table and not in the workspace", row.name)));
    sentences
}

#[test]
fn every_edge_is_in_the_table() {
    let found = violations(&rows(&architecture_page()), &packages());
    assert!(found.is_empty(), "not allowed by docs/architecture.md:\n{}", found.join("\n"));
}

/// The table's order is the direction of the data, so an edge only ever points down.
#[test]
fn no_crate_may_depend_on_one_above_it() {
    let rows = rows(&architecture_page());
    let mut above = Names::new();
    for row in &rows {
        above.insert(row.name.clone());
        let up: Vec<&String> = row.may_depend_on.intersection(&above).collect();
        assert!(up.is_empty(), "{} may depend on {up:?}, which stand above it", row.name);
        for name in row.may_depend_on.union(&row.in_tests_also) {
            assert!(rows.iter().any(|other| other.name == *name), "{}: {name} has no row", row.name);
        }
    }
    assert!(!rows.is_empty(), "docs/architecture.md has no table of crates");
}

#[test]
fn a_confined_library_is_named_only_where_it_may_be() {
    let page = architecture_page();
    let rows = table(&page, "library");
    assert!(!rows.is_empty(), "docs/architecture.md has no table of confined libraries");
    let packages = packages();
    for row in rows {
        let [library, may_name_it, _] = row.as_slice() else { panic!("three cells, not {row:?}") };
        let allowed = names(may_name_it);
        for package in packages.iter().filter(|package| !allowed.contains(&package.name)) {
            let named = package.dependencies.union(&package.dev_dependencies).any(|name| name == library);
            assert!(!named, "{} names {library}, which only {may_name_it} may", package.name);
        }
    }
}

mod the_test_itself {
    use super::*;

    const PAGE: &str = "\
text
| library | named only by | why |
| --- | --- | --- |
| `heavy` | `low` | slow to build |

| crate | holds | may depend on | in tests also |
| --- | --- | --- | --- |
| `top` | all | `low`, `lowest` | - |
| `low` | some | | `lowest` |
| `lowest` | little | - | - |

| another | table |
";

    fn package(name: &str, dependencies: &str, dev_dependencies: &str) -> Package {
        Package { name: name.to_owned(), dependencies: names(dependencies), dev_dependencies: names(dev_dependencies) }
    }

    #[track_caller]
    fn check(packages: &[Package], expected: &[&str]) {
        assert_eq!(violations(&rows(PAGE), packages), expected);
    }

    #[test]
    fn allowed_edges_pass_and_others_are_named() {
        let top = || package("top", "low, serde", "insta");
        let lowest = || package("lowest", "", "");
        check(&[top(), package("low", "serde", "lowest"), lowest()], &[]);
        check(&[top(), package("low", "lowest", ""), lowest()], &["low depends on lowest"]);
        check(&[top(), package("low", "", "top"), lowest()], &["the tests of low depend on top"]);
        check(
            &[top(), lowest(), package("new", "", "")],
            &["new is not in the table", "low is in the table and not in the workspace"],
        );
    }

    #[test]
    fn tables_are_told_apart_by_their_first_title() {
        assert_eq!(table(PAGE, "library"), [["heavy", "low", "slow to build"]]);
        assert_eq!(table(PAGE, "crate").len(), 3);
        assert!(table(PAGE, "no such table").is_empty());
    }
}
