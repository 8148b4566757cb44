//! Doing it: when, with which summary, and what is stored.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_providers::{ErrorClass, Provider, Request, SideTask};
use hermes_session::{
    Compaction, CompactionLock, CompactionPause, Error as StoreError, Message, MessageId,
};
use serde_json::Value;

use super::cut::{Cut, cut, size};
use super::extract::extract;
use super::facts::{condensed, without_repeats};
use super::images::without_old_images;
use super::lock::{ask_holding, still_held};
use super::summary::{self, Material};
use super::threshold::{share, threshold, usable};
use crate::agent::{Agent, Entry};
use crate::error::Result;
use crate::observer::{Event, Observer};

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
    /// A request of this estimated size is about to become too long.
    Wanted {
        /// Tokens.
        request: u64,
    },
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
    /// Whether somebody was told that extracts stand in for summaries.
    extracts: bool,
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

impl Agent {
    /// Whether a request of this estimated size has reached the length from which conversations are
    /// shortened.
    pub(crate) fn is_too_long(&self, request: u64) -> bool {
        let settings = &self.settings.compaction;
        let limit = threshold(settings, &self.provider.route());
        settings.enabled
            && self.compaction.useless < MOST_USELESS
            && self.calibration.correct(request) >= limit
    }

    /// Whether a request of this estimated size can be sent at all.
    fn fits(&self, request: u64) -> bool {
        self.calibration.correct(request) < usable(&self.provider.route())
    }

    /// Shortens the conversation.
    pub(crate) fn compact(&mut self, need: Need, observer: &mut dyn Observer) -> Result<Compacted> {
        let need = match need {
            Need::Wanted { request } if !self.fits(request) => Need::Forced,
            need => need,
        };
        let waits = |pause: CompactionPause| pause.until > self.store.now();
        if need != Need::Forced
            && self
                .store
                .compaction_pause(&self.session)?
                .is_some_and(waits)
        {
            return Ok(Compacted::Unchanged);
        }
        let seen = self.history_tokens();
        if self.cut_for(need).is_none() {
            return Ok(Compacted::Unchanged);
        }
        let Some(lock) = self.lock_compaction(observer)? else {
            return Ok(Compacted::Unchanged);
        };
        let compacted = self.compact_holding(&lock, need, seen, observer);
        self.store.unlock_compaction(lock)?;
        compacted
    }

    fn compact_holding(
        &mut self,
        lock: &CompactionLock,
        need: Need,
        seen: u64,
        observer: &mut dyn Observer,
    ) -> Result<Compacted> {
        // Another process may have written to the conversation, or have shortened it.
        self.reload()?;
        let before = self.history_tokens();
        if seen.saturating_sub(before) > share(seen, WORTH_IT) {
            self.note_shortened(seen, before, "another process has done it", observer);
            return Ok(Compacted::Done);
        }
        let Some(cut) = self.cut_for(need) else {
            return Ok(Compacted::Unchanged);
        };
        let Some(text) = self.summarise(&cut, need, lock, observer)? else {
            return Ok(Compacted::Unchanged);
        };
        let mut change = self.rewritten(&cut, &text);
        change.system_prompt = self.new_prompt(observer);
        let is_stored = self.store_summary(lock, &change)?;
        self.reload()?;
        let after = self.history_tokens();
        if is_stored {
            if let Some(prompt) = change.system_prompt {
                self.system = Arc::from(prompt);
            }
            self.judge(before, after);
            let count = cut.middle.len();
            let how = format!("{count} messages became a summary");
            self.note_shortened(before, after, &how, observer);
            return Ok(Compacted::Done);
        }
        if after < before {
            self.note_shortened(before, after, "another process has done it", observer);
            return Ok(Compacted::Done);
        }
        Ok(Compacted::Unchanged)
    }

    /// The system prompt as it would be now, if that is another one.
    fn new_prompt(&self, observer: &mut dyn Observer) -> Option<String> {
        let assembled = self.prompt_source.as_ref()?();
        if *assembled.text == *self.system {
            return None;
        }
        for notice in assembled.notices {
            observer.on(Event::Notice(notice));
        }
        Some(assembled.text)
    }

