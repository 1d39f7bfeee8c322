//! # What it finds
//! Data that was checked, or prepared for checking, while the clock ran.
//!
//! # Why it matters
//! The figure then includes the CPU's work on each byte, and is below what the storage delivered.
//!
//! # How it decides
//! It applies only when the command asks for checking inside the clock.
//!
//! It warns, and the claim is misleading, when `user_cpu_ns` is 50 % or more of the available CPU time. The same
//! happens when the tool itself says that its figures are invalid in this mode.
//!
//! It warns, without changing the claim, when:
//!
//! - user time is 1 ns per byte or more with blocks of 4 KiB and more (every byte is examined);
//! - a writing pass read more than 1 % of what it wrote.
//!
//! # When it is wrong
//! User time may be spent on something else than checking.
//!
//! # What to do
//! Check the data in a separate run, without figures (drop `iozone -V` or `-+d`).
//!
//! # References
//! The vdbench guide: data validation should not be used during a performance run. Measured: `iozone -+d` spends 152
//! ms in user mode against 44 ms without. fio's `verify=` takes 0.14 to 0.33 ns per byte for crc32c, for which the
//! CPU has an instruction, 0.5 for xxhash, 1.5 for md5, 2.7 for crc32 and 3.2 for sha256.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{Direction, Phase};
use activebench_model::sentence::as_sentence;
use activebench_model::units::Quantity;

use super::cpu_bound::cpu_capacity;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::UserCpu,
    FactName::Window,
    FactName::ActiveTasks,
    FactName::ModalRequest,
    FactName::ReadBytes,
    FactName::WriteBytes,
];

/// Block size below which the calls themselves take a visible time per byte.
const BLOCK_FLOOR_BYTES: f64 = 4096.0;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB502",
    name: "verify-loop-inside-clock",
    title: "Checking the data took part of the time",
    explained_by: &[],
    source: include_str!("verify_loop_inside_clock.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 280,
        honest: Honest::Reached {
            condition: "with the checking of the data inside the clock; the rate without it is not known",
            otherwise: "the rate without checking is not known",
        },
        measured_instead: |_, _| "the storage and the checking of its data together",
    }),
    improvement: Some(Improvement::LeaveOutVerification),
    questions: &[Question::WhyNotDouble],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let option = phase
        .verifies
        .as_deref()
        .ok_or_else(|| Halt::not_applicable("The command does not check data inside the clock."))?;
    let (run, limits) = (&case.run, case.thresholds());
    let advice = format!("drop `{option}`, and check the data in another run");
    let meaning = "The figure includes the CPU's work on the data. The storage may be faster.";
    let share = run.fact(phase, FactName::UserCpu).and_then(|user| Ok(user / cpu_capacity(run, phase)?));
    let user_limit = &limits.ab502_user_share_warn_ratio;
    let share_text = match &share {
        Ok(share) => format!("The threads spent {} of their time in user mode.", Quantity::ratio(*share)),
        Err(why) => as_sentence(why),
    };
    let disowned = run.parsed.notes.iter().find(|note| {
        let says = |text: &str| text.to_lowercase().contains("performance measurements are invalid");
        says(&note.source.text) || says(&note.message)
    });
    if let Some(note) = disowned {
        // The tool's own statement decides, whatever was measured.
        return Ok(case.resting_on(Vec::new()).fires(Firing {
            weight: Weight::WarnWith(Effect::Misleading),
            observed: share.ok().map(Quantity::ratio),
            threshold: user_limit.clone(),
            message: format!(
                "`{option}` checks data inside the clock. The tool itself calls its figures invalid in this mode \
                 ({} line {}). {share_text}",
                note.source.stream, note.source.line
            ),
            meaning: meaning.to_owned(),
            advice,
        }));
    }
    let share = share?;
    if share >= user_limit.value.value {
        return Ok(case.fires(Firing {
            weight: Weight::WarnWith(Effect::Misleading),
            observed: Some(Quantity::ratio(share)),
            threshold: user_limit.clone(),
            message: format!("`{option}` checks data inside the clock. {share_text}"),
            meaning: meaning.to_owned(),
            advice,
        }));
    }
    let moved = run.moved(phase)?;
    let per_byte = if moved > 0.0 { run.fact(phase, FactName::UserCpu)? / moved } else { 0.0 };
    let byte_limit = &limits.ab502_user_time_per_byte_ns;
    if per_byte >= byte_limit.value.value && run.fact(phase, FactName::ModalRequest)? >= BLOCK_FLOOR_BYTES {
        return Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: Some(Quantity { value: per_byte, ..Quantity::ns(0) }),
            threshold: byte_limit.clone(),
            message: format!(
                "`{option}` checks data inside the clock. Each byte took {} in user mode. {share_text}",
                Quantity { value: per_byte, ..Quantity::ns(0) }
            ),
            meaning: meaning.to_owned(),
            advice,
        }));
    }
    if phase.direction == Direction::Write
        && let Some(read) = fact_if_any(phase, FactName::ReadBytes)?
        && read > moved * limits.ab502_reads_beside_claim_warn_ratio.value.value
    {
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        return Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: Some(Quantity::ratio(read / moved)),
            threshold: limits.ab502_reads_beside_claim_warn_ratio.clone(),
            message: format!(
                "{} was read back inside the clock, in addition to {} written.",
                in_bytes(read),
                in_bytes(moved)
            ),
            meaning: "The figure counts the writes, but includes the time of the reads.".to_owned(),
            advice,
        }));
    }
    Ok(case.silent(format!("`{option}` checks data inside the clock. {share_text}")))
}
