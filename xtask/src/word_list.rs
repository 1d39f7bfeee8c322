//! The words that user-visible text avoids, and the check that finds them: in the string literals of the shipped crates,
//! in the help of the subcommands and in the generated pages of the detectors.
//!
//! Names, keys and the words of other tools are not sentences: only literals with a blank are checked, and literals of
//! adapters that match a tool's own output are in [`QUOTED`].

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use proc_macro2::{TokenStream, TokenTree};

use crate::workspace;

/// A phrase to avoid, in lower case, and what to write instead. `|` separates words of which each is avoided at this
/// place.
const AVOIDED: &[(&str, &str)] = &[
    ("is|are|was|were no", "is not a, does not"),
    ("is|are|was|were none", "there is no, does not have"),
    ("told|tells", "known from, reported, distinguished"),
    ("mend|mends|mended", "fix"),
    ("speaks|speak of", "is about, covers"),
    ("lies on|in|below|between|outside|beside", "is"),
    ("stands for|beside|on", "represents, replaces, is"),
    ("cannot be had", "is not available"),
    ("on its way", "in flight"),
    ("processor|processors", "CPU"),
    ("the longer way", "slow path"),
    ("anew", "again"),
    ("known to within", "known to an accuracy of"),
    ("holds|held itself back", "limits its own pace"),
    ("calls|bytes|files|operations|reads|writes a second", "per second"),
];

/// Phrases of ordinary English that contain an avoided one.
const ALLOWED: &[&str] = &["there is no", "there are no", "is no longer", "are no longer", "processor architecture"];

/// Parts of literals that quote another program, with the file that holds them.
const QUOTED: &[(&str, &str)] = &[];

/// Fails when user-visible text contains an avoided phrase.
///
/// # Errors
/// In that case, and when a file cannot be read or parsed.
pub(crate) fn check() -> Result<()> {
    let root = workspace::root();
    let mut found = Vec::new();
    for file in shipped_sources(&root)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let shown = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        for literal in literals(&text).with_context(|| format!("cannot parse {shown}"))? {
            let quoted = QUOTED.iter().any(|(path, quote)| shown == *path && literal.contains(quote));
            if let Some((phrase, instead)) = avoided(&literal).filter(|_| !quoted) {
                found.push(format!("{shown}: `{phrase}` ({instead}): {literal}"));
            }
        }
    }
    for page in pages(&root)? {
        let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        let shown = page.strip_prefix(&root).unwrap_or(&page).display().to_string();
        for line in text.lines() {
            if let Some((phrase, instead)) = avoided(line) {
                found.push(format!("{shown}: `{phrase}` ({instead}): {line}"));
            }
        }
    }
    if !found.is_empty() {
        bail!("{} phrases to avoid in user-visible text:\n{}", found.len(), found.join("\n"));
    }
    println!("user-visible text avoids the {} phrases of the word list", AVOIDED.len());
    Ok(())
}

/// Returns the first avoided phrase of a text and what to write instead.
fn avoided(text: &str) -> Option<(String, &'static str)> {
    // The names between braces are code.
    let mut text = without_placeholders(&text.to_lowercase());
    for allowed in ALLOWED {
        text = text.replace(allowed, "");
    }
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    for (phrase, instead) in AVOIDED {
        let wanted: Vec<Vec<&str>> = phrase.split(' ').map(|word| word.split('|').collect()).collect();
        let matches = |window: &&[&str]| window.iter().zip(&wanted).all(|(word, wanted)| wanted.contains(word));
        if let Some(found) = words.windows(wanted.len()).find(matches) {
            return Some((found.join(" "), instead));
        }
    }
    None
}

/// Returns a format string without its `{placeholders}`.
fn without_placeholders(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        plain.push_str(before);
        plain.push_str(" {} ");
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    plain + rest
}

/// Returns the sentences among the string literals of a source file, outside of tests and doc comments.
fn literals(source: &str) -> Result<Vec<String>> {
    let tokens = TokenStream::from_str(source).map_err(|error| anyhow!("{error}"))?;
    let mut found = Vec::new();
    collect(tokens, &mut found);
    Ok(found)
}

fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        index += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                // `#!` begins an inner attribute, such as the doc comment of a module.
                if matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
                    index += 1;
                }
                let attribute = tokens[index..].iter().find(|token| matches!(token, TokenTree::Group(_)));
                let text = attribute.map(ToString::to_string).unwrap_or_default();
                let is_error = text.starts_with("[error");
                match tokens.get(index) {
                    Some(TokenTree::Group(group)) if is_error => collect(group.stream(), found),
                    _ => {}
                }
                index += 1;
                if text == "[cfg (test)]" || text == "[cfg(test)]" {
                    // The item below: up to its braces or its semicolon.
                    while let Some(token) = tokens.get(index) {
                        index += 1;
                        let ends = match token {
                            TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
                            TokenTree::Punct(punct) => punct.as_char() == ';',
                            _ => false,
                        };
                        if ends {
                            break;
                        }
                    }
                }
            }
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') && text.trim_matches('"').contains(' ') {
                    found.push(text);
                }
            }
            _ => {}
        }
    }
}

/// Returns the sources of the crates that users run.
fn shipped_sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let crates = root.join("crates");
    for entry in fs::read_dir(&crates).context("cannot list the crates")? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // These are never shipped.
        if !["activebench-e2e", "activebench-fixtures"].contains(&name.as_str()) {
            walk(&folder.join("src"), "rs", &mut files)?;
        }
    }
    files.retain(|file| !file.ends_with("tests.rs") && !file.ends_with("samples.rs"));
    files.sort();
    Ok(files)
}

/// Returns the files of generated text: the help of each subcommand, and the pages of the detectors.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(&root.join("crates/activebench/src/snapshots"), "snap", &mut files)?;
    walk(&root.join("docs/detectors"), "md", &mut files)?;
    files.sort();
    Ok(files)
}

/// Adds the files below a folder whose names have an ending, to any depth; none where there is no such folder.
pub(crate) fn walk(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, ending, files)?;
        } else if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avoided_phrases_are_found_whatever_surrounds_them() {
        for (text, expected) in [
            ("it is no regular file", Some("is no")),
            ("There is no such file, and it is no longer needed", None),
            ("the threads waited for a PROCESSOR.", Some("processor")),
            ("{processors} CPUs", None),
            ("{} calls a second", Some("calls a second")),
            ("half a second", None),
            ("no processor architecture of this name", None),
        ] {
            assert_eq!(avoided(text).map(|(phrase, _)| phrase).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_sentences_of_shipped_code_are_literals() {
        let source = r##"
            //! The head of a module is no literal.
            /// A doc comment is no literal.
            #[error("it is {0}")] struct E(u32);
            fn f() { g("one word", "word", format!("{a} b")); }
            #[cfg(test)] mod tests { fn t() { g("in a test"); } }
            const S: &str = r#"raw one"#;
        "##;
        let found = literals(source).expect("it is Rust");
        assert_eq!(found, ["\"it is {0}\"", "\"one word\"", "\"{a} b\"", "r#\"raw one\"#"]);
    }
}
