//! Comparison of the claims that were read without an adapter with the figures of the adapter, or with what a program
//! of our own states about itself.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use super::Judged;

/// Largest difference of amounts and rates, as a share.
const TOLERANCE: f64 = 0.02;
/// Least common part of two windows, as a share of both together.
const LEAST_OVERLAP: f64 = 0.9;
/// Largest difference of a figure that is printed twice, as a share: three digits.
const SAME_FIGURE: f64 = 0.005;
/// Begins a line on standard error in which a program of our own states the truth about a number.
pub(super) const STATEMENT: &str = "#truth_";

/// The outcome of one run.
#[derive(Debug, Default, Serialize)]
pub struct Compared {
    /// The rates that the program printed.
    pub figures: Vec<Compare>,
    /// Claims without a figure of the adapter: what the adapter does not read, or a second print of a figure.
    pub further: Vec<String>,
    /// Claims of `further` that are about another pass than every figure of the adapter.
    pub strange: Vec<String>,
    /// Claims that contradict the run, where the adapter holds it for honest.
    pub accused: Vec<String>,
    /// True if the run is honest: its adapter finds no discrepancy.
    pub is_honest: bool,
    /// Why the run has no figures; `None` when it has.
    pub broken: Option<String>,
}

/// A printed rate and what became of it.
#[derive(Debug, Serialize)]
pub struct Compare {
    /// The number as printed.
    pub printed: String,
    /// Its metric.
    pub metric: String,
    /// Its line.
    pub line: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The reason, for a person.
    pub why: String,
    /// True if the adapter itself leaves it unverifiable, or finds no pass for it.
    pub is_open_with_adapter: bool,
}

/// What became of a printed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is a claim on the right pass.
    Right,
    /// It is a claim on another pass, or with another unit.
    Wrong,
    /// The number did not become a claim.
    Unverifiable,
}

/// A pass with what identifies it.
#[derive(Clone, Debug)]
struct About {
    direction: String,
    /// The calls on names that count: `create`; empty for a pass of data.
    names: String,
    bytes: f64,
    operations: f64,
    window: Option<(u64, u64)>,
    /// Empty where it is not known.
    files: HashSet<(u64, u64)>,
}

/// A printed rate, with the pass that it is about.
#[derive(Clone, Debug)]
struct Figure {
    stream: String,
    /// `None` for any line.
    line: Option<u64>,
    line_text: String,
    text: String,
    /// As printed.
    unit: String,
    metric: String,
    /// In bytes or operations per second, or ns; `None` where any reading of the printed text is right.
    value: f64,
    about: Option<About>,
    /// True if the judgement leaves it unverifiable.
    is_open: bool,
}

/// Compares the claims `without` an adapter with those `with` it, or with the statements on standard error.
pub(super) fn compared(without: &Judged, with: Option<&Judged>, stderr: &str) -> Compared {
    let mut compared = Compared { is_honest: true, ..Compared::default() };
    let claims = figures_of(without);
    let truth = match with {
        Some(with) => {
            if with.report["verdict"] == "failed" || with.report.is_null() {
                compared.broken = Some("the benchmark failed".to_owned());
                return compared;
            }
            compared.is_honest = with.report["verdict"] != "discrepancy";
            figures_of(with)
        }
        None => stated(stderr),
    };
    let mut used: HashSet<usize> = HashSet::new();
    for figure in &truth {
        let own = claims.iter().enumerate().filter(|(_, claim)| is_same_place(claim, figure));
        let mut outcome = (Outcome::Unverifiable, reason(without, figure));
        for (place, claim) in own {
            used.insert(place);
            match difference(claim, figure) {
                None => {
                    outcome = (Outcome::Right, String::new());
                    break;
                }
                Some(why) => outcome = (Outcome::Wrong, why),
            }
        }
        compared.figures.push(Compare {
            printed: figure.text.clone(),
            metric: figure.metric.clone(),
            line: figure.line_text.trim().to_owned(),
            outcome: outcome.0,
            why: outcome.1,
            is_open_with_adapter: figure.is_open || figure.about.is_none(),
        });
    }
    for (place, claim) in claims.iter().enumerate() {
        if used.contains(&place) {
            continue;
        }
        let text = format!("{} {} in {:?}", claim.metric, claim.text, claim.line_text.trim());
        // The same figure in another place: a table and a line of commas.
        let same = truth.iter().zip(&mut compared.figures).find(|(figure, compare)| {
            compare.outcome == Outcome::Unverifiable
                && is_printed_again(claim, figure)
                && difference(claim, figure).is_none()
        });
        match same {
            Some((_, compare)) => compare.outcome = Outcome::Right,
            None if !truth.iter().any(|figure| is_about_same(claim, figure)) => compared.strange.push(text.clone()),
            None => {}
        }
        compared.further.push(text);
    }
    if compared.is_honest {
        compared.accused = accusations(&without.report);
    }
    compared
}

