//! Doing it: who may, with which summary, and what is stored.

use std::sync::Arc;
use std::time::Duration;

use hermes_providers::{ErrorClass, Provider, Request, SideTask};
use hermes_session::{Compaction, CompactionPause, Content, Message, MessageId, Role, Usage};
use serde_json::Value;

use super::cut::{Cut, cut, size};
use super::extract::extract;
use super::facts::{condensed, without_repeats};
use super::summary::{self, Material};
use super::threshold::{share, threshold};
use crate::agent::{Agent, Entry};
use crate::error::Result;
use crate::observer::{Event, Observer};
use crate::side::ask_aside;

/// How long the right to compact lasts; a summary takes two minutes at most.
const LEASE: Duration = Duration::from_mins(5);
/// The end keeps this much more than the ratio says.
const TAIL_SLACK: f64 = 1.5;
/// A compaction that saves less than this share was not worth it.
const WORTH_IT: f64 = 0.1;
/// After so many of them in a row there are no more without being asked.
const MOST_USELESS: u32 = 2;
/// Seconds until a failed summary is tried again.
const PAUSE: f64 = 60.0;
/// The same after a broken connection.
const PAUSE_AFTER_BREAK: f64 = 30.0;
/// The same where nobody can be asked.
const PAUSE_WITHOUT_PROVIDER: f64 = 600.0;

/// Why a conversation is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is about to become too long.
    Wanted,
    /// The provider has refused it, or somebody asked for it.
    Forced,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compacted {
    /// It is shorter now.
    Done,
    /// It is as it was.
    Unchanged,
}

/// What is remembered from one compaction to the next.
#[derive(Debug, Default)]
pub(crate) struct CompactionState {
    useless: u32,
    warned: bool,
    /// What the summary must keep, if somebody said.
    pub(crate) focus: Option<String>,
}

impl CompactionState {
    /// As before the first, for a summary that must keep this.
    pub(crate) fn focused_on(focus: Option<&str>) -> Self {
        Self {
            focus: focus.map(str::to_owned),
            ..Self::default()
        }
    }
}

/// A summary, and what it cost.
struct Summary {
    text: String,
    usage: Option<Usage>,
}

impl Agent {
    /// Whether a request has reached the length from which conversations are shortened.
    pub(crate) fn is_too_long(&self, request: &Request) -> bool {
        let settings = &self.settings.compaction;
        let limit = threshold(settings, &self.provider.route());
        settings.enabled
            && self.compaction.useless < MOST_USELESS
            && self.calibration.correct(request.estimated_tokens()) >= limit
    }

    /// Whether a request could not even be sent.
    fn fits(&self, tokens: u64) -> bool {
        self.calibration.correct(tokens) < self.provider.route().context_length
    }

    /// Shortens the conversation.
    pub(crate) fn compact(&mut self, need: Need, observer: &mut dyn Observer) -> Result<Compacted> {
        if need == Need::Wanted
            && let Some(pause) = self.store.compaction_pause(&self.session)?
            && pause.until > self.store.now()
            && self.fits(self.history_tokens())
        {
            return Ok(Compacted::Unchanged);
        }
        let messages: Vec<&Message> = self.history.iter().map(|entry| &entry.message).collect();
        let limit = threshold(&self.settings.compaction, &self.provider.route());
        let tail = share(
            share(limit, self.settings.compaction.target_ratio),
            TAIL_SLACK,
        );
        // Where the provider has refused the whole, a part of it must do, whatever we think of it.
        let tail = match need {
            Need::Wanted => tail,
            Need::Forced => (tail / 2).min(self.history_tokens() / 4),
        };
        let Some(cut) = cut(&messages, self.settings.compaction.protect_first, tail) else {
            return Ok(Compacted::Unchanged);
        };
        let holder = format!("hermes:{}", std::process::id());
        let Some(lock) = self
            .store
            .try_lock_compaction(&self.session, &holder, LEASE)?
        else {
            observer.on(Event::Notice(
                "Another process is shortening this conversation.".to_owned(),
            ));
            return Ok(Compacted::Unchanged);
        };
        let before = self.history_tokens();
        let made = self.summarise(&cut, need, observer)?;
        let Some(made) = made else {
            self.store.unlock_compaction(lock)?;
            return Ok(Compacted::Unchanged);
        };
        let (keep_through, new) = self.rewritten(&cut, &made.text);
        let change = Compaction {
            keep_through,
            messages: new,
            system_prompt: None,
            usage: made.usage,
        };
        self.store.compact(&lock, &change)?;
        self.store.unlock_compaction(lock)?;
        let history = self.store.load_history(&self.session)?;
        self.history = history.messages.into_iter().map(Entry::from).collect();
        let after = self.history_tokens();
        self.judge(before, after);
        let count = cut.middle.len();
        observer.on(Event::Notice(format!(
            "The conversation was shortened: {count} messages became a summary, about {before} \
             tokens became {after}."
        )));
        Ok(Compacted::Done)
    }

