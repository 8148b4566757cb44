//! What is there already: keys, and model servers on this machine.

use std::time::Duration;

use hermes_providers::{
    AuthFile, Builtin, LocalServer, builtin, find_local_servers, keys_in_variables,
};

use super::provider_names::provider_name;
use crate::context::Context;
use crate::error::Result;
use crate::ui::counted;

/// How long servers on this machine are looked for, all at once.
const LOCAL_LIMIT: Duration = Duration::from_millis(800);

/// A provider for which there is a key.
#[derive(Debug, Clone)]
pub(super) struct FoundKey {
    pub(super) provider: &'static Builtin,
    /// Where the key is, for people.
    pub(super) place: String,
}

/// What a conversation could use without another question.
#[derive(Debug, Default)]
pub(super) struct Detected {
    pub(super) servers: Vec<LocalServer>,
    pub(super) keys: Vec<FoundKey>,
}

impl Detected {
    /// Looks around. Makes requests to this machine only.
    pub(super) fn look(context: &Context) -> Result<Self> {
        let config = context.config();
        let mut keys: Vec<FoundKey> = Vec::new();
        for (id, entry) in keys_in_variables(config) {
            if let Some(provider) = builtin(id) {
                let place = entry.source().trim_start_matches("env:");
                let place = format!("key found in {place}");
                keys.push(FoundKey { provider, place });
            }
        }
        for (id, entries) in AuthFile::of_home(&context.location.home).all()? {
            let is_new = keys.iter().all(|key| key.provider.id != id);
            if let (true, Some(provider)) = (is_new, builtin(&id)) {
                let place = format!("{} stored", counted(entries.len(), "key"));
                keys.push(FoundKey { provider, place });
            }
        }
        Ok(Self {
            servers: find_local_servers(config, LOCAL_LIMIT),
            keys,
        })
    }

    /// The only thing that was found, if it is only one.
    pub(super) fn only(&self) -> Option<Found<'_>> {
        match (self.servers.as_slice(), self.keys.as_slice()) {
            ([server], []) if !server.models.is_empty() => Some(Found::Server(server)),
            ([], [key]) => Some(Found::Key(key)),
            _ => None,
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'a> {
    Server(&'a LocalServer),
    Key(&'a FoundKey),
}

impl Found<'_> {
    /// What it is, in a sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Server(server) => format!(
                "Found {} at {} with {}.",
                server.kind.name(),
                address(server),
                counted(server.models.len(), "model")
            ),
            Self::Key(key) => {
                format!("{}: {}.", provider_name(key.provider.id), key.place)
            }
        }
    }
}

/// The host and port of a server.
pub(super) fn address(server: &LocalServer) -> &str {
    let url = server.base_url.as_str();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.trim_end_matches("/v1")
}
