//! Keeps the workers of resident add-ons running for as long as the gateway runs.

use std::sync::Arc;

use hermes_runtime::ResidentAddons;

use crate::service::{HostedService, ServiceError, ServiceHost};

/// Hosted where a resident add-on is installed when the gateway starts.
#[derive(Debug, Default)]
pub struct AddonKeeper {
    residents: ResidentAddons,
}

impl HostedService for AddonKeeper {
    fn name(&self) -> &'static str {
        "addons"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        host.serving();
        while !host.is_stopping() {
            host.wake().clear();
            self.residents.attend(&host.context(), host.wake());
        }
        Ok(())
    }
}
