//! Place and conditions of a measurement: the line on a generated page's origin.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::tools::Tool;

/// Returns machine, kernel, versions of the tools, day and duration in one line, without anything that identifies the
/// host.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn line(with: &[&Tool], took: Duration) -> Result<String> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let mut parts = vec![machine(&read("/proc/cpuinfo")?, &read("/proc/meminfo")?)];
    parts.push(format!("Linux {}", read("/proc/sys/kernel/osrelease")?.trim()));
    parts.extend(with.iter().filter_map(|tool| version(tool)));
    parts.extend(today());
    parts.push(format!("took {} s", took.as_secs()));
    Ok(parts.join("; "))
}

/// Returns the CPUs, their model and the memory: `2 CPUs (AMD EPYC), 23.5 GiB`.
pub(crate) fn machine(cpuinfo: &str, meminfo: &str) -> String {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    let processors = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(value);
    let kib = meminfo
        .lines()
        .find(|line| line.starts_with("MemTotal:"))
        .and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let memory = kib.map_or_else(|| "memory unknown".to_owned(), |kib| format!("{:.1} GiB", kib / 1024.0 / 1024.0));
    format!("{processors} CPUs ({}), {memory}", model.as_deref().unwrap_or("model unknown"))
}

/// Returns the first line of `--version`; `None` for a tool that is missing or has no such option.
pub(crate) fn version(tool: &Tool) -> Option<String> {
    let output = Command::new(tool.find()?).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default().trim();
    (output.status.success() && !first.is_empty()).then(|| first.to_owned())
}

pub(crate) fn today() -> Option<String> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_by_its_class() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t: a b\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 2 GHz\n";
        let meminfo = "MemTotal:       24683964 kB\nMemFree:        1 kB\n";
        assert_eq!(machine(cpuinfo, meminfo), "2 CPUs (Some CPU @ 2 GHz), 23.5 GiB");
        assert_eq!(machine("", ""), "0 CPUs (model unknown), memory unknown");
    }
}
