//! Runs, as a client follows them: begun, read from any event on, asked about.

use std::io;

use serde_json::{Value, json};

use crate::client::Api;
use crate::model::Question;

/// Statuses after which nothing more happens.
const OVER: [&str; 4] = ["completed", "failed", "cancelled", "interrupted"];

/// Begins a run; gives its id once it was acknowledged.
pub(crate) fn begin(api: &Api, question: &Question) -> Result<String, String> {
    let body = json!({"input": question.text()});
    let reply = api.call("POST", "/v1/runs", Some(&body));
    let reply = reply.map_err(|error| error.to_string())?;
    match (reply.status, reply.json()["run_id"].as_str()) {
        (202, Some(id)) => Ok(id.to_owned()),
        _ => Err(format!("{}: {}", reply.status, reply.body)),
    }
}

/// What the gateway says about a run; an error if it does not know it.
pub(crate) fn status(api: &Api, id: &str) -> Result<Value, String> {
    let reply = api.call("GET", &format!("/v1/runs/{id}"), None);
    let reply = reply.map_err(|error| error.to_string())?;
    match reply.status {
        200 => Ok(reply.json()),
        status => Err(format!("{id}: {status}: {}", reply.body)),
    }
}

/// Whether nothing more happens in a run with this status.
pub(crate) fn is_over(status: &Value) -> bool {
    status["status"]
        .as_str()
        .is_some_and(|status| OVER.contains(&status))
}

/// Reads at most so many events after this one; gives their numbers and data.
pub(crate) fn events(
    api: &Api,
    id: &str,
    after: u64,
    most: usize,
) -> io::Result<Vec<(u64, Value)>> {
    let path = format!("/v1/runs/{id}/events");
    let last = after.to_string();
    let headers = [("Last-Event-ID", last.as_str())];
    let mut answer = api.open("GET", &path, &headers, None)?;
    let mut read = Vec::new();
    answer.events(|event| {
        let field = |name: &str| {
            let line = event.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        if let Ok(number) = field("id:").parse() {
            let data = serde_json::from_str(&field("data:")).unwrap_or_default();
            read.push((number, data));
        }
        read.len() >= most
    })?;
    Ok(read)
}

/// Follows a run to its end, leaving once in the middle; an error if an event was missing, came twice
/// or the answer is not the one that was asked for.
pub(crate) fn follow(api: &Api, question: &Question) -> Result<(), String> {
    let id = begin(api, question)?;
    let read = |after, most| events(api, &id, after, most).map_err(|error| error.to_string());
    let mut all = read(0, 3)?;
    let last = all.last().map_or(0, |(number, _)| *number);
    all.extend(read(last, usize::MAX)?);
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    if numbers != (1..=all.len() as u64).collect::<Vec<_>>() {
        return Err(format!("{id}: events {numbers:?}"));
    }
    let told: String = all
        .iter()
        .filter(|(_, event)| event["event"] == "message.delta")
        .filter_map(|(_, event)| event["delta"].as_str())
        .collect();
    let status = status(api, &id)?;
    if status["status"] != "completed" || told != question.answer() {
        return Err(format!("{id}: {status} after {told}"));
    }
    Ok(())
}
