//! `cargo xtask new detector NAME --code AB5xx`: the files that a detector begins with.
//!
//! The generated files compile, judge nothing and pass no test: each failing test names what is still to be filled in.
//! Files written by people stay unchanged, except the two lists `detectors.rs` and `registry.rs`, which get a line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Options of `cargo xtask new`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// A detector: its file, its lines in the lists, a corpus case and a case of the judgement tests
    Detector {
        /// What it finds, in kebab case: cpu-bound
        name: String,
        /// Its code (AB507), or a group (AB5xx) whose next one it gets
        #[arg(long)]
        code: String,
    },
}

/// Runs the task.
///
/// # Errors
/// When name or code are taken or malformed, or a file cannot be written.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let What::Detector { name, code } = &options.what;
    let root = workspace::root();
    let written = detector(&root, name, code)?;
    // rustfmt wraps the lists, depending on the length of the names.
    let status = workspace::cargo().args(["fmt", "--package", "activebench-detect"]).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("cargo fmt failed: run it before you commit");
    }
    for path in &written.files {
        println!("wrote {}", path.strip_prefix(&root).unwrap_or(path).display());
    }
    println!(
        "\n{} is in the registry and judges nothing yet. Fill in, in this order:\n\
         1. the six sections of its manual page, what it declares, and `judge`\n\
         2. the cases of the judgement tests: one that fires, one that is silent{}\n\
         3. the planted lie and its honest twin\n\
         cargo test --package activebench-detect and cargo xtask truth --only {} say what is missing; \
         cargo xtask docs writes its page.",
        written.code,
        if written.of_the_plan { "" } else { ", one that is undecided" },
        written.code
    );
    Ok(ExitCode::SUCCESS)
}

/// The written files.
#[derive(Debug)]
struct Written {
    code: String,
    of_the_plan: bool,
    files: Vec<PathBuf>,
}

/// An existing detector.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    code: String,
    name: String,
}

fn detector(root: &Path, name: &str, code: &str) -> Result<Written> {
    let is_kebab = name.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
    if !is_kebab {
        bail!("{name:?} is no name for a detector (hint: lower-case words with hyphens, as in cpu-bound)");
    }
    let source = root.join("crates/activebench-detect/src");
    let known = known(&source)?;
    if let Some(same) = known.iter().find(|known| known.name == name) {
        bail!("{} is called {name} already", same.code);
    }
    let code = free_code(code, &known)?;
    let new = Known { code, name: name.to_owned() };
    let module = module_of(name);
    let of_the_plan = new.code.starts_with("AB8");

    let modules = edited(&source.join("detectors.rs"), |text| with_module(text, &module))?;
    let registry = edited(&source.join("registry.rs"), |text| with_entry(text, &new, &known))?;
    let cases = root.join("fixtures/detectors").join(format!("{}-{name}", new.code.to_lowercase()));
    let corpus = root.join("fixtures/truth").join(format!("{}-{name}", new.code));
    let mut files = vec![
        (source.join("detectors").join(format!("{module}.rs")), detector_file(&new, &module, of_the_plan)),
        (cases.join("fires-fill-in.json"), case_file()),
    ];
    for kind in ["lie", "honest"] {
        files.push((corpus.join(format!("{kind}-fill-in.toml")), corpus_file(kind, of_the_plan)));
    }
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!("{} is there already", path.display());
    }
    files.push((source.join("detectors.rs"), modules));
    files.push((source.join("registry.rs"), registry));
    for (path, text) in &files {
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Written { code: new.code, of_the_plan, files: files.into_iter().map(|(path, _)| path).collect() })
}

/// Returns the existing detectors by code, from their files.
fn known(source: &Path) -> Result<Vec<Known>> {
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
            bail!("{} holds no detector", path.display());
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

fn edited(path: &Path, edit: impl FnOnce(&str) -> Option<String>) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    edit(&text).with_context(|| format!("{} is not written as it was: add the line by hand", path.display()))
}

