//! `cargo xtask new detector NAME --code AB5xx`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::scaffold::{Added, Name, OPEN, Scaffold, spellings};

const SOURCE: &str = "crates/activebench-detect/src";
/// The detector's file, of a run that was observed.
const OF_RUN: &str = include_str!("templates/detector.rs.txt");
/// The detector's file, of a command line.
const OF_PLAN: &str = include_str!("templates/detector_of_plan.rs.txt");

/// An existing detector.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) code: String,
    pub(super) name: String,
}

/// Returns the files of a detector, and its code.
///
/// # Errors
/// When name or code are taken or malformed.
pub(super) fn detector(root: &Path, name: &str, code: &str) -> Result<(Scaffold, String)> {
    let name = spellings(name)?;
    let known = known(&root.join(SOURCE))?;
    if let Some(same) = known.iter().find(|known| known.name == name.kebab) {
        bail!("{} is called {} already", same.code, same.name);
    }
    let code = free_code(code, &known)?;
    let of_plan = code.starts_with("AB8");
    let Name { kebab, snake, .. } = &name;
    let mut scaffold = Scaffold::new(root);
    let text = name.fill(if of_plan { OF_PLAN } else { OF_RUN }).replace("AB000", &code);
    scaffold.file(&format!("{SOURCE}/detectors/{snake}.rs"), text)?;
    scaffold.file(&format!("fixtures/detectors/{}-{kebab}/fires-fill-in.json", code.to_lowercase()), case_file())?;
    for kind in ["lie", "honest"] {
        let path = format!("fixtures/truth/{code}-{kebab}/{kind}-fill-in.toml");
        scaffold.file(&path, corpus_file(kind, of_plan))?;
    }
    scaffold.edit(&format!("{SOURCE}/detectors.rs"), Added::Module(&format!("pub mod {snake};")))?;
    let entry = |name: &str| format!("    &{}::DETECTOR,", name.replace('-', "_"));
    let before = known.iter().rev().find(|known| known.code < code);
    let before =
        before.map_or_else(|| "pub static DETECTORS: &[&Detector] = &[".to_owned(), |known| entry(&known.name));
    let place = Added::Behind { line: &before, text: &entry(snake) };
    scaffold.edit(&format!("{SOURCE}/registry.rs"), place)?;
    Ok((scaffold, code))
}

/// Returns the existing detectors by code, from their files.
pub(super) fn known(source: &Path) -> Result<Vec<Known>> {
    let folder = source.join("detectors");
    let context = || format!("cannot list {}", folder.display());
    let mut known = Vec::new();
    for entry in fs::read_dir(&folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let field = |name: &str| {
            let start = format!("\n    {name}: \"");
            let rest = &text[text.find(&start)? + start.len()..];
            Some(rest[..rest.find('"')?].to_owned())
        };
        let (Some(code), Some(name)) = (field("code"), field("name")) else {
            bail!("{} does not contain a detector", path.display());
        };
        known.push(Known { code, name });
    }
    known.sort_by(|one, other| one.code.cmp(&other.code));
    Ok(known)
}

/// Returns the requested code, or the one after the last of its group.
fn free_code(wanted: &str, known: &[Known]) -> Result<String> {
    let malformed = || format!("{wanted:?} is neither a code (AB507) nor a group (AB5xx)");
    let wanted = wanted.to_uppercase();
    let digits = wanted.strip_prefix("AB").filter(|digits| digits.len() == 3 && digits.is_ascii());
    let digits = digits.with_context(malformed)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if let Some(same) = known.iter().find(|known| known.code == wanted) {
            bail!("{wanted} is {}", same.name);
        }
        return Ok(wanted);
    }
    let group = digits.strip_suffix("XX").filter(|group| group.bytes().all(|byte| byte.is_ascii_digit()));
    let group = format!("AB{}", group.with_context(malformed)?);
    // Unused codes in between may have belonged to another detector once, and appear in reports.
    let last = known.iter().filter_map(|known| known.code.strip_prefix(&group)?.parse::<u32>().ok()).max();
    match last.unwrap_or(0) + 1 {
        number @ 1..=99 => Ok(format!("{group}{number:02}")),
        _ => bail!("the group {group}xx is full"),
    }
}

fn case_file() -> String {
    format!("{{\n \"says\": \"{OPEN}: what of the base makes the detector fire\",\n \"base\": \"write\"\n}}\n")
}

fn corpus_file(kind: &str, of_plan: bool) -> String {
    let plan = if of_plan { "how = 'plan'\n" } else { "" };
    let volume = if of_plan { "" } else { "\n[volume]\nkind = 'loop'\nmib = 512\n" };
    let expect = if kind == "lie" { "\n[expect]\nseverity = 'fail'\n" } else { "" };
    let hint = match kind {
        "lie" => "A run that the detector has to find.",
        _ => "The nearest run that it must leave alone.",
    };
    format!(
        "# {hint} Give the file a name that says what runs, and fill in:\nwhat = ''\n{plan}command = []\n{volume}{expect}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn what_is_taken_or_malformed_is_refused() {
        #[track_caller]
        fn check(name: &str, code: &str, part: &str) {
            let error = detector(&workspace::root(), name, code).expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        }
        check("cpu-bound", "AB599", "is called cpu-bound already");
        check("zebra-crossing", "AB501", "AB501 is cpu-bound");
        check("Zebra", "AB5xx", "not a name");
        check("zebra", "AB5", "neither a code");
        check("zebra", "5xx", "neither a code");
        check("zebra", "ABxxx", "neither a code");
    }

    #[test]
    fn the_registry_is_by_code() {
        let (scaffold, code) = detector(&workspace::root(), "zebra-crossing", "AB5xx").expect("it can be written");
        assert!(code.starts_with("AB5"), "{code}");
        let text = format!("{scaffold:?}");
        let known = known(&workspace::root().join(SOURCE)).expect("the detectors");
        let next = known.iter().find(|known| known.code > code).expect("one of the next group");
        let expected = format!("&zebra_crossing::DETECTOR,\\n    &{}::DETECTOR", next.name.replace('-', "_"));
        assert!(text.contains(&expected), "{expected}");
    }

    #[test]
    fn an_exact_code_and_an_empty_group_are_given() {
        let known = [Known { code: "AB999".to_owned(), name: "last".to_owned() }];
        assert_eq!(free_code("ab407", &known).expect("free"), "AB407");
        assert_eq!(free_code("AB1xx", &known).expect("free"), "AB101");
        assert!(free_code("AB9xx", &known).is_err(), "full");
    }
}
