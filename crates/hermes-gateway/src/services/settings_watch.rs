//! Reads the settings again when their files change.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use hermes_proc::{FileWatch, WaitEnd};

use crate::service::{HostedService, ServiceError, ServiceHost};

/// An editor writes a file in several steps.
const SETTLE: Duration = Duration::from_millis(100);

/// Longest wait; the directory may have been replaced meanwhile.
const LOOK_AGAIN: Duration = Duration::from_mins(5);

/// Watches `config.yaml` and `.env`.
#[derive(Debug, Default)]
pub struct SettingsWatch {
    watch: FileWatch,
}

impl HostedService for SettingsWatch {
    fn name(&self) -> &'static str {
        "settings"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        let home = host.context().location.home.clone();
        let files = || ["config.yaml", ".env"].map(|name| home.join(name)).into();
        self.watch.watch(files(), [].into());
        host.serving();
        while !host.is_stopping() {
            host.wake().clear();
            let end = self.watch.wait(&[host.wake().as_fd()], Some(LOOK_AGAIN))?;
            if end == WaitEnd::Changed && !host.pause(SETTLE) {
                self.watch.watch(files(), [].into());
                host.live_context().reload();
            } else if end == WaitEnd::TimedOut {
                self.watch.watch(files(), [].into());
            }
        }
        Ok(())
    }
}