/// Returns the list of modules with one more, in its place by name.
fn with_module(text: &str, module: &str) -> Option<String> {
    let line = format!("pub mod {module};");
    let mut lines: Vec<&str> = text.lines().collect();
    let is_module = |line: &&str| line.starts_with("pub mod ");
    let last = lines.iter().rposition(is_module)?;
    let at = lines.iter().position(|other| is_module(other) && *other > line.as_str()).unwrap_or(last + 1);
    lines.insert(at, &line);
    Some(lines.join("\n") + "\n")
}

/// Returns the registry with one more entry, after the one with the next smaller code.
fn with_entry(text: &str, new: &Known, known: &[Known]) -> Option<String> {
    let entry = |known: &Known| format!("    &{}::DETECTOR,\n", module_of(&known.name));
    let anchor = match known.iter().rev().find(|known| known.code < new.code) {
        Some(before) => entry(before),
        None => "pub static DETECTORS: &[&Detector] = &[\n".to_owned(),
    };
    let at = text.find(&anchor)? + anchor.len();
    Some(format!("{}{}{}", &text[..at], entry(new), &text[at..]))
}

/// Returns the name of a detector's file: `cpu_bound`.
fn module_of(name: &str) -> String {
    name.replace('-', "_")
}

/// Text by which the tests recognise an unfinished manual page.
const OPEN: &str = "Fill in";

