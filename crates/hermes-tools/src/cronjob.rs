//! `cronjob`: an agent lists, makes, changes and runs scheduled jobs of its profile.

use std::sync::Arc;

use hermes_cron::{
    Ends, Error, Job, JobChange, Ledger, NewJob, RunSetup, Runner, claim_now, create_job, find_job,
    load_jobs, pause_job, remove_job, resume_job, update_job,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument};
use crate::tool::{CallContext, Tool, ToolSpec};

/// Characters of a prompt in a list.
const PREVIEW: usize = 100;

/// Scheduled jobs as one process uses them.
#[derive(Clone)]
pub struct CronAccess {
    /// What runs need.
    pub setup: Arc<dyn Fn() -> RunSetup + Send + Sync>,
    /// Why jobs cannot be scheduled here.
    pub refusal: Option<&'static str>,
}

const SPEC: ToolSpec = ToolSpec {
    name: "cronjob",
    toolset: "cronjob",
    description: "Manages scheduled jobs: prompts that an agent is given at set times, or scripts. \
     action=create needs a schedule, and a prompt, skills or a script; action=list shows the jobs; \
     update, pause, resume, remove and run need job_id (an id or name from the list). A job starts in \
     a new conversation that knows nothing of this one, so its prompt must say everything it needs, \
     and nobody can be asked while it runs. Its last message is the result. To end a job, list first \
     and remove it by its id.",
    arguments: &[
        Argument::required(
            "action",
            ArgKind::Choice(&[
                "create", "list", "update", "pause", "resume", "remove", "run",
            ]),
            "What to do.",
        ),
        Argument::text(
            "job_id",
            "The job, by id or name; for everything but create and list.",
        ),
        Argument::text("prompt", "What the agent is to do, complete in itself."),
        Argument::text(
            "schedule",
            "When: '30m' (once, in 30 minutes), 'every 2h', 'every 1d at 09:00', 'every monday 9am', \
             '0 9 * * *' or '2027-06-01T09:00' (once). Needed for create.",
        ),
        Argument::text("name", "A short name for people."),
        Argument::optional(
            "repeat",
            ArgKind::Int {
                min: 0,
                max: i64::MAX,
            },
            "Number of runs after which the job ends; 0 for never. Default: once for a single time, \
             else never.",
        ),
        Argument::text(
            "deliver",
            "Where results go: 'local' (files only, the default), 'board' (a card with the result), \
             'board:<card id>' (a comment); several with commas.",
        ),
        Argument::texts(
            "skills",
            "Skills to begin with, in order. On update an empty list removes all.",
        ),
        Argument::optional(
            "model",
            ArgKind::Object,
            "Model for this job: {\"model\": name, \"provider\": name}. Default: the configured one.",
        ),
        Argument::text(
            "script",
            "Script below the directory scripts of the profile; .sh runs with bash, all else with \
             Python. What it prints is put before the prompt; if it prints nothing, no agent starts. \
             On update an empty text removes it.",
        ),
        Argument::flag(
            "no_agent",
            "The script is the whole job: what it prints is the result, nothing means nothing to \
             report, and a failure is reported.",
        ),
        Argument::texts(
            "context_from",
            "Jobs whose last output is put before the prompt. On update an empty list removes all.",
        ),
        Argument::texts(
            "enabled_toolsets",
            "Toolsets of the agent instead of the configured ones, such as [\"web\", \"file\"].",
        ),
        Argument::text(
            "workdir",
            "Directory to work in, as an absolute path; its context files count then.",
        ),
        Argument::text("reason", "Why a job is paused."),
    ],
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Clone)]
pub struct CronjobTool {
    pub access: CronAccess,
}

impl Tool for CronjobTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn unavailable(&self, _: &CallContext) -> Option<String> {
        self.access.refusal.map(str::to_owned)
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if let Some(refusal) = self.access.refusal {
            return failure(refusal);
        }
        let setup = (self.access.setup)();
        done(args, &setup, context).unwrap_or_else(|error| {
            let hint = error.hint().map(|hint| format!(" ({hint})"));
            failure(&format!("{error}{}", hint.unwrap_or_default()))
        })
    }
}

fn failure(message: &str) -> Value {
    json!({"success": false, "error": message})
}

fn done(args: &Value, setup: &RunSetup, context: &CallContext) -> Result<Value, Error> {
    let (home, zone, now) = (&setup.home, &setup.settings.zone, Timestamp::now());
    let action = args["action"].as_str().unwrap_or_default();
    match action {
        "create" => {
            let job = create_job(home, new_job(args, setup), now, zone)?;
            return Ok(json!({
                "success": true,
                "job_id": job.id(),
                "next_run_at": job.filled("next_run_at"),
                "job": described(&job),
                "message": format!("Job '{}' created.", job.name()),
            }));
        }
        "list" => {
            let list = load_jobs(home)?;
            let jobs: Vec<Value> = list.jobs.iter().map(described).collect();
            return Ok(json!({"success": true, "count": jobs.len(), "jobs": jobs}));
        }
        _ => {}
    }
    let Some(named) = text(args, "job_id") else {
        return Ok(failure(&format!("job_id is needed for action '{action}'")));
    };
    let job = match action {
        "update" => {
            let change = change(args, setup);
            if change.is_empty() {
                return Ok(failure("nothing to change was given"));
            }
            update_job(home, &named, change, now, zone)?
        }
        "pause" => pause_job(home, &named, args["reason"].as_str(), now, zone)?,
        "resume" => resume_job(home, &named, now, zone)?,
        "remove" => {
            let job = remove_job(home, &named, now, zone)?;
            return Ok(json!({
                "success": true,
                "message": format!("Job '{}' removed.", job.name()),
                "removed_job": {
                    "id": job.id(), "name": job.name(), "schedule": job.schedule_display(),
                },
            }));
        }
        // The schema knows no others.
        _ => return run(&named, setup, context),
    };
    Ok(json!({"success": true, "job": described(&job)}))
}

