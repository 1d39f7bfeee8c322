//! The place of the cursor behind the tool's output.

/// Where the tool's last output left the cursor. Nothing of ours is written where that is unknown, or over text that the
/// tool may still change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Characters before it on its line; `None` after a control sequence, until the next line.
    column: Option<usize>,
    /// `true` if its line has text, which a carriage return may have left behind the cursor.
    is_on_text: bool,
}

/// The place for lines of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The empty line of the cursor.
    Here,
    /// The line below it. The cursor returns to this column.
    Below(usize),
}

impl Cursor {
    /// The start of an empty line.
    pub(super) const AT_START: Self = Self { column: Some(0), is_on_text: false };

    /// Follows the tool's output.
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => *self = Self::AT_START,
                b'\r' => self.column = Some(0),
                b'\t' => self.move_to(|column| (column / 8 + 1) * 8),
                0x08 => self.move_to(|column| column.saturating_sub(1)),
                0x07 => {}
                0..0x20 | 0x7f => self.column = None,
                // A further byte of a character.
                0x80..0xc0 => {}
                _ => {
                    self.is_on_text = true;
                    self.move_to(|column| column + 1);
                }
            }
        }
    }

    fn move_to(&mut self, column: impl Fn(usize) -> usize) {
        self.column = self.column.map(column);
    }

    /// Returns the place for lines of ours on a terminal of this many columns; `None` where there is none.
    pub(super) fn place(self, columns: usize) -> Option<Place> {
        let column = self.column?;
        match (column.checked_rem(columns)?, column) {
            (_, 0) if !self.is_on_text => Some(Place::Here),
            (_, 0) => Some(Place::Below(0)),
            // The terminal waits for the next character before it begins a new line.
            (0, _) => None,
            (column, _) => Some(Place::Below(column)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_behind_a_line_without_an_end_is_known() {
        for (text, expected) in [
            ("", Some(Place::Here)),
            ("a\n", Some(Place::Here)),
            ("a\n\r", Some(Place::Here)),
            ("a\tb", Some(Place::Below(9))),
            ("  524288       4", Some(Place::Below(16))),
            ("50%\u{8}\u{8}", Some(Place::Below(1))),
            ("one\rtwo", Some(Place::Below(3))),
            // The line of progress of a tool stays.
            ("Jobs: 1 (f=1)\r", Some(Place::Below(0))),
            ("Jobs: 1 (f=1)\r\n", Some(Place::Here)),
            ("µs", Some(Place::Below(2))),
            ("\x1b[2K", None),
            ("\x1b[2K\nx", Some(Place::Below(1))),
            (&"x".repeat(80), None),
            (&"x".repeat(83), Some(Place::Below(3))),
        ] {
            let mut cursor = Cursor::AT_START;
            cursor.follow(text.as_bytes());
            assert_eq!(cursor.place(80), expected, "{text:?}");
        }
        assert_eq!(Cursor::AT_START.place(0), None);
    }
}
