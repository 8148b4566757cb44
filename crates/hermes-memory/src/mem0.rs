//! Mem0, hosted (`api.mem0.ai`) and on a server of one's own.

use std::sync::Arc;
use std::time::Duration;

use hermes_http::HttpSettings;
use hermes_proc::Wake;
use reqwest::Method;
use serde_json::{Value, json};

use crate::api::Api;
use crate::backend::{CompletedTurn, Failure, MemoryBackend, MemoryTool};
use crate::settings::{Identity, ServiceSettings};

const BASE: &str = "https://api.mem0.ai";
const LIMIT: Duration = Duration::from_secs(30);
/// Facts that are recalled for a message.
const RECALLED: u64 = 10;
/// Most facts of one search.
const MOST_FOUND: u64 = 50;
/// The user where none is named; written in a file it means the same.
const NOBODY: &str = "hermes-user";

/// Mem0.
pub(crate) struct Mem0 {
    api: Api,
    /// Whether it is a server of one's own, whose paths are others.
    is_own: bool,
    user: String,
    agent: String,
    rerank: bool,
    channel: String,
}

impl Mem0 {
    pub(crate) fn open(
        settings: &ServiceSettings<'_>,
        identity: &Identity,
        http: HttpSettings,
    ) -> Result<Self, String> {
        let mode = settings.text(&["mode"], Some("MEM0_MODE"));
        if mode.as_deref() == Some("oss") {
            return Err("its mode `oss` runs inside the Python runtime only".to_owned());
        }
        let host = settings.text(&["host"], Some("MEM0_HOST"));
        Self::at(host.as_deref(), settings, identity, http)
    }

    fn at(
        host: Option<&str>,
        settings: &ServiceSettings<'_>,
        identity: &Identity,
        http: HttpSettings,
    ) -> Result<Self, String> {
        let key = settings.key();
        let bearer = key.as_deref().map(|key| format!("Token {key}"));
        let headers: Vec<(&'static str, &str)> = match (host, &key, &bearer) {
            (None, _, Some(bearer)) => vec![("authorization", bearer)],
            (None, _, None) => return Err(settings.no_key()),
            // A server of one's own may let everybody in.
            (Some(_), Some(key), _) => vec![("x-api-key", key)],
            (Some(_), None, _) => Vec::new(),
        };
        let configured = settings.text(&["user_id"], Some("MEM0_USER_ID"));
        let user = configured.filter(|user| user != NOBODY);
        let user = user.or_else(|| identity.user.clone());
        let agent = settings.text(&["agent_id"], Some("MEM0_AGENT_ID"));
        Ok(Self {
            api: Api::new(host.unwrap_or(BASE), &headers, LIMIT, http)?,
            is_own: host.is_some(),
            user: user.unwrap_or_else(|| NOBODY.to_owned()),
            agent: agent.unwrap_or_else(|| "hermes".to_owned()),
            rerank: settings.flag(&["rerank"], false),
            channel: identity.platform.clone(),
        })
    }

    fn search(
        &self,
        query: &str,
        most: u64,
        rerank: bool,
        stop: &Wake,
    ) -> Result<Vec<Value>, Failure> {
        let mut body = json!({
            "query": query,
            "filters": {"user_id": self.user},
            "top_k": most,
        });
        let path: &[&str] = if self.is_own {
            &["search"]
        } else {
            body["rerank"] = rerank.into();
            &["v3", "memories", "search", ""]
        };
        let found = self.api.post(path, &body, stop)?;
        match found {
            Value::Array(results) => Ok(results),
            mut found => match found["results"].take() {
                Value::Array(results) => Ok(results),
                _ => Err(Failure::new("its answer has no results")),
            },
        }
    }

    fn add(&self, messages: &Value, infer: bool, stop: &Wake) -> Result<Value, Failure> {
        let body = json!({
            "messages": messages,
            "user_id": self.user,
            "agent_id": self.agent,
            "infer": infer,
            "metadata": {"channel": self.channel},
        });
        let path: &[&str] = if self.is_own {
            &["memories"]
        } else {
            &["v3", "memories", "add", ""]
        };
        self.api.post(path, &body, stop)
    }

    fn on_one(
        &self,
        method: Method,
        id: &str,
        body: Option<&Value>,
        stop: &Wake,
    ) -> Result<Value, Failure> {
        let path: &[&str] = if self.is_own {
            &["memories", id]
        } else {
            &["v1", "memories", id, ""]
        };
        self.api.send(method, path, body, stop)
    }
}

