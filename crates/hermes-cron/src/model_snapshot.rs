//! The model that was configured when a job was made. A job that names none runs with what is
//! configured, and must not begin to spend money with another one because somebody changed that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::job::Job;

/// A configured model, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSnapshot {
    pub provider: Option<String>,
    pub model: Option<String>,
}

impl ModelSnapshot {
    /// What a job was made with and does not name itself.
    pub(crate) fn of_job(job: &Job) -> Self {
        let kept = |given: Option<&str>, key: &str| {
            let kept = job.filled(key).filter(|_| given.is_none());
            kept.map(str::to_owned)
        };
        // Another profile or address has other models.
        if job.profile().is_some() || job.base_url().is_some() {
            return Self::default();
        }
        Self {
            provider: kept(job.provider(), "provider_snapshot"),
            model: kept(job.model(), "model_snapshot"),
        }
    }

    /// Keeps what the job does not name itself.
    pub(crate) fn keep_in(&self, job: &mut Job) {
        let is_asked = !job.is_script_only() && job.profile().is_none();
        let kept = |given: bool, now: &Option<String>| {
            let now = now.clone().filter(|_| is_asked && !given);
            now.map_or(Value::Null, Value::from)
        };
        let provider = kept(job.provider().is_some(), &self.provider);
        let model = kept(job.model().is_some(), &self.model);
        job.set("provider_snapshot", provider);
        job.set("model_snapshot", model);
    }

    /// What is another one now, in words; `None` if nothing is, or nothing is known.
    pub fn drift(&self, now: &Self) -> Option<String> {
        let changes = [
            ("provider", &self.provider, &now.provider),
            ("model", &self.model, &now.model),
        ];
        let changed = |(what, then, now): (&str, &Option<String>, &Option<String>)| {
            let (then, now) = (then.as_deref()?.trim(), now.as_deref()?.trim());
            let is_other = !now.is_empty() && !then.eq_ignore_ascii_case(now);
            is_other.then(|| format!("{what} '{then}' became '{now}'"))
        };
        let changes: Vec<String> = changes.into_iter().filter_map(changed).collect();
        (!changes.is_empty()).then(|| changes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(provider: Option<&str>, model: Option<&str>) -> ModelSnapshot {
        ModelSnapshot {
            provider: provider.map(str::to_owned),
            model: model.map(str::to_owned),
        }
    }

    #[test]
    fn only_what_is_known_on_both_sides_and_differs_is_drift() {
        let then = snapshot(Some("openrouter"), Some("small"));
        assert_eq!(then.drift(&then), None);
        assert_eq!(
            then.drift(&snapshot(Some("OpenRouter"), Some("SMALL "))),
            None
        );
        assert_eq!(then.drift(&ModelSnapshot::default()), None);
        assert_eq!(ModelSnapshot::default().drift(&then), None);
        assert_eq!(
            then.drift(&snapshot(Some("nous"), Some("large"))).unwrap(),
            "provider 'openrouter' became 'nous', model 'small' became 'large'"
        );
    }
}
