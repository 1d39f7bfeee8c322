//! Lines about the run on a terminal, below the tool's output that is passed on. `progress` has their texts.

mod cursor;
mod progress;

use std::fmt::Arguments;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use activebench_probe::LiveFigures;
use activebench_runner::{Hooks, Stream};
use activebench_tools::OutputFilter;
use console::Term;

use self::cursor::{Cursor, Place};
pub(crate) use self::progress::Expected;
use self::progress::{Seen, Span};
use crate::recording::Observing;

/// Says something to the user on standard error. A closed terminal or pipe is no reason to end: the run goes on, and what
/// it finds is in the run directory.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {
        $crate::terminal::say_line(format_args!("activebench: {}", format_args!($($words)*)))
    };
}

/// Writes a line to standard error, if anybody is there to read it.
pub fn say_line(line: Arguments<'_>) {
    // Nobody is left to be told of a failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Destination of the child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOutput {
    /// To ours.
    Stdout,
    /// To our standard error, because our standard output holds a report alone.
    Stderr,
    /// Its standard output to the run directory alone, because the user did not ask for this tool; its standard error
    /// to ours.
    Recorded,
}

/// What is shown of a run while it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Nothing, and no messages.
    Nothing,
    /// On a terminal one line, twice a second; elsewhere a line per minute.
    #[default]
    Line,
    /// On a terminal a small screen, once a second; elsewhere a line per second.
    Screen,
}

impl Shown {
    /// Returns what is shown of a run that is observed so.
    pub fn of(observing: &Observing) -> Self {
        match (observing.quiet, observing.live) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Screen,
            (false, false) => Shown::Line,
        }
    }
}

/// Interval of the lines that a log without a terminal gets.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Interval of the small screen: a little less than a second, because ticks come late.
const SCREEN_INTERVAL: Duration = Duration::from_millis(900);

/// Returns `true` if the locale names a character set other than UTF-8. Without a locale nothing is known, and UTF-8 is
/// assumed.
pub fn is_ascii_only() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Shows a run while it goes on.
pub(crate) struct Terminal {
    /// Standard error, if it is a terminal that can be written anywhere and something is to be shown.
    screen: Option<Term>,
    /// `true` if standard output is on the same screen.
    stdout_is_shown: bool,
    /// Lines on the screen, and where they begin.
    on_screen: Option<(Place, usize)>,
    /// The lines that belong on the screen.
    lines: Vec<String>,
    cursor: Cursor,
    child_output: ChildOutput,
    shown: Shown,
    is_ascii: bool,
    expected: Expected,
    /// What was seen at the last tick that was shown.
    before: Seen,
    broken_pipe: bool,
    /// Removes from standard output what the user did not ask for.
    filter: Option<Box<dyn OutputFilter>>,
}

impl Terminal {
    pub(crate) fn new(child_output: ChildOutput, shown: Shown, expected: Expected) -> Self {
        let can_show = |term: &Term| shown != Shown::Nothing && term.is_term() && !console::is_dumb();
        Self {
            screen: Some(Term::buffered_stderr()).filter(can_show),
            stdout_is_shown: std::io::stdout().is_terminal(),
            on_screen: None,
            lines: Vec::new(),
            cursor: Cursor::AT_START,
            child_output,
            shown,
            is_ascii: is_ascii_only(),
            expected,
            before: Seen::default(),
            broken_pipe: false,
            filter: None,
        }
    }

    /// Sends standard output through a filter from here on.
    pub(crate) fn filter(&mut self, filter: Option<Box<dyn OutputFilter>>) {
        self.filter = filter;
    }

    /// Passes on what a filter held back, and removes the lines.
    pub(crate) fn finish(&mut self) {
        if let Some(mut filter) = self.filter.take() {
            self.write(Stream::Stdout, &filter.finish());
        }
        self.lines.clear();
        self.erase();
    }

