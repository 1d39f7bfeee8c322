//! The files that a scaffold writes, and the lines that it adds to files written by people.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Text by which tests and people recognise what is still to be written.
pub(super) const OPEN: &str = "Fill in";

/// The files of one scaffold. They are written all at once, when it is known that all can be.
#[derive(Debug)]
pub(super) struct Scaffold {
    root: PathBuf,
    new: Vec<(PathBuf, String)>,
    edited: Vec<(PathBuf, String)>,
}

impl Scaffold {
    /// Creates a scaffold below a folder.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), new: Vec::new(), edited: Vec::new() }
    }

    /// Adds a new file.
    ///
    /// # Errors
    /// When there is such a file.
    pub(super) fn file(&mut self, path: &str, text: String) -> Result<()> {
        let path = self.root.join(path);
        if path.exists() {
            bail!("{} is there already", path.display());
        }
        self.new.push((path, text));
        Ok(())
    }

    /// Adds text to an existing file.
    ///
    /// # Errors
    /// When the file cannot be read, or does not have the place for the text.
    pub(super) fn edit(&mut self, path: &str, added: Added<'_>) -> Result<()> {
        let path = self.root.join(path);
        let of_this = self.edited.iter().position(|(other, _)| *other == path);
        let text = match of_this {
            Some(index) => self.edited.remove(index).1,
            None => fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?,
        };
        let edited = added.to(&text);
        let edited =
            edited.with_context(|| format!("{} has changed: add by hand\n{}", path.display(), added.text()))?;
        self.edited.push((path, edited));
        Ok(())
    }

    /// Writes every file; returns their paths, first those of the new ones.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(super) fn write(self) -> Result<Vec<PathBuf>> {
        let files: Vec<(PathBuf, String)> = self.new.into_iter().chain(self.edited).collect();
        for (path, text) in &files {
            let folder = path.parent().context("a file is in a folder")?;
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }
}

/// Text added to a file, and its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Added<'a> {
    /// The declaration of a module (`mod a;`, `pub mod a;`), in its place by name.
    Module(&'a str),
    /// Lines before the first line `end` that follows a line which starts with `start`.
    Before { start: &'a str, end: &'a str, text: &'a str },
    /// Lines behind a line.
    Behind { line: &'a str, text: &'a str },
    /// Lines at the end of the file, but before its unit tests.
    Last(&'a str),
}

impl Added<'_> {
    fn text(&self) -> &str {
        match self {
            Added::Module(text) | Added::Last(text) => text,
            Added::Before { text, .. } | Added::Behind { text, .. } => text,
        }
    }

    /// Returns a file's text with the addition; `None` if the place is not there.
    fn to(self, text: &str) -> Option<String> {
        let mut lines: Vec<&str> = text.lines().collect();
        match self {
            Added::Module(line) => {
                let module = |line: &str| Some(line.trim_start_matches("pub ").strip_prefix("mod ")?.to_owned());
                let new = module(line)?;
                let is_list = |line: &&str| module(line).is_some_and(|other| other.ends_with(';'));
                let last = lines.iter().rposition(is_list)?;
                let after = lines.iter().position(|line| is_list(line) && module(line) > Some(new.clone()));
                lines.insert(after.unwrap_or(last + 1), line);
            }
            Added::Before { start, end, text } => {
                let begin = lines.iter().position(|line| line.starts_with(start))?;
                let at = begin + lines[begin..].iter().position(|line| *line == end)?;
                lines.insert(at, text);
            }
            Added::Behind { line, text } => {
                let at = lines.iter().position(|other| *other == line)?;
                lines.insert(at + 1, text);
            }
            Added::Last(text) => {
                let at = lines.iter().position(|line| *line == "#[cfg(test)]").unwrap_or(lines.len());
                let text = if at == lines.len() { ["", text] } else { [text, ""] };
                lines.splice(at..at, text);
            }
        }
        Some(lines.join("\n") + "\n")
    }
}

/// Returns a name of several words in its three spellings: `cpu-bound`, `cpu_bound`, `CpuBound`.
///
/// # Errors
/// When the name is not one: lower-case words, which begin with a letter, with hyphens or underscores between them.
pub(super) fn spellings(name: &str) -> Result<Name> {
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let is_word = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !words.iter().all(is_word) {
        bail!("{name:?} is not a name (hint: lower-case words with hyphens, as in cpu-bound)");
    }
    let capital = |word: &&str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    Ok(Name { kebab: words.join("-"), snake: words.join("_"), camel: words.iter().map(capital).collect() })
}

/// A name in its spellings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// `cpu-bound`
    pub(super) kebab: String,
    /// `cpu_bound`
    pub(super) snake: String,
    /// `CpuBound`
    pub(super) camel: String,
}

impl Name {
    /// Returns a template with the name in place of `new-name`, `new_name` and `NewName`.
    pub(super) fn fill(&self, template: &str) -> String {
        let text = template.replace("new-name", &self.kebab).replace("new_name", &self.snake);
        text.replace("NEW_NAME", &self.snake.to_uppercase()).replace("NewName", &self.camel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_three_spellings() {
        let name = spellings("cpu-bound").expect("a name");
        assert_eq!(
            (name.kebab.as_str(), name.snake.as_str(), name.camel.as_str()),
            ("cpu-bound", "cpu_bound", "CpuBound")
        );
        assert_eq!(spellings("cpu_bound").expect("a name"), name);
        assert_eq!(name.fill("NewName new_name new-name NEW_NAME"), "CpuBound cpu_bound cpu-bound CPU_BOUND");
        for wrong in ["", "Cpu", "cpu--bound", "9cpu", "cpu bound", "../cpu"] {
            assert!(spellings(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_is_added_in_its_place() {
        let file = "mod a;\npub mod c;\n\nlist [\n    1,\n];\n\n#[cfg(test)]\nmod tests {\n}\n";
        #[track_caller]
        fn check(file: &str, added: Added<'_>, part: &str) {
            let edited = added.to(file).expect("it has a place");
            assert!(edited.contains(part), "{edited}");
        }
        check(file, Added::Module("mod b;"), "mod a;\nmod b;\npub mod c;\n");
        check(file, Added::Module("mod d;"), "pub mod c;\nmod d;\n\nlist");
        check(file, Added::Before { start: "list", end: "];", text: "    2," }, "    1,\n    2,\n];");
        check(file, Added::Behind { line: "mod a;", text: "// b" }, "mod a;\n// b\npub");
        check(file, Added::Last("fn b() {}"), "];\n\nfn b() {}\n\n#[cfg(test)]");
        check("one\n", Added::Last("two"), "one\n\ntwo\n");
        assert_eq!(Added::Before { start: "lost", end: "];", text: "" }.to(file), None);
        assert_eq!(Added::Behind { line: "lost", text: "" }.to(file), None);
    }
}
