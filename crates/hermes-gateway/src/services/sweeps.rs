//! Removes what nobody needs any more: containers whose owners are gone, and old sessions.

use std::sync::Arc;
use std::time::Duration;

use hermes_runtime::{OrphanSweep, prune_sessions_if_due};

use crate::service::{HostedService, ServiceError, ServiceHost};

const FIRST: Duration = Duration::from_mins(1);
const AGAIN: Duration = Duration::from_hours(1);

/// Sweeps the profile of this gateway, every hour.
#[derive(Debug, Default)]
pub struct Sweeps;

impl HostedService for Sweeps {
    fn name(&self) -> &'static str {
        "sweeps"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        host.serving();
        let mut pause = FIRST;
        while !host.pause(pause) {
            pause = AGAIN;
            let context = host.context();
            prune_sessions_if_due(&context);
            if let Some(profile) = &context.current {
                let orphans = OrphanSweep::new(&context);
                orphans.begin(profile);
                orphans.finish();
            }
        }
        Ok(())
    }
}
