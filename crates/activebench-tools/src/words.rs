//! Words of command lines and of files that tools read.

/// Splits a text at separators that have no backslash before them.
pub(crate) fn parts<'a>(text: &'a str, separators: &'a [char]) -> impl Iterator<Item = &'a str> {
    let mut escaped = false;
    text.split(move |c: char| {
        let separates = separators.contains(&c) && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    })
}

/// Returns a word without the quotes and the shell's signs around it.
pub(crate) fn bare(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`', ';', '(', ')'])
}

/// Returns a text without its backslashes.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace('\\', "")
}
