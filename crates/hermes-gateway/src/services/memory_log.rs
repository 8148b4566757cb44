//! A line in the log about the memory of the gateway, every few minutes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::service::{HostedService, ServiceError, ServiceHost};

/// Logs memory and threads of this process, as `logging.memory_monitor` says.
#[derive(Debug, Default)]
pub struct MemoryLog;

impl HostedService for MemoryLog {
    fn name(&self) -> &'static str {
        "memory-log"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        while !host.is_stopping() {
            host.wake().clear();
            let context = host.context();
            let config = context.config();
            if !config.flag("logging.memory_monitor.enabled") {
                host.standing_by("logging.memory_monitor.enabled is off");
                host.wake().wait(Duration::from_hours(1));
                continue;
            }
            host.serving();
            let seconds = config.int("logging.memory_monitor.interval_seconds");
            let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
            let interval = Duration::from_secs(seconds.unwrap_or(300).clamp(1, 86_400));
            if !host.wake().wait(interval)
                && let Some((kilobytes, threads)) = usage()
            {
                tracing::info!(rss_kb = kilobytes, threads, "memory of the gateway");
            }
        }
        Ok(())
    }
}

/// Memory in kilobytes and threads of this process.
fn usage() -> Option<(u64, u64)> {
    let text = hermes_fs::read_text_capped(Path::new("/proc/self/status"), 64 * 1024).ok()?;
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some((number("VmRSS:")?, number("Threads:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_threads() {
        let (kilobytes, threads) = usage().unwrap();
        assert!(kilobytes > 100 && threads >= 1);
    }
}
