//! One request to a server, and what went wrong with it.

use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, CustomRequest, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams,
};
use rmcp::service::Peer;
use serde_json::{Map, Value, json};

use crate::answer::{self, Answer};
use crate::catalog::Operation;
use crate::error::Error;

/// Pages of a list that are read.
const MAX_PAGES: usize = 50;

/// What servers say when a session is over, in small letters.
const SESSION_OVER: [&str; 6] = [
    "invalid or expired session",
    "expired session",
    "session expired",
    "session not found",
    "unknown session",
    "session terminated",
];

pub(super) async fn make(
    peer: &Peer<RoleClient>,
    operation: &Operation,
    arguments: &Map<String, Value>,
) -> Result<Answer, Error> {
    let text = |name: &str| {
        let text = arguments.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| Error::Refused(format!("the argument '{name}' is missing")))
    };
    match operation {
        Operation::CallTool(tool) => {
            let mut params = CallToolRequestParams::new(tool.clone());
            params.arguments = Some(arguments.clone());
            let result = peer.call_tool(params).await.map_err(failure)?;
            Ok(answer::of_tool(result))
        }
        Operation::ListResources => {
            let mut found = Vec::new();
            let mut cursor = None;
            for _ in 0..MAX_PAGES {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let listed = peer.list_resources(Some(page)).await.map_err(failure)?;
                found.extend(listed.resources.iter().map(answer::resource_entry));
                cursor = listed.next_cursor.filter(|cursor| !cursor.is_empty());
                if cursor.is_none() {
                    break;
                }
            }
            Ok(Answer::value(json!({"resources": found})))
        }
        Operation::ReadResource => {
            let params = ReadResourceRequestParams::new(text("uri")?);
            let read = peer.read_resource(params).await.map_err(failure)?;
            Ok(answer::of_resource(read))
        }
        Operation::ListPrompts => {
            let mut found = Vec::new();
            let mut cursor = None;
            for _ in 0..MAX_PAGES {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let listed = peer.list_prompts(Some(page)).await.map_err(failure)?;
                found.extend(listed.prompts.iter().map(answer::prompt_entry));
                cursor = listed.next_cursor.filter(|cursor| !cursor.is_empty());
                if cursor.is_none() {
                    break;
                }
            }
            Ok(Answer::value(json!({"prompts": found})))
        }
        Operation::GetPrompt => {
            let mut params = GetPromptRequestParams::new(text("name")?);
            params.arguments = arguments
                .get("arguments")
                .and_then(Value::as_object)
                .cloned();
            let got = peer.get_prompt(params).await.map_err(failure)?;
            Ok(answer::of_prompt(got))
        }
        Operation::FireHook => {
            let params = json!({"role": "hook", "op": "hook.fire", "args": arguments});
            let request = CustomRequest::new("hermes/invoke", Some(params));
            let request = ClientRequest::CustomRequest(request);
            let result = peer.send_request(request).await.map_err(failure)?;
            // An answer may look like that to another request; its fields are what counts.
            let value = serde_json::to_value(result);
            Ok(Answer::value(value.unwrap_or_default()))
        }
    }
}

/// What went wrong, as we say it.
pub(super) fn failure(error: ServiceError) -> Error {
    match error {
        ServiceError::McpError(error) => {
            let small = error.message.to_lowercase();
            if SESSION_OVER.iter().any(|text| small.contains(text)) {
                Error::SessionExpired
            } else {
                Error::Refused(hermes_text::cut(&error.message, 4_000).to_owned())
            }
        }
        ServiceError::TransportSend(error) => crate::remote::send_failure(error.error.as_ref()),
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => Error::LostDuringCall,
        ServiceError::Timeout { timeout } => Error::NoAnswer(timeout),
        other => Error::Refused(hermes_text::one_line(&other.to_string(), 500)),
    }
}