/// Returns what a report holds against an honest run.
fn accusations(report: &Value) -> Vec<String> {
    let contradicts = |claim: &&Value| matches!(claim["verdict"].as_str(), Some("refuted" | "misleading"));
    let claims = list(&report["claims"]).iter().filter(contradicts);
    let mut found: Vec<String> = claims
        .map(|claim| {
            let codes: Vec<&str> = list(&claim["findings"]).iter().filter_map(Value::as_str).collect();
            format!("{} is {}: {}", claim["source"]["text"], claim["verdict"], codes.join(" "))
        })
        .collect();
    if found.is_empty() && report["verdict"] == "discrepancy" {
        found.push("the run is a discrepancy".to_owned());
    }
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the rates among the claims of a judgement.
fn figures_of(judged: &Judged) -> Vec<Figure> {
    let is_rate = |claim: &&Value| {
        let metric = claim["metric"].as_str().expect("a claim has a metric");
        metric.ends_with("throughput") || metric.ends_with("operation-rate") || metric == "time-per-operation"
    };
    let figure = |claim: &Value| Figure {
        stream: text(&claim["source"]["stream"]),
        line: claim["source"]["line"].as_u64(),
        line_text: text(&claim["source"]["text"]),
        text: text(&claim["printed"]["text"]),
        unit: text(&claim["printed"]["unit"]),
        metric: text(&claim["metric"]),
        value: claim["value"].as_f64().expect("a claim has a value"),
        about: about(judged, claim["phase"].as_str().expect("a claim has a phase")),
        is_open: claim["verdict"] == "unverifiable",
    };
    list(&judged.report["claims"]).iter().filter(is_rate).map(figure).collect()
}

/// Returns a pass; `None` for one that was not found in the calls, or of which an amount is not known.
fn about(judged: &Judged, id: &str) -> Option<About> {
    let phase = judged.phases.iter().find(|phase| phase["id"] == id)?;
    let reported = list(&judged.report["phases"]).iter().find(|phase| phase["id"] == id)?;
    let window = (phase["window"]["start_ns"].as_u64()?, phase["window"]["end_ns"].as_u64()?);
    let fact = |name: &str| reported["facts"][name]["value"].as_f64();
    // A mix may have had one direction only.
    let direction = match text(&phase["direction"]) {
        mixed if mixed == "mixed" => match (fact("read_calls")?, fact("write_calls")?) {
            (0.0, _) => "write".to_owned(),
            (_, 0.0) => "read".to_owned(),
            _ => mixed,
        },
        direction => direction,
    };
    let both = |read: &str, write: &str| match direction.as_str() {
        "read" => fact(read),
        "write" => fact(write),
        _ => Some(fact(read)? + fact(write)?),
    };
    let names = text(&phase["names"]["operation"]);
    // A pass over names moves no data of its own.
    let (bytes, operations) = match names.is_empty() {
        true => (both("read_bytes", "write_bytes")?, both("read_calls", "write_calls")?),
        false => (0.0, fact("name_calls")?),
    };
    let file = |part: &Value| Some((part["file"]["s_dev"].as_u64()?, part["file"]["ino"].as_u64()?));
    Some(About {
        names,
        bytes,
        operations,
        direction,
        window: Some(window),
        files: list(&phase["parts"]).iter().filter_map(file).collect(),
    })
}

/// Reads the statements of a program of our own: `#truth_TEXT_METRIC_VALUE_DIRECTION_BYTES_CALLS_START_END`,
/// in ns. A line of one word holds no number for a reader of numbers.
fn stated(stderr: &str) -> Vec<Figure> {
    let figure = |line: &str| {
        let words: Vec<&str> = line.strip_prefix(STATEMENT)?.split('_').collect();
        let [text, metric, value, direction, bytes, calls, start, end] = words[..] else { return None };
        Some(Figure {
            stream: "stdout".to_owned(),
            line: None,
            line_text: String::new(),
            text: text.to_owned(),
            unit: String::new(),
            metric: metric.to_owned(),
            value: value.parse().ok()?,
            about: Some(About {
                direction: direction.to_owned(),
                names: String::new(),
                bytes: bytes.parse().ok()?,
                operations: calls.parse().ok()?,
                window: Some((start.parse().ok()?, end.parse().ok()?)),
                files: HashSet::new(),
            }),
            is_open: false,
        })
    };
    stderr.lines().filter_map(figure).collect()
}

/// Returns the digits of a number as printed, without a letter for its scale.
fn digits(text: &str) -> &str {
    text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic())
}

