//! `security.tirith_*`: the program tirith looks into a command before it runs.
//!
//! Its exit code is the verdict: 0 nothing, 1 dangerous, 2 suspicious. Its JSON only says more about
//! it. What it finds is a question to the person, as any other risk is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_policy::{CommandScanner, SCANNED};
use hermes_proc::{ChildSpec, EnvPlan, Group, find_on_path};
use hermes_terminal::environment::EnvironmentBuilder;
use hermes_text::one_line;
use serde_json::Value;

use crate::context::Context;

/// The name by which it is looked for unless the settings have another.
const NAME: &str = "tirith";
/// What it prints is read up to this size.
const MOST_OUTPUT: usize = 1 << 20;
/// Findings that are told.
const MOST_FINDINGS: usize = 5;
/// Characters of a finding.
const LONGEST: usize = 200;
/// Failures in a row after which it is no longer asked, where that is allowed.
const MOST_FAILURES: u32 = 3;
/// Bytes of a command that it is asked about: the system lets an argument have little more. A longer one
/// is a question to the person, or anybody could get by with a long comment, or keep it from being asked
/// at all with a few of them.
const MOST_COMMAND: usize = 120 * 1024;
/// Longest time for one check.
const MOST_SECONDS: f64 = 600.0;

/// Asks tirith.
pub(super) struct Tirith {
    /// As the settings have it.
    program: String,
    home: PathBuf,
    user_home: PathBuf,
    environment: Arc<EnvironmentBuilder>,
    timeout: Duration,
    /// Whether a command runs that cannot be looked into.
    fails_open: bool,
    /// The program and its environment, once it was looked for.
    found: OnceLock<Option<(PathBuf, EnvPlan)>>,
    failures: AtomicU32,
}

impl Tirith {
    /// As the settings say; `None` if it is switched off.
    pub(super) fn configured(
        context: &Context,
        environment: &Arc<EnvironmentBuilder>,
    ) -> Option<Self> {
        let config = context.config();
        if !config.flag("security.tirith_enabled") {
            return None;
        }
        let seconds = config.number("security.tirith_timeout");
        let seconds = seconds.filter(|seconds| *seconds > 0.0 && *seconds < MOST_SECONDS);
        Some(Self {
            program: config.text("security.tirith_path").trim().to_owned(),
            home: context.location.home.clone(),
            user_home: context.location.user_home.clone(),
            environment: Arc::clone(environment),
            timeout: Duration::from_secs_f64(seconds.unwrap_or(5.0)),
            fails_open: config.flag("security.tirith_fail_open"),
            found: OnceLock::new(),
            failures: AtomicU32::new(0),
        })
    }

    /// Where it is: on the PATH, or where the Python runtime installs it.
    fn program(&self) -> Option<&(PathBuf, EnvPlan)> {
        let found = self.found.get_or_init(|| {
            let name = if self.program.is_empty() {
                NAME
            } else {
                &self.program
            };
            let name = match name.strip_prefix("~/") {
                Some(below) => self.user_home.join(below).into_os_string(),
                None => name.into(),
            };
            let installed = || {
                let installed = self.home.join("bin").join(NAME).into_os_string();
                find_on_path(&installed, None).filter(|_| name == NAME)
            };
            let plan = self.environment.helper_plan();
            let found = find_on_path(&name, plan.get("PATH")).or_else(installed)?;
            Some((found, plan))
        });
        found.as_ref()
    }

    /// The exit code and the output; an error says why there is none.
    fn check(
        &self,
        (program, plan): &(PathBuf, EnvPlan),
        command: &str,
    ) -> Result<(i32, Vec<u8>), String> {
        let args = [
            "check",
            "--json",
            "--non-interactive",
            "--shell",
            "posix",
            "--",
            command,
        ];
        let child = ChildSpec {
            group: Group::Session,
            ends_with_thread: true,
            ..ChildSpec::new(program.clone(), args, plan.clone())
        };
        let ended = child.run_captured(self.timeout, MOST_OUTPUT);
        let ended = ended.map_err(|error| error.to_string())?;
        match ended.status.code() {
            Some(code @ 0..=2) => Ok((code, ended.stdout)),
            Some(code) => Err(format!("it ended with exit code {code}")),
            None => Err("a signal ended it".to_owned()),
        }
    }

