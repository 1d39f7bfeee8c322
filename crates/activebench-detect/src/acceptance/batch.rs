//! Several units under one agreement: the outcome of each, and of all.

use activebench_model::acceptance::{Acceptance, AcceptanceOutcome, AgreedFile, DeviceIdentity};
use activebench_model::acceptance_batch::{AcceptanceBatch, AcceptedUnit, LimitOfUnit};

use super::file::{AcceptanceFile, Limit};
use super::{exit_code, rank, rule_words};

/// A unit and what became of it.
#[derive(Clone, Debug)]
pub struct UnitOutcome {
    /// Name of its folder.
    pub name: String,
    /// The directory or the device node.
    pub path: String,
    /// What the device says of itself; `None` if that is not known.
    pub device: Option<DeviceIdentity>,
    /// Its folder, as the user would name it.
    pub directory: String,
    /// The judgement, or why there is none.
    pub judged: Result<Acceptance, String>,
}

/// Returns the summary of several units, in their order.
pub fn summary(
    file: &AcceptanceFile,
    activebench: &str,
    agreed: AgreedFile,
    units: Vec<UnitOutcome>,
    recheck: Vec<String>,
) -> AcceptanceBatch {
    let units: Vec<AcceptedUnit> = units.into_iter().map(|unit| accepted(file, unit)).collect();
    let worst = units.iter().map(|unit| unit.outcome).max_by_key(|outcome| rank(*outcome));
    let outcome = worst.unwrap_or(AcceptanceOutcome::NotJudged);
    AcceptanceBatch {
        activebench: activebench.to_owned(),
        file: agreed,
        parties: file.parties.clone(),
        rule_words: rule_words(file),
        limits: file.limits.iter().map(Limit::agreed).collect(),
        because: because(&units),
        outcome,
        exit_code: exit_code(outcome, file.decision),
        units,
        recheck,
    }
}

fn accepted(file: &AcceptanceFile, unit: UnitOutcome) -> AcceptedUnit {
    let UnitOutcome { name, path, device, directory, judged } = unit;
    match judged {
        Ok(judged) => {
            debug_assert_eq!(judged.limits.len(), file.limits.len(), "one entry a limit");
            let limits = judged.limits.iter().map(LimitOfUnit::from).collect();
            let (outcome, because, notes) = (judged.outcome, judged.because, judged.notes);
            AcceptedUnit { name, path, device, directory, not_tested: None, outcome, because, limits, notes }
        }
        Err(why) => AcceptedUnit {
            name,
            path,
            device,
            directory,
            because: format!("it was not tested: {why}"),
            not_tested: Some(why),
            outcome: AcceptanceOutcome::NotJudged,
            limits: Vec::new(),
            notes: Vec::new(),
        },
    }
}

/// How many units have each outcome, the best first: `10 of 12 units pass, 1 fails, 1 is not judged`.
fn because(units: &[AcceptedUnit]) -> String {
    use AcceptanceOutcome::{ConditionalFail, ConditionalPass, Fail, NotJudged, Pass};
    let all = units.len();
    let words = [
        (Pass, "passes", "pass"),
        (ConditionalPass, "passes conditionally", "pass conditionally"),
        (ConditionalFail, "fails conditionally", "fail conditionally"),
        (Fail, "fails", "fail"),
        (NotJudged, "is not judged", "are not judged"),
    ];
    let counted = words.into_iter().filter_map(|(outcome, one, many)| {
        let count = units.iter().filter(|unit| unit.outcome == outcome).count();
        (count > 0).then_some((count, if count == 1 { one } else { many }))
    });
    let counted: Vec<(usize, &str)> = counted.collect();
    let first = |(place, (count, words)): (usize, &(usize, &str))| match place {
        0 if all == 1 => format!("the unit {words}"),
        0 => format!("{count} of {all} units {words}"),
        _ => format!("{count} {words}"),
    };
    match counted.is_empty() {
        true => "no unit was tested".to_owned(),
        false => counted.iter().enumerate().map(first).collect::<Vec<_>>().join(", "),
    }
}
