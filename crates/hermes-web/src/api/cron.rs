//! `/api/cron/jobs`: scheduled jobs of all profiles.

use std::path::PathBuf;

use hermes_cron::{
    CronHome, Ends, Job, JobChange, NewJob, create_job, find_job, load_jobs, pause_job, remove_job,
    resume_job, trigger_job, update_job,
};
use hermes_home::ProfileName;
use hermes_home::profiles::{existing, names};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::call::{Answered, Call, text_of};
use crate::http::ApiError;

/// The jobs of one profile.
struct Owner {
    profile: String,
    home: PathBuf,
    cron: CronHome,
}

impl Owner {
    fn new(profile: &ProfileName, home: PathBuf) -> Self {
        Self {
            profile: profile.to_string(),
            cron: CronHome::new(&home),
            home,
        }
    }

    fn shown(&self, job: &Job) -> Value {
        let mut shown = json!(job);
        shown["profile"] = json!(self.profile);
        shown["profile_name"] = json!(self.profile);
        shown["hermes_home"] = json!(self.home.display().to_string());
        shown["is_default_profile"] = json!(self.profile == "default");
        shown
    }
}

fn named_owner(call: &Call, name: &str) -> Result<Owner, ApiError> {
    let name = ProfileName::parse(name)?;
    let location = existing(&call.context().location, &name)?;
    Ok(Owner::new(&name, location.home))
}

fn all_owners(call: &Call) -> Result<Vec<Owner>, ApiError> {
    let location = call.context().location.clone();
    let owners = names(&location)?.into_iter().map(|name| {
        let home = location.for_profile(&name).home;
        Owner::new(&name, home)
    });
    Ok(owners.collect())
}

/// Whose job the path names.
fn owner_of(call: &Call) -> Result<Owner, ApiError> {
    if let Some(name) = call
        .query("profile")
        .filter(|name| !name.eq_ignore_ascii_case("all"))
    {
        return named_owner(call, &name);
    }
    let id = call.param("job_id");
    for owner in all_owners(call)? {
        let is_here = load_jobs(&owner.cron).is_ok_and(|list| find_job(&list, id).is_ok());
        if is_here {
            return Ok(owner);
        }
    }
    let shown = hermes_text::shown(id, 80);
    Err(ApiError::not_found(format!("there is no job {shown}")))
}

/// `GET /api/cron/jobs`.
pub(crate) fn list(call: &Call) -> Answered {
    let wanted = call.query("profile");
    let owners = match wanted.filter(|name| !name.eq_ignore_ascii_case("all")) {
        Some(name) => vec![named_owner(call, &name)?],
        None => all_owners(call)?,
    };
    let is_single = owners.len() == 1;
    let mut shown = Vec::new();
    for owner in owners {
        match load_jobs(&owner.cron) {
            Ok(list) => shown.extend(list.jobs.iter().map(|job| owner.shown(job))),
            Err(error) if is_single => return Err(error.into()),
            // The jobs of the others are as good as ever.
            Err(error) => tracing::warn!("the jobs of {} cannot be read: {error}", owner.profile),
        }
    }
    call.answer(Value::Array(shown))
}

/// `POST /api/cron/jobs`.
pub(crate) fn create(call: &Call) -> Answered {
    let profile = call
        .query("profile")
        .unwrap_or_else(|| "default".to_owned());
    let owner = named_owner(call, &profile)?;
    let body = call.object()?;
    let filled = |name: &str| -> Result<Option<String>, ApiError> {
        let text = text_of(body, name)?.map(|text| text.trim().to_owned());
        Ok(text.filter(|text| !text.is_empty()))
    };
    let new = NewJob {
        schedule: call.required_text("schedule")?.to_owned(),
        prompt: call.text("prompt")?.unwrap_or_default().to_owned(),
        name: filled("name")?,
        deliver: filled("deliver")?,
        skills: call.texts("skills")?.unwrap_or_default(),
        repeat: repeat(body)?,
        ..NewJob::default()
    };
    let zone = call.context().zone().resolve();
    let job = create_job(&owner.cron, new, Timestamp::now(), &zone)?;
    call.answer(owner.shown(&job))
}

