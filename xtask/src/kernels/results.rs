//! Results on each kernel, as written to JSON and rendered to the page.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::kernels::machine::Said;
use crate::kernels::outcome::{self, Left};
use crate::kernels::set::Set;
use crate::kernels::steps::{Amount, DOCTOR, KERNEL};

/// What `activebench doctor` says of a tracepoint that a kernel does not have.
const NOT_IN_KERNEL: &str = "not in this kernel";
/// The value of the key `schema`.
pub(crate) const SCHEMA: &str = "activebench.kernels/1";

/// One run of the task.
#[derive(Debug, Serialize)]
pub(crate) struct Trial {
    pub(crate) schema: &'static str,
    /// What was run.
    pub(crate) set: Set,
    /// SHA-256 of the committed object, hex.
    pub(crate) object_sha256: String,
    /// UTC day, `2026-11-21`; `None` when `date` does not print it.
    pub(crate) day: Option<String>,
    /// First line of the emulator's `--version`.
    pub(crate) emulator: Option<String>,
    /// First lines of the benchmarks' `--version`.
    pub(crate) tool_versions: Vec<String>,
    /// One entry per requested kernel.
    pub(crate) kernels: Vec<KernelResult>,
    /// Reason for an early end; `None` for a complete trial.
    pub(crate) incomplete: Option<String>,
}

/// Results on one kernel.
#[derive(Debug, Serialize)]
pub(crate) struct KernelResult {
    /// `6.1`, `host`.
    pub(crate) name: String,
    /// Origin of the kernel.
    pub(crate) origin: String,
    /// Machine that it ran on.
    pub(crate) machine: String,
    /// Its own name and version; `None` when it did not report them.
    pub(crate) version: Option<String>,
    /// `Ok` when the object loads, otherwise the reason; `None` when it was not tried.
    pub(crate) loads: Option<Result<(), String>>,
    /// Every hook, as reported by the runs of the product.
    pub(crate) hooks: Vec<Hook>,
    /// Gaps that the product's own diagnosis reports.
    pub(crate) gaps: Vec<Gap>,
    /// Every step of the set; empty when none was run.
    pub(crate) steps: Vec<StepResult>,
    /// Lost records and all records, over all steps; `None` when no step reported them.
    pub(crate) records_lost: Option<(u64, u64)>,
    /// Completions that were inferred because no hook saw them, though one should have, over all steps.
    pub(crate) inferred: u64,
    /// Lines with a complaint of the kernel; `None` when its messages were not read.
    pub(crate) complaints: Option<Vec<String>>,
    /// Reason why the machine did not complete; `None` when it did.
    pub(crate) failure: Option<String>,
    /// Duration in seconds.
    pub(crate) seconds: u64,
}

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hook {
    /// `tp_btf/sys_enter`.
    pub(crate) name: String,
    pub(crate) attached: bool,
    /// Reason why it is not attached.
    pub(crate) why_not: Option<String>,
    /// Events that it missed, over all steps.
    pub(crate) missed: u64,
}

/// A gap of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Gap {
    pub(crate) name: String,
    pub(crate) found: String,
    pub(crate) meaning: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StepResult {
    pub(crate) name: String,
    /// Deviations from the expectation; empty when it passed.
    pub(crate) deviations: Vec<String>,
    /// Duration in seconds; `None` when it did not run.
    pub(crate) seconds: Option<u64>,
}

/// Place where a kernel ran.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) origin: String,
    pub(crate) machine: String,
}

