//! The bodies of jobs, checked before anything is read or written.

use hermes_cron::{Ends, JobChange, NewJob};
use serde_json::{Map, Value};

use crate::http::ApiError;

/// Longest name.
pub(crate) const MOST_NAME: usize = 200;
/// Longest prompt.
pub(crate) const MOST_PROMPT: usize = 5_000;
/// What can be changed about a job.
const CHANGEABLE: &[&str] = &[
    "name", "schedule", "prompt", "deliver", "skills", "skill", "repeat", "enabled",
];

/// A job that is to be made.
pub(super) fn new_job(body: &Map<String, Value>) -> Result<NewJob, ApiError> {
    let filled = |name: &str| -> Result<Option<String>, ApiError> {
        let given = text(body, name)?.map(|text| text.trim().to_owned());
        Ok(given.filter(|text| !text.is_empty()))
    };
    let name = filled("name")?.ok_or_else(|| refused("`name` is missing".to_owned()))?;
    let schedule = filled("schedule")?;
    let schedule = schedule.ok_or_else(|| refused("`schedule` is missing".to_owned()))?;
    Ok(NewJob {
        schedule,
        prompt: checked(text(body, "prompt")?, "prompt", MOST_PROMPT)?.unwrap_or_default(),
        name: checked(Some(name), "name", MOST_NAME)?,
        deliver: text(body, "deliver")?,
        repeat: repeat(body)?,
        skills: skills(body)?.unwrap_or_default(),
        ..NewJob::default()
    })
}

/// What is to change about a job.
pub(super) fn change(body: &Map<String, Value>) -> Result<JobChange, ApiError> {
    let unknown: Vec<&str> = body
        .keys()
        .map(String::as_str)
        .filter(|name| !CHANGEABLE.contains(name))
        .collect();
    if !unknown.is_empty() {
        return Err(refused(format!(
            "of a job only {} can be changed, not {}",
            CHANGEABLE.join(", "),
            hermes_text::shown(&unknown.join(", "), 200)
        )));
    }
    if let Some((name, _)) = body.iter().find(|(_, value)| value.is_null()) {
        return Err(refused(format!("`{name}` cannot be null")));
    }
    let change = JobChange {
        schedule: text(body, "schedule")?,
        prompt: checked(text(body, "prompt")?, "prompt", MOST_PROMPT)?,
        name: checked(text(body, "name")?, "name", MOST_NAME)?,
        deliver: text(body, "deliver")?,
        repeat: repeat(body)?,
        skills: skills(body)?,
        enabled: match body.get("enabled") {
            None => None,
            Some(Value::Bool(enabled)) => Some(*enabled),
            Some(_) => return Err(refused("`enabled` must be true or false".to_owned())),
        },
        ..JobChange::default()
    };
    if change.is_empty() {
        return Err(refused("nothing to change was given".to_owned()));
    }
    Ok(change)
}

fn refused(message: String) -> ApiError {
    ApiError::bad_request(message).plain()
}

fn text(body: &Map<String, Value>, name: &str) -> Result<Option<String>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(refused(format!("`{name}` must be a string"))),
    }
}

fn checked(text: Option<String>, name: &str, most: usize) -> Result<Option<String>, ApiError> {
    match text {
        Some(text) if text.chars().count() > most => {
            Err(refused(format!("`{name}` has more than {most} characters")))
        }
        text => Ok(text),
    }
}

fn repeat(body: &Map<String, Value>) -> Result<Option<Ends>, ApiError> {
    match body.get("repeat") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let count = value.as_u64().filter(|count| *count > 0);
            let count = count.ok_or_else(|| {
                refused("`repeat` must be a whole number that is at least 1".to_owned())
            })?;
            Ok(Some(Ends::After(count)))
        }
    }
}

fn skills(body: &Map<String, Value>) -> Result<Option<Vec<String>>, ApiError> {
    let given = body.get("skills").filter(|value| !value.is_null());
    let given = given.or_else(|| body.get("skill"));
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(vec![name.clone()])),
        Some(Value::Array(names)) => {
            let names: Option<Vec<String>> = names
                .iter()
                .map(|name| name.as_str().map(str::to_owned))
                .collect();
            let wrong = || refused("`skills` must be a list of strings".to_owned());
            Ok(Some(names.ok_or_else(wrong)?))
        }
        Some(_) => Err(refused("`skills` must be a list of strings".to_owned())),
    }
}
