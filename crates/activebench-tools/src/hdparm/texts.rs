//! hdparm's timings among other words. A text is one output: each device in it has its own name.

use super::output::figures;
use crate::pasted::Forms;

pub(super) const FORMS: Forms =
    Forms { begins: |_| Vec::new(), states_figures: |line| figures(line).is_some(), states_command: |_| false };
