//! What may be asked of a job, checked before anything is written. The command, the tool and the API
//! ask in the same way.

use std::path::Path;

use hermes_time::{Schedule, WrittenSchedule};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::deliver::Target;
use crate::error::{Error, Result};
use crate::home::CronHome;
use crate::job::{Job, JobState};
use crate::jobs_file::JobList;
use crate::lifecycle::refuse_gateway_commands;
use crate::model_snapshot::ModelSnapshot;
use crate::reference::find_job;
use crate::script_path::{contained_script, read_for_check};
use crate::stamp::written;

/// How late a single run may be asked for.
const ONCE_GRACE: SignedDuration = SignedDuration::from_secs(120);
/// Bounds of texts, which the API has as well.
const MOST_NAME_CHARS: usize = 200;
const MOST_PROMPT_CHARS: usize = 100_000;

/// After how many runs a job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Never,
    After(u64),
}

impl Ends {
    /// What a number means: zero and less is never.
    pub fn from_count(count: i64) -> Self {
        match u64::try_from(count) {
            Ok(count) if count > 0 => Self::After(count),
            _ => Self::Never,
        }
    }
}

/// A job that is to be made.
#[derive(Debug, Clone, Default)]
pub struct NewJob {
    pub schedule: String,
    pub prompt: String,
    pub name: Option<String>,
    pub deliver: Option<String>,
    pub repeat: Option<Ends>,
    pub skills: Vec<String>,
    pub script: Option<String>,
    pub no_agent: bool,
    pub context_from: Vec<String>,
    pub toolsets: Vec<String>,
    pub workdir: Option<String>,
    pub profile: Option<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub base_url: Option<String>,
    /// What is configured now.
    pub configured: ModelSnapshot,
    /// The chat it was asked for in.
    pub origin: Option<Value>,
}

/// What is to change about a job. `None` leaves a field alone; an empty text clears it.
#[derive(Debug, Clone, Default)]
pub struct JobChange {
    pub schedule: Option<String>,
    pub prompt: Option<String>,
    pub name: Option<String>,
    pub deliver: Option<String>,
    pub repeat: Option<Ends>,
    pub skills: Option<Vec<String>>,
    pub script: Option<String>,
    pub no_agent: Option<bool>,
    pub context_from: Option<Vec<String>>,
    pub toolsets: Option<Vec<String>>,
    pub workdir: Option<String>,
    pub profile: Option<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
    pub base_url: Option<String>,
    /// What is configured now; kept if the change is about the model.
    pub configured: ModelSnapshot,
    pub enabled: Option<bool>,
}

impl NewJob {
    /// The record of the job, if it makes one.
    pub(crate) fn record(
        self,
        home: &CronHome,
        list: &JobList,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Job> {
        let local = now.to_zoned(zone.clone());
        let schedule = Schedule::parse(&self.schedule, &local)?;
        refuse_past(&schedule.schedule, now)?;
        let is_once = !schedule.schedule.is_recurring();
        let times = match self.repeat {
            Some(Ends::After(times)) => Some(times),
            Some(Ends::Never) | None if is_once => Some(1),
            Some(Ends::Never) | None => None,
        };
        let next = match schedule.schedule {
            Schedule::Once(at) => Some(at),
            ref recurring => recurring.next_after(now, zone),
        };
        let skills = unique(self.skills);
        let has_origin = self.origin.is_some();
        let deliver = filled(self.deliver).unwrap_or_else(|| {
            let usual = if has_origin { "origin" } else { "local" };
            usual.to_owned()
        });
        let mut job = Job(Map::new());
        job.set("id", hermes_fs::random_hex(12));
        job.set("name", "");
        job.set("prompt", self.prompt.trim());
        set_skills(&mut job, skills);
        job.set("model", filled(self.model));
        job.set("provider", filled(self.provider));
        job.set("provider_snapshot", Value::Null);
        job.set("model_snapshot", Value::Null);
        job.set("base_url", address(self.base_url)?);
        job.set("script", filled(self.script));
        job.set("no_agent", self.no_agent);
        job.set("context_from", resolved(list, self.context_from)?);
        set_schedule(&mut job, &schedule, zone);
        job.set("repeat", json!({"times": times, "completed": 0}));
        job.set("enabled", true);
        job.set_state(JobState::Scheduled);
        job.set("paused_at", Value::Null);
        job.set("paused_reason", Value::Null);
        job.set("created_at", written(now, zone));
        job.set_stamp("next_run_at", next, zone);
        for key in [
            "last_run_at",
            "last_status",
            "last_error",
            "last_delivery_error",
        ] {
            job.set(key, Value::Null);
        }
        job.set("deliver", deliver);
        job.set("origin", self.origin);
        let toolsets = unique(self.toolsets);
        job.set(
            "enabled_toolsets",
            (!toolsets.is_empty()).then_some(json!(toolsets)),
        );
        job.set("workdir", directory(self.workdir)?);
        job.set("profile", filled(self.profile));
        self.configured.keep_in(&mut job);
        job.set("name", filled(self.name).unwrap_or_else(|| job.name()));
        check(home, &job)?;
        Ok(job)
    }
}

impl JobChange {
    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        let Self {
            schedule,
            prompt,
            name,
            deliver,
            repeat,
            skills,
            script,
            no_agent,
            context_from,
            toolsets,
            workdir,
            profile,
            model,
            provider,
            base_url,
            configured: _,
            enabled,
        } = self;
        let texts = [
            schedule, prompt, name, deliver, script, workdir, profile, model, provider, base_url,
        ];
        let lists = [skills, context_from, toolsets];
        texts.iter().all(|text| text.is_none())
            && lists.iter().all(|list| list.is_none())
            && repeat.is_none()
            && no_agent.is_none()
            && enabled.is_none()
    }