impl KernelResult {
    /// Reads the results that the script left; `said` are the messages of an emulated machine.
    pub(crate) fn read(
        place: Place,
        out: &Path,
        activebench: &Path,
        (set, amount): (Set, Amount),
        said: Option<Said>,
    ) -> Self {
        let (complaints, failure) = said.map_or((None, None), |said| (Some(said.complaints), said.failure));
        let mut result = Self {
            name: place.name,
            origin: place.origin,
            machine: place.machine,
            version: fs::read_to_string(out.join(KERNEL)).ok().map(|text| text.trim().to_owned()),
            loads: None,
            hooks: Vec::new(),
            gaps: Vec::new(),
            steps: Vec::new(),
            records_lost: None,
            inferred: 0,
            complaints,
            failure,
            seconds: 0,
        };
        match fs::read_to_string(out.join(DOCTOR)).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
            Some(diagnosis) => (result.loads, result.gaps) = (loads(&diagnosis), gaps(&diagnosis)),
            None if result.failure.is_none() => {
                let said = fs::read_to_string(out.join("doctor.stderr")).unwrap_or_default();
                result.failure = Some(format!("activebench doctor: {}", outcome::last_line(&said)));
            }
            None => {}
        }
        for step in &*set.steps() {
            let folder = out.join(&*step.name);
            let seconds = fs::read_to_string(folder.join("seconds")).ok().and_then(|text| text.trim().parse().ok());
            let deviations = if seconds.is_none() {
                vec![set.why_not_run(out, step)]
            } else {
                match Left::read(&folder, activebench) {
                    Ok(left) => {
                        result.inferred += left.inferred(step, amount);
                        let (lost, made) = result.records_lost.unwrap_or_default();
                        let (step_lost, step_made) = left.lost_of_made();
                        result.records_lost = Some((lost + step_lost, made + step_made));
                        add_hooks(&mut result.hooks, &left.report);
                        outcome::deviations(step, amount, &left)
                    }
                    Err(error) => vec![format!("{error:#}")],
                }
            };
            result.steps.push(StepResult { name: step.name.clone().into_owned(), deviations, seconds });
        }
        if result.steps.iter().all(|step| step.seconds.is_none()) {
            result.steps.clear();
        }
        result
    }

    /// Returns the result of a kernel on which nothing was run, with the reason.
    pub(crate) fn failed(place: Place, why: String) -> Self {
        Self {
            name: place.name,
            origin: place.origin,
            machine: place.machine,
            version: None,
            loads: None,
            hooks: Vec::new(),
            gaps: Vec::new(),
            steps: Vec::new(),
            records_lost: None,
            inferred: 0,
            complaints: None,
            failure: Some(why),
            seconds: 0,
        }
    }

    /// Returns the number of steps that passed.
    pub(crate) fn passed(&self) -> usize {
        self.steps.iter().filter(|step| step.deviations.is_empty()).count()
    }

    /// Returns the failures, each with its steps: a kernel on which nothing loads fails in all steps for one reason.
    pub(crate) fn failures(&self) -> Vec<(String, Vec<&str>)> {
        let mut failures: Vec<(String, Vec<&str>)> = Vec::new();
        for step in self.steps.iter().filter(|step| !step.deviations.is_empty()) {
            let why = step.deviations.join("; ");
            match failures.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(&step.name),
                None => failures.push((why, vec![&step.name])),
            }
        }
        failures
    }

    /// Returns `true` for a hook whose place is not in this kernel, and without which it can be observed: a gap.
    fn lacks(&self, hook: &Hook) -> bool {
        let place = hook.name.split_once('/').map_or(hook.name.as_str(), |(_, place)| place);
        self.gaps.iter().any(|gap| gap.name == place && gap.found == NOT_IN_KERNEL)
    }

    /// Returns `true` when everything is as expected.
    pub(crate) fn is_good(&self) -> bool {
        self.failure.is_none()
            && self.loads == Some(Ok(()))
            && !self.steps.is_empty()
            && self.passed() == self.steps.len()
            && self.hooks.iter().all(|hook| hook.attached || self.lacks(hook))
            && self.complaints.as_ref().is_none_or(Vec::is_empty)
    }
}

fn loads(diagnosis: &Value) -> Option<Result<(), String>> {
    match diagnosis["can_observe"].as_bool()? {
        true => Some(Ok(())),
        false => Some(Err(diagnosis["why_not"].as_str().unwrap_or("the diagnosis does not say why").to_owned())),
    }
}

