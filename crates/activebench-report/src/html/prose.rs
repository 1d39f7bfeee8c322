//! A sentence whose parts between backticks are set as code.

use maud::{Markup, html};

use crate::escape::terminal;

/// Renders the sentence; an unpaired backtick is kept.
pub(crate) fn prose(text: &str) -> Markup {
    let text = terminal(text);
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (index, piece) in pieces.iter().enumerate() {
            @if index % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_stands_between_two_backticks() {
        for (text, expected) in [
            ("add `-e -c`: now", "add <code>-e -c</code>: now"),
            ("a`b", "a`b"),
            ("`<b>`", "<code>&lt;b&gt;</code>"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), expected);
        }
    }
}
