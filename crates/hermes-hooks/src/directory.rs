//! Hooks of a gateway: directories below `hooks/` of a home with a `HOOK.yaml` and a handler.
//!
//! The format is the reference's. There a handler is a Python module that stays loaded; here each event
//! starts a process of its own, so a handler may be any program as well.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::yaml::Document;
use serde_json::Value;

use crate::event::HookEvent;
use crate::spec::{Configured, HookSpec};

/// Largest `HOOK.yaml`.
const LIMIT: u64 = 64 << 10;
/// Most directories that are looked at.
const MOST_HOOKS: usize = 64;
/// Seconds a handler may take.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Handlers that are programs, by name; the first that is there counts.
const PROGRAMS: [&str; 5] = [
    "handler",
    "handler.sh",
    "handler.js",
    "handler.rb",
    "handler.pl",
];
/// Events of slash commands, which reach a gateway from messaging platforms.
const COMMANDS: &str = "command:";

/// The hooks below `hooks/` of a home. Nothing is run.
pub fn hooks_of_directories(home: &Path) -> Configured {
    let mut found = Configured::default();
    let directory = home.join("hooks");
    let entries = match hermes_fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return found,
        Err(error) => {
            found.problems.push(error.to_string());
            return found;
        }
    };
    let mut hooks: Vec<PathBuf> = entries
        .into_iter()
        .map(|entry| entry.path)
        .filter(|path| path.join("HOOK.yaml").is_file())
        .collect();
    hooks.sort();
    if hooks.len() > MOST_HOOKS {
        let problem = format!(
            "hooks/: only the first {MOST_HOOKS} of {} are used",
            hooks.len()
        );
        found.problems.push(problem);
        hooks.truncate(MOST_HOOKS);
    }
    for hook in hooks {
        found.read_directory(&hook);
    }
    found
}

impl Configured {
    fn read_directory(&mut self, directory: &Path) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let at = format!("hooks/{}/HOOK.yaml", hermes_text::one_line(&name, 80));
        let manifest = match manifest(&directory.join("HOOK.yaml")) {
            Ok(manifest) => manifest,
            Err(problem) => return self.problems.push(format!("{at} {problem}")),
        };
        let Some(command) = handler(directory) else {
            let problem = "has no handler beside it: handler.py, or a program named handler";
            return self.problems.push(format!("{at} {problem}"));
        };
        let events = match manifest.get("events") {
            Some(Value::Array(events)) => events.as_slice(),
            _ => &[],
        };
        let events: Vec<&str> = events.iter().filter_map(Value::as_str).collect();
        if events.is_empty() {
            return self.problems.push(format!("{at} has no list of events"));
        }
        for event in events {
            match HookEvent::of_gateway_named(event) {
                Some(event) => self
                    .hooks
                    .push(HookSpec::of_handler(event, &command, TIMEOUT)),
                None => self.problems.push(unknown(&at, event)),
            }
        }
    }
}

fn unknown(at: &str, event: &str) -> String {
    let shown = hermes_text::one_line(event, 60);
    if event.starts_with(COMMANDS) {
        return format!("{at}: {shown} is never told: commands come from messaging platforms");
    }
    let names = HookEvent::OF_GATEWAY.map(HookEvent::name);
    let meant = match hermes_text::closest(event, names.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("the events are {}", names.join(", ")),
    };
    format!("{at}: {shown} is no event; {meant}")
}

fn manifest(path: &Path) -> Result<Value, String> {
    let text = hermes_fs::read_text_capped(path, LIMIT).map_err(|error| error.to_string())?;
    let document = Document::parse(&text).map_err(|error| format!("is not YAML: {error}"))?;
    match document.value() {
        Value::Object(_) => Ok(document.value().clone()),
        _ => Err("is not a mapping".to_owned()),
    }
}

/// The handler, as a command.
fn handler(directory: &Path) -> Option<String> {
    let python = directory.join("handler.py");
    let programs = PROGRAMS.map(|name| directory.join(name));
    let mut programs = programs.into_iter().filter(|path| path.is_file());
    let found = if python.is_file() {
        Some(python)
    } else {
        programs.next()
    };
    let found = found?.to_str()?.to_owned();
    shlex::try_quote(&found)
        .ok()
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