/// Returns the gaps on the kernel's side; benchmarks and storage belong to the machine.
fn gaps(diagnosis: &Value) -> Vec<Gap> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = diagnosis["checks"].as_array().into_iter().flatten();
    checks
        .filter(|check| check["state"] != "ok")
        .filter(|check| ["rights", "kernel", "tracepoints"].iter().any(|group| check["group"] == *group))
        .map(|check| Gap { name: text(&check["name"]), found: text(&check["found"]), meaning: text(&check["meaning"]) })
        .collect()
}

/// Adds the hooks of a run to those of earlier runs: a hook is attached only if it was attached in all runs.
fn add_hooks(hooks: &mut Vec<Hook>, report: &Value) {
    for probe in report["coverage"]["probes"].as_array().into_iter().flatten() {
        let hook = Hook {
            name: probe["hook"].as_str().unwrap_or_default().to_owned(),
            attached: probe["attached"] == true,
            why_not: probe["why_not"].as_str().map(str::to_owned),
            missed: probe["missed"].as_u64().unwrap_or(0),
        };
        match hooks.iter_mut().find(|known| known.name == hook.name) {
            Some(known) => {
                known.attached &= hook.attached;
                known.missed += hook.missed;
                if known.why_not.is_none() {
                    known.why_not = hook.why_not;
                }
            }
            None => hooks.push(hook),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hook_is_attached_only_where_it_always_was() {
        let report = |attached: bool, why: Option<&str>| {
            json!({ "coverage": { "probes": [
                { "hook": "tp_btf/sys_exit", "attached": true, "why_not": null, "missed": 2 },
                { "hook": "tp_btf/io_uring_complete", "attached": attached, "why_not": why, "missed": 0 },
            ] } })
        };
        let mut hooks = Vec::new();
        add_hooks(&mut hooks, &report(true, None));
        add_hooks(&mut hooks, &report(false, Some("no such type")));
        add_hooks(&mut hooks, &Value::Null);
        let hook = |name: &str, attached, why_not: Option<&str>, missed| Hook {
            name: name.to_owned(),
            attached,
            why_not: why_not.map(str::to_owned),
            missed,
        };
        assert_eq!(
            hooks,
            [hook("tp_btf/sys_exit", true, None, 4), hook("tp_btf/io_uring_complete", false, Some("no such type"), 0)]
        );
    }

    #[test]
    fn a_diagnosis_says_whether_the_object_loads_and_what_is_missing() {
        let check = |group: &str, name: &str, state: &str| json!({ "group": group, "name": name, "state": state, "found": "f", "meaning": "m" });
        let diagnosis = json!({ "can_observe": false, "why_not": "no BTF", "checks": [
            check("kernel", "version", "ok"),
            check("tracepoints", "sys_enter", "never"),
            check("storage", "ext4", "gap"),
        ] });
        assert_eq!(loads(&diagnosis), Some(Err("no BTF".to_owned())));
        assert_eq!(loads(&json!({ "can_observe": true })), Some(Ok(())));
        assert_eq!(loads(&Value::Null), None);
        let expected = Gap { name: "sys_enter".to_owned(), found: "f".to_owned(), meaning: "m".to_owned() };
        assert_eq!(gaps(&diagnosis), [expected]);
    }

    #[test]
    fn a_machine_that_left_nothing_has_passed_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Place { name: "6.1".to_owned(), origin: String::new(), machine: String::new() };
        let amount = Amount { iozone_mib: 8, calls: 2, blocks: 2, seconds: 1 };
        let said = Said { complaints: Vec::new(), failure: None };
        let result =
            KernelResult::read(place, folder.path(), Path::new("/no/such/program"), (Set::Smoke, amount), Some(said));
        assert_eq!((result.passed(), result.is_good()), (0, false));
        assert_eq!(result.failure.as_deref(), Some("activebench doctor: nothing was said"));
        assert!(result.steps.is_empty());
    }
}
