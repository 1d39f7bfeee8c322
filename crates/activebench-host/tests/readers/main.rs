//! The readers of /proc and /sys, over stored and invented folders.

mod hardware;
mod identity;
mod machine;
mod targets;
mod trees;
mod usage;