    fn history_tokens(&self) -> u64 {
        self.history.iter().map(|entry| size(&entry.message)).sum()
    }

    fn judge(&mut self, before: u64, after: u64) {
        let saved = before.saturating_sub(after);
        if saved < share(before, WORTH_IT) {
            self.compaction.useless += 1;
        } else {
            self.compaction.useless = 0;
        }
    }

    /// The summary of the middle; the extract of it where nothing else helps; `None` if everything
    /// is to stay as it is.
    fn summarise(
        &mut self,
        cut: &Cut,
        need: Need,
        observer: &mut dyn Observer,
    ) -> Result<Option<Summary>> {
        let middle = self.history.get(cut.middle.clone()).unwrap_or_default();
        let mut messages: Vec<Message> = Vec::with_capacity(middle.len());
        let mut previous = None;
        for entry in middle {
            if entry.message.is_summary() {
                previous = Some(summary::inner(&entry.message));
            } else {
                messages.push(entry.message.clone());
            }
        }
        without_repeats(&mut messages);
        let window = self.provider.route().context_length;
        let request = Material {
            messages: &messages,
            previous: previous.as_deref(),
            focus: self.compaction.focus.as_deref(),
            window,
        }
        .request(&self.context.redactor);
        let mut last_error = None;
        for provider in self.summarisers() {
            match ask(&*provider, &request, &self.context.interrupt) {
                Ok(made) => {
                    self.store.set_compaction_pause(&self.session, None)?;
                    return Ok(Some(made));
                }
                Err(Failed::Interrupted) => return Ok(None),
                Err(Failed::Because(message, pause)) => last_error = Some((message, pause)),
            }
        }
        let (error, pause) = last_error.unwrap_or_default();
        let pause = CompactionPause {
            until: self.store.now() + pause,
            error: Some(error.clone()),
        };
        self.store
            .set_compaction_pause(&self.session, Some(&pause))?;
        let must_shorten = need == Need::Forced || !self.fits(self.history_tokens());
        let gives_up = self.settings.compaction.abort_on_summary_failure || !must_shorten;
        if !self.compaction.warned {
            self.compaction.warned = true;
            let then = if gives_up {
                "the conversation stays as it is"
            } else {
                "an extract stands in for it"
            };
            observer.on(Event::Notice(format!(
                "No summary could be made ({error}); {then}, and nothing is lost."
            )));
        }
        if gives_up {
            return Ok(None);
        }
        Ok(Some(Summary {
            text: extract(&messages, previous.as_deref(), &self.context.redactor),
            usage: None,
        }))
    }

