//! What a conversation does for a skill: fills in its variables, runs the commands in it where the
//! settings say so, and lets its own commands have the variables it needs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_config::settings::{Sources, set_variable};
use hermes_proc::Wake;
use hermes_skills::{RequiredVariable, Skill};
use hermes_terminal::carried_files::declared_credential;
use hermes_terminal::environment::LiveEnvironment;
use hermes_terminal::{CommandRequest, SessionKey, Terminal};
use hermes_tools::{CallContext, NotRunReport, SkillSession};
use serde_json::Value;

use crate::context::Context;
use crate::person::Person;

/// Commands in one skill that are run.
const MOST_COMMANDS: usize = 20;
/// Characters of what one prints.
const MOST_OUTPUT: usize = 4_000;

/// Largest credential file that goes along in the midst of a session.
const MOST_CREDENTIAL: u64 = 1 << 20;
/// How long the person may take to give a value.
const ASKED_FOR: Duration = Duration::from_mins(5);
/// Characters of what a skill says about a variable.
const MOST_HELP: usize = 300;

/// The conversation, as skills see it.
pub(crate) struct SkillHost {
    terminal: Arc<Terminal>,
    environment: Arc<LiveEnvironment>,
    /// Whether commands run in a container or on another machine.
    is_remote: bool,
    fills_in: bool,
    /// How long a command in a skill may take; `None` where they are not run.
    command_limit: Option<Duration>,
    home: PathBuf,
    /// The setting `skills.config`.
    settings: Value,
    person: Arc<dyn Person>,
    /// Where values are kept that the person gives; `None` where an administrator decides.
    sources: Option<Sources>,
    /// Variables that the person was asked for in this conversation.
    asked: Mutex<HashSet<String>>,
}

impl SkillHost {
    pub(crate) fn new(
        context: &Context,
        terminal: &Arc<Terminal>,
        environment: &Arc<LiveEnvironment>,
        is_remote: bool,
        person: &Arc<dyn Person>,
    ) -> Self {
        let config = context.config();
        let seconds = config.int("skills.inline_shell_timeout");
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            terminal: Arc::clone(terminal),
            environment: Arc::clone(environment),
            is_remote,
            fills_in: config.flag("skills.template_vars"),
            command_limit: config
                .flag("skills.inline_shell")
                .then(|| Duration::from_secs(seconds.unwrap_or(10).clamp(1, 600))),
            home: context.location.home.clone(),
            settings: config.get("skills.config").cloned().unwrap_or(Value::Null),
            person: Arc::clone(person),
            sources: match context.home_policy().managed {
                Some(_) => None,
                None => Some(context.sources_to_write()),
            },
            asked: Mutex::default(),
        }
    }

    /// The skills as an addition to the system prompt, or as a message; `None` without skills.
    pub(crate) fn told(&self, skills: &[Skill], session: &str, interrupt: &Wake) -> Option<String> {
        let parts: Vec<String> = skills
            .iter()
            .map(|skill| {
                let body = self.text(skill, &skill.body, session, interrupt);
                let mut notes = String::new();
                if let Some(directory) = self.directory_for_commands(skill) {
                    notes.push_str(&format!(
                        "\n\nThe files of this skill are in {directory}; relative paths in it \
                         start there."
                    ));
                }
                let missing = self.missing_variables(skill, session);
                if !missing.is_empty() {
                    notes.push_str(&format!(
                        "\n\nThis skill needs variables that are not set: {}. Say so where it \
                         matters.",
                        missing.join(", ")
                    ));
                }
                format!("# Skill: {}\n\n{body}{notes}", skill.name)
            })
            .collect();
        if parts.is_empty() {
            return None;
        }
        Some(format!(
            "The following skills were loaded for this conversation. Follow them unless the user \
             says otherwise.\n\n{}",
            parts.join("\n\n")
        ))
    }

    /// Lets the commands of a session have what a skill needs; gives what is not set.
    fn missing_variables(&self, skill: &Skill, session: &str) -> Vec<String> {
        let variables = skill.head.variables();
        let names: Vec<String> = variables.iter().map(|one| one.name.clone()).collect();
        let set = self.environment.grant(session, &skill.name, &names);
        let missing = variables
            .into_iter()
            .filter(|one| !one.is_optional && !set.contains(&one.name));
        missing.map(|one| one.name).collect()
    }

    /// Asks the person for what the skills need and is not set. Not before the conversation is open:
    /// a screen that is not there yet shows no question.
    pub(crate) fn ask_for_missing(&self, skills: &[Skill], session: &str) {
        for skill in skills {
            let missing = self.missing_variables(skill, session);
            let variables = skill.head.variables();
            let variables: Vec<&RequiredVariable> = variables
                .iter()
                .filter(|one| missing.contains(&one.name))
                .collect();
            self.ask_for(&skill.name, &variables);
        }
    }

    fn text(&self, skill: &Skill, text: &str, session: &str, interrupt: &Wake) -> String {
        let mut text = text.to_owned();
        if self.fills_in {
            let directory = self.directory_for_commands(skill).unwrap_or_default();
            text = text
                .replace("${HERMES_SKILL_DIR}", &directory)
                .replace("${HERMES_SESSION_ID}", session);
        }
        if let Some(limit) = self.command_limit {
            text = self.with_commands_run(skill, &text, limit, interrupt);
        }
        let settings = self.settings_of(skill);
        if settings.is_empty() {
            return text;
        }
        format!("{text}\n\nSettings of this skill:\n{}", settings.join("\n"))
    }

    /// The text with what each command in it prints, in place of the command.
    fn with_commands_run(
        &self,
        skill: &Skill,
        text: &str,
        limit: Duration,
        interrupt: &Wake,
    ) -> String {
        let mut done = String::with_capacity(text.len());
        let mut rest = text;
        let mut count = 0;
        while let Some((before, behind)) = rest.split_once("!`") {
            done.push_str(before);
            let command = behind.split_once('`').filter(|(command, _)| {
                !command.contains('\n') && !command.trim().is_empty() && count < MOST_COMMANDS
            });
            match command {
                Some((command, after)) => {
                    count += 1;
                    done.push_str(&self.output_of(skill, command.trim(), limit, interrupt));
                    rest = after;
                }
                None => {
                    done.push_str("!`");
                    rest = behind;
                }
            }
        }
        done.push_str(rest);
        done
    }

    fn output_of(&self, skill: &Skill, command: &str, limit: Duration, interrupt: &Wake) -> String {
        let directory = self.directory_for_commands(skill);
        let ran = self.terminal.run(&CommandRequest {
            command,
            session: &SessionKey::new("skill"),
            workdir: directory.as_deref(),
            timeout: Some(limit),
            interrupt,
        });
        match ran {
            Ok(outcome) => {
                let output = outcome.output.trim_end();
                if output.chars().nth(MOST_OUTPUT).is_none() {
                    return output.to_owned();
                }
                format!("{}…[cut]", hermes_text::cut(output, MOST_OUTPUT))
            }
            Err(reason) => {
                let reason = NotRunReport::from(reason).message;
                format!("[not run: {}]", hermes_text::one_line(&reason, 200))
            }
        }
    }

    /// What the skill asks for of the settings, one line each.
    fn settings_of(&self, skill: &Skill) -> Vec<String> {
        let declared = skill.head.settings().into_iter();
        declared
            .map(|(key, default)| {
                let mut parts = key.split('.');
                let found = parts.try_fold(&self.settings, |value, part| value.get(part));
                let value = found.filter(|value| !value.is_null()).unwrap_or(&default);
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                format!("- {key}: {}", hermes_text::one_line(&value, 200))
            })
            .collect()
    }
}

