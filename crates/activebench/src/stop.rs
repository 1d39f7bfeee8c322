//! A signal that asks for the end, for work between runs; during one the runner ends the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

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
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&stop.0)).context("cannot wait for signals")?;
        }
        Ok(stop)
    }
}
