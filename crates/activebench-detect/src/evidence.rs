//! Evidence that detectors share: amounts of bytes, the layers below a file, mapped files, the bytes that a pass moved,
//! payload, links, figures that are computed from the calls, and what a tracer leaves open.

pub(crate) mod bytes;
pub(crate) mod daemon;
pub(crate) mod device_layers;
pub(crate) mod device_link;
pub(crate) mod each_write;
pub(crate) mod from_storage;
pub(crate) mod interval;
mod latency_facts;
pub(crate) mod mapped_files;
mod moved_bytes;
pub(crate) mod payload;
pub(crate) mod rebuilt_figure;
pub(crate) mod script_rates;
mod system_clock;
pub(crate) mod traced;