impl SkillSession for SkillHost {
    fn grant(&self, session_key: &str, skill: &str, names: &[String]) -> Vec<String> {
        self.environment.grant(session_key, skill, names)
    }

    fn ask_for(&self, skill: &str, variables: &[&RequiredVariable]) -> bool {
        let Some(sources) = self.sources.as_ref() else {
            return false;
        };
        let mut is_new = false;
        for variable in variables {
            let name = &variable.name;
            let is_first = self
                .asked
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(name.clone());
            if !is_first || self.environment.is_refused(skill, name) {
                continue;
            }
            let Some(value) = self.person.secret(&question(skill, variable), ASKED_FOR) else {
                continue;
            };
            match set_variable(sources, name, value.expose()) {
                Ok(_) => {
                    is_new = true;
                    self.person.notify(&format!("{name} is kept in .env."));
                }
                Err(error) => {
                    let message = format!("{name} was not kept: {error}");
                    self.person.warn(&message, error.hint().as_deref());
                }
            }
        }
        is_new
    }

    fn rendered(&self, skill: &Skill, text: &str, context: &CallContext) -> String {
        self.text(skill, text, &context.session_key, &context.interrupt)
    }

    fn missing_files(&self, paths: &[String]) -> Vec<String> {
        let is_missing = |path: &&String| {
            let relative = hermes_fs::confined_relative(path.as_str());
            relative.map_or(true, |relative| !self.home.join(relative).is_file())
        };
        paths.iter().filter(is_missing).cloned().collect()
    }

    fn credentials(&self, paths: &[String]) -> Vec<Result<(PathBuf, Vec<u8>), String>> {
        if !self.is_remote {
            return Vec::new();
        }
        let files = paths.iter().map(|path| path.trim()).map(|path| {
            let read = declared_credential(&self.home, path).and_then(|(source, target)| {
                let bytes = hermes_fs::read_capped(&source, MOST_CREDENTIAL);
                Ok((target, bytes.map_err(|error| error.to_string())?))
            });
            read.map_err(|why| {
                let path = hermes_text::one_line(path, 200);
                format!("The credential file '{path}' does not go along: {why}.")
            })
        });
        files.collect()
    }

    fn directory_for_commands(&self, skill: &Skill) -> Option<String> {
        let place = skill.place.as_ref()?;
        if !self.is_remote {
            return Some(place.directory.display().to_string());
        }
        let remote = place.remote.as_ref()?;
        Some(format!("~/.hermes/{}", remote.display()))
    }
}

/// What the person is asked: the name, and what the skill says about it.
fn question(skill: &str, variable: &RequiredVariable) -> String {
    let said = [Some(&variable.prompt), variable.help.as_ref()];
    let said: Vec<String> = said
        .into_iter()
        .flatten()
        .map(|text| hermes_text::one_line(text, MOST_HELP))
        .filter(|text| !text.is_empty() && !text.contains(&variable.name))
        .collect();
    let said = match said.as_slice() {
        [] => String::new(),
        said => format!(" ({})", said.join("; ")),
    };
    format!(
        "The skill {skill} needs {}{said}. It will be kept in .env.",
        variable.name
    )
}
