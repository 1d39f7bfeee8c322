//! Escapes text of the tool, of file names and of stored runs: one function per format.
//!
//! A benchmark's output, its file names and its process names are chosen by somebody else, and a stored run directory
//! can come from anybody. Each renderer passes every string through this module. That includes its own sentences,
//! because they quote such text.

use std::io::{self, Write as _};

use serde::Serialize;

/// Maximum characters of one escaped field. A line of output can be a gigabyte long. People read a report; the whole
/// text is in the run directory.
pub(crate) const FIELD_LIMIT: usize = 1_000;

/// Size of the blocks in which a JSON document is escaped, in bytes.
const BLOCK_BYTES: usize = 64 << 10;

/// Mark at the place where a field was cut.
const CUT: char = '…';

/// `true` for a character that affects the screen in any way other than being displayed.
///
/// These are control characters (C0, DEL, C1), the bidirectional controls that reorder the displayed text
/// (CVE-2021-42574), line and paragraph separators, and characters without width or without a visible form.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Escapes text for a terminal: hidden characters become `\u{..}`, a tab becomes a space.
pub fn terminal(text: &str) -> String {
    // Most fields, and nothing in them changes.
    if text.len() < FIELD_LIMIT && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    bounded(text.chars().map(shown_on_terminal))
}

fn shown_on_terminal(character: char) -> String {
    match character {
        '\t' => " ".to_owned(),
        hidden if is_hidden(hidden) => hidden.escape_unicode().to_string(),
        shown => shown.to_string(),
    }
}

/// Escapes text and attributes of XML like [`terminal`]. The XML writer escapes the markup afterwards.
///
/// Characters that XML 1.0 does not allow (controls, U+FFFE, U+FFFF) are hidden characters, so they are replaced.
/// Consumers of JUnit XML copy the file that `[[ATTACHMENT|...]]` names in an output. A benchmark's output must not
/// choose that file.
pub(crate) fn xml(text: &str) -> String {
    terminal(text).replace("[[ATTACHMENT", "[ [ATTACHMENT")
}

/// Escapes a text field of CSV like [`terminal`], before it is quoted, so that no spreadsheet reads it as a formula.
///
/// An apostrophe is put before a leading `=`, `+`, `-` or `@`, also after blanks and in their wide forms (OWASP, *CSV
/// Injection*). Tabs and line breaks, which also start formulas, are replaced anyway.
pub(crate) fn spreadsheet(text: &str) -> String {
    no_formula(terminal(text))
}

/// Escapes a text field of CSV like [`spreadsheet`], at any length: a table of events is for programs.
pub fn spreadsheet_whole(text: &str) -> String {
    no_formula(text.chars().map(shown_on_terminal).collect())
}

fn no_formula(shown: String) -> String {
    let begins_formula =
        |sign| matches!(sign, '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}');
    match shown.trim_start().starts_with(begins_formula) {
        true => format!("'{shown}"),
        false => shown,
    }
}

/// Escapes a message of SARIF like [`terminal`], without placeholders or links.
///
/// Braces are doubled (SARIF 2.1.0, 3.11.5). In plain text `[text](1)` is a link (3.11.6). The standard has no escape
/// for it outside of a link's text, so a blank separates the brackets. The result has at most `most` characters.
pub(crate) fn sarif(text: &str, most: usize) -> String {
    let text = text.replace("](", "] (");
    bounded_to(
        most,
        text.chars().map(|character| match character {
            '\t' => " ".to_owned(),
            hidden if is_hidden(hidden) => format!("<U+{:04X}>", u32::from(hidden)),
            brace @ ('{' | '}') => format!("{brace}{brace}"),
            shown => shown.to_string(),
        }),
    )
}

/// Escapes running text and table cells in Markdown like [`terminal`], so that no text becomes markup, HTML, a link, a
/// mention or a reference.
///
/// Mentions and issue references are searched in the rendered text, where a backslash has no effect. A code span around
/// the sign prevents them.
pub(crate) fn markdown(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied();
    bounded((0..characters.len()).map(|index| {
        let next = at(index + 1);
        match characters[index] {
            '\t' => " ".to_owned(),
            hidden if is_hidden(hidden) => format!("\\{}", hidden.escape_unicode()),
            sign @ ('@' | '#') if next.is_some_and(char::is_alphanumeric) => format!("`{sign}`"),
            mark @ ('\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '$' | '&' | '#' | '@') => {
                format!("\\{mark}")
            }
            ':' if next == Some('/') => "\\:".to_owned(),
            '.' if index >= 3 && characters[index - 3..index].iter().all(|c| c.eq_ignore_ascii_case(&'w')) => {
                "\\.".to_owned()
            }
            bullet @ ('-' | '+' | '=') if characters[..index].iter().all(|c| *c == ' ') => format!("\\{bullet}"),
            // Digits start a list only if a blank follows their mark; `3.122 GiB/s` does not.
            mark @ ('.' | ')')
                if next.is_none_or(char::is_whitespace)
                    && index > 0
                    && characters[..index].iter().all(char::is_ascii_digit) =>
            {
                format!("\\{mark}")
            }
            plain => plain.to_string(),
        }
    }))
}

