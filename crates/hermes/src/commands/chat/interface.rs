//! `hermes chat` at a terminal: the conversation behind the interface of `hermes-chat`.
//!
//! The interface has a thread of its own; here its jobs are done, one after the other.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::{ExitReason, TurnInput, TurnOutcome, TurnResult};
use hermes_chat::{
    Chat, CommandName, Facts, FindTyped, Job, PastMessage, PasteLimits, Setup, TurnEnd, Typed,
};
use hermes_config::vars;
use hermes_proc::{ChildSpec, find_on_path};
use hermes_runtime::{GoalNews, Runtime, SessionChoice, git_branch, load_image, typed_part};
use hermes_session::{MessageRole, SessionStore};
use hermes_terminal::SessionKey;
use serde_json::Value;

use super::display::Display;
use super::exit_code::exit_code;
use super::look::{look, theme};
use super::message_editor::edited;
use super::open_chat::OpenChat;
use super::options::{ChatOptions, InputMode};
use super::slash::{self, After, ChatState};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{counted, one_line};

/// Characters of a title that are shown.
const TITLE: usize = 80;

/// Whether the interface can be shown, and is wanted.
pub(super) fn is_usable(options: &ChatOptions, context: &Context) -> bool {
    let is_wanted = matches!(options.mode, InputMode::Lines { quiet: false }) && !options.plain;
    is_wanted
        && crate::ui::is_full_terminal(&context.env)
        && context.config().text("display.interface") != "plain"
}

pub(super) fn run(options: &ChatOptions, runtime: &Runtime, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    let mut options = options.clone();
    loop {
        let (code, next) = one_session(&options, runtime, context)?;
        match next {
            None => return Ok(code),
            Some(session) => options.request.session = SessionChoice::Named(session),
        }
    }
}

/// One session from its beginning to its end, and the one it was left for.
fn one_session(
    options: &ChatOptions,
    runtime: &Runtime,
    context: &Context,
) -> Result<(ExitCode, Option<String>)> {
    let mut chat = Chat::new().map_err(unusable)?;
    let person = chat.person(&options.request.interrupt);
    let open = OpenChat::open_with(options, runtime, Arc::clone(&person))?;
    let mut run = Interface {
        context,
        display: Display::new(options, context),
        open,
        code: 0,
        last: None,
        deletes: false,
    };
    if let Some(session) = run.open.conversation.resumed() {
        let id = session.id.clone();
        let title = session.title.as_deref();
        let title = title.map_or_else(String::new, |title| {
            format!(" \"{}\"", one_line(title, TITLE))
        });
        let (count, _) = run.open.conversation.agent().message_counts();
        chat.notice(format!(
            "Resumed {id}{title} ({})",
            counted(count, "message")
        ));
        chat.set_past(run.past());
    }
    let setup = setup(options, context, &run.display, run.open.ending());
    if let (_, Some(problem)) = theme(context) {
        person.warn(
            &problem,
            Some("the default skin is shown; /skin lists the skins"),
        );
    }
    let facts = run.facts();
    if let Err(error) = chat.start(setup, facts) {
        run.open.close(None, 1)?;
        return Err(unusable(error));
    }
    run.open.expect_interrupt();
    // Files are read for them: the prompt does not wait for that.
    chat.add_commands(run.own_commands());
    let next = run.jobs(&chat);
    chat.end();
    Ok((run.leave()?, next))
}

fn unusable(error: std::io::Error) -> CommandError {
    CommandError::environment(format!("the terminal cannot be used: {error}"))
        .hint("`hermes chat --plain` works with any terminal")
}

fn setup(
    options: &ChatOptions,
    context: &Context,
    display: &Display,
    is_ending: Arc<dyn Fn() -> bool + Send + Sync>,
) -> Setup {
    let config = context.config();
    let number = |key: &str| config.int(key).and_then(|n| usize::try_from(n).ok());
    let commands = slash::listed().map(|(name, arguments, help)| CommandName {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        help: help.to_owned(),
    });
    Setup {
        look: look(context, display),
        paste: PasteLimits {
            lines: number("paste_collapse_threshold").unwrap_or(0),
            characters: number("paste_collapse_char_threshold").unwrap_or(0),
        },
        commands: commands.collect(),
        history: context.location.home.join(".hermes_history"),
        typed_before: typed_before(&context.location.home),
        interrupt: Arc::clone(&options.request.interrupt),
        is_ending,
    }
}

