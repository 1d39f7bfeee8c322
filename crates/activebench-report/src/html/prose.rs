//! A sentence whose parts between backticks are set as code.

use maud::{Markup, html};

use crate::escape::terminal;

/// Renders the sentence. As in Markdown, code ends at a run of as many backticks as began it; others are kept.
pub(crate) fn prose(text: &str) -> Markup {
    let text = terminal(text);
    let mut pieces: Vec<(bool, &str)> = Vec::new();
    let (mut rest, mut plain_end) = (text.as_str(), 0);
    while let Some(start) = rest[plain_end..].find('`').map(|found| plain_end + found) {
        let fence = backticks(&rest[start..]);
        let inside = start + fence;
        match closing(&rest[inside..], fence) {
            Some(length) => {
                pieces.push((false, &rest[..start]));
                pieces.push((true, &rest[inside..inside + length]));
                (rest, plain_end) = (&rest[inside + length + fence..], 0);
            }
            None => plain_end = inside,
        }
    }
    pieces.push((false, rest));
    html! {
        @for (is_code, piece) in pieces {
            @if is_code { code { (trimmed(piece)) } } @else { (piece) }
        }
    }
}

/// Number of backticks that the text begins with.
fn backticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Length of the text up to a run of exactly `fence` backticks.
fn closing(text: &str, fence: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let run = backticks(&text[at + found..]);
        if run == fence {
            return Some(at + found);
        }
        at += found + run;
    }
    None
}

/// Removes the blanks that separate a backtick from the fence.
fn trimmed(code: &str) -> &str {
    match code.strip_prefix(' ').and_then(|code| code.strip_suffix(' ')) {
        Some(inside) if !inside.trim().is_empty() => inside,
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_stands_between_equal_runs_of_backticks() {
        for (text, expected) in [
            ("add `-e -c`: now", "add <code>-e -c</code>: now"),
            ("a`b", "a`b"),
            ("`a` and ` b", "<code>a</code> and ` b"),
            ("`<b>`", "<code>&lt;b&gt;</code>"),
            ("``a`b``", "<code>a`b</code>"),
            ("`` `a ``!", "<code>`a</code>!"),
            ("``a`", "``a`"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), expected);
        }
    }
}