fn repeat(body: &Map<String, Value>) -> Result<Option<Ends>, ApiError> {
    match body.get("repeat") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let count = value.as_u64().filter(|count| *count > 0).ok_or_else(|| {
                let message = "must be a whole number above zero";
                ApiError::invalid(&["body", "repeat"], message, "int_type")
            })?;
            Ok(Some(Ends::After(count)))
        }
    }
}

/// `GET /api/cron/jobs/{job_id}`.
pub(crate) fn show(call: &Call) -> Answered {
    let owner = owner_of(call)?;
    let list = load_jobs(&owner.cron)?;
    let job = find_job(&list, call.param("job_id"))?;
    call.answer(owner.shown(job))
}

/// `PUT /api/cron/jobs/{job_id}`, with what changes under `updates`.
pub(crate) fn update(call: &Call) -> Answered {
    let Some(Value::Object(updates)) = call.object()?.get("updates") else {
        let message = "must be an object with what changes";
        return Err(ApiError::invalid(
            &["body", "updates"],
            message,
            "dict_type",
        ));
    };
    let text = |name: &str| Ok::<_, ApiError>(text_of(updates, name)?.map(str::to_owned));
    let known = [
        "name", "schedule", "prompt", "deliver", "skills", "repeat", "enabled",
    ];
    if let Some(other) = updates.keys().find(|name| !known.contains(&name.as_str())) {
        let shown = hermes_text::shown(other, 80);
        return Err(ApiError::bad_request(format!(
            "of a job only {} can be changed, not {shown}",
            known.join(", ")
        )));
    }
    let skills = match updates.get("skills") {
        None | Some(Value::Null) => None,
        Some(Value::Array(names)) => Some(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        ),
        Some(_) => {
            let place = ["body", "updates", "skills"];
            return Err(ApiError::invalid(&place, "must be a list", "list_type"));
        }
    };
    let change = JobChange {
        schedule: text("schedule")?,
        prompt: text("prompt")?,
        name: text("name")?,
        deliver: text("deliver")?,
        skills,
        repeat: repeat(updates)?,
        enabled: updates.get("enabled").and_then(Value::as_bool),
        ..JobChange::default()
    };
    if change.is_empty() {
        return Err(ApiError::bad_request("nothing to change was given"));
    }
    changed(call, |cron, id, now, zone| {
        update_job(cron, id, change, now, zone)
    })
}

/// Answers with what became of one job.
fn changed(
    call: &Call,
    work: impl FnOnce(&CronHome, &str, Timestamp, &jiff::tz::TimeZone) -> hermes_cron::Result<Job>,
) -> Answered {
    let owner = owner_of(call)?;
    let zone = call.context().zone().resolve();
    let job = work(&owner.cron, call.param("job_id"), Timestamp::now(), &zone)?;
    call.answer(owner.shown(&job))
}

/// `POST /api/cron/jobs/{job_id}/pause`.
pub(crate) fn pause(call: &Call) -> Answered {
    changed(call, |cron, id, now, zone| {
        pause_job(cron, id, None, now, zone)
    })
}

/// `POST /api/cron/jobs/{job_id}/resume`.
pub(crate) fn resume(call: &Call) -> Answered {
    changed(call, resume_job)
}

/// `POST /api/cron/jobs/{job_id}/trigger`.
pub(crate) fn trigger(call: &Call) -> Answered {
    changed(call, trigger_job)
}

/// `DELETE /api/cron/jobs/{job_id}`.
pub(crate) fn delete(call: &Call) -> Answered {
    changed(call, remove_job)?;
    call.answer(json!({"ok": true}))
}
