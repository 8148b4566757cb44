//! Opens a service by its name.

use std::path::Path;

use hermes_config::Config;
use hermes_http::HttpSettings;

use crate::backend::MemoryBackend;
use crate::hindsight::Hindsight;
use crate::mem0::Mem0;
use crate::settings::{HostedService, Identity, NotUsable, ServiceSettings};
use crate::supermemory::Supermemory;

/// Opens a service under the settings of a home. Sends nothing.
pub fn open(
    service: HostedService,
    identity: &Identity,
    config: &Config,
    home: &Path,
) -> Result<Box<dyn MemoryBackend>, NotUsable> {
    let settings = ServiceSettings::read(service, config, home)?;
    let http = HttpSettings::resolve(config);
    let opened: Result<Box<dyn MemoryBackend>, String> = match service.name {
        "mem0" => Mem0::open(&settings, identity, http).map(|it| Box::new(it) as _),
        "supermemory" => Supermemory::open(&settings, identity, http).map(|it| Box::new(it) as _),
        _ => Hindsight::open(&settings, identity, http).map(|it| Box::new(it) as _),
    };
    opened.map_err(|reason| NotUsable::new(reason, settings.hint()))
}
