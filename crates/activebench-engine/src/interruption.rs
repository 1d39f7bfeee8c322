//! Signals that ask activebench to end, for work between runs. During a run the runner ends the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The signals that ask activebench to end.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Set once a signal has asked activebench to end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// True once a signal has come.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a flag that SIGINT, SIGTERM and SIGHUP set from here on. The handler itself sets it, so that a signal
    /// during the wait for a child is known when the wait is over.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a handler.
    pub fn on_signals() -> anyhow::Result<Self> {
        let stop = Self::default();
        for signal in SIGNALS {
            signal_hook::flag::register(signal, Arc::clone(&stop.0)).context("cannot wait for signals")?;
        }
        Ok(stop)
    }
}

/// Lets the signals end the process again, which the first listener has turned off for good.
pub fn release() {
    for signal in SIGNALS {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
