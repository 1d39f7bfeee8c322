//! The `plotters` backend: it writes SVG elements with classes of the style sheet instead of colours, and joins
//! adjacent elements of one ink into one path.
//!
//! The library's own backend writes every rectangle as an element with its own colours. A map of offsets would then be
//! ten times as large, and could not follow the user's choice of a light or dark theme.

use std::convert::Infallible;
use std::fmt::Write;

use maud::html;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

macro_rules! inks {
    ($($(#[$doc:meta])* $variant:ident = $class:literal,)*) => {
        /// Purpose of a drawn element. The style sheet gives it colour and dashes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Ink { $($(#[$doc])* $variant,)* }

        impl Ink {
            const ALL: &'static [Ink] = &[$(Ink::$variant,)*];
            /// Returns the class in the style sheet.
            pub(crate) fn class(self) -> &'static str { match self { $(Ink::$variant => $class,)* } }
        }
    };
}

inks! {
    /// Nothing is drawn.
    None = "none",
    /// Axes.
    Axis = "axis",
    /// Lines at the labels.
    Grid = "grid",
    /// Words and figures.
    Label = "label",
    /// Words that explain a place of the drawing.
    Note = "note",
    /// A moment that is explained.
    Moment = "moment",
    /// The time that the tool's clock covers.
    Clock = "clock",
    /// A sync.
    Sync = "sync",
    /// Reads.
    Read = "read",
    /// Writes.
    Write = "write",
    /// Page-cache insertions.
    Inserted = "inserted",
    /// Dirty pages.
    Dirty = "dirty",
    /// Queue depth.
    Depth = "depth",
    /// User mode.
    User = "user",
    /// The kernel.
    Kernel = "kernel",
    /// I/O wait.
    IoWait = "iowait",
    /// Waits for something else.
    Blocked = "blocked",
    /// Waits for a CPU.
    Preempted = "preempted",
    /// Latencies of calls.
    Calls = "calls",
    /// Latencies of the device.
    Device = "device",
    /// Values of rounds.
    Round = "round",
    /// The line fitted to the values of rounds.
    Fit = "fit",
    /// A run that counts.
    Counted = "counted",
    /// A run that counts although its claim does not hold.
    Corrected = "corrected",
    /// A run that is shown and does not count.
    Apart = "apart",
    /// Few hits.
    Heat1 = "heat1",
    /// More.
    Heat2 = "heat2",
    /// More.
    Heat3 = "heat3",
    /// More.
    Heat4 = "heat4",
    /// Most.
    Heat5 = "heat5",
}

impl Ink {
    /// Shades from few hits to most.
    pub(crate) const HEAT: [Ink; 5] = [Ink::Heat1, Ink::Heat2, Ink::Heat3, Ink::Heat4, Ink::Heat5];

    /// Encodes the ink as a `plotters` colour.
    pub(crate) fn colour(self) -> plotters::style::RGBAColor {
        plotters::style::RGBAColor(0, 0, self as u8, if self == Ink::None { 0.0 } else { 1.0 })
    }

    fn of(colour: BackendColor) -> Ink {
        Ink::ALL.get(usize::from(colour.rgb.2)).copied().unwrap_or(Ink::None)
    }
}

/// Collects the elements of one drawing.
pub(crate) struct Svg<'a> {
    out: &'a mut String,
    size: (u32, u32),
    /// The open path, and its style.
    open: Option<(Ink, Drawn)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Filled,
    Stroked,
}

type Outcome = Result<(), DrawingErrorKind<Infallible>>;

impl<'a> Svg<'a> {
    pub(crate) fn new(out: &'a mut String, size: (u32, u32)) -> Self {
        Self { out, size, open: None }
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.out.push_str("\"/>");
        }
    }

    /// Starts a path, or continues one of the same style.
    fn path(&mut self, ink: Ink, drawn: Drawn) {
        if self.open == Some((ink, drawn)) {
            return;
        }
        self.close();
        let kind = match drawn {
            Drawn::Filled => "f",
            Drawn::Stroked => "l",
        };
        self.put(format_args!("<path class=\"{kind} {}\" d=\"", ink.class()));
        self.open = Some((ink, drawn));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a String takes any text");
    }

    /// Writes a line through points in the fewest characters.
    fn trace(&mut self, points: impl IntoIterator<Item = BackendCoord>) {
        let mut last: Option<BackendCoord> = None;
        for (x, y) in points {
            match last {
                None => self.put(format_args!("M{x} {y}")),
                Some((last_x, last_y)) => match (x - last_x, y - last_y) {
                    (0, 0) => {}
                    (dx, 0) => self.put(format_args!("h{dx}")),
                    (0, dy) => self.put(format_args!("v{dy}")),
                    (dx, dy) => self.put(format_args!("l{dx} {dy}")),
                },
            }
            last = Some((x, y));
        }
    }
}

impl DrawingBackend for Svg<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Outcome {
        Ok(())
    }

    fn present(&mut self) -> Outcome {
        self.close();
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Outcome {
        self.draw_rect((x, y), (x + 1, y + 1), &colour, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Outcome {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome {
        let (width, height) = (right - left, bottom - top);
        let ink = Ink::of(style.color());
        if ink != Ink::None && (width != 0 || height != 0) {
            self.path(ink, if fill { Drawn::Filled } else { Drawn::Stroked });
            self.put(format_args!("M{left} {top}h{width}v{height}h{}z", -width));
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Outcome {
        let ink = Ink::of(style.color());
        if ink != Ink::None {
            self.path(ink, Drawn::Stroked);
            self.trace(path);
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Outcome {
        let ink = Ink::of(style.color());
        if ink != Ink::None {
            self.path(ink, Drawn::Filled);
            self.trace(path);
            self.put(format_args!("z"));
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(&mut self, (x, y): BackendCoord, radius: u32, style: &S, fill: bool) -> Outcome {
        let ink = Ink::of(style.color());
        if ink != Ink::None {
            self.path(ink, if fill { Drawn::Filled } else { Drawn::Stroked });
            let (radius, width) = (radius as i32, 2 * radius as i32);
            self.put(format_args!(
                "M{} {y}a{radius} {radius} 0 1 0 {width} 0a{radius} {radius} 0 1 0 {} 0z",
                x - radius,
                -width
            ));
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Outcome {
        self.close();
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Right => "end",
            HPos::Center => "middle",
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => ".8em",
            VPos::Center => ".35em",
            VPos::Bottom => "-.2em",
        };
        let class = Some(Ink::of(style.color())).filter(|ink| *ink == Ink::Note).map(Ink::class);
        let element = html! { text class=[class] x=(x) y=(y) dy=(dy) text-anchor=(anchor) { (text) } };
        self.out.push_str(&element.into_string());
        Ok(())
    }
}
