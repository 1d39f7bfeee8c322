//! Signals that ask activebench to end, for work between runs. During a run the runner ends the tool.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use activebench_report::escape::terminal;
use anyhow::Context;
use signal_hook::SigId;
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

/// Ends the process at the first signal while a run is judged: its record is complete, so nothing is lost. The message
/// names the command that judges it.
#[derive(Debug)]
pub struct EndWhileJudging(Vec<SigId>);

impl EndWhileJudging {
    /// Begins to end the process.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a handler.
    pub fn begin(directory: &Path) -> anyhow::Result<Self> {
        let message = format!(
            "activebench: interrupted; the run is kept: activebench recheck {}\n",
            terminal(&directory.display().to_string())
        );
        let message: Arc<str> = message.into();
        let mut handlers = Self(Vec::new());
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
            let handler = unsafe { signal_hook::low_level::register(signal, end) };
            handlers.0.push(handler.context("cannot wait for signals")?);
        }
        Ok(handlers)
    }
}

impl Drop for EndWhileJudging {
    fn drop(&mut self) {
        for handler in &self.0 {
            signal_hook::low_level::unregister(*handler);
        }
    }
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

/// Lets the signals end the process again, which the first listener has turned off for good.
pub fn release() {
    for signal in SIGNALS {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