fn is_same_place(claim: &Figure, figure: &Figure) -> bool {
    claim.stream == figure.stream
        && figure.line.is_none_or(|line| claim.line == Some(line))
        && digits(&claim.text) == digits(&figure.text)
}

/// Returns true if two values differ by at most 2 % or half of the last printed step. A coarse number must not hide a unit
/// that was taken for another power: no such value may be nearer.
fn is_same_value(claim: &Figure, figure: &Figure) -> bool {
    let ratio = |value: f64| (value / figure.value).ln().abs();
    let own = ratio(claim.value);
    let prefix = claim.unit.chars().next().map(|letter| letter.to_ascii_lowercase());
    let power = prefix.and_then(|letter| "kmgt".find(letter)).map_or(0, |place| place as i32 + 1);
    let number: f64 = digits(&claim.text).replace(',', "").parse().unwrap_or_default();
    // The other power of the unit: a claim that took it for 1000 could have taken it for 1024.
    let is_binary = claim.value / number > 1000_f64.powi(power) * 1.012_f64.powi(power);
    let other = claim.value * 1.024_f64.powi(if is_binary { -power } else { power });
    let is_in_step = (claim.value - figure.value).abs() <= half_step(&claim.text) * claim.value;
    own <= TOLERANCE.ln_1p() || is_in_step && ratio(other) >= own
}

/// Returns half of the last printed step of a number, as a share of it.
fn half_step(text: &str) -> f64 {
    let digits: String = digits(text).chars().filter(char::is_ascii_digit).collect();
    let number: f64 = digits.parse().unwrap_or_default();
    if number > 0.0 { 0.5 / number } else { 0.0 }
}

/// Returns true if a claim may state a figure a second time: as many digits, or fewer.
fn is_printed_again(claim: &Figure, figure: &Figure) -> bool {
    let unit = |metric: &str| metric.ends_with("throughput");
    unit(&claim.metric) == unit(&figure.metric) && (claim.value / figure.value - 1.0).abs() < SAME_FIGURE
}

/// Returns true if a claim is about the pass of a figure, whatever it says of it.
fn is_about_same(claim: &Figure, figure: &Figure) -> bool {
    difference(&Figure { value: figure.value, ..claim.clone() }, figure).is_none()
}

/// Returns how a claim differs from a figure; `None` when it is about the same pass.
fn difference(claim: &Figure, figure: &Figure) -> Option<String> {
    let (Some(own), Some(right)) = (&claim.about, &figure.about) else {
        return Some("the adapter did not find the pass".to_owned());
    };
    let off = |own: f64, right: f64| (own - right).abs() > TOLERANCE * own.abs().max(right.abs());
    if !is_same_value(claim, figure) {
        return Some(format!("{} in place of {}", claim.value, figure.value));
    }
    let is_of_tasks = ["min-", "max-", "mean-", "task-"].iter().any(|start| figure.metric.starts_with(start));
    if own.direction != right.direction || own.names != right.names {
        return Some(format!("{} {} in place of {} {}", own.direction, own.names, right.direction, right.names));
    }
    if !own.files.is_empty() && !right.files.is_empty() && own.files.is_disjoint(&right.files) {
        return Some("other files".to_owned());
    }
    let (Some(one), Some(other)) = (own.window, right.window) else {
        return Some("a pass has no window".to_owned());
    };
    let common = one.1.min(other.1).saturating_sub(one.0.max(other.0)) as f64;
    if is_of_tasks {
        // A task that went on after the clock of all had stopped belongs to the pass: only its time has to be inside.
        let is_inside = common >= LEAST_OVERLAP * (other.1 - other.0) as f64;
        return (!is_inside).then(|| "another time than that of the tasks".to_owned());
    }
    let (amounts, what) = match figure.metric.ends_with("throughput") {
        true => ((own.bytes, right.bytes), "bytes"),
        false => ((own.operations, right.operations), "operations"),
    };
    if off(amounts.0, amounts.1) {
        return Some(format!("{} {what} in place of {}", amounts.0, amounts.1));
    }
    let union = one.1.max(other.1).saturating_sub(one.0.min(other.0)) as f64;
    let overlap = if union > 0.0 { common / union } else { 0.0 };
    (overlap < LEAST_OVERLAP).then(|| format!("the windows overlap by {:.0} %", overlap * 100.0))
}

