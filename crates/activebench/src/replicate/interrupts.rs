//! Signals that end a replication between two replays; during one the runner ends fio.

use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long is looked for a signal.
const GLANCE: Duration = Duration::from_millis(1);

/// SIGINT, SIGTERM and SIGHUP from now on.
pub(super) struct Interrupts<'a> {
    runtime: &'a Runtime,
    signals: [Signal; 3],
    seen: bool,
}

impl<'a> Interrupts<'a> {
    pub(super) fn listen(runtime: &'a Runtime) -> anyhow::Result<Self> {
        let _context = runtime.enter();
        let listen = |kind| signal(kind).context("cannot listen for signals");
        let signals =
            [listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?];
        Ok(Self { runtime, signals, seen: false })
    }

    /// Whether one came.
    pub(super) fn pending(&mut self) -> bool {
        let [interrupt, terminate, hangup] = &mut self.signals;
        self.seen |= self.runtime.block_on(async {
            tokio::time::timeout(GLANCE, async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            })
            .await
            .is_ok()
        });
        self.seen
    }
}
