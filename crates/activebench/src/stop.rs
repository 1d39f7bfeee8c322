//! A signal that asks for the end, for work between runs; during one the runner ends the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Those that ask for the end.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Whether a signal asked for the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Is set by SIGINT, SIGTERM and SIGHUP from here on: by the handler itself, so that a signal which came while a
    /// child was waited for is known when the waiting is over.
    ///
    /// # Errors
    /// When the kernel takes no handler.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let stop = Self::default();
        for signal in SIGNALS {
            signal_hook::flag::register(signal, Arc::clone(&stop.0)).context("cannot wait for signals")?;
        }
        Ok(stop)
    }
}

/// The signals end the process again, which the first listener has turned off for good.
pub(crate) fn release() {
    for signal in SIGNALS {
        // SAFETY: the default action is no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