/// Returns why a figure did not become a claim, in the words of the report.
fn reason(without: &Judged, figure: &Figure) -> String {
    let open = list(&without.report["unmatched"]["numbers"]).iter();
    let own = open.into_iter().find(|number| {
        number["source"]["stream"] == figure.stream.as_str()
            && figure.line.is_none_or(|line| number["source"]["line"] == line)
            && number["printed"]["text"].as_str().is_some_and(|text| digits(text) == digits(&figure.text))
    });
    match own {
        None => "it is not read as a number with a unit".to_owned(),
        Some(number) => {
            let nearest = &number["nearest"];
            let excess = nearest["excess"].as_f64().map_or_else(String::new, |excess| {
                format!(" (nearest: {}, {:+.1} %)", text(&nearest["pass"]), excess * 100.0)
            });
            format!("{}{excess}", text(&number["reason"]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, direction: &str, window: (u64, u64)) -> Figure {
        Figure {
            stream: "stdout".to_owned(),
            line: Some(1),
            line_text: "5 MB/s".to_owned(),
            text: "5".to_owned(),
            unit: "MB/s".to_owned(),
            metric: "throughput".to_owned(),
            value,
            about: Some(About {
                direction: direction.to_owned(),
                names: String::new(),
                bytes: 1000.0,
                operations: 10.0,
                window: Some(window),
                files: HashSet::new(),
            }),
            is_open: false,
        }
    }

    #[test]
    fn only_the_same_value_direction_amount_and_window_are_right() {
        let truth = figure(5e6, "write", (0, 1000));
        assert_eq!(difference(&figure(5.05e6, "write", (0, 950)), &truth), None);
        for other in [
            figure(5.25e6, "write", (0, 1000)),
            figure(5e6, "read", (0, 1000)),
            figure(5e6, "write", (0, 800)),
            Figure { about: None, ..figure(5e6, "write", (0, 1000)) },
        ] {
            assert!(difference(&other, &truth).is_some(), "{other:?}");
        }
        // `1.1 GB/s` of 1.06e9, as dd prints it.
        let coarse =
            |value| Figure { text: "1.1".to_owned(), unit: "GB/s".to_owned(), ..figure(value, "write", (0, 1000)) };
        assert_eq!(difference(&coarse(1.1e9), &coarse(1.06e9)), None);
        assert_eq!(difference(&coarse(1.1e9), &coarse(1.0501e9)), None);
        assert!(difference(&coarse(1.1e9), &coarse(1.0499e9)).is_some());
        assert!(difference(&coarse(1.1 * 1_073_741_824.0), &coarse(1.1e9)).is_some());
        let mut more = figure(5e6, "write", (0, 1000));
        more.about.as_mut().expect("a pass").bytes = 1100.0;
        assert!(difference(&more, &truth).is_some());
    }

    #[test]
    fn a_statement_of_a_program_is_a_figure() {
        let stated = stated("hello\n#truth_5.0_throughput_5e6_write_1000_10_5_1005\n#truth_5\n");
        assert_eq!(stated.len(), 1);
        assert_eq!(difference(&figure(5e6, "write", (5, 1005)), &stated[0]), None);
        assert!(!is_same_place(&figure(5e6, "write", (5, 1005)), &stated[0]));
        assert_eq!((digits("1330k"), digits("12.5")), ("1330", "12.5"));
        assert_eq!((half_step("1330k"), half_step("2.5"), half_step("x")), (0.5 / 1330.0, 0.02, 0.0));
    }
}