    /// Changes the job; nothing of it is changed if the result would be no job.
    pub(crate) fn apply(
        self,
        home: &CronHome,
        list: &JobList,
        job: &Job,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Job> {
        let mut job = job.clone();
        if let Some(text) = &self.schedule {
            let schedule = Schedule::parse(text, &now.to_zoned(zone.clone()))?;
            refuse_past(&schedule.schedule, now)?;
            set_schedule(&mut job, &schedule, zone);
            if job.state() != JobState::Paused.name() {
                job.set_state(JobState::Scheduled);
                job.set("enabled", true);
                let next = match schedule.schedule {
                    Schedule::Once(at) => Some(at),
                    ref recurring => recurring.next_after(now, zone),
                };
                job.set_stamp("next_run_at", next, zone);
                job.set("run_claim", Value::Null);
            }
            // What comes once has one run more, whatever it had before.
            if !schedule.schedule.is_recurring() && self.repeat.is_none() {
                let (_, completed) = job.repeat();
                job.set(
                    "repeat",
                    json!({"times": completed + 1, "completed": completed}),
                );
            }
        }
        for (key, text) in [("prompt", &self.prompt), ("name", &self.name)] {
            if let Some(text) = text {
                job.set(key, text.trim());
            }
        }
        let is_about_model = self.model.is_some()
            || self.provider.is_some()
            || self.base_url.is_some()
            || self.profile.is_some()
            || self.no_agent.is_some();
        for (key, text) in [
            ("script", self.script),
            ("profile", self.profile),
            ("model", self.model),
            ("provider", self.provider),
        ] {
            if let Some(text) = text {
                job.set(key, filled(Some(text)));
            }
        }
        if let Some(deliver) = self.deliver {
            job.set(
                "deliver",
                filled(Some(deliver)).unwrap_or("local".to_owned()),
            );
        }
        if let Some(base_url) = self.base_url {
            job.set("base_url", address(Some(base_url))?);
        }
        if let Some(workdir) = self.workdir {
            job.set("workdir", directory(Some(workdir))?);
        }
        if let Some(skills) = self.skills {
            set_skills(&mut job, unique(skills));
        }
        if let Some(jobs) = self.context_from {
            job.set("context_from", resolved(list, jobs)?);
        }
        if let Some(toolsets) = self.toolsets.map(unique) {
            job.set(
                "enabled_toolsets",
                (!toolsets.is_empty()).then_some(json!(toolsets)),
            );
        }
        if let Some(no_agent) = self.no_agent {
            job.set("no_agent", no_agent);
        }
        if is_about_model {
            self.configured.keep_in(&mut job);
        }
        if let Some(ends) = self.repeat {
            let (_, completed) = job.repeat();
            let times = match ends {
                Ends::Never => None,
                Ends::After(times) => Some(times),
            };
            job.set("repeat", json!({"times": times, "completed": completed}));
        }
        if job.filled("name").is_none() {
            job.set("name", "");
            job.set("name", job.name());
        }
        check(home, &job)?;
        Ok(job)
    }
}

/// Refuses a record that could not run.
fn check(home: &CronHome, job: &Job) -> Result<()> {
    if job.is_script_only() && job.script().is_none() {
        return Err(Error::refused(
            "a job without an agent needs a script: the script is the job",
            "name one with --script, relative to the directory `scripts` of the profile",
        ));
    }
    let has_work = !job.prompt().trim().is_empty() || !job.skills().is_empty();
    if !has_work && job.script().is_none() {
        return Err(Error::refused(
            "the job has nothing to do",
            "give it a prompt, a skill (--skill) or a script (--script)",
        ));
    }
    for (what, text, most) in [
        ("the name", job.name(), MOST_NAME_CHARS),
        ("the prompt", job.prompt().to_owned(), MOST_PROMPT_CHARS),
    ] {
        if text.chars().count() > most || text.contains('\0') {
            return Err(Error::refused(
                format!("{what} is longer than {most} characters or has a NUL in it"),
                "put long instructions into a skill or a file",
            ));
        }
    }
    let has_origin = job.record().get("origin").is_some_and(|o| !o.is_null());
    Target::check_list(&job.deliver(), has_origin)?;
    let mut text = String::new();
    if let Some(script) = job.script() {
        contained_script(home, script)?;
        text = read_for_check(home, script);
    }
    refuse_gateway_commands(job.prompt(), &text)
}

fn refuse_past(schedule: &Schedule, now: Timestamp) -> Result<()> {
    match schedule {
        Schedule::Once(at) if now.duration_since(*at) > ONCE_GRACE => Err(Error::refused(
            format!("{at} is in the past"),
            "give a time that is yet to come, or a duration like '30m'",
        )),
        _ => Ok(()),
    }
}

fn set_schedule(job: &mut Job, schedule: &WrittenSchedule, zone: &TimeZone) {
    let display = &schedule.display;
    let record = match &schedule.schedule {
        Schedule::Once(at) => {
            json!({"kind": "once", "run_at": written(*at, zone), "display": display})
        }
        Schedule::Interval(minutes) => {
            json!({"kind": "interval", "minutes": minutes, "display": display})
        }
        Schedule::Cron(pattern) => {
            json!({"kind": "cron", "expr": pattern.expression(), "display": display})
        }
    };
    job.set("schedule", record);
    job.set("schedule_display", display.as_str());
}

fn set_skills(job: &mut Job, skills: Vec<String>) {
    job.set("skill", skills.first().cloned());
    job.set("skills", skills);
}

/// The ids of jobs that are named, or nothing.
fn resolved(list: &JobList, named: Vec<String>) -> Result<Value> {
    let ids: Result<Vec<String>> = unique(named)
        .iter()
        .map(|name| Ok(find_job(list, name)?.id().to_owned()))
        .collect();
    let ids = ids?;
    Ok(if ids.is_empty() {
        Value::Null
    } else {
        json!(ids)
    })
}

/// A directory that a job works in; it must be there.
fn directory(text: Option<String>) -> Result<Option<String>> {
    let Some(text) = filled(text) else {
        return Ok(None);
    };
    let path = Path::new(&text);
    if !path.is_absolute() {
        return Err(Error::refused(
            format!(
                "the directory of a job must be an absolute path, and '{}' is not",
                hermes_text::shown(&text, 100)
            ),
            "a job has no current directory that the path could begin at",
        ));
    }
    if !path.is_dir() {
        return Err(Error::refused(
            format!("there is no directory {}", hermes_text::shown(&text, 200)),
            "make it first",
        ));
    }
    Ok(Some(hermes_fs::resolved(path).display().to_string()))
}

/// The address of a model server.
fn address(text: Option<String>) -> Result<Option<String>> {
    let Some(text) = filled(text) else {
        return Ok(None);
    };
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let is_address = rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !text.contains(char::is_whitespace)
    });
    if !is_address {
        return Err(Error::refused(
            format!(
                "'{}' is not the address of a model server",
                hermes_text::shown(&text, 100)
            ),
            "an address looks like https://host/v1",
        ));
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}

fn filled(text: Option<String>) -> Option<String> {
    let text = text?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn unique(texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let texts = texts.into_iter().filter_map(|text| filled(Some(text)));
    texts.filter(|text| seen.insert(text.clone())).collect()
}