    /// What becomes of a command that could not be looked into.
    fn failed(&self, why: &str) -> Vec<String> {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures <= MOST_FAILURES {
            tracing::warn!(why, "tirith could not look into a command");
        }
        if self.fails_open {
            return Vec::new();
        }
        vec![format!(
            "{SCANNED}unavailable (tirith could not look into the command: {}; \
             security.tirith_fail_open is off)",
            one_line(why, LONGEST)
        )]
    }
}

impl CommandScanner for Tirith {
    fn scan(&self, command: &str) -> Vec<String> {
        if self.fails_open && self.failures.load(Ordering::Relaxed) >= MOST_FAILURES {
            return Vec::new();
        }
        let Some(program) = self.program() else {
            // Most people do not have it, and are not told with every command.
            let is_usual = self.fails_open && (self.program.is_empty() || self.program == NAME);
            return if is_usual {
                Vec::new()
            } else {
                self.failed(&format!("{} was not found", self.program))
            };
        };
        if command.len() > MOST_COMMAND {
            return vec![format!(
                "{SCANNED}unscanned (the command is too long to be looked into)"
            )];
        }
        match self.check(program, command) {
            Ok((0, _)) => {
                self.failures.store(0, Ordering::Relaxed);
                Vec::new()
            }
            Ok((code, output)) => {
                self.failures.store(0, Ordering::Relaxed);
                findings(code == 1, &output)
            }
            Err(why) => self.failed(&why),
        }
    }
}

/// What it says about a command. Its verdict holds, whatever it prints.
fn findings(is_dangerous: bool, output: &[u8]) -> Vec<String> {
    let report: Value = serde_json::from_slice(output).unwrap_or_default();
    let all = report["findings"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(|text| one_line(text, LONGEST));
    // Addresses that end in `.app` are common, and no file is meant by them.
    let is_usual = |finding: &Value| {
        let fields = ["value", "tld", "detail", "description", "message"];
        finding["rule_id"] == "lookalike_tld"
            && fields
                .iter()
                .filter_map(|field| finding[*field].as_str())
                .any(|text| text.to_ascii_lowercase().contains(".app"))
    };
    if !is_dangerous && !all.is_empty() && all.iter().all(is_usual) {
        return Vec::new();
    }
    let mut told: Vec<String> = Vec::new();
    for finding in &all {
        let rule = text(&finding["rule_id"]).unwrap_or_else(|| "unknown".to_owned());
        let what = text(&finding["title"]).or_else(|| text(&finding["description"]));
        let line = match what {
            Some(what) => format!("{SCANNED}{rule} ({what})"),
            None => format!("{SCANNED}{rule}"),
        };
        if told.len() < MOST_FINDINGS && !told.contains(&line) {
            told.push(line);
        }
    }
    if told.is_empty() {
        let summary = text(&report["summary"]).filter(|summary| !summary.is_empty());
        let what = summary.unwrap_or_else(|| "it gives no details".to_owned());
        let rule = if is_dangerous { "block" } else { "warn" };
        told.push(format!("{SCANNED}{rule} ({what})"));
    }
    told
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn findings_are_told_by_rule_and_title() {
        let of = |dangerous, report: &Value| findings(dangerous, report.to_string().as_bytes());
        let found = json!({"findings": [
            {"rule_id": "homograph", "title": "Look-alike host"},
            {"rule_id": "homograph", "title": "Look-alike host"},
            {"description": "something\nelse"},
        ]});
        assert_eq!(
            of(true, &found),
            [
                "tirith:homograph (Look-alike host)",
                "tirith:unknown (something else)"
            ]
        );
        assert_eq!(of(false, &json!({"summary": "odd"})), ["tirith:warn (odd)"]);
        assert_eq!(
            findings(true, b"not json"),
            ["tirith:block (it gives no details)"]
        );
        let app = json!({"findings": [{"rule_id": "lookalike_tld", "value": "x.app"}]});
        assert_eq!(of(false, &app), Vec::<String>::new());
        assert_eq!(of(true, &app), ["tirith:lookalike_tld"]);
    }
}