    /// Stores the shortened conversation. Not if another process has it in hand by now.
    fn store_summary(&mut self, lock: &CompactionLock, change: &Compaction) -> Result<bool> {
        if !still_held(&mut self.store, lock)? {
            return Ok(false);
        }
        match self.store.compact(lock, change) {
            Ok(()) => Ok(true),
            Err(StoreError::CompactionLost { .. } | StoreError::CompactionStale { .. }) => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn note_shortened(&self, before: u64, after: u64, how: &str, observer: &mut dyn Observer) {
        // What was read is not in the conversation any more and has to be shown again.
        self.context.files.forget_pages();
        observer.on(Event::Notice(format!(
            "The conversation was shortened: {how}, about {before} tokens became {after}."
        )));
    }

    fn cut_for(&self, need: Need) -> Option<Cut> {
        let messages: Vec<&Message> = self.history.iter().map(|entry| &entry.message).collect();
        let limit = threshold(&self.settings.compaction, &self.provider.route());
        let tail = share(
            share(limit, self.settings.compaction.target_ratio),
            TAIL_SLACK,
        );
        // Where the provider has refused the whole, a part of it must do, whatever we think of it.
        let tail = match need {
            Need::Wanted { .. } => tail,
            Need::Forced => (tail / 2).min(self.history_tokens() / 4),
        };
        cut(&messages, self.settings.compaction.protect_first, tail)
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
        lock: &CompactionLock,
        observer: &mut dyn Observer,
    ) -> Result<Option<String>> {
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
            match self.ask(&*provider, &request, lock)? {
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
        let stays = need != Need::Forced || self.settings.compaction.abort_on_summary_failure;
        let was_warned = std::mem::replace(&mut self.compaction.warned, true);
        if stays {
            if !was_warned {
                observer.on(Event::Notice(format!(
                    "No summary could be made ({error}); the conversation stays as it is, and \
                     nothing is lost."
                )));
            }
            return Ok(None);
        }
        if !std::mem::replace(&mut self.compaction.extracts, true) {
            observer.on(Event::Notice(if was_warned {
                "There is still no summary, and no room: an extract stands in for it, and nothing \
                 is lost."
                    .to_owned()
            } else {
                format!(
                    "No summary could be made ({error}); an extract stands in for it, and nothing \
                     is lost."
                )
            }));
        }
        Ok(Some(extract(
            &messages,
            previous.as_deref(),
            &self.context.redactor,
        )))
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

    /// Asks for a summary. What it costs is recorded whatever becomes of it.
    fn ask(
        &mut self,
        provider: &dyn Provider,
        request: &Request,
        lock: &CompactionLock,
    ) -> Result<std::result::Result<String, Failed>> {
        let interrupt = Arc::clone(&self.context.interrupt);
        let answer = ask_holding(provider, request, &interrupt, (&mut self.store, lock));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(Failed::from(error))),
        };
        self.store.record_usage(&self.session, &answer.usage)?;
        if answer.text.is_empty() {
            let message = "the summary is empty".to_owned();
            return Ok(Err(Failed::Because(message, PAUSE)));
        }
        Ok(Ok(answer.text))
    }

    /// What changes: the middle goes, its first message makes room for the summary, and what is
    /// before it is told in fewer words.
    fn rewritten(&self, cut: &Cut, summary: &str) -> Compaction {
        let mut change = Compaction::default();
        let mut arguments: Vec<(String, Value)> = Vec::new();
        let mut stays: Vec<(MessageId, Message)> = Vec::new();
        // A result that was never stored comes under the number of its call.
        let mut known: HashSet<MessageId> = HashSet::new();
        let todos = self.context.conversation.todos.unfinished();
        let mut summary = Some(summary::message(summary, todos.as_deref()));
        for (at, entry) in self.history.iter().enumerate() {
            if !known.insert(entry.id) {
                continue;
            }
            let is_summarised = cut.middle.contains(&at) && cut.last_user != Some(at);
            match summary.take_if(|_| is_summarised) {
                Some(summary) => change.replaced.push((entry.id, summary)),
                None if is_summarised => change.put_aside.push(entry.id),
                None if at < cut.middle.start => {
                    note_arguments(&entry.message, &mut arguments);
                    let short = condensed(&entry.message, of_call(entry, &arguments));
                    stays.push((entry.id, short));
                }
                None => stays.push((entry.id, entry.message.clone())),
            }
        }
        without_old_images(&mut stays);
        let as_before = |id: MessageId, message: &Message| {
            let mut entries = self.history.iter();
            entries.any(|entry| entry.id == id && entry.message == *message)
        };
        stays.retain(|(id, message)| !as_before(*id, message));
        change.replaced.extend(stays);
        change
    }
}

enum Failed {
    Interrupted,
    Because(String, f64),
}

impl From<hermes_providers::ProviderError> for Failed {
    fn from(error: hermes_providers::ProviderError) -> Self {
        let pause = match error.class {
            ErrorClass::Interrupted => return Self::Interrupted,
            ErrorClass::Timeout | ErrorClass::Malformed => PAUSE_AFTER_BREAK,
            ErrorClass::Auth | ErrorClass::Billing => PAUSE_WITHOUT_PROVIDER,
            _ => PAUSE,
        };
        Self::Because(error.to_string(), pause)
    }
}

/// The arguments of the call that a result answers.
fn of_call<'a>(entry: &Entry, arguments: &'a [(String, Value)]) -> Option<&'a Value> {
    let call = entry.message.tool_call_id.as_ref()?;
    let known = arguments.iter().find(|(other, _)| other == call);
    known.map(|(_, arguments)| arguments)
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
