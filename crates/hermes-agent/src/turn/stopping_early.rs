//! Answers that end a turn too early: an action that is only announced, code that nobody has tried.

use std::path::Path;

use super::machine::Turn;
use crate::settings::IntentContinuation;

/// Longer answers say more than what comes next.
const LONGEST_INTENT: usize = 1_200;
/// Changed files that are named.
const NAMED: usize = 8;

/// What a model is told that has only announced something.
pub(super) const GO_ON: &str = "You have said what you are about to do, but not done it. Do it now with your \
    tools, and answer when it is done.";

/// What it is told besides about code that it has not checked.
const TIDY: &str = "\n\nIf this is about how something looks, leave tests and linters until the user likes it \
    or it is about to be committed. Before a commit, leave nothing in the change that does not belong to \
    it, and nothing twice; keep it simple and in the style around it.";

/// Beginnings of an announcement.
const INTENTS: [&str; 7] = [
    "i'll ",
    "i’ll ",
    "i will ",
    "let me ",
    "i can do that",
    "i can help with that",
    "i'm going to ",
];
/// What is announced.
const ACTIONS: [&str; 19] = [
    "look into",
    "look at",
    "inspect",
    "scan",
    "check",
    "analyz",
    "review",
    "explore",
    "read",
    "open",
    "run",
    "test",
    "fix",
    "debug",
    "search",
    "find",
    "walkthrough",
    "report back",
    "summarize",
];
/// What it is about where a place is asked for.
const PLACES: [&str; 9] = [
    "directory",
    "cwd",
    "repo",
    "codebase",
    "project",
    "folder",
    "filesystem",
    "files",
    "path",
];

/// Files that make a directory a project, with something to check it by.
const PROJECTS: [&str; 12] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "Makefile",
    "pom.xml",
    "build.gradle",
    "CMakeLists.txt",
    "Gemfile",
    "composer.json",
    "justfile",
];

impl Turn<'_> {
    /// Whether the answer only announces an action, and the model is to go on. Once in a turn.
    pub(super) fn only_announces(&mut self, text: &str) -> bool {
        let route = self.agent.provider.route();
        let model = route.model.to_ascii_lowercase();
        let needs_place = match &self.agent.settings.intent_continuation {
            IntentContinuation::Auto if route.is_responses => true,
            IntentContinuation::Always => false,
            IntentContinuation::Models(names) if names.iter().any(|name| model.contains(name)) => {
                false
            }
            IntentContinuation::Off | IntentContinuation::Auto | IntentContinuation::Models(_) => {
                return false;
            }
        };
        let has_called = !self.tool_trace.is_empty();
        if self.went_on || has_called || self.agent.tools.is_empty() {
            return false;
        }
        if !is_intent(text, needs_place.then(|| self.last_question()).as_deref()) {
            return false;
        }
        self.went_on = true;
        true
    }

    /// What the model is told about code that it changed and did not check; `None` if it may stop.
    pub(super) fn check_reminder(&mut self) -> Option<String> {
        let most = self.agent.settings.verify_reminders;
        let context = &self.agent.context;
        let is_in_project = |path: &String| {
            let full = context.resolve(path).ok();
            full.is_some_and(|full| full.ancestors().skip(1).any(is_project))
        };
        let changes = &mut self.code_changes;
        let changed: Vec<&String> = changes
            .unchecked
            .iter()
            .filter(|path| is_in_project(path))
            .collect();
        if changed.is_empty() || changes.reminders >= most {
            return None;
        }
        let mut names: Vec<String> = changed
            .iter()
            .take(NAMED)
            .map(|path| format!("- {path}"))
            .collect();
        if changed.len() > NAMED {
            names.push(format!("- and {} more", changed.len() - NAMED));
        }
        changes.reminders += 1;
        let guidance = if self.agent.settings.verify_guidance {
            TIDY
        } else {
            ""
        };
        Some(format!(
            "You changed code in this turn, and no check has passed since:\n{}\nRun the tests, the linter \
             or the build of the project now, or a short script of your own in a temporary directory; \
             mend what fails and say what passed. If nothing can be run here, say why.{guidance}",
            names.join("\n")
        ))
    }

    fn last_question(&self) -> String {
        let mut messages = self.agent.history.iter().rev();
        let asked = messages.find(|entry| entry.message.role == hermes_session::MessageRole::User);
        asked.map_or_else(String::new, |entry| entry.message.text())
    }
}

/// Whether an answer announces an action and does no more. With a question, it or the answer has to be
/// about files.
fn is_intent(text: &str, question: Option<&str>) -> bool {
    let text = text.trim().to_lowercase();
    if text.is_empty() || text.chars().count() > LONGEST_INTENT {
        return false;
    }
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let announces = INTENTS.iter().any(|start| {
        text.starts_with(start)
            || text.contains(&format!(" {start}"))
            || text.contains(&format!("\n{start}"))
    });
    let about_place = question.is_none_or(|question| {
        let question = question.to_lowercase();
        has(&PLACES) || question.contains('/') || PLACES.iter().any(|word| question.contains(word))
    });
    announces && has(&ACTIONS) && about_place
}

fn is_project(directory: &Path) -> bool {
    PROJECTS.iter().any(|name| directory.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcement_is_told_from_an_answer() {
        for (text, question, is) in [
            ("I'll check the files and report back.", Some("why?"), true),
            ("I will run the deployment.", None, true),
            ("I will run the deployment.", Some("deploy it"), false),
            ("Let me look at ~/x.", Some("see ~/x"), true),
            ("I'll help you with ideas.", None, false),
            ("The files are fine.", None, false),
            ("", None, false),
        ] {
            assert_eq!(is_intent(text, question), is, "{text}");
        }
        assert!(!is_intent(
            &format!("I'll check {}", "x".repeat(2_000)),
            None
        ));
    }
}
