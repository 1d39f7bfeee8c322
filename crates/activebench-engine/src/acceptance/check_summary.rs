//! What `accept --check` prints for a file without faults: what runs, which figures it can have, how long it takes and
//! how many bytes it writes.

use std::fmt::Write as _;

use activebench_detect::acceptance::{Sizes, Target};
use activebench_model::command::shell_command;
use activebench_report::escape::terminal;
use activebench_tools::ENGINE;

use super::Agreed;
use super::check::{Checked, Ready, metrics};
use super::estimate::{Estimate, Work, estimate};
use crate::preparation;
use crate::thresholds;

/// Returns the text for an agreement and the units that it was checked for. Without units it was checked alone.
pub fn summary(agreed: &Agreed, units: &[(&Target, Checked)], alone: Option<&Checked>) -> String {
    let mut text = format!("{} can be used", agreed.name());
    text.push_str(if units.is_empty() { "; no unit was named (hint: --unit DEVICE)" } else { " here" });
    let _ = writeln!(text, ".\nsha256  {}", agreed.sha256);
    let Some(first) = alone.or(units.first().map(|(_, checked)| checked)) else { return text };
    for ready in &first.benchmarks {
        text.push_str(&benchmark(agreed, first, ready, alone.is_some()));
    }
    let _ = writeln!(text, "\nEach unit");
    text.push_str(&totals(&whole(agreed, first)));
    for (unit, checked) in units {
        let device = checked.device.as_ref();
        let or_unknown = |part: Option<&String>| part.map_or("not known", String::as_str).to_owned();
        let _ = writeln!(
            text,
            "\nunit    {} (model {}, serial number {})",
            unit.path.value,
            or_unknown(device.and_then(|device| device.model.as_ref())),
            or_unknown(device.and_then(|device| device.serial.as_ref()))
        );
        let own = whole(agreed, checked);
        // Sizes can be relative to the device.
        if own != whole(agreed, first) {
            text.push_str(&totals(&own));
        }
    }
    if let [_, _, ..] = units {
        let all = units.iter().map(|(_, checked)| whole(agreed, checked)).reduce(Estimate::and).unwrap_or_default();
        // What is not known is named above.
        let known = Estimate { unknown_time: Vec::new(), unknown_bytes: Vec::new(), ..all.clone() };
        let more = if all.unknown_time.is_empty() { "" } else { ", and what is not known of each" };
        let _ = writeln!(text, "\nAll {} units, one after the other", units.len());
        let _ = writeln!(text, "  takes   {}{more}", known.time());
    }
    let lines: Vec<String> = text.lines().map(terminal).collect();
    lines.join("\n") + "\n"
}

fn totals(estimate: &Estimate) -> String {
    format!("  takes   {}\n  writes  {}\n", estimate.time(), estimate.bytes())
}

fn whole(agreed: &Agreed, checked: &Checked) -> Estimate {
    let of = |ready: &Ready| estimate_of(agreed, checked, ready);
    checked.benchmarks.iter().map(of).reduce(Estimate::and).unwrap_or_default()
}

fn estimate_of(agreed: &Agreed, checked: &Checked, ready: &Ready) -> Estimate {
    let Some(benchmark) = agreed.file.benchmark(&ready.name) else { return Estimate::default() };
    let of_any_device = Sizes { memory_bytes: Some(1), device_bytes: checked.device_bytes, ..Sizes::default() };
    if benchmark.resolved(&of_any_device).is_err() {
        let why = format!("{}: its size is relative to the device", ready.name);
        return Estimate { unknown_time: vec![why.clone()], unknown_bytes: vec![why], ..Estimate::default() };
    }
    let prepares = thresholds::of(&agreed.file.choices(benchmark, None)).is_ok_and(|of| of.requires_preconditioning);
    let preconditioning = (prepares && !ready.confinement.devices.is_empty()).then(|| {
        let bytes = checked.device_bytes.map(|bytes| bytes * preparation::TIMES);
        bytes.ok_or_else(|| "the size of the device is not known".to_owned())
    });
    estimate(&Work {
        name: &ready.name,
        phases: &ready.phases,
        limits: agreed.file.limits.iter().filter(|limit| limit.benchmark.value == ready.name).collect(),
        repetition: benchmark.repetition,
        lays_out: ready.tool.name() == ENGINE.name && !ready.confinement.folders.is_empty(),
        preconditioning,
    })
}

fn benchmark(agreed: &Agreed, checked: &Checked, ready: &Ready, without_unit: bool) -> String {
    let mut text = String::new();
    let Some(benchmark) = agreed.file.benchmark(&ready.name) else { return text };
    let command = match without_unit {
        true => benchmark.command.iter().map(|word| word.text.clone()).collect(),
        false => ready.command.argv.clone(),
    };
    let _ = writeln!(text, "\n{}  {} ({})", ready.name, shell_command(&command), benchmark.repetition.words());
    let phases: Vec<&str> = ready.phases.iter().map(|phase| phase.id.as_str()).collect();
    let phases = if phases.is_empty() { "known only when it runs".to_owned() } else { phases.join(", ") };
    let (tool, figures) = (ready.tool.name(), metrics(ready).join(", "));
    if !without_unit {
        let _ = writeln!(text, "  in      {}", ready.command.cwd);
    }
    let _ = writeln!(text, "  tool    {tool} ({})\n  phases  {phases}", ready.program.display());
    let _ = writeln!(text, "  figures {figures}: which of them depends on its options");
    for limit in agreed.file.limits.iter().filter(|limit| limit.benchmark.value == ready.name) {
        let (metric, bound) = (limit.metric.value.as_str(), limit.bound.words());
        let _ = writeln!(text, "  limit   {} {metric} {bound} {}", limit.phase.value, limit.as_written);
    }
    text.push_str(&totals(&estimate_of(agreed, checked, ready)));
    text
}
