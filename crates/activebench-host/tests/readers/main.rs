//! The readers of /proc and /sys, on recorded and synthetic folders.

mod device_users;
mod hardware;
mod identity;
mod machine;
mod targets;
mod trees;
