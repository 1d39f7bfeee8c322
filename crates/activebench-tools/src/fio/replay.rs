//! The logs of I/O that fio replays (HOWTO, `read_iolog`): they determine what it writes, whatever `rw` says.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use crate::adapter::{LoggedIo, Replayed};
use crate::words::{bare, parts, unescaped};

/// Maximum bytes of a line: fio's logs do not have longer lines.
const LINE_BYTES: u64 = 64 << 10;

/// Returns the logs that the words of fio and of its job files name.
pub(super) fn replayed(texts: &[&str]) -> Replayed {
    let redirected = texts.iter().any(|text| text.contains("replay_redirect"));
    Replayed { logs: logs(texts), redirected, read }
}

fn logs(texts: &[&str]) -> BTreeSet<String> {
    const OPTION: &str = "read_iolog";
    let mut logs = BTreeSet::new();
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    let mut words = words.map(|word| word.trim_start_matches('-')).peekable();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix(OPTION) else { continue };
        let value = match (rest, words.peek()) {
            ("" | "=", Some(&"=")) => {
                words.next();
                words.next()
            }
            ("" | "=", _) => words.next(),
            (value, _) => value.strip_prefix('='),
        };
        // A colon separates two logs.
        logs.extend(
            parts(value.unwrap_or_default(), &[':']).map(|log| unescaped(bare(log))).filter(|log| !log.is_empty()),
        );
    }
    logs
}

/// Reads the parts of a log that say what is written.
fn read(mut lines: &mut dyn BufRead) -> std::io::Result<LoggedIo> {
    let mut logged = LoggedIo::default();
    let mut line = Vec::new();
    // A log may be larger than memory, so its lines are read one by one.
    while (&mut lines).take(LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
        // A log of blktrace is not text, and does not name files.
        let Ok(text) = str::from_utf8(&line) else { return Ok(LoggedIo { files: BTreeSet::new(), writes: true }) };
        let mut words = text.split_whitespace().rev();
        match words.next() {
            Some("add" | "open") => logged.files.extend(words.next().map(str::to_owned)),
            _ => logged.writes |= words.any(|word| matches!(word, "write" | "trim")),
        }
        line.clear();
    }
    Ok(logged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_found_in_any_spelling() {
        for (texts, expected) in [
            (&["--read_iolog=a"][..], &["a"][..]),
            (&["--read_iolog", "a"], &["a"]),
            (&["[job]\nread_iolog = a:b\n"], &["a", "b"]),
            (&["--read_iolog=a\\:b"], &["a:b"]),
            (&["--name=a", "--rw=read"], &[]),
        ] {
            let expected: BTreeSet<String> = expected.iter().map(|log| (*log).to_owned()).collect();
            assert_eq!(logs(texts), expected, "{texts:?}");
        }
        assert!(replayed(&["--read_iolog=a", "--replay_redirect=/dev/sdb"]).redirected);
    }

    #[test]
    fn a_log_states_its_files_and_its_writes() {
        let logged =
            |files: &[&str], writes| LoggedIo { files: files.iter().map(|f| (*f).to_owned()).collect(), writes };
        for (mut text, expected) in [
            (
                &b"fio version 3 iolog\n0 /mnt/x add\n0 /mnt/x open\n1 /mnt/x read 0 4096\n"[..],
                logged(&["/mnt/x"], false),
            ),
            (b"fio version 2 iolog\n/mnt/x add\n/mnt/x open\n/mnt/x write 0 4096\n", logged(&["/mnt/x"], true)),
            (&[0x65, 0x61, 0x74, 0xff, 0, 1], logged(&[], true)),
            (b"", logged(&[], false)),
        ] {
            assert_eq!(read(&mut text).expect("it is in memory"), expected);
        }
    }
}
