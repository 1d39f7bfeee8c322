//! Signals that ask activebench to end, for work between runs. During a run the runner ends the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use activebench_report::escape::terminal;
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::failure::INTERRUPTED;

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

/// Ends the process at the next signal, with a message: what follows is only computed, and `command` computes it again.
/// Earlier listeners, which turned the default action off for good, stay.
///
/// # Errors
/// Returns an error if the kernel refuses a handler.
pub fn end_on_signals(command: &str) -> anyhow::Result<()> {
    let message: Arc<str> = format!("activebench: interrupted; the record is kept: {}\n", terminal(command)).into();
    for signal in SIGNALS {
        let message = Arc::clone(&message);
        let end = move || {
            // SAFETY: both are safe in a handler of signals, and the text lives as long as the handler.
            unsafe {
                libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
                libc::_exit(INTERRUPTED);
            }
        };
        // SAFETY: the handler calls only what is safe there.
        unsafe { signal_hook::low_level::register(signal, end) }.context("cannot wait for signals")?;
    }
    Ok(())
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) an error, which is reported, in place of a signal that
/// ends the process. Programs that we start have the signal's default again.
///
/// # Errors
/// Returns an error if the kernel refuses a handler.
pub fn report_large_files() -> anyhow::Result<()> {
    // SAFETY: the handler does nothing.
    unsafe { signal_hook::low_level::register(SIGXFSZ, || {}) }.context("cannot handle SIGXFSZ")?;
    Ok(())
}
