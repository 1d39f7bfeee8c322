//! The detectors, one file each. [`crate::registry::DETECTORS`] lists them; a file's header
//! is the detector's manual page.

pub mod asynchronous_through_page_cache;
pub mod blind_path;
pub mod claim_exceeds_calls;
pub mod clock_disagrees;
pub mod cpu_bound;
pub mod depth_without_engine;
pub mod direct_io_not_honoured;
pub mod errors_swallowed;
pub mod evidence_lost;
pub mod flush_never_issued;
pub mod foreign_io;
pub mod missing_fsync;
pub mod option_needs_another;
pub mod option_without_effect;
pub mod output_inconsistent;
pub mod page_cache_served_reads;
pub mod perturbed_by_observer;
pub mod phase_too_short;
pub mod queue_depth_not_reached;
pub mod repeated_offsets;
pub mod size_below_memory;
pub mod size_differs;
pub mod sync_outside_clock;
pub mod target_not_touched;
pub mod time_limit_too_short;
pub mod unit_mix_up;
pub mod unwritten_blocks_read;
pub mod verification_inside_clock;
pub mod verify_loop_inside_clock;
pub mod warm_start;
pub mod workers_missing;
pub mod write_without_sync;