fn run(named: &str, setup: &RunSetup, context: &CallContext) -> Result<Value, Error> {
    let ledger = Ledger::open(&setup.home, &setup.settings.zone)?;
    let job = find_job(&load_jobs(&setup.home)?, named)?.clone();
    let run = claim_now(
        &setup.home,
        &ledger,
        &setup.settings,
        job.id(),
        Timestamp::now(),
    )?;
    let runner = Runner {
        setup,
        ledger: &ledger,
    };
    let report = runner.run(&run, &context.interrupt)?;
    // One that ran for the last time is gone.
    let list = load_jobs(&setup.home)?;
    let mut result = described(list.get(job.id()).unwrap_or(&run.job));
    let error = report.as_ref().and_then(|report| report.error.clone());
    result["executed"] = json!(report.is_some());
    result["execution_success"] = json!(report.is_some() && error.is_none());
    if let Some(error) = error {
        result["execution_error"] = json!(error);
    }
    if let Some(text) = report.and_then(|report| report.text) {
        result["output"] = json!(text);
    }
    Ok(json!({"success": true, "job": result}))
}

fn new_job(args: &Value, setup: &RunSetup) -> NewJob {
    let (model, provider) = model(args);
    NewJob {
        schedule: text(args, "schedule").unwrap_or_default(),
        prompt: text(args, "prompt").unwrap_or_default(),
        name: text(args, "name"),
        deliver: deliver(args),
        repeat: args["repeat"].as_i64().map(Ends::from_count),
        skills: texts(args, "skills").unwrap_or_default(),
        script: text(args, "script"),
        no_agent: args["no_agent"].as_bool() == Some(true),
        context_from: texts(args, "context_from").unwrap_or_default(),
        toolsets: texts(args, "enabled_toolsets").unwrap_or_default(),
        workdir: text(args, "workdir"),
        profile: None,
        model,
        provider,
        base_url: None,
        configured: (setup.configured)(),
        origin: None,
    }
}

fn change(args: &Value, setup: &RunSetup) -> JobChange {
    let given = |key: &str| args[key].as_str().map(str::to_owned);
    let (model, provider) = model(args);
    JobChange {
        schedule: text(args, "schedule"),
        prompt: given("prompt"),
        name: given("name"),
        deliver: deliver(args),
        repeat: args["repeat"].as_i64().map(Ends::from_count),
        skills: texts(args, "skills"),
        script: given("script"),
        no_agent: args["no_agent"].as_bool(),
        context_from: texts(args, "context_from"),
        toolsets: texts(args, "enabled_toolsets"),
        workdir: given("workdir"),
        profile: None,
        model,
        provider,
        base_url: None,
        configured: (setup.configured)(),
        enabled: None,
    }
}

/// Here, the conversation that a job comes from is at a terminal: it reads files.
fn deliver(args: &Value) -> Option<String> {
    text(args, "deliver").map(|deliver| match deliver.as_str() {
        "origin" => "local".to_owned(),
        _ => deliver,
    })
}

fn model(args: &Value) -> (Option<String>, Option<String>) {
    let field = |key: &str| text(&args["model"], key);
    (field("model"), field("provider"))
}

fn text(args: &Value, key: &str) -> Option<String> {
    let text = args.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn texts(args: &Value, key: &str) -> Option<Vec<String>> {
    let items = args.get(key)?.as_array()?.iter();
    Some(items.filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A job as models are shown it, with the reference's names.
fn described(job: &Job) -> Value {
    let record = job.record();
    let field = |key: &str| record.get(key).cloned().unwrap_or(Value::Null);
    let prompt = job.prompt();
    let preview = hermes_text::cut(prompt, PREVIEW);
    let skills = job.skills();
    let mut result = json!({
        "job_id": job.id(),
        "name": job.name(),
        "skill": skills.first(),
        "skills": skills,
        "prompt_preview": if preview.len() < prompt.len() {
            format!("{preview}...")
        } else {
            preview.to_owned()
        },
        "model": job.model(),
        "provider": job.provider(),
        "schedule": job.schedule_display(),
        "repeat": match job.repeat() {
            (Some(times), done) => format!("{done}/{times}"),
            (None, _) => "forever".to_owned(),
        },
        "deliver": job.deliver(),
        "next_run_at": field("next_run_at"),
        "last_run_at": field("last_run_at"),
        "last_status": field("last_status"),
        "last_error": field("last_error"),
        "last_delivery_error": field("last_delivery_error"),
        "enabled": job.is_enabled(),
        "state": job.state(),
        "paused_at": field("paused_at"),
        "paused_reason": field("paused_reason"),
    });
    for key in ["script", "enabled_toolsets", "workdir", "context_from"] {
        if !field(key).is_null() {
            result[key] = field(key);
        }
    }
    if job.is_script_only() {
        result["no_agent"] = json!(true);
    }
    result
}