    /// Removes our lines from the screen. What a closed terminal answers does not matter.
    fn erase(&mut self) {
        let (Some((place, lines)), Some(screen)) = (self.on_screen.take(), &self.screen) else { return };
        let _ = screen.clear_line();
        for _ in 1..lines {
            let _ = screen.move_cursor_up(1);
            let _ = screen.clear_line();
        }
        if let Place::Below(column) = place {
            let _ = screen.move_cursor_up(1);
            let _ = screen.move_cursor_right(column);
        }
        let _ = screen.flush();
    }

    /// Shows our lines below the tool's output, as many as there is room for.
    fn show(&mut self) {
        self.erase();
        let Some(screen) = self.screen.as_ref().filter(|_| !self.lines.is_empty()) else { return };
        let (rows, columns) = screen.size();
        let (room, columns) = (usize::from(rows).saturating_sub(2), usize::from(columns));
        let Some(place) = self.cursor.place(columns) else { return };
        let cut = |line: &String| line.chars().take(columns.saturating_sub(1)).collect::<String>();
        let lines: Vec<String> = self.lines.iter().take(room.max(1)).map(cut).collect();
        if place != Place::Here {
            let _ = screen.write_str("\n");
        }
        let _ = screen.write_str(&lines.join("\n"));
        let _ = screen.flush();
        self.on_screen = Some((place, lines.len()));
    }

    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let is_kept_back = stream == Stream::Stdout && self.child_output == ChildOutput::Recorded;
        if self.broken_pipe || bytes.is_empty() || is_kept_back {
            return;
        }
        let to_stdout = stream == Stream::Stdout && self.child_output == ChildOutput::Stdout;
        let is_shown = !to_stdout || self.stdout_is_shown;
        if is_shown {
            self.erase();
        }
        let written = if to_stdout {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        } else {
            std::io::stderr().lock().write_all(bytes)
        };
        if is_shown {
            self.cursor.follow(bytes);
            self.show();
        }
        // The consumer closed our output (`| head`): the run and its record go on.
        self.broken_pipe = written.is_err();
    }

    /// Returns the time between two texts about the run.
    fn interval(&self) -> Duration {
        match (self.shown, &self.screen) {
            (Shown::Screen, _) => SCREEN_INTERVAL,
            (_, Some(_)) => Duration::ZERO,
            (_, None) => LOG_INTERVAL,
        }
    }

    /// Returns a text that the user's terminal can show.
    fn readable(&self, text: String) -> String {
        if self.is_ascii { text.replace('µ', "u") } else { text }
    }
}

impl Hooks for Terminal {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match self.filter.as_mut().filter(|_| stream == Stream::Stdout) {
            Some(filter) => {
                let passed = filter.pass(bytes);
                self.write(stream, &passed);
            }
            None => self.write(stream, bytes),
        }
    }

    fn tick(&mut self, elapsed: Duration, figures: &mut dyn FnMut() -> Option<LiveFigures>) {
        if self.shown == Shown::Nothing || elapsed.saturating_sub(self.before.elapsed) < self.interval() {
            return;
        }
        let Some(figures) = figures() else { return };
        let now = Seen { elapsed, figures };
        let span = Span { before: self.before, now };
        if self.screen.is_some() {
            let lines = match self.shown {
                Shown::Screen => span.screen(self.expected),
                Shown::Line | Shown::Nothing => vec![span.line(self.expected)],
            };
            self.lines = lines.into_iter().map(|line| self.readable(line)).collect();
            self.show();
        } else {
            say!("{}", self.readable(span.line(self.expected)));
        }
        self.before = now;
    }

    fn notice(&mut self, message: &str) {
        if self.shown != Shown::Nothing {
            self.erase();
            let columns = self.screen.as_ref().map(|screen| usize::from(screen.size().1));
            if let Some(Place::Below(_)) = columns.and_then(|columns| self.cursor.place(columns)) {
                // A line of the tool stays as it is.
                say_line(format_args!(""));
            }
            say!("{message}");
            self.cursor = Cursor::AT_START;
            self.show();
        }
    }

    fn suspended(&mut self) {
        self.lines.clear();
        self.erase();
    }
}