fn detector_file(new: &Known, module: &str, of_the_plan: bool) -> String {
    let Known { code, name } = new;
    let sections = [
        ("What it finds", "what the run does that its figure does not say, in a sentence."),
        ("Why it matters", "what a reader concludes wrongly from the figure."),
        ("How it decides", "facts, formula, thresholds with their units; when it warns, when it fails."),
        ("When it is wrong", "runs that it accuses or overlooks all the same."),
        ("What to do", "the option or command that makes the run honest."),
        ("References", "the source of each threshold, and what was measured."),
    ];
    let manual: Vec<String> =
        sections.iter().map(|(title, what)| format!("//! # {title}\n//! {OPEN}: {what}\n")).collect();
    let manual = manual.join("//!\n");
    let (case_imports, lint_import, kind, function, body) = match of_the_plan {
        true => {
            ("Case, Halt", "use crate::lint::of_each_planned;\n", "CommandLine", "judge_command", "of_each_planned")
        }
        false => ("Case, Halt, of_each_seen_phase", "", "Run", "judge_run", "of_each_seen_phase"),
    };
    let basis = if of_the_plan { "Statements" } else { "Facts" };
    format!(
        "{manual}
use activebench_model::finding::Finding;
use activebench_model::phase::Phase;

use crate::case::{{{case_imports}}};
use crate::context::Run;
use crate::detector::{{Basis, Decides, Detector, Judge}};
{lint_import}
/// See the head of this file.
pub static DETECTOR: Detector = Detector {{
    code: \"{code}\",
    name: \"{name}\",
    source: include_str!(\"{module}.rs\"),
    judge: Judge::{kind}({function}),
    facts: &[],
    basis: Basis::{basis},
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
}};

fn {function}(run: &Run<'_>) -> Vec<Finding> {{
    {body}(&DETECTOR, run, judge)
}}

fn judge(_case: &Case<'_>, _phase: &Phase) -> Result<Finding, Halt> {{
    Err(Halt::not_applicable(\"the detector is not written yet\"))
}}
"
    )
}

fn case_file() -> String {
    format!("{{\n \"says\": \"{OPEN}: what of the base makes the detector fire\",\n \"base\": \"write\"\n}}\n")
}

fn corpus_file(kind: &str, of_the_plan: bool) -> String {
    let plan = if of_the_plan { "how = 'plan'\n" } else { "" };
    let volume = if of_the_plan { "" } else { "\n[volume]\nkind = 'loop'\nmib = 512\n" };
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

    /// Copies the files that the task reads.
    fn copy() -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new("crates/activebench-detect/src");
        let folder = copy.path().join(source).join("detectors");
        fs::create_dir_all(&folder).expect("a folder");
        let root = workspace::root();
        for name in ["detectors.rs", "registry.rs"] {
            fs::copy(root.join(source).join(name), copy.path().join(source).join(name)).expect("a copy");
        }
        for entry in fs::read_dir(root.join(source).join("detectors")).expect("the detectors") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
        }
        copy
    }

    fn read(root: &Path, path: &str) -> String {
        fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn a_detector_gets_its_files_and_its_lines() {
        let copy = copy();
        let root = copy.path();
        let written = detector(root, "zebra-crossing", "AB5xx").expect("it is written");
        let number: u32 = written.code.strip_prefix("AB5").and_then(|rest| rest.parse().ok()).expect("a code");
        assert!(number > 5 && written.files.len() == 6 && !written.of_the_plan, "{written:?}");

        let text = read(root, "crates/activebench-detect/src/detectors/zebra_crossing.rs");
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//! # ")).collect();
        let expected =
            ["What it finds", "Why it matters", "How it decides", "When it is wrong", "What to do", "References"];
        assert_eq!(headings, expected);
        assert!(text.contains("pub static DETECTOR: Detector") && text.contains(&format!("\"{}\"", written.code)));
        assert!(text.contains("include_str!(\"zebra_crossing.rs\")"));

        let modules = read(root, "crates/activebench-detect/src/detectors.rs");
        let listed: Vec<&str> = modules.lines().filter(|line| line.starts_with("pub mod ")).collect();
        assert!(listed.is_sorted() && listed.contains(&"pub mod zebra_crossing;"), "{listed:?}");
        let registry = read(root, "crates/activebench-detect/src/registry.rs");
        let known = known(&root.join("crates/activebench-detect/src")).expect("the detectors");
        let places: Vec<usize> = known
            .iter()
            .map(|known| registry.find(&format!("    &{}::DETECTOR,\n", module_of(&known.name))).expect("an entry"))
            .collect();
        assert!(places.is_sorted(), "the registry is by code");

        let case = read(
            root,
            &format!("fixtures/detectors/{}-zebra-crossing/fires-fill-in.json", written.code.to_lowercase()),
        );
        let case: serde_json::Value = serde_json::from_str(&case).expect("JSON");
        assert!(case["says"].as_str().expect("a text").starts_with(OPEN));
        let lie = read(root, &format!("fixtures/truth/{}-zebra-crossing/lie-fill-in.toml", written.code));
        assert!(lie.contains("what = ''\ncommand = []\n") && lie.contains("severity = 'fail'"), "{lie}");
        let twin = read(root, &format!("fixtures/truth/{}-zebra-crossing/honest-fill-in.toml", written.code));
        assert!(!twin.contains("severity"), "{twin}");
    }

    #[test]
    fn a_detector_of_the_plan_asks_the_plan() {
        let copy = copy();
        let written = detector(copy.path(), "zebra-crossing", "AB8xx").expect("it is written");
        assert!(written.of_the_plan);
        let text = read(copy.path(), "crates/activebench-detect/src/detectors/zebra_crossing.rs");
        assert!(text.contains("of_each_planned(&DETECTOR, run, judge)"), "{text}");
        let lie = read(copy.path(), &format!("fixtures/truth/{}-zebra-crossing/lie-fill-in.toml", written.code));
        assert!(lie.contains("how = 'plan'") && !lie.contains("[volume]"), "{lie}");
    }

    #[test]
    fn what_is_taken_or_malformed_is_refused_and_nothing_is_written() {
        #[track_caller]
        fn check(root: &Path, name: &str, code: &str, part: &str) {
            let error = detector(root, name, code).expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
            assert!(!root.join("fixtures").exists());
        }
        let copy = copy();
        check(copy.path(), "cpu-bound", "AB599", "is called cpu-bound already");
        check(copy.path(), "zebra-crossing", "AB501", "AB501 is cpu-bound");
        check(copy.path(), "Zebra", "AB5xx", "no name for a detector");
        check(copy.path(), "zebra-2", "AB5xx", "no name for a detector");
        check(copy.path(), "zebra", "AB5", "neither a code");
        check(copy.path(), "zebra", "5xx", "neither a code");
        check(copy.path(), "zebra", "ABxxx", "neither a code");
    }

    #[test]
    fn an_exact_code_and_an_empty_group_are_given() {
        let known = [Known { code: "AB999".to_owned(), name: "last".to_owned() }];
        assert_eq!(free_code("ab407", &known).expect("free"), "AB407");
        assert_eq!(free_code("AB1xx", &known).expect("free"), "AB101");
        assert!(free_code("AB9xx", &known).is_err(), "full");
    }
}
