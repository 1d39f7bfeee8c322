//! fio's output among other words: where the output of a further run begins, and which lines state figures.

use std::collections::HashSet;

use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

/// What the present run has printed so far.
#[derive(Debug, Default)]
struct Run<'t> {
    /// Names in its JSON and in its terse lines.
    objects: HashSet<&'t str>,
    terse: HashSet<&'t str>,
    /// Jobs of its report for people, by what their lines say of name and process.
    jobs: HashSet<&'t str>,
    /// True behind the end of the report for people: the summary of the groups.
    reported: bool,
    /// True if the first group's summary was not preceded by a job of this run.
    summary_alone: bool,
}

impl Run<'_> {
    fn has_figures(&self) -> bool {
        self.reported || !self.objects.is_empty() || !self.terse.is_empty() || !self.jobs.is_empty()
    }
}

/// What a line begins.
#[derive(Debug, PartialEq, Eq)]
enum Sign<'t> {
    /// What fio prints before the jobs start: its version, its description of a job.
    Start,
    Object,
    /// A job of this name in a terse line.
    Terse(&'t str),
    /// A job of the report for people: its name, and the line up to its process.
    Job(&'t str, &'t str),
    /// The summary of the first group.
    Summary,
}

/// Returns the lines with which a further run begins. One run prints its terse lines, its JSON, and its report for
/// people, in this order, and repeats the last one if asked to.
fn begins(lines: &[&str]) -> Vec<usize> {
    let mut begins = Vec::new();
    let mut run = Run::default();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let here = index;
        index += 1;
        let Some(sign) = sign(line, &lines[index..]) else { continue };
        let unknown = |names: &HashSet<&str>, name: &str| !names.is_empty() && !names.contains(name);
        let further = match &sign {
            Sign::Start => run.has_figures(),
            Sign::Object => run.reported || !run.objects.is_empty() || !run.jobs.is_empty(),
            Sign::Terse(_) => run.reported || !run.objects.is_empty() || !run.jobs.is_empty(),
            Sign::Job(name, whole) => {
                run.reported && !run.jobs.contains(whole) || unknown(&run.objects, name) || unknown(&run.terse, name)
            }
            Sign::Summary => run.reported && run.summary_alone,
        };
        if further {
            begins.push(here);
            run = Run::default();
        }
        match sign {
            Sign::Start => {}
            Sign::Object => {
                let (end, names) = object(&lines[here..]);
                run.objects.extend(names);
                run.objects.insert("");
                index = here + end;
            }
            Sign::Terse(name) => {
                run.terse.insert(name);
            }
            Sign::Job(_, whole) => {
                run.jobs.insert(whole);
            }
            Sign::Summary => {
                run.summary_alone = run.jobs.is_empty();
                run.reported = true;
            }
        }
    }
    begins
}

fn sign<'t>(line: &'t str, behind: &[&str]) -> Option<Sign<'t>> {
    let text = line.rsplit('\r').next().unwrap_or(line);
    let digit = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let version = text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio "));
    if text.starts_with('{') {
        let head = || std::iter::once(&line).chain(behind.iter().take(3).collect::<Vec<_>>());
        return head().any(|line| line.contains("\"fio version\"")).then_some(Sign::Object);
    }
    if text.starts_with("Run status group 0") {
        return Some(Sign::Summary);
    }
    if let Some((name, rest)) = text.split_once(": (groupid=") {
        let end = rest.find("pid=").map_or(rest.len(), |at| {
            let pid = &rest[at + 4..];
            at + 4 + pid.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(pid.len())
        });
        return Some(Sign::Job(name, &text[..text.len() - rest.len() + end]));
    }
    let is_start = text.contains(": (g=") || version.is_some_and(|rest| digit(rest) && !rest.contains(' '));
    let fields = || text.splitn(4, ';');
    let terse = matches!(fields().next(), Some("2" | "3" | "4" | "5"))
        && fields().nth(1).is_some_and(|version| version.starts_with("fio-"));
    match (is_start, terse) {
        (true, _) => Some(Sign::Start),
        (_, true) => fields().nth(2).map(Sign::Terse),
        _ => None,
    }
}

/// Returns the number of lines of an object, and the names of its jobs.
fn object<'t>(lines: &[&'t str]) -> (usize, Vec<&'t str>) {
    let end = lines.iter().position(|line| line.trim_end() == "}").map_or(1, |end| end + 1);
    let name = |line: &&'t str| {
        let (_, rest) = line.split_once("\"jobname\"")?;
        rest.split('"').nth(1)
    };
    (end, lines[..end].iter().filter_map(name).collect())
}

/// Returns true for a line of rates, of a job or of a group, and for a terse line.
fn states_figures(line: &str) -> bool {
    let text = line.trim();
    let of_way = |word: &str| {
        let upper = word.to_ascii_uppercase();
        let rest = text.strip_prefix(word).or_else(|| text.strip_prefix(&upper)).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(':') && (rest.contains("bw=") || rest.contains("BW=")))
    };
    // The rest of a line of percentiles that a mail program has broken: `2], 70.00th=[    2],`.
    let is_rest = text.split_once(']').is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && (rest.is_empty() || rest.starts_with([',', ' ']))
    });
    let of_way = ["read", "write", "trim", "mixed"].into_iter().any(of_way);
    of_way || is_rest || matches!(sign(line, &[]), Some(Sign::Terse(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "w: (g=0): rw=write, bs=4K-4K";
    const VERSION: &str = "fio-2.2.10";
    const JOB: &str = "w: (groupid=0, jobs=1): err= 0: pid=560: Mon Jul  1 22:14:42 2019";
    const OTHER: &str = "w: (groupid=0, jobs=1): err= 0: pid=561: Mon Jul  1 22:15:42 2019";
    const SUMMARY: &str = "Run status group 0 (all jobs):";
    const TERSE: &str = "3;fio-3.33;w;0;0;";

    #[test]
    fn a_run_begins_where_another_has_ended() {
        for (lines, expected) in [
            (vec![START, VERSION, JOB, SUMMARY], vec![]),
            (vec![START, VERSION, JOB, SUMMARY, START, VERSION, OTHER, SUMMARY], vec![4]),
            (vec![JOB, SUMMARY, OTHER, SUMMARY], vec![2]),
            // `--status-interval` repeats the report of the same process.
            (vec![START, JOB, SUMMARY, JOB, SUMMARY], vec![]),
            (vec![SUMMARY, "READ: bw=1", SUMMARY, "READ: bw=2"], vec![2]),
            (vec![SUMMARY, "Run status group 1 (all jobs):"], vec![]),
            (vec![TERSE, JOB, SUMMARY, TERSE], vec![3]),
            (vec![TERSE, "r: (groupid=0, jobs=1): err= 0: pid=5"], vec![1]),
            (vec!["{", "  \"fio version\" : \"fio-3.33\",", "}", JOB, SUMMARY], vec![3]),
            (
                vec![
                    "{",
                    "  \"fio version\" : \"fio-3.33\",",
                    "\"jobname\" : \"w\"",
                    "}",
                    JOB,
                    SUMMARY,
                    "{",
                    "\"fio version\"",
                ],
                vec![6],
            ),
        ] {
            assert_eq!(begins(&lines), expected, "{lines:?}");
        }
    }
}
