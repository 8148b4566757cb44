//! Supermemory: a profile of the user, a search, and whole conversations.

use std::sync::Arc;
use std::time::Duration;

use hermes_http::HttpSettings;
use hermes_proc::Wake;
use reqwest::Method;
use serde_json::{Value, json};

use crate::api::Api;
use crate::backend::{CompletedTurn, Failure, MemoryBackend, MemoryTool};
use crate::settings::{Identity, ServiceSettings};

const BASE: &str = "https://api.supermemory.ai";
const CONTAINER: &str = "hermes";
/// Seconds for a request, and their bounds.
const SECONDS: f64 = 5.0;
/// Results of a search that names no limit.
const FOUND: u64 = 5;
/// Most results of one search.
const MOST_FOUND: u64 = 20;
/// Characters of a message that something is recalled for.
const MOST_QUERY: usize = 200;
/// Most messages of a conversation that are sent.
const MOST_MESSAGES: usize = 400;

/// Supermemory.
pub(crate) struct Supermemory {
    api: Api,
    container: String,
    recalls: bool,
    captures: bool,
    most_recalled: usize,
    search_mode: String,
    entity_context: Option<String>,
}

impl Supermemory {
    pub(crate) fn open(
        settings: &ServiceSettings<'_>,
        identity: &Identity,
        http: HttpSettings,
    ) -> Result<Self, String> {
        let key = settings.key().ok_or_else(|| settings.no_key())?;
        let base = settings.text(&["base_url"], Some("SUPERMEMORY_BASE_URL"));
        // The variable counts more than the file, as it does in the Python runtime.
        let container = settings
            .text(&[], Some("SUPERMEMORY_CONTAINER_TAG"))
            .or_else(|| settings.text(&["container_tag"], None));
        let container = container.unwrap_or_default();
        let seconds = settings.number(&["api_timeout"], None).unwrap_or(SECONDS);
        let limit = Duration::from_secs_f64(seconds.clamp(0.5, 15.0));
        let bearer = format!("Bearer {key}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-sm-source", "hermes"),
        ];
        let most = settings.text(&["max_recall_results"], None);
        let most: Option<usize> = most.and_then(|most| most.parse().ok());
        let mode = settings.text(&["search_mode"], None);
        let mode = mode.filter(|mode| ["hybrid", "memories", "documents"].contains(&mode.as_str()));
        Ok(Self {
            api: Api::new(base.as_deref().unwrap_or(BASE), &headers, limit, http)?,
            container: tag(&container.replace("{identity}", &identity.profile)),
            recalls: settings.flag(&["auto_recall"], true),
            captures: settings.flag(&["auto_capture"], true),
            most_recalled: most.unwrap_or(10).clamp(1, 20),
            search_mode: mode.unwrap_or_else(|| "hybrid".to_owned()),
            entity_context: settings
                .text(&["entity_context"], None)
                .map(|text| hermes_text::cut(&text, 1_500).to_owned()),
        })
    }

    fn profile(&self, query: Option<&str>, stop: &Wake) -> Result<Profile, Failure> {
        let mut body = json!({"containerTag": self.container});
        if let Some(query) = query {
            body["q"] = query.into();
        }
        let answer = self.api.post(&["v4", "profile"], &body, stop)?;
        if !answer["profile"].is_object() {
            return Err(Failure::new("its answer has no profile"));
        }
        let found = answer["searchResults"]["results"].as_array();
        let found = found.into_iter().flatten();
        let words = |item: &Value| match item["memory"].as_str() {
            Some(memory) => Some(memory.to_owned()),
            None => item["chunk"].as_str().map(str::to_owned),
        };
        Ok(Profile {
            lasting: texts(&answer["profile"]["static"]),
            recent: texts(&answer["profile"]["dynamic"]),
            found: found.filter_map(words).collect(),
        })
    }

    fn search(&self, query: &str, most: u64, stop: &Wake) -> Result<Vec<Value>, Failure> {
        let body = json!({
            "q": query,
            "containerTag": self.container,
            "limit": most,
            "searchMode": self.search_mode,
        });
        let mut answer = self.api.post(&["v4", "search"], &body, stop)?;
        match answer["results"].take() {
            Value::Array(results) => Ok(results),
            _ => Err(Failure::new("its answer has no results")),
        }
    }

    fn forget(&self, id: &str, stop: &Wake) -> Result<(), Failure> {
        let body = json!({"containerTag": self.container, "id": id});
        let gone = self
            .api
            .send(Method::DELETE, &["v4", "memories"], Some(&body), stop);
        gone.map(drop)
    }
}

struct Profile {
    lasting: Vec<String>,
    recent: Vec<String>,
    found: Vec<String>,
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A name of a container as the service takes it.
fn tag(raw: &str) -> String {
    let mut tag = String::new();
    for letter in raw.chars() {
        let letter = if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        };
        if letter != '_' || !tag.ends_with('_') {
            tag.push(letter);
        }
    }
    match tag.trim_matches('_') {
        "" => CONTAINER.to_owned(),
        tag => tag.to_owned(),
    }
}

