//! Changes of the system clock during a pass. They excuse a figure that disagrees with the observation.

use activebench_model::fact::FactName;
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Halt, fact_if_any};
use crate::run::Run;

/// The facts on the system clock. Runs of which the clock was not read have none.
pub(crate) const FACTS: [FactName; 2] = [FactName::WallClockJumps, FactName::Suspended];

/// Leaves a disagreement open if the system clock was set, or the machine suspended, while the tool's clock ran or just
/// before or after it: the tool's time may be wrong, and the tool is not to blame. `window` is the fact that the tool's
/// time is compared with.
pub(crate) fn ran_evenly(run: &Run<'_>, phase: &Phase, window: FactName) -> Result<(), Halt> {
    let mut changed = 0.0_f64;
    for name in FACTS {
        // A clock that was not read excuses nobody.
        if let Some(of_one) = fact_if_any(phase, name)? {
            changed = changed.max(of_one);
        }
    }
    if changed == 0.0 || changed <= run.thresholds.ab607_change_warn_ratio.value.value * run.fact(phase, window)? {
        return Ok(());
    }
    let changed = Quantity { value: changed, ..Quantity::ns(0) };
    let why = "The system clock was set or the machine suspended during the pass, by";
    Err(Halt::undecided(format!("{why} {changed}. The tool's time may be wrong.")))
}