    /// Who may summarise: the one for it, then the one that answers, unless they are the same.
    fn summarisers(&self) -> Vec<Arc<dyn Provider>> {
        let main = Arc::clone(&self.provider);
        let own = self
            .side
            .as_ref()
            .map(|side| side.open(SideTask::Compression));
        match own {
            Some(Ok(own)) if own.route().is_same(&main.route()) => vec![own],
            Some(Ok(own)) => vec![own, main],
            Some(Err(error)) => {
                tracing::warn!(%error, "the model for summaries cannot be used");
                vec![main]
            }
            None => vec![main],
        }
    }

    /// The conversation behind the last message that stays untouched.
    fn rewritten(&self, cut: &Cut, summary: &str) -> (Option<MessageId>, Vec<Message>) {
        let head = self.history.get(..cut.middle.start).unwrap_or_default();
        let tail = self.history.get(cut.middle.end..).unwrap_or_default();
        let mut arguments: Vec<(String, Value)> = Vec::new();
        let mut keep_through = None;
        let mut new: Vec<Message> = Vec::new();
        for entry in head {
            note_arguments(&entry.message, &mut arguments);
            let call = entry.message.tool_call_id.as_ref();
            let of_call = call.and_then(|id| {
                let known = arguments.iter().find(|(other, _)| other == id);
                known.map(|(_, arguments)| arguments)
            });
            let short = condensed(&entry.message, of_call);
            if new.is_empty() && short == entry.message {
                keep_through = Some(entry.id);
            } else {
                new.push(short);
            }
        }
        new.push(summary::message(
            summary,
            self.context.conversation.todos.unfinished().as_deref(),
        ));
        if let Some(entry) = cut.last_user.and_then(|at| self.history.get(at)) {
            new.push(entry.message.clone());
        }
        new.extend(tail.iter().map(|entry| entry.message.clone()));
        strip_old_images(&mut new);
        (keep_through, new)
    }
}

enum Failed {
    Interrupted,
    Because(String, f64),
}

fn ask(
    provider: &dyn Provider,
    request: &Request,
    interrupt: &hermes_proc::Wake,
) -> std::result::Result<Summary, Failed> {
    match ask_aside(provider, request, interrupt) {
        Ok(answer) if answer.text.is_empty() => {
            Err(Failed::Because("the summary is empty".to_owned(), PAUSE))
        }
        Ok(answer) => Ok(Summary {
            text: answer.text,
            usage: Some(answer.usage),
        }),
        Err(error) if error.class == ErrorClass::Interrupted => Err(Failed::Interrupted),
        Err(error) => {
            let pause = match error.class {
                ErrorClass::Timeout | ErrorClass::Malformed => PAUSE_AFTER_BREAK,
                ErrorClass::Auth | ErrorClass::Billing => PAUSE_WITHOUT_PROVIDER,
                _ => PAUSE,
            };
            Err(Failed::Because(error.to_string(), pause))
        }
    }
}

fn note_arguments(message: &Message, known: &mut Vec<(String, Value)>) {
    let Some(Value::Array(calls)) = &message.tool_calls else {
        return;
    };
    for call in calls {
        let id = call.get("id").and_then(Value::as_str);
        let arguments = call
            .pointer("/function/arguments")
            .and_then(Value::as_str)
            .and_then(|text| serde_json::from_str(text).ok());
        if let (Some(id), Some(arguments)) = (id, arguments) {
            known.push((id.to_owned(), arguments));
        }
    }
}

/// Leaves pictures only in the newest message of the person that has any.
fn strip_old_images(messages: &mut [Message]) {
    let has_images = |message: &Message| match &message.content {
        Some(Content::Parts(Value::Array(parts))) => {
            parts.iter().any(|part| part.get("image_url").is_some())
        }
        _ => false,
    };
    let newest = messages
        .iter()
        .rposition(|message| message.role == Role::User && has_images(message));
    for (index, message) in messages.iter_mut().enumerate() {
        if Some(index) != newest && has_images(message) {
            let text = message.text();
            message.content = Some(Content::Text(format!("{text}\n[image left out]")));
        }
    }
}