impl MemoryBackend for Mem0 {
    fn name(&self) -> &'static str {
        "mem0"
    }

    fn recall(&self, query: &str, _: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        let found = self.search(query, RECALLED, false, stop)?;
        let facts = found.iter().filter_map(|fact| fact["memory"].as_str());
        Ok(facts.map(str::to_owned).collect())
    }

    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure> {
        let messages = json!([
            {"role": "user", "content": turn.user},
            {"role": "assistant", "content": turn.assistant},
        ]);
        self.add(&messages, true, stop).map(drop)
    }

    fn tools(&self) -> Vec<MemoryTool> {
        let id = json!({"type": "string", "description": "Id of the memory, from mem0_search."});
        vec![
            MemoryTool {
                name: "mem0_search",
                description: "Searches by meaning what is remembered of the user. Use it before \
                 answering what may depend on their preferences, projects or earlier decisions, with \
                 several wordings where a question has several parts.",
                schema: Arc::new(json!({
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "What to look for."},
                        "top_k": {"type": "integer", "description": "Most results, 1 to 50. Default 10."},
                        "rerank": {"type": "boolean", "description": "Sort by relevance once more."},
                    },
                    "required": ["query"],
                })),
                only_reads: true,
            },
            MemoryTool {
                name: "mem0_add",
                description: "Remembers a lasting fact about the user, word for word.",
                schema: Arc::new(json!({
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "description": "The fact."},
                    },
                    "required": ["content"],
                })),
                only_reads: false,
            },
            MemoryTool {
                name: "mem0_update",
                description: "Replaces the text of a memory that has changed or was wrong.",
                schema: Arc::new(json!({
                    "type": "object",
                    "properties": {
                        "memory_id": id,
                        "text": {"type": "string", "description": "The new text."},
                    },
                    "required": ["memory_id", "text"],
                })),
                only_reads: false,
            },
            MemoryTool {
                name: "mem0_delete",
                description: "Forgets a memory.",
                schema: Arc::new(json!({
                    "type": "object",
                    "properties": {"memory_id": id},
                    "required": ["memory_id"],
                })),
                only_reads: false,
            },
        ]
    }

    fn call(&self, tool: &str, args: &Value, stop: &Wake) -> Result<Value, Failure> {
        let text = |name: &str| match args[name].as_str().map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(Failure::of_request(format!("{name} is missing"))),
        };
        match tool {
            "mem0_search" => {
                let most = args["top_k"]
                    .as_u64()
                    .unwrap_or(RECALLED)
                    .clamp(1, MOST_FOUND);
                let rerank = args["rerank"].as_bool().unwrap_or(self.rerank);
                let found = self.search(text("query")?, most, rerank, stop)?;
                if found.is_empty() {
                    return Ok(json!({"result": "No relevant memories found."}));
                }
                let results = found.iter().map(|fact| {
                    json!({"id": fact["id"], "memory": fact["memory"], "score": fact["score"]})
                });
                let results: Vec<Value> = results.collect();
                Ok(json!({"count": results.len(), "results": results}))
            }
            "mem0_add" => {
                let messages = json!([{"role": "user", "content": text("content")?}]);
                let added = self.add(&messages, false, stop)?;
                // The hosted service stores later.
                let result = if self.is_own {
                    "Fact stored."
                } else {
                    "Fact queued for storage."
                };
                Ok(json!({"result": result, "event_id": added["event_id"]}))
            }
            "mem0_update" => {
                let (id, new) = (text("memory_id")?, text("text")?);
                self.on_one(Method::PUT, id, Some(&json!({"text": new})), stop)?;
                Ok(json!({"result": "Memory updated.", "memory_id": id}))
            }
            "mem0_delete" => {
                let id = text("memory_id")?;
                self.on_one(Method::DELETE, id, None, stop)?;
                Ok(json!({"result": "Memory deleted.", "memory_id": id}))
            }
            _ => Err(Failure::of_request(format!("there is no tool {tool}"))),
        }
    }

    fn check(&self, stop: &Wake) -> Result<String, Failure> {
        self.search("preferences", 1, false, stop)?;
        let place = if self.is_own {
            "a server of your own"
        } else {
            "hosted"
        };
        Ok(format!("{place}, user {}", self.user))
    }
}

#[cfg(test)]
#[path = "mem0_tests.rs"]
mod tests;
