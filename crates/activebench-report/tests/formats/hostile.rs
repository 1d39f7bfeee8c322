//! A report only displays a text field, whatever the field contains.

use activebench_model::report::JudgedRun;
use activebench_model::table::Values;
use activebench_report::tables::{TABLES, shown};
use activebench_report::{FORMATS, Style};
use proptest::prelude::*;

use crate::samples;

/// Returns a control or bidirectional control character other than those of our own colours.
fn offends(report: &str) -> Option<char> {
    let own = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"];
    let stripped = own.iter().fold(report.to_owned(), |text, sequence| text.replace(sequence, ""));
    stripped.chars().find(|&c| {
        c != '\n'
            && (c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    })
}

/// Returns the reason why a program cannot read a report of a format for programs.
fn unreadable(format: &str, report: &str) -> Option<String> {
    match format {
        "json" | "sarif" => serde_json::from_str::<serde_json::Value>(report).err().map(|error| error.to_string()),
        "junit" => quick_junit::Report::deserialize_from_str(report).err().map(|error| format!("{error:?}")),
        _ => None,
    }
}

fn check(text: &str) {
    let run = samples::hostile(text);
    check_tables(&run);
    for format in FORMATS {
        for (colour, width) in [(false, None), (true, Some(60))] {
            let report = format.render(&run, Style { colour, width, ..Style::default() });
            assert_eq!(offends(&report), None, "{} of {text:?}:\n{report}", format.name);
            assert_eq!(unreadable(format.name, &report), None, "{} of {text:?}:\n{report}", format.name);
        }
    }
}

/// Checks the tables that the binary writes as Parquet.
fn check_tables(run: &JudgedRun) {
    for table in TABLES {
        for column in shown((table.of)(run)).columns {
            if let Values::Texts(texts) = column.values {
                assert_eq!(texts.iter().flatten().find_map(|text| offends(text)), None, "{}", column.about.name);
            }
        }
    }
}

#[test]
fn known_attacks_are_shown_not_obeyed() {
    for text in [
        "",
        "\x1b]0;title\x07",
        "\x1b[2J\x1b[H",
        "\u{9b}31m",
        "\r\nVERIFIED",
        "a\u{202e}b\u{2066}c",
        "<script>alert(1)</script>",
        "| a | b |\n| --- | --- |",
        "```\nfence",
        "[x](javascript:1) ![y](http://z)",
        "@everyone #1 http://example.org www.example.org",
        "写入文件 \u{200d} 👩\u{200d}🔧",
        "--",
        "'; rm -rf / #",
        "]]>--><!ENTITY x \u{fffe}\u{ffff}\u{b}",
        "[[ATTACHMENT|/etc/shadow]]",
    ] {
        check(text);
    }
}

#[test]
fn markdown_of_the_tool_makes_no_markup() {
    let report = activebench_report::format_by_name("markdown")
        .expect("there is such a format")
        .render(&samples::hostile("<b>[x](http://y) @root"), Style::default());
    // Code spans are literal. Outside of them none of these may appear.
    let outside: String = report.split('`').step_by(2).collect();
    for markup in ["<b>", "](", " @root", "http://"] {
        let is_escaped = |start: usize| outside[..start].ends_with('\\');
        for (start, _) in outside.match_indices(markup) {
            assert!(is_escaped(start), "{markup} in {}", &outside[start.saturating_sub(20)..start + 5]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_harmless(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_control_characters_are_harmless(text in "[\\x00-\\x1f\\x7f-\\u{9f}\\u{200b}-\\u{202e}a|`]{0,40}") {
        check(&text);
    }
}
