//! The operations on jobs: make, change, pause, resume, trigger, remove, and the result of a run.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::create::{JobChange, NewJob};
use crate::error::{Error, Result};
use crate::home::CronHome;
use crate::job::{Job, JobState};
use crate::jobs_file::{JobList, change};
use crate::reference::find_job;

/// All jobs. Changes nothing.
pub fn load_jobs(home: &CronHome) -> Result<JobList> {
    JobList::load(home)
}

/// Makes a job.
pub fn create_job(home: &CronHome, new: NewJob, now: Timestamp, zone: &TimeZone) -> Result<Job> {
    home.ensure_new()?;
    change(home, now, zone, |list| {
        let job = new.record(home, list, now, zone)?;
        list.jobs.push(job.clone());
        Ok(job)
    })
}

/// Changes a job.
pub fn update_job(
    home: &CronHome,
    named: &str,
    update: JobChange,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Job> {
    let enabled = update.enabled;
    let job = edit(home, named, now, zone, |list, job| {
        update.apply(home, list, job, now, zone)
    })?;
    match enabled {
        Some(true) if !job.is_enabled() => resume_job(home, job.id(), now, zone),
        Some(false) if job.is_enabled() => pause_job(home, job.id(), None, now, zone),
        _ => Ok(job),
    }
}

/// Keeps a job from running until it is resumed.
pub fn pause_job(
    home: &CronHome,
    named: &str,
    reason: Option<&str>,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Job> {
    edit(home, named, now, zone, |_, job| {
        let mut job = job.clone();
        job.set("enabled", false);
        job.set_state(JobState::Paused);
        job.set_stamp("paused_at", Some(now), zone);
        job.set("paused_reason", reason);
        Ok(job)
    })
}

/// Lets a job run again, from now on.
pub fn resume_job(home: &CronHome, named: &str, now: Timestamp, zone: &TimeZone) -> Result<Job> {
    edit(home, named, now, zone, |_, job| {
        let mut job = job.clone();
        let schedule = job.schedule().map_err(|reason| {
            Error::refused(
                format!("job {} cannot run: {reason}", job.id()),
                "give it another schedule with `hermes cron edit ID --schedule …`",
            )
        })?;
        let next = schedule.next_after(now, zone).ok_or_else(|| {
            Error::refused(
                format!("the time of job {} is in the past", job.id()),
                "run it with `hermes cron run`, or give it another time with `hermes cron edit`",
            )
        })?;
        enable(&mut job);
        job.set_stamp("next_run_at", Some(next), zone);
        Ok(job)
    })
}

/// Makes a job due now.
pub fn trigger_job(home: &CronHome, named: &str, now: Timestamp, zone: &TimeZone) -> Result<Job> {
    edit(home, named, now, zone, |_, job| {
        let mut job = job.clone();
        enable(&mut job);
        job.set("run_claim", Value::Null);
        job.set_stamp("next_run_at", Some(now), zone);
        Ok(job)
    })
}

/// Removes a job and its outputs.
pub fn remove_job(home: &CronHome, named: &str, now: Timestamp, zone: &TimeZone) -> Result<Job> {
    let job = change(home, now, zone, |list| {
        let job = find_job(list, named)?.clone();
        // An id that leads elsewhere is refused before anything is gone.
        home.outputs(job.id())?;
        list.jobs.retain(|other| other.id() != job.id());
        Ok(job)
    })?;
    let outputs = home.outputs(job.id())?;
    if outputs.is_dir() {
        hermes_fs::remove_tree(&outputs)?;
    }
    Ok(job)
}

/// Records how a run ended. The job may be gone meanwhile.
pub(crate) fn finish_job(
    home: &CronHome,
    id: &str,
    error: Option<&str>,
    delivery_error: Option<&str>,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<()> {
    change(home, now, zone, |list| {
        let Some(job) = list.get_mut(id) else {
            return Ok(());
        };
        job.set_stamp("last_run_at", Some(now), zone);
        job.set("last_status", if error.is_some() { "error" } else { "ok" });
        job.set("last_error", error);
        job.set("last_delivery_error", delivery_error);
        job.set("fire_claim", Value::Null);
        let schedule = job.schedule();
        let is_once = matches!(&schedule, Ok(schedule) if !schedule.is_recurring());
        // A single run was counted when it was claimed.
        let was_counted = is_once && job.run_claim().is_some();
        job.set("run_claim", Value::Null);
        if !was_counted {
            job.count_run(1);
        }
        let (times, completed) = job.repeat();
        if times.is_some_and(|times| completed >= times) {
            list.jobs.retain(|job| job.id() != id);
            return Ok(());
        }
        match schedule {
            Ok(_) if is_once => {
                job.set("enabled", false);
                job.set("next_run_at", Value::Null);
                job.set_state(JobState::Completed);
            }
            Ok(schedule) => {
                if job.next_run_at().is_none() {
                    job.set_stamp("next_run_at", schedule.next_after(now, zone), zone);
                }
                if job.next_run_at().is_none() {
                    job.set_state(JobState::Error);
                } else if job.state() == JobState::Error.name() {
                    job.set_state(JobState::Scheduled);
                }
            }
            // It goes on waiting: somebody may mend its schedule.
            Err(_) => job.set_state(JobState::Error),
        }
        Ok(())
    })
}

fn enable(job: &mut Job) {
    job.set("enabled", true);
    job.set_state(JobState::Scheduled);
    job.set("paused_at", Value::Null);
    job.set("paused_reason", Value::Null);
}

/// Replaces a job by what is made of it.
fn edit(
    home: &CronHome,
    named: &str,
    now: Timestamp,
    zone: &TimeZone,
    make: impl FnOnce(&JobList, &Job) -> Result<Job>,
) -> Result<Job> {
    change(home, now, zone, |list| {
        let job = find_job(list, named)?;
        let changed = make(list, job)?;
        if let Some(job) = list.get_mut(changed.id()) {
            job.clone_from(&changed);
        }
        Ok(changed)
    })
}
