//! `/api/jobs`.

use std::sync::Arc;

use hermes_cron::{
    CronHome, Error, Job, create_job, load_jobs, pause_job, remove_job, resume_job, trigger_job,
    update_job,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::request::{change, new_job};
use crate::app::{App, off_loop};
use crate::call::{Answered, Call, json as json_answer};
use crate::http::ApiError;

/// The jobs of the profile, at this moment.
struct Jobs {
    home: CronHome,
    zone: TimeZone,
    now: Timestamp,
}

/// Works on the jobs beside the connections.
async fn with_jobs<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&Jobs) -> Result<T, Error> + Send + 'static,
) -> Result<T, ApiError> {
    let app = Arc::clone(app);
    off_loop(move || {
        let context = app.context();
        context.ensure_home()?;
        let jobs = Jobs {
            home: CronHome::new(&context.location.home),
            zone: context.zone().resolve(),
            now: Timestamp::now(),
        };
        work(&jobs).map_err(refused)
    })
    .await
}

fn refused(error: Error) -> ApiError {
    let text = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    let refused = match &error {
        Error::NoSuchJob(_) => ApiError::not_found(text),
        Error::Schedule(_) | Error::Refused { .. } => ApiError::bad_request(text),
        Error::Ambiguous { .. } | Error::AlreadyRunning(_) | Error::SchedulerRunning => {
            ApiError::conflict(text)
        }
        Error::File(_) | Error::Store(_) | Error::Damaged { .. } => {
            tracing::warn!(%error, "the jobs cannot be used");
            ApiError::unavailable(text)
        }
    };
    refused.plain()
}

/// The id in the path: twelve hexadecimal digits.
fn job_id(call: &Call) -> Result<String, ApiError> {
    let id = call.id();
    let is_digit = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
    if id.len() == 12 && id.bytes().all(is_digit) {
        return Ok(id.to_owned());
    }
    let message = format!(
        "'{}' is not the id of a job: twelve hexadecimal digits",
        hermes_text::shown(id, 40)
    );
    Err(ApiError::bad_request(message).plain())
}

fn shown(job: &Job) -> Value {
    json!({"job": job})
}

/// Names are not looked at: a path has an id.
fn known(jobs: &Jobs, id: &str) -> Result<Job, Error> {
    let list = load_jobs(&jobs.home)?;
    let found = list.get(id).cloned();
    found.ok_or_else(|| Error::NoSuchJob(id.to_owned()))
}

/// Answers with what becomes of one job.
async fn answered(
    call: Call,
    work: impl FnOnce(&Jobs, &str) -> Result<Job, Error> + Send + 'static,
) -> Answered {
    let id = job_id(&call)?;
    let changed = with_jobs(&call.app, move |jobs| {
        known(jobs, &id)?;
        work(jobs, &id)
    });
    Ok(json_answer(&shown(&changed.await?)))
}

pub(crate) async fn list(call: Call) -> Answered {
    let all = call.query_switch("include_disabled")?;
    let list = with_jobs(&call.app, |jobs| load_jobs(&jobs.home)).await?;
    let jobs: Vec<&Job> = list
        .jobs
        .iter()
        .filter(|job| all || job.is_enabled())
        .collect();
    Ok(json_answer(&json!({"jobs": jobs})))
}

pub(crate) async fn create(mut call: Call) -> Answered {
    let new = new_job(&call.object().await?)?;
    let created = with_jobs(&call.app, |jobs| {
        create_job(&jobs.home, new, jobs.now, &jobs.zone)
    });
    Ok(json_answer(&shown(&created.await?)))
}

pub(crate) async fn show(call: Call) -> Answered {
    answered(call, known).await
}

pub(crate) async fn update(mut call: Call) -> Answered {
    job_id(&call)?;
    let change = change(&call.object().await?)?;
    answered(call, |jobs, id| {
        update_job(&jobs.home, id, change, jobs.now, &jobs.zone)
    })
    .await
}

pub(crate) async fn delete(call: Call) -> Answered {
    let id = job_id(&call)?;
    with_jobs(&call.app, move |jobs| {
        known(jobs, &id)?;
        remove_job(&jobs.home, &id, jobs.now, &jobs.zone)
    })
    .await?;
    Ok(json_answer(&json!({"ok": true})))
}

pub(crate) async fn pause(call: Call) -> Answered {
    answered(call, |jobs, id| {
        pause_job(&jobs.home, id, None, jobs.now, &jobs.zone)
    })
    .await
}

pub(crate) async fn resume(call: Call) -> Answered {
    answered(call, |jobs, id| {
        resume_job(&jobs.home, id, jobs.now, &jobs.zone)
    })
    .await
}

/// Makes a job due; the scheduler of the gateway is woken by the changed file.
pub(crate) async fn run(call: Call) -> Answered {
    if call.app.host.is_draining() {
        return Err(ApiError::draining());
    }
    answered(call, |jobs, id| {
        trigger_job(&jobs.home, id, jobs.now, &jobs.zone)
    })
    .await
}
