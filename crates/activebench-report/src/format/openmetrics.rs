//! `openmetrics`: the figures of a run for Prometheus and its relatives (OpenMetrics 1.0), for example through the
//! textfile collector of node_exporter. A figure that is not known has no sample.

use std::io;

use activebench_model::report::JudgedRun;

use super::{Format, Rendering};
use crate::escape;
use crate::headline;

/// Format `openmetrics`.
pub(crate) static FORMAT: Format = Format {
    name: "openmetrics",
    extension: "prom",
    is_unasked: false,
    shows_timelines: false,
    rendering: Rendering::OfRuns(write),
};

fn write(run: &JudgedRun, to: &mut dyn io::Write) -> io::Result<()> {
    let tool = label(&headline::tool(run));
    writeln!(to, "# TYPE activebench_run stateset\n# HELP activebench_run The verdict on the run.")?;
    for verdict in ["verified", "qualified", "discrepancy", "inconclusive", "failed"] {
        let is_it = u8::from(run.verdict.as_str() == verdict);
        writeln!(to, "activebench_run{{tool=\"{tool}\",activebench_run=\"{verdict}\"}} {is_it}")?;
    }
    writeln!(to, "# TYPE activebench_exit_code gauge\n# HELP activebench_exit_code Exit code of activebench.")?;
    writeln!(to, "activebench_exit_code{{tool=\"{tool}\"}} {}", run.exit_code)?;
    if let Some(met) = run.target.as_ref().and_then(|target| target.met) {
        writeln!(to, "# TYPE activebench_target_met gauge\n# HELP activebench_target_met 1 if the target is met.")?;
        writeln!(to, "activebench_target_met{{tool=\"{tool}\"}} {}", u8::from(met))?;
    }
    let judged = run.parsed.claims.iter().zip(&run.judged);
    let labels = |place: usize| {
        let claim = &run.parsed.claims[place];
        let metric: &'static str = claim.metric.into();
        format!(
            "tool=\"{tool}\",claim=\"{}\",phase=\"{}\",metric=\"{metric}\",unit=\"{}\"",
            label(&claim.id),
            label(&claim.phase),
            claim.value.unit.as_str()
        )
    };
    writeln!(to, "# TYPE activebench_claimed gauge\n# HELP activebench_claimed Figure that the tool printed.")?;
    for (place, (claim, judged)) in judged.clone().enumerate() {
        let verdict = judged.verdict().as_str();
        writeln!(to, "activebench_claimed{{{},verdict=\"{verdict}\"}} {}", labels(place), claim.value.value)?;
    }
    writeln!(to, "# TYPE activebench_honest gauge\n# HELP activebench_honest Honest figure, where there is one.")?;
    for (place, (claim, judged)) in judged.enumerate() {
        if let Some(honest) = judged.honest(claim) {
            writeln!(to, "activebench_honest{{{}}} {}", labels(place), honest.value)?;
        }
    }
    writeln!(to, "# EOF")
}

/// A label's value. Control characters are replaced before quotes and backslashes are escaped.
fn label(text: &str) -> String {
    escape::terminal(text).replace('\\', "\\\\").replace('"', "\\\"")
}
