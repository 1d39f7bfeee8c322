//! The JSON of the trace.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::escape;

/// Fields that all events have. Every text goes through serde and [`Harmless`].
pub(super) struct Event<'a> {
    pub(super) name: &'a str,
    pub(super) cat: &'a str,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) args: Args<'a>,
}

/// Optional details of an event, besides its times.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) clock: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fd: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sector: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flags: Option<&'a str>,
}

/// One event in its written form.
#[derive(Serialize)]
struct Line<'a, A> {
    ph: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    pid: u32,
    tid: u32,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    args: A,
}

/// A trace while it is written.
pub(super) struct Trace<'a> {
    out: &'a mut dyn Write,
    started_ns: u64,
    last_id: u64,
    separator: &'static str,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Sorted {
    sort_index: u32,
}

#[derive(Serialize)]
struct Empty {}

impl<'a> Trace<'a> {
    pub(super) fn begin(
        out: &'a mut dyn Write,
        started_ns: u64,
        other_data: &BTreeMap<&'static str, String>,
    ) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        write_json(out, other_data)?;
        out.write_all(b",\"traceEvents\":[")?;
        Ok(Self { out, started_ns, last_id: 0, separator: "\n" })
    }

    pub(super) fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }

    /// Writes the name of a process and its position in the viewer.
    pub(super) fn process(&mut self, pid: u32, name: &str, place: u32) -> io::Result<()> {
        self.metadata("process_name", pid, 0, Named { name })?;
        self.metadata("process_sort_index", pid, 0, Sorted { sort_index: place })
    }

    /// Writes the name of a thread.
    pub(super) fn thread(&mut self, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        self.metadata("thread_name", pid, tid, Named { name })
    }

    /// Writes an event with a duration, on a thread that did nothing else at that time.
    pub(super) fn complete(&mut self, event: &Event<'_>, start_ns: u64, end_ns: u64) -> io::Result<()> {
        let dur = Some(micros(end_ns.saturating_sub(start_ns)));
        self.line(&Line { dur, ..self.line_of("X", event, start_ns) })
    }

    /// Writes an event with a duration that overlaps others of its kind.
    pub(super) fn overlapping(&mut self, event: &Event<'_>, start_ns: u64, end_ns: u64) -> io::Result<()> {
        self.last_id += 1;
        let id = format!("{:#x}", self.last_id);
        let begin = Line { id: Some(&id), ..self.line_of("b", event, start_ns) };
        self.line(&begin)?;
        let Line { ph: _, name, cat, pid, tid, ts, .. } = self.line_of("e", event, end_ns);
        self.line(&Line { ph: "e", name, cat, pid, tid, ts, dur: None, id: Some(&id), s: None, args: Empty {} })
    }

    /// Writes an event without a duration.
    pub(super) fn instant(&mut self, event: &Event<'_>, at_ns: u64) -> io::Result<()> {
        self.line(&Line { s: Some("t"), ..self.line_of("i", event, at_ns) })
    }

    /// Writes the value of a counter, valid from `at_ns`.
    pub(super) fn counter(&mut self, pid: u32, name: &str, unit: &str, at_ns: u64, value: f64) -> io::Result<()> {
        let args = BTreeMap::from([(unit, value)]);
        let ts = self.since_start(at_ns);
        self.line(&Line { ph: "C", name, cat: None, pid, tid: 0, ts, dur: None, id: None, s: None, args })
    }

    fn metadata(&mut self, name: &str, pid: u32, tid: u32, args: impl Serialize) -> io::Result<()> {
        self.line(&Line { ph: "M", name, cat: None, pid, tid, ts: 0.0, dur: None, id: None, s: None, args })
    }

    fn line_of<'l>(&self, ph: &'l str, event: &'l Event<'_>, at_ns: u64) -> Line<'l, &'l Args<'l>> {
        Line {
            ph,
            name: event.name,
            cat: Some(event.cat),
            pid: event.pid,
            tid: event.tid,
            ts: self.since_start(at_ns),
            dur: None,
            id: None,
            s: None,
            args: &event.args,
        }
    }

    fn line<A: Serialize>(&mut self, line: &Line<'_, A>) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ",\n";
        write_json(self.out, line)
    }

    /// Returns microseconds since the start of the run. Never negative, because Perfetto drops such events.
    fn since_start(&self, at_ns: u64) -> f64 {
        micros(at_ns.saturating_sub(self.started_ns))
    }
}

/// Converts ns to us, exact to the nanosecond for 104 days.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn write_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Harmless);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Formats compact JSON and escapes hidden characters, like our other documents.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        if fragment.chars().any(escape::is_hidden) {
            return CompactFormatter.write_string_fragment(writer, &escape::json(fragment));
        }
        CompactFormatter.write_string_fragment(writer, fragment)
    }
}