impl MemoryBackend for Supermemory {
    fn name(&self) -> &'static str {
        "supermemory"
    }

    fn recall(&self, query: &str, _: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        if !self.recalls {
            return Ok(Vec::new());
        }
        let profile = self.profile(Some(hermes_text::cut(query, MOST_QUERY)), stop)?;
        let parts = [profile.lasting, profile.recent, profile.found];
        let parts = parts
            .into_iter()
            .map(|part| part.into_iter().take(self.most_recalled));
        Ok(parts.flatten().collect())
    }

    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure> {
        if !self.captures {
            return Ok(());
        }
        let said = turn
            .conversation
            .iter()
            .filter(|said| !said.text.is_empty());
        let messages: Vec<Value> = said
            .map(|said| json!({"role": said.role, "content": said.text}))
            .take(MOST_MESSAGES)
            .collect();
        let body = json!({
            "conversationId": turn.session,
            "containerTags": [self.container],
            "metadata": {
                "sm_source": "hermes",
                "type": "full_session",
                "session_id": turn.session,
                "message_count": messages.len(),
            },
            "messages": messages,
        });
        self.api
            .post(&["v4", "conversations"], &body, stop)
            .map(drop)
    }

    fn wants_conversation(&self) -> bool {
        true
    }

    fn tools(&self) -> Vec<MemoryTool> {
        let schema = |properties: Value, required: &[&str]| {
            Arc::new(json!({"type": "object", "properties": properties, "required": required}))
        };
        vec![
            MemoryTool {
                name: "supermemory_store",
                description: "Remembers something lasting for later conversations.",
                schema: schema(
                    json!({
                        "content": {"type": "string", "description": "What to remember."},
                        "metadata": {"type": "object", "description": "Further facts about it."},
                    }),
                    &["content"],
                ),
                only_reads: false,
            },
            MemoryTool {
                name: "supermemory_search",
                description: "Searches long-term memory by meaning.",
                schema: schema(
                    json!({
                        "query": {"type": "string", "description": "What to look for."},
                        "limit": {"type": "integer", "description": "Most results, 1 to 20. Default 5."},
                    }),
                    &["query"],
                ),
                only_reads: true,
            },
            MemoryTool {
                name: "supermemory_forget",
                description: "Forgets a memory: that of an id, or the best match of a query.",
                schema: schema(
                    json!({
                        "id": {"type": "string", "description": "Id of the memory."},
                        "query": {"type": "string", "description": "What to look for instead."},
                    }),
                    &[],
                ),
                only_reads: false,
            },
            MemoryTool {
                name: "supermemory_profile",
                description: "What is known of the user: lasting facts and recent context.",
                schema: schema(
                    json!({"query": {"type": "string", "description": "What it should be about."}}),
                    &[],
                ),
                only_reads: true,
            },
        ]
    }

    fn call(&self, tool: &str, args: &Value, stop: &Wake) -> Result<Value, Failure> {
        let given = |name: &str| {
            let text = args[name].as_str().map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        let text = |name: &str| {
            given(name).ok_or_else(|| Failure::of_request(format!("{name} is missing")))
        };
        match tool {
            "supermemory_store" => {
                let content = text("content")?;
                let mut metadata = args["metadata"].as_object().cloned().unwrap_or_default();
                metadata.insert("sm_source".to_owned(), "hermes".into());
                let mut body = json!({
                    "content": content,
                    "containerTags": [self.container],
                    "metadata": metadata,
                });
                if let Some(about) = &self.entity_context {
                    body["entityContext"] = about.as_str().into();
                }
                let stored = self.api.post(&["v3", "documents"], &body, stop)?;
                let preview = hermes_text::one_line(content, 80);
                Ok(json!({"saved": true, "id": stored["id"], "preview": preview}))
            }
            "supermemory_search" => {
                let most = args["limit"].as_u64().unwrap_or(FOUND).clamp(1, MOST_FOUND);
                let found = self.search(text("query")?, most, stop)?;
                let results = found.iter().map(|item| {
                    let content = if item["memory"].is_string() {
                        &item["memory"]
                    } else {
                        &item["chunk"]
                    };
                    json!({"id": item["id"], "content": content, "similarity": item["similarity"]})
                });
                let results: Vec<Value> = results.collect();
                Ok(json!({"count": results.len(), "results": results}))
            }
            "supermemory_forget" => match given("id") {
                Some(id) => {
                    self.forget(id, stop)?;
                    Ok(json!({"forgotten": true, "id": id}))
                }
                None => {
                    let query = given("query")
                        .ok_or_else(|| Failure::of_request("id or query is needed"))?;
                    let found = self.search(query, FOUND, stop)?;
                    let best = found.iter().find(|item| item["memory"].is_string());
                    let Some((id, best)) = best.and_then(|best| Some((best["id"].as_str()?, best)))
                    else {
                        return Ok(json!({"forgotten": false, "message": "No memory matches."}));
                    };
                    self.forget(id, stop)?;
                    Ok(json!({"forgotten": true, "id": id, "memory": best["memory"]}))
                }
            },
            "supermemory_profile" => {
                let profile = self.profile(given("query"), stop)?;
                Ok(json!({
                    "static": profile.lasting,
                    "dynamic": profile.recent,
                    "found": profile.found,
                }))
            }
            _ => Err(Failure::of_request(format!("there is no tool {tool}"))),
        }
    }

    fn check(&self, stop: &Wake) -> Result<String, Failure> {
        let profile = self.profile(None, stop)?;
        let facts = profile.lasting.len() + profile.recent.len();
        Ok(format!(
            "container {}, {facts} facts in the profile",
            self.container
        ))
    }
}

#[cfg(test)]
#[path = "supermemory_tests.rs"]
mod tests;
