//! The readers of /proc and /sys, on recorded and synthetic folders.

mod hardware;
mod identity;
mod machine;
mod targets;
mod trees;
mod usage;
