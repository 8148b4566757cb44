//! One job: a record of the jobs file, with typed access to what this program understands. All else
//! in it stays as it is.

use hermes_time::{CronPattern, Schedule};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::stamp::{Stamp, written};

/// Longest name that is made from a prompt.
const NAME_CHARS: usize = 50;

/// What a job waits for. Names are the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    Scheduled,
    Paused,
    Completed,
    /// Its next run cannot be told, or its only run was interrupted.
    Error,
    /// Its only run is long past.
    Missed,
}

impl JobState {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Missed => "missed",
        }
    }
}

/// Who started a run that is not finished, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunClaim {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Job(pub(crate) Map<String, Value>);

impl Job {
    /// Its id: twelve hexadecimal digits, unless somebody edited the file.
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or("unknown")
    }

    /// Its name, or the beginning of what it does.
    pub fn name(&self) -> String {
        let skills = self.skills();
        let candidates = [
            self.text("name"),
            self.text("prompt"),
            skills.first().map(String::as_str),
            self.text("script"),
            self.text("id"),
        ];
        let name = candidates.into_iter().flatten().map(str::trim);
        let name = name.filter(|name| !name.is_empty()).map(short_name).next();
        name.unwrap_or_else(|| "cron job".to_owned())
    }

    /// What the agent is asked to do.
    pub fn prompt(&self) -> &str {
        self.text("prompt").unwrap_or_default()
    }

    /// Skills that the agent begins with.
    pub fn skills(&self) -> Vec<String> {
        let mut names: Vec<String> = match self.0.get("skills") {
            None | Some(Value::Null) => self.text("skill").map(str::to_owned).into_iter().collect(),
            Some(list) => texts(list),
        };
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// Its script, relative to the directory of scripts.
    pub fn script(&self) -> Option<&str> {
        self.filled("script")
    }

    /// Whether the script is all there is to run.
    pub fn is_script_only(&self) -> bool {
        self.0.get("no_agent").and_then(Value::as_bool) == Some(true)
    }

    /// Jobs whose last output the agent is shown.
    pub fn context_from(&self) -> Vec<String> {
        self.0.get("context_from").map(texts).unwrap_or_default()
    }

    /// Toolsets instead of the configured ones.
    pub fn toolsets(&self) -> Vec<String> {
        self.0
            .get("enabled_toolsets")
            .map(texts)
            .unwrap_or_default()
    }

    /// The directory it works in.
    pub fn workdir(&self) -> Option<&str> {
        self.filled("workdir")
    }

    /// The profile it runs with, if not its own.
    pub fn profile(&self) -> Option<&str> {
        self.filled("profile")
    }

    /// Model instead of the configured one.
    pub fn model(&self) -> Option<&str> {
        self.filled("model")
    }

    /// Provider instead of the configured one.
    pub fn provider(&self) -> Option<&str> {
        self.filled("provider")
    }

    /// Address of the model server instead of the configured one.
    pub fn base_url(&self) -> Option<&str> {
        self.filled("base_url")
    }

    /// Where results go, as it is written.
    pub fn deliver(&self) -> String {
        match self.0.get("deliver") {
            Some(Value::Array(_)) => texts(&self.0["deliver"]).join(","),
            _ => self.filled("deliver").unwrap_or("local").to_owned(),
        }
    }

    /// Whether it may run at all.
    pub fn is_enabled(&self) -> bool {
        self.0.get("enabled").and_then(Value::as_bool) != Some(false)
    }

    /// The name of its state.
    pub fn state(&self) -> &str {
        let usual = if self.is_enabled() {
            JobState::Scheduled
        } else {
            JobState::Paused
        };
        self.filled("state").unwrap_or(usual.name())
    }

    /// When it runs, in words.
    pub fn schedule_display(&self) -> String {
        let schedule = self.0.get("schedule");
        let inner = |key: &str| schedule.and_then(|schedule| schedule.get(key)?.as_str());
        let candidates = [
            self.text("schedule_display"),
            inner("display"),
            inner("expr"),
            inner("run_at"),
            schedule.and_then(Value::as_str),
        ];
        let display = candidates.into_iter().flatten().map(str::trim);
        let mut display = display.filter(|display| !display.is_empty());
        display.next().unwrap_or("?").to_owned()
    }

    /// When it runs; the error says why that cannot be told.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let schedule = self.0.get("schedule").and_then(Value::as_object);
        let schedule = schedule.ok_or("it has no schedule")?;
        let text = |key: &str| schedule.get(key).and_then(Value::as_str);
        match text("kind") {
            Some("once") => {
                let at = text("run_at").and_then(Stamp::parse);
                let at = at.ok_or("its schedule has no usable run_at")?;
                Ok(Schedule::Once(at.at))
            }
            Some("interval") => {
                let minutes = schedule.get("minutes").and_then(Value::as_u64);
                let minutes = minutes.and_then(|minutes| u32::try_from(minutes).ok());
                let minutes = minutes.filter(|minutes| *minutes > 0);
                Ok(Schedule::Interval(
                    minutes.ok_or("its schedule has no usable number of minutes")?,
                ))
            }
            Some("cron") => {
                let expression = text("expr").unwrap_or_default();
                let pattern = CronPattern::parse(expression)
                    .map_err(|reason| format!("its cron expression is not usable: {reason}"))?;
                Ok(Schedule::Cron(pattern))
            }
            Some(other) => Err(format!(
                "its schedule is of an unknown kind: {}",
                hermes_text::shown(other, 40)
            )),
            None => Err("its schedule has no kind".to_owned()),
        }
    }

    /// How often it may run, if there is a limit, and how often it has.
    pub fn repeat(&self) -> (Option<u64>, u64) {
        let number = |key: &str| self.0.get("repeat")?.get(key)?.as_u64();
        let times = number("times").filter(|times| *times > 0);
        (times, number("completed").unwrap_or(0))
    }

    /// When it runs next.
    pub fn next_run_at(&self) -> Option<Timestamp> {
        self.stamp("next_run_at").map(|stamp| stamp.at)
    }

    /// A text that is not empty.
    pub fn filled(&self, key: &str) -> Option<&str> {
        let text = self.text(key).map(str::trim);
        text.filter(|text| !text.is_empty())
    }

    /// The whole record.
    pub fn record(&self) -> &Map<String, Value> {
        &self.0
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    pub(crate) fn stamp(&self, key: &str) -> Option<Stamp> {
        self.text(key).and_then(Stamp::parse)
    }

    /// The run of a single job that somebody has begun.
    pub(crate) fn run_claim(&self) -> Option<RunClaim> {
        let claim = self.0.get("run_claim")?;
        let at = Stamp::parse(claim.get("at")?.as_str()?)?;
        let by = claim.get("by").and_then(Value::as_str).unwrap_or_default();
        Some(RunClaim {
            at: at.at,
            by: by.to_owned(),
        })
    }

    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    pub(crate) fn set_stamp(&mut self, key: &str, at: Option<Timestamp>, zone: &TimeZone) {
        self.set(key, at.map(|at| written(at, zone)));
    }

    pub(crate) fn set_state(&mut self, state: JobState) {
        self.set("state", state.name());
    }

    /// Counts a run.
    pub(crate) fn count_run(&mut self, by: i64) {
        let (_, completed) = self.repeat();
        let repeat = self.0.entry("repeat").or_insert_with(|| json!({}));
        if !repeat.is_object() {
            *repeat = json!({"times": null});
        }
        repeat["completed"] = json!(completed.saturating_add_signed(by));
    }
}

/// A name made of a longer text.
pub(crate) fn short_name(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    hermes_text::cut(&line, NAME_CHARS).trim().to_owned()
}

/// A text, or several; numbers and the like are no names.
fn texts(value: &Value) -> Vec<String> {
    let one = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    match value {
        Value::String(text) => one(text).into_iter().collect(),
        Value::Array(items) => items
            .iter()
            .filter_map(|item| item.as_str().and_then(one))
            .collect(),
        _ => Vec::new(),
    }
}
