//! Scheduled jobs of all profiles.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::frame::{self, html};
use super::shell::{Shell, Trouble};
use super::source::Source;
use crate::call::{Answered, Call};

/// Longest prompt in the list.
const MOST_PROMPT: usize = 240;

#[derive(Template)]
#[template(path = "cron.html")]
struct CronPage {
    shell: Shell,
    trouble: Option<Trouble>,
    jobs: Vec<Job>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Job {
    id: String,
    name: Option<String>,
    prompt: Option<String>,
    schedule_display: Option<String>,
    schedule: Value,
    enabled: Option<bool>,
    state: Option<String>,
    next_run_at: Option<String>,
    last_run_at: Option<String>,
    last_status: Option<String>,
    last_error: Option<String>,
    deliver: Value,
    profile: String,
    is_default_profile: bool,
}

impl Job {
    fn name(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.unwrap_or(&self.id)
    }

    fn enabled(&self) -> bool {
        self.enabled != Some(false) && self.state.as_deref() != Some("paused")
    }

    fn state_text(&self) -> &str {
        self.state.as_deref().unwrap_or("off")
    }

    fn shown_prompt(&self) -> &str {
        hermes_text::cut(self.prompt.as_deref().unwrap_or_default(), MOST_PROMPT)
    }

    fn schedule_text(&self) -> &str {
        let shown = self.schedule_display.as_deref();
        let shown = shown.or_else(|| self.schedule["display"].as_str());
        shown.or_else(|| self.schedule.as_str()).unwrap_or_default()
    }

    fn next_text(&self) -> String {
        minute(self.next_run_at.as_deref()).unwrap_or_else(|| "never".to_owned())
    }

    fn last_text(&self) -> String {
        let Some(at) = minute(self.last_run_at.as_deref()) else {
            return "not yet".to_owned();
        };
        match self.last_status.as_deref() {
            Some(status) if !status.is_empty() => format!("{at}, {status}"),
            _ => at,
        }
    }

    fn deliver_text(&self) -> String {
        match &self.deliver {
            Value::String(text) => text.clone(),
            Value::Array(all) => {
                let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                all.join(", ")
            }
            _ => "local".to_owned(),
        }
    }
}

/// Day and minute of a written moment.
fn minute(at: Option<&str>) -> Option<String> {
    let at = at.filter(|at| !at.is_empty())?;
    Some(hermes_text::cut(at, 16).replace('T', " "))
}

pub(super) async fn page(call: Call) -> Answered {
    let source = Source::of(&call);
    let answer: Result<Vec<Job>, Trouble> = source.get("/api/cron/jobs?profile=all").await;
    let (jobs, trouble) = match answer {
        Ok(jobs) => (jobs, None),
        Err(trouble) => (Vec::new(), Some(trouble)),
    };
    let mut shell = frame::shell(&call, "Cron", "cron");
    shell.refresh = Some(10);
    let page = CronPage {
        shell,
        trouble,
        jobs,
    };
    html(&page)
}