/// A code span outside a table, for text that people copy. Markup has no effect inside it. Only hidden characters are
/// replaced, and the fence is longer than any run of backticks inside.
pub(crate) fn markdown_code(text: &str) -> String {
    let shown = terminal(text);
    let longest = shown.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A Markdown renderer drops one space on each side. The space separates a backtick at the edge from the fence, and
    // makes an empty span possible.
    let pad = if shown.is_empty() || shown.starts_with(['`', ' ']) || shown.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// Escapes a finished JSON document: hidden characters become `\uXXXX`.
///
/// Outside strings JSON is ASCII, and its only hidden characters are the line breaks of the pretty form. The document
/// can therefore be escaped as a whole. serde has already escaped C0, but not DEL, C1 and the bidirectional controls.
pub fn json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for character in document.chars() {
        if character != '\n' && is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Writes a value as indented JSON that ends with a line break, escaped like [`json`].
pub(crate) fn write_json(value: &impl Serialize, to: &mut dyn io::Write) -> io::Result<()> {
    // A serialiser writes a mark or a word at a time. The buffer holds whole pieces only.
    let mut pieces = io::BufWriter::with_capacity(BLOCK_BYTES, Escaping { to });
    serde_json::to_writer_pretty(&mut pieces, value)?;
    pieces.write_all(b"\n")?;
    pieces.flush()
}

/// Escapes the pieces of a JSON document as they are written. Each piece is text: a serialiser divides strings only at
/// the characters that it escapes itself, which are ASCII.
struct Escaping<'to> {
    to: &'to mut dyn io::Write,
}

impl io::Write for Escaping<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(piece).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // Without an early end: many bytes are then compared by one instruction, and nearly every piece is plain.
        let plain = piece.iter().fold(true, |plain, byte| plain & (*byte == b'\n' || matches!(byte, b' '..=b'~')));
        match plain {
            true => self.to.write_all(piece)?,
            false => self.to.write_all(json(text).as_bytes())?,
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Cuts `text` to at most `most` characters, and marks the cut.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain([CUT]).collect()
}

/// Cuts the name of a function as [`clipped`] does, but keeps its end if it is a path (`crate::module::function`): the
/// last part is the function.
pub(crate) fn clipped_symbol(symbol: &str, most: usize) -> String {
    let length = symbol.chars().count();
    if length <= most || !symbol.contains("::") {
        return clipped(symbol, most);
    }
    let end: String = symbol.chars().skip(length + 1 - most).collect();
    // The cut is between two parts of the path, unless the last one alone is too long.
    let end = end.find("::").map_or(end.as_str(), |at| &end[at..]);
    format!("{CUT}{end}")
}

/// Joins the pieces up to [`FIELD_LIMIT`]. It keeps only whole pieces, so no escape is cut in two.
fn bounded(pieces: impl Iterator<Item = String>) -> String {
    bounded_to(FIELD_LIMIT, pieces)
}

fn bounded_to(most: usize, pieces: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    let mut length = 0;
    for piece in pieces {
        length += piece.chars().count();
        if length >= most {
            text.push(CUT);
            break;
        }
        text.push_str(&piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(escape: fn(&str) -> String, cases: &[(&str, &str)]) {
        for (input, expected) in cases {
            assert_eq!(&escape(input), expected, "{input:?}");
        }
    }

    #[test]
    fn a_long_path_of_a_function_keeps_the_function() {
        assert_eq!(clipped_symbol("fio_io_end", 20), "fio_io_end");
        assert_eq!(clipped_symbol("tool::commands::workload::compute", 19), "…::compute");
        assert_eq!(clipped_symbol("tool::workload::compute", 20), "…::workload::compute");
        assert_eq!(clipped_symbol("tool::a_function_with_a_long_name", 10), "…long_name");
        assert_eq!(clipped_symbol("a_function_with_a_long_name", 10), "a_functio…");
    }

    #[test]
    fn a_terminal_sees_controls_instead_of_obeying_them() {
        check(
            terminal,
            &[
                ("write 12 %", "write 12 %"),
                ("Größe 文件", "Größe 文件"),
                ("\x1b[31mred", "\\u{1b}[31mred"),
                ("\u{9b}2J", "\\u{9b}2J"),
                ("a\r\nb", "a\\u{d}\\u{a}b"),
                ("a\tb", "a b"),
                ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
                ("nul\0", "nul\\u{0}"),
            ],
        );
    }

    #[test]
    fn xml_has_nothing_that_it_cannot_hold_and_attaches_no_file() {
        check(
            xml,
            &[
                ("a < b & c", "a < b & c"),
                ("nul\0 \x1b[1m \u{fffe}\u{ffff}", "nul\\u{0} \\u{1b}[1m \\u{fffe}\\u{ffff}"),
                ("[[ATTACHMENT|/etc/shadow]]", "[ [ATTACHMENT|/etc/shadow]]"),
                ("[[[ATTACHMENT|x]]", "[[ [ATTACHMENT|x]]"),
            ],
        );
    }

    #[test]
    fn no_spreadsheet_computes_what_a_tool_printed() {
        let cases = [
            ("write", "write"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-i0", "'-i0"),
            ("@sum(a1)", "'@sum(a1)"),
            (" =1", "' =1"),
            ("\t=1", "' =1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("\r=1", "\\u{d}=1"),
            ("a=b", "a=b"),
        ];
        check(spreadsheet, &cases);
        check(spreadsheet_whole, &cases);
        let long = "x".repeat(2 * FIELD_LIMIT);
        assert_eq!(spreadsheet_whole(&long), long);
    }

    #[test]
    fn a_message_of_sarif_has_no_link_and_no_placeholder() {
        check(
            |text| sarif(text, FIELD_LIMIT),
            &[
                ("see {0}", "see {{0}}"),
                ("[here](1)", "[here] (1)"),
                ("esc \x1b[1m", "esc <U+001B>[1m"),
                ("a[0] = b", "a[0] = b"),
            ],
        );
    }

    #[test]
    fn markdown_has_no_markup_left() {
        check(
            markdown,
            &[
                ("a|b", "a\\|b"),
                ("`x` *y* _z_", "\\`x\\` \\*y\\* \\_z\\_"),
                ("<script>", "\\<script\\>"),
                ("[a](http://b)", "\\[a\\](http\\://b)"),
                ("www.example.org", "www\\.example.org"),
                ("ask @root, see #12", "ask `@`root, see `#`12"),
                ("# head", "\\# head"),
                ("- item", "\\- item"),
                ("1. item", "1\\. item"),
                ("3.122 GiB/s", "3.122 GiB/s"),
                ("use -e -c, 1.5 s", "use -e -c, 1.5 s"),
                ("a\nb", "a\\\\u{a}b"),
                ("&lt;", "\\&lt;"),
            ],
        );
    }

    #[test]
    fn a_code_span_outlasts_the_backticks_inside() {
        check(
            markdown_code,
            &[
                ("iozone -e", "`iozone -e`"),
                ("a``b", "```a``b```"),
                ("`a", "`` `a ``"),
                ("", "`  `"),
                ("a\nb", "`a\\u{a}b`"),
            ],
        );
    }

    #[test]
    fn json_keeps_its_meaning() {
        for text in ["\u{7f}\u{9b}\u{202e}\u{e0041}", "plain 文", "line\nbreak"] {
            let document = serde_json::to_string(text).expect("a string serialises");
            let escaped = json(&document);
            assert!(!escaped.chars().any(is_hidden), "{escaped:?}");
            assert_eq!(serde_json::from_str::<String>(&escaped).expect("still JSON"), text);
            let mut written = Vec::new();
            write_json(&[text], &mut written).expect("memory takes everything");
            let written = String::from_utf8(written).expect("text");
            assert_eq!(written, format!("[\n  {escaped}\n]\n"));
        }
    }

    #[test]
    fn a_field_is_bounded_and_never_cut_inside_an_escape() {
        let long = markdown(&"\u{1b}".repeat(FIELD_LIMIT));
        assert!(long.chars().count() <= FIELD_LIMIT);
        assert!(long.ends_with("\\\\u{1b}…"), "{long}");
        assert_eq!(clipped("abcdef", 4), "abc…");
        assert_eq!(clipped("abcd", 4), "abcd");
    }
}
