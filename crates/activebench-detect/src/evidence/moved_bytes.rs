//! The bytes that a pass moved: those of its calls, or those of the device for data that moved through a mapping.

use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};

use crate::evidence::mapped_files::{self, Mapped};
use crate::run::Run;

impl Run<'_> {
    /// Bytes that the phase's calls moved in the direction of the pass, inside the window.
    ///
    /// # Errors
    /// When a count is missing or partial, when the pass moves no data, or when data moved
    /// through a mapping, which calls do not show, and the device does not answer for it.
    pub fn moved(&self, phase: &Phase) -> Result<f64, String> {
        let bytes = match phase.direction {
            Direction::Read => phase.facts.complete(FactName::ReadBytes)?,
            Direction::Write => phase.facts.complete(FactName::WriteBytes)?,
            Direction::Discard => phase.facts.complete(FactName::DiscardBytes)?,
            Direction::Mixed => {
                phase.facts.complete(FactName::ReadBytes)? + phase.facts.complete(FactName::WriteBytes)?
            }
            Direction::None => return Err("the pass does not move data".to_owned()),
        };
        // Without calls only mappings can have moved data; that there were none must be known.
        if bytes == 0.0
            && phase.facts.get(FactName::Mappings).is_some()
            && phase.facts.complete(FactName::Mappings)? > 0.0
        {
            return match mapped_files::of(self, phase)? {
                Some(Mapped::AtDevice(bytes)) => Ok(bytes),
                _ => Err("data moved through a mapping, which calls do not show".to_owned()),
            };
        }
        Ok(bytes)
    }
}
