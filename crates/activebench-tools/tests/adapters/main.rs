//! The adapters: outputs to claims, calls to phases, over the stored runs and over made-up ones.

mod bonnie_output;
mod bonnie_phases;
mod dd_output;
mod dd_phases;
mod fio_output;
mod fio_phases;
mod further_outputs;
mod iozone_output;
mod iozone_phases;
mod observed;
mod orion_output;
mod orion_phases;
mod pasted_forms;
mod pg_test_fsync_phases;
mod stored;
mod sysbench_output;
mod sysbench_phases;