/// Finds what was typed in any session of the profile.
fn typed_before(home: &Path) -> Arc<FindTyped> {
    let home = home.to_owned();
    Arc::new(move |words, most| {
        let found = SessionStore::open_read_only(&home).and_then(|store| match store {
            Some(store) => store.typed_messages(words, most),
            None => Ok(Vec::new()),
        });
        let found = found.unwrap_or_else(|error| {
            // The history of the terminal is searched all the same.
            tracing::debug!(%error, "earlier sessions are not searched");
            Vec::new()
        });
        let typed = found.into_iter().map(|message| Typed {
            at: message.at,
            text: typed_part(&message.text).to_owned(),
        });
        typed.collect()
    })
}

/// The conversation behind the interface.
struct Interface<'a> {
    context: &'a Context,
    open: OpenChat,
    display: Display,
    code: u8,
    last: Option<TurnResult>,
    /// Whether the session is deleted at the end.
    deletes: bool,
}

/// What follows a job.
enum Then {
    GoOn,
    Leave,
    /// The session is left for this one.
    Resume(String),
}

impl Interface<'_> {
    /// Does what the interface asks for until the session is left; the one it is left for.
    fn jobs(&mut self, chat: &Chat) -> Option<String> {
        loop {
            let job = chat.next_job();
            self.open.expect_interrupt();
            let then = match job {
                Job::Turn { text, images } => {
                    self.message(&text, &images, chat);
                    Then::GoOn
                }
                Job::Command(line) => self.command(&line, chat),
                Job::Shell(command) => {
                    self.shell(&command);
                    chat.job_done(None);
                    Then::GoOn
                }
                Job::Edit(text) => {
                    let edited = edited(&text, self.context).unwrap_or_else(|error| {
                        self.complain(&error);
                        text
                    });
                    chat.job_done(Some(edited));
                    Then::GoOn
                }
                Job::ListMessages => {
                    chat.offer_messages(self.open.conversation.typed_messages());
                    Then::GoOn
                }
                Job::Fork(index) => {
                    self.fork(index, chat);
                    Then::GoOn
                }
                Job::FollowGoal => {
                    self.follow_goal(chat);
                    Then::GoOn
                }
                Job::PauseGoal => {
                    if let (Some(notice), _) = told(self.open.conversation.interrupt_goal()) {
                        chat.notice(notice);
                    }
                    Then::GoOn
                }
                Job::Quit => Then::Leave,
            };
            match then {
                Then::Resume(session) => return Some(session),
                Then::GoOn if self.open.goes_on() => {}
                Then::GoOn | Then::Leave => return None,
            }
        }
    }

    fn message(&mut self, text: &str, images: &[std::path::PathBuf], chat: &Chat) {
        let loaded: std::result::Result<Vec<_>, _> =
            images.iter().map(|path| load_image(path)).collect();
        match loaded {
            Ok(images) => {
                let typed = text.to_owned();
                let text = self.open.conversation.expand_references(text);
                let input = TurnInput {
                    text,
                    images,
                    ..TurnInput::default()
                };
                self.turn(input, Some(typed), chat);
            }
            Err(error) => {
                let error = CommandError::from(error);
                let hint = error.hints.first().cloned();
                chat.turn_ended(TurnEnd {
                    failure: Some((format!("Not sent: {}", error.message), hint)),
                    returned: Some(text.to_owned()),
                    ..TurnEnd::of(TurnOutcome::Failed)
                });
            }
        }
    }

    fn turn(&mut self, input: TurnInput, typed: Option<String>, chat: &Chat) {
        let mut observer = chat.observer();
        let result = self.open.conversation.turn(input, &mut observer);
        self.code = exit_code(&result, self.open.conversation.is_worker());
        let is_preempted = || chat.has_waiting_message();
        let news = self
            .open
            .conversation
            .goal_after_turn(&result, &is_preempted);
        let (goal, next) = told(news);
        // Before the screen hears of the end: what is raised then is for what comes next.
        self.open.goes_on();
        chat.set_facts(self.facts());
        let failure = result.failure.as_ref();
        chat.turn_ended(TurnEnd {
            outcome: result.outcome,
            text: result.final_response.clone(),
            failure: failure.map(|failure| (failure.message.clone(), failure.hint.clone())),
            unwritten: result.unwritten_files.clone(),
            pending: result.pending_steer.clone(),
            goal,
            next,
            returned: typed.filter(|_| result.exit_reason == ExitReason::StoreFailed),
        });
        self.last = Some(result);
    }

    /// Goes on with the goal, at once or when what it waits for has happened.
    fn follow_goal(&mut self, chat: &Chat) {
        let is_preempted = || chat.has_waiting_message();
        let (goal, next) = told(self.open.conversation.resume_goal(&is_preempted));
        self.open.goes_on();
        chat.turn_ended(TurnEnd {
            goal,
            next,
            ..TurnEnd::of(TurnOutcome::Completed)
        });
    }

    /// A command with a slash. It has the terminal, and prints as it does line by line.
    fn command(&mut self, line: &str, chat: &Chat) -> Then {
        let mut state = ChatState {
            conversation: &mut self.open.conversation,
            display: &mut self.display,
            context: self.context,
            background: &self.open.background,
            aside: Arc::new(chat.aside()),
        };
        let after = slash::run(line, &mut state);
        // It may have changed a setting.
        chat.set_look(look(&self.context.reloaded(), &self.display));
        chat.set_facts(self.facts());
        chat.set_past(self.past());
        match after {
            Ok(After::Prompt) => chat.job_done(None),
            Ok(After::Turn(text)) => {
                chat.job_takes_turn(Some(text.clone()));
                self.turn(TurnInput::text(text), None, chat);
            }
            Ok(After::Goal) => {
                // Waiting for something is shown as a turn is, and ended in the same way.
                chat.job_takes_turn(None);
                self.follow_goal(chat);
            }
            Ok(After::Quit { delete }) => {
                self.deletes = delete;
                return Then::Leave;
            }
            Ok(After::Resume(session)) => return Then::Resume(session),
            Err(error) => {
                self.complain(&error);
                chat.job_done(None);
            }
        }
        Then::GoOn
    }

    /// Shows an error while the terminal is lent. A terminal that is gone is noticed elsewhere.
    fn complain(&self, error: &CommandError) {
        drop(self.context.note(format!("Error: {}", error.message)));
        for hint in &error.hints {
            drop(self.context.hint(hint));
        }
    }

    /// The person's own command, in the directory of the conversation.
    fn shell(&mut self, command: &str) {
        let path = self.context.env.os(&vars::PATH);
        let shells = ["bash", "sh"].map(OsStr::new);
        let Some(shell) = shells
            .into_iter()
            .find_map(|shell| find_on_path(shell, path))
        else {
            let error = CommandError::environment("no shell was found");
            return self.complain(&error.hint("install bash"));
        };
        let plan = self.context.environment().helper_plan();
        let mut child = ChildSpec::new(shell, ["-c", command], plan);
        child.cwd = Some(self.open.conversation.agent().context().session.cwd());
        match child.run_interactive() {
            Ok(status) if status.success() => {}
            Ok(status) => drop(self.context.note(format!("The command failed: {status}"))),
            Err(error) => self.complain(&CommandError::environment(error.to_string())),
        }
    }

    /// Goes on in a copy that ends before a message, whose text can be changed and sent.
    fn fork(&mut self, index: usize, chat: &Chat) {
        let before = self.open.conversation.agent().session_id().clone();
        match self.open.conversation.fork_before(index) {
            Ok(Some((id, text))) => {
                chat.set_past(self.past());
                chat.set_facts(self.facts());
                chat.job_done(Some(text));
                chat.notice(format!(
                    "Now in {id}, a copy that ends before this message; {before} stays as it is"
                ));
            }
            Ok(None) => chat.notice("There is no such message any more"),
            Err(error) => chat.notice(format!("Error: {error}")),
        }
    }

    /// Skills and quick commands, for completions.
    fn own_commands(&self) -> Vec<CommandName> {
        let own = |name: String, help: &str| CommandName {
            name,
            arguments: String::new(),
            help: help.to_owned(),
        };
        let config = self.context.config();
        let quick = config.get("quick_commands").and_then(Value::as_object);
        let quick = quick.into_iter().flat_map(|all| all.keys().cloned());
        let skills = self.open.conversation.skill_names();
        skills
            .into_iter()
            .map(|name| own(name, "skill"))
            .chain(quick.map(|name| own(name, "quick command")))
            .collect()
    }

    fn facts(&mut self) -> Facts {
        let conversation = &mut self.open.conversation;
        let is_yolo = conversation.tools().is_yolo();
        let terminal = Arc::clone(conversation.tools().terminal());
        let is_remote = conversation.tools().remote().is_some();
        let agent = conversation.agent();
        let window = agent.window_use();
        // A session that cannot be read has no cost to show; the next turn tells of the trouble.
        let session = agent.stored_session().ok().flatten();
        let cwd = agent.context().session.cwd();
        let key = agent.context().session_key.clone();
        let profile = self.context.current.as_ref();
        Facts {
            model: agent.provider().route().model,
            profile: profile
                .filter(|name| !name.is_default())
                .map(ToString::to_string)
                .unwrap_or_default(),
            window: (window.used, window.window),
            cost: session.and_then(|session| session.estimated_cost_usd),
            shown_cwd: short_path(&cwd, &self.context.location.user_home),
            branch: if is_remote { None } else { git_branch(&cwd) },
            cwd,
            is_yolo,
            steering: Some(agent.steering()),
            live_output: Some(Arc::new({
                let (terminal, key) = (Arc::clone(&terminal), SessionKey::new(&key));
                move |most| terminal.last_lines(&key, most)
            })),
            processes: Some(Arc::new(move || {
                let all = terminal.processes_of(&SessionKey::new(&key)).list(0);
                all.iter()
                    .filter(|process| process.ending.is_none())
                    .count()
            })),
        }
    }

    /// The messages of the conversation.
    fn past(&mut self) -> Vec<PastMessage> {
        let mut past = Vec::new();
        for message in self.open.conversation.agent().messages() {
            let text = message.text();
            match message.role {
                MessageRole::User if message.is_summary() => past.push(PastMessage::Model(text)),
                MessageRole::User => past.push(PastMessage::Person(text)),
                MessageRole::Tool => past.push(PastMessage::Result(text)),
                _ => {
                    if !text.trim().is_empty() {
                        past.push(PastMessage::Model(text));
                    }
                    let calls = message.tool_calls.as_ref().and_then(Value::as_array);
                    for call in calls.into_iter().flatten() {
                        let function = call.get("function").unwrap_or(call);
                        let name = function["name"].as_str().unwrap_or("tool");
                        let arguments = function["arguments"].as_str().unwrap_or_default();
                        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
                        past.push(PastMessage::Call(name.to_owned(), arguments));
                    }
                }
            }
        }
        past
    }

    fn leave(mut self) -> Result<ExitCode> {
        let agent = self.open.conversation.agent();
        let id = agent.session_id().clone();
        let is_stored = agent.is_stored();
        let last = self.last.as_ref().filter(|last| last.session_id == id);
        if last.is_some() && !self.deletes {
            // A terminal that is gone does not read it; the session is stored all the same.
            let flag = self.context.profile_flag();
            drop(
                self.context
                    .note(format!("Go on with: hermes {flag}--resume {id}")),
            );
        }
        let code = self.open.close(self.last.as_ref(), self.code)?;
        if self.deletes && is_stored {
            SessionStore::open(&self.context.location.home)?.delete_session(&id)?;
            self.context.note(format!("Deleted session {id}"))?;
        }
        Ok(code)
    }
}

/// What became of the goal, and the message of the turn that follows.
fn told(news: hermes_runtime::Result<Option<GoalNews>>) -> (Option<String>, Option<String>) {
    match news {
        Ok(Some(news)) => (Some(news.notice), news.next),
        Ok(None) => (None, None),
        Err(error) => (Some(format!("The goal was not judged: {error}")), None),
    }
}

/// A path with `~` for the person's home.
fn short_path(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}
