//! A signal that asks for the end, for work between runs; during one the runner ends the tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Whether a signal asked for the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Is set by SIGINT, SIGTERM and SIGHUP from here on.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let cannot = "cannot wait for signals";
        let stop = Self::default();
        let set = stop.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context(cannot)?;
        let listen = |kind| {
            let _context = runtime.enter();
            signal(kind).context(cannot)
        };
        let (mut interrupt, mut terminate, mut hangup) =
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        // Lives as long as the process.
        let wait = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            set.0.store(true, Ordering::Relaxed);
        };
        std::thread::Builder::new().spawn(wait).context(cannot)?;
        Ok(stop)
    }
}
