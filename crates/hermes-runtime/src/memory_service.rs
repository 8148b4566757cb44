//! The memory service of a conversation (`memory.provider`): one with an API of its own, or an MCP
//! server of the settings.

mod of_server;

use std::sync::Arc;

use hermes_memory::{HostedService, Identity, MemoryBackend, MemoryService, NotUsable};
use hermes_secret::Redactor;

use crate::context::Context;
use crate::person::Person;
use crate::request::ConversationRequest;

pub use of_server::{ServerTools, server_name};

/// Opens the service that the settings name; `None` if they name none. Sends nothing.
pub fn configured_memory(
    context: &Context,
    platform: &str,
    redactor: &Arc<Redactor>,
) -> Option<Result<Box<dyn MemoryBackend>, NotUsable>> {
    let name = context.config().text("memory.provider").trim();
    if name.is_empty() {
        return None;
    }
    if let Some(server) = server_name(name) {
        return Some(of_server::open(server, context, redactor));
    }
    let Some(service) = HostedService::named(name) else {
        let name = hermes_text::one_line(name, 60);
        let known = HostedService::ALL.map(|service| service.name).join(", ");
        return Some(Err(NotUsable {
            reason: format!("'{name}' is no memory service that this program has"),
            hint: format!(
                "choose {known} or mcp:SERVER with `hermes memory setup`, or run `hermes memory off`"
            ),
        }));
    };
    let identity = Identity {
        profile: context
            .current
            .as_ref()
            .map_or_else(|| "default".to_owned(), ToString::to_string),
        platform: platform.to_owned(),
        user: None,
    };
    let home = &context.location.home;
    Some(hermes_memory::open(
        service,
        &identity,
        context.config(),
        home,
    ))
}

/// The service of a conversation. The person is told why one that is set cannot be used.
pub(crate) fn conversation_memory(
    context: &Context,
    request: &ConversationRequest,
    redactor: &Arc<Redactor>,
    person: &Arc<dyn Person>,
) -> Option<Arc<MemoryService>> {
    // A scheduled job has nobody whose memory it could be.
    if request.ignore_rules || request.is_scheduled {
        return None;
    }
    let opened = configured_memory(context, &request.platform, redactor)?;
    let backend = match opened {
        Ok(backend) => backend,
        Err(problem) => {
            let message = format!("the memory service is not used: {}", problem.reason);
            person.warn(&message, Some(&problem.hint));
            return None;
        }
    };
    let told = Arc::clone(person);
    let service = MemoryService::new(backend, move |line| told.warn(line, None));
    match service {
        Ok(service) => Some(Arc::new(service)),
        Err(error) => {
            person.warn(&format!("the memory service is not used: {error}"), None);
            None
        }
    }
}

/// What the model has to know of the service.
pub(crate) fn note(service: &MemoryService) -> String {
    let name = service.name();
    let tools: Vec<&str> = service.tools().iter().map(|tool| tool.name).collect();
    let tools = match tools.as_slice() {
        [] => String::new(),
        tools => format!(" More of it can be reached with {}.", tools.join(", ")),
    };
    format!(
        "Long-term memory: the service {name} gets each turn of this conversation. What it knows \
         about a message may stand behind it in a <memory-context> block.{tools}"
    )
}
