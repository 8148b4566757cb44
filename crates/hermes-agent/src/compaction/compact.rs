//! Compacts a conversation: when, with which summary, and what is stored.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use hermes_providers::{AuxiliaryTask, ErrorClass, ModelRequest, Provider};
use hermes_session::{Compaction, CompactionLock, Error as StoreError, MessageId, SessionMessage};
use serde_json::Value;

use super::condense::{condensed, extract, without_old_images, without_repeats};
use super::cut::{Cut, Tail, cut, size, threshold, usable};
use super::lock::{ask_holding, still_held};
use super::summary::{self, Material};
use crate::Result;
use crate::agent::Agent;
use crate::calibration::share;
use crate::observer::{TurnEvent, TurnObserver};

/// Factor by which the end may exceed the target ratio.
const TAIL_SLACK: f64 = 1.5;
/// Share of the threshold that messages may take which stay for their number.
const PROTECTED_SHARE: f64 = 0.5;
/// Minimum share of tokens that a useful compaction saves.
const MIN_SAVING: f64 = 0.1;
/// Useless compactions in a row after which automatic ones stop.
const MAX_USELESS: u32 = 2;
const PAUSE: Duration = Duration::from_mins(1);
/// Pause after a broken connection.
const PAUSE_AFTER_BREAK: Duration = Duration::from_secs(30);
/// Pause if the provider cannot be used.
const PAUSE_WITHOUT_PROVIDER: Duration = Duration::from_mins(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The next request is nearly too long.
    Automatic {
        /// Estimated tokens of the request.
        request: u64,
    },
    /// The provider refused the request, or the user asked for it.
    Forced,
}

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compacted {
    Done,
    Unchanged,
    /// The conversation has too few messages for a requested one.
    TooShort,
}

impl Agent {
    /// Whether a request of this estimated size has reached the compaction threshold.
    pub(crate) fn is_too_long(&self, request: u64) -> bool {
        let settings = &self.settings.compaction;
        let limit = threshold(settings, &self.provider.route());
        settings.enabled
            && self.compaction.useless < MAX_USELESS
            && (self.calibration.correct(request) >= limit || self.has_too_many_messages())
    }

    fn has_too_many_messages(&self) -> bool {
        self.history.len() >= self.settings.compaction.max_messages
    }

    pub(crate) fn compact(
        &mut self,
        need: Need,
        observer: &mut dyn TurnObserver,
    ) -> Result<Compacted> {
        let room = usable(&self.provider.route());
        let need = match need {
            // It could not be sent at all.
            Need::Automatic { request } if self.calibration.correct(request) >= room => {
                Need::Forced
            }
            need => need,
        };
        if need != Need::Forced && self.store.is_compaction_paused(&self.session)? {
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
        observer: &mut dyn TurnObserver,
    ) -> Result<Compacted> {
        // Another process may have added messages, or compacted the conversation.
        self.reload()?;
        let before = self.history_tokens();
        if seen.saturating_sub(before) > share(seen, MIN_SAVING) {
            self.report_compacted(seen, before, "another process has compacted it", observer);
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
        let how = if is_stored {
            if let Some(prompt) = change.system_prompt {
                self.system = Arc::from(prompt);
            }
            let is_useless = before.saturating_sub(after) < share(before, MIN_SAVING);
            let useless = self.compaction.useless;
            self.compaction.useless = if is_useless { useless + 1 } else { 0 };
            &format!("{} messages became a summary", cut.middle.len())
        } else if after < before {
            "another process has compacted it"
        } else {
            return Ok(Compacted::Unchanged);
        };
        self.report_compacted(before, after, how, observer);
        Ok(Compacted::Done)
    }

    /// The new system prompt, if it has changed.
    fn new_prompt(&self, observer: &mut dyn TurnObserver) -> Option<String> {
        let assembled = self.prompt_source.as_ref()?();
        if *assembled.text == *self.system {
            return None;
        }
        for notice in assembled.notices {
            observer.on(TurnEvent::Notice(notice));
        }
        Some(assembled.text)
    }

    /// Stores the compacted conversation, unless another process has taken over.
    fn store_summary(&mut self, lock: &CompactionLock, change: &Compaction) -> Result<bool> {
        if !still_held(&mut self.store, lock)? {
            return Ok(false);
        }
        match self.store.compact(lock, change) {
            Ok(()) => Ok(true),
            Err(StoreError::CompactionLost { .. } | StoreError::CompactionStale { .. }) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn report_compacted(
        &self,
        before: u64,
        after: u64,
        how: &str,
        observer: &mut dyn TurnObserver,
    ) {
        // Files read before are no longer in the context and have to be shown again.
        self.context.files.forget_pages();
        observer.on(TurnEvent::Notice(format!(
            "The conversation was compacted: {how}, about {before} tokens became {after}."
        )));
    }

    fn cut_for(&self, need: Need) -> Option<Cut> {
        let messages: Vec<&SessionMessage> =
            self.history.iter().map(|entry| &entry.message).collect();
        let limit = threshold(&self.settings.compaction, &self.provider.route());
        let tail = share(
            share(limit, self.settings.compaction.target_ratio),
            TAIL_SLACK,
        );
        let settings = &self.settings.compaction;
        let tail = match need {
            Need::Automatic { .. } => Tail {
                tokens: tail,
                messages: settings.protect_last,
                most_tokens: share(limit, PROTECTED_SHARE),
                most_messages: if self.has_too_many_messages() {
                    settings.max_messages / 4
                } else {
                    usize::MAX
                },
            },
            // The provider refused the whole, so a part must do, whatever the estimate.
            Need::Forced => Tail::of((tail / 2).min(self.history_tokens() / 4)),
        };
        cut(&messages, settings.protect_first, &tail)
    }

    fn history_tokens(&self) -> u64 {
        self.history.iter().map(|entry| size(&entry.message)).sum()
    }

    /// The summary of the middle, or an extract if nothing else helps. `None` if nothing is to change.
    fn summarise(
        &mut self,
        cut: &Cut,
        need: Need,
        lock: &CompactionLock,
        observer: &mut dyn TurnObserver,
    ) -> Result<Option<String>> {
        let middle = self.history.get(cut.middle.clone()).unwrap_or_default();
        let mut messages: Vec<SessionMessage> = Vec::with_capacity(middle.len());
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
        for provider in self.summary_providers() {
            match self.ask(&*provider, &request, lock)? {
                Ok(made) => {
                    self.store.set_compaction_pause(&self.session, None)?;
                    return Ok(Some(made));
                }
                Err(SummaryFailure::Interrupted) => return Ok(None),
                Err(SummaryFailure::Because(message, pause)) => last_error = Some((message, pause)),
            }
        }
        let (error, pause) = last_error.unwrap_or_default();
        self.store
            .set_compaction_pause(&self.session, Some((pause, &error)))?;
        let stays = need != Need::Forced || self.settings.compaction.abort_on_summary_failure;
        let was_warned = std::mem::replace(&mut self.compaction.warned, true);
        if stays {
            if !was_warned {
                observer.on(TurnEvent::Notice(format!(
                    "No summary could be made ({error}); the conversation stays unchanged."
                )));
            }
            return Ok(None);
        }
        if !std::mem::replace(&mut self.compaction.extracts, true) {
            observer.on(TurnEvent::Notice(if was_warned {
                "There is still no summary and no room: an extract replaces the older messages, which stay \
                 stored."
                    .to_owned()
            } else {
                format!(
                    "No summary could be made ({error}); an extract replaces the older messages, which \
                     stay stored."
                )
            }));
        }
        Ok(Some(extract(
            &messages,
            previous.as_deref(),
            &self.context.redactor,
        )))
    }

    /// The providers for a summary: the configured one, then the main one, if they differ.
    fn summary_providers(&self) -> Vec<Arc<dyn Provider>> {
        let main = Arc::clone(&self.provider);
        let own = self
            .auxiliary
            .as_ref()
            .map(|auxiliary| auxiliary.open(AuxiliaryTask::Compression));
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

    fn ask(
        &mut self,
        provider: &dyn Provider,
        request: &ModelRequest,
        lock: &CompactionLock,
    ) -> Result<std::result::Result<String, SummaryFailure>> {
        let interrupt = Arc::clone(&self.context.interrupt);
        let answer = ask_holding(provider, request, &interrupt, (&mut self.store, lock));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(SummaryFailure::from(error))),
        };
        self.store.record_usage(&self.session, &answer.usage)?;
        if answer.text.is_empty() {
            let message = "the summary is empty".to_owned();
            return Ok(Err(SummaryFailure::Because(message, PAUSE)));
        }
        Ok(Ok(answer.text))
    }

    /// The changes: the summary replaces the middle, and messages before it are condensed.
    fn rewritten(&self, cut: &Cut, summary: &str) -> Compaction {
        let mut change = Compaction::default();
        let mut arguments: HashMap<String, Value> = HashMap::new();
        let mut stays: Vec<(MessageId, SessionMessage)> = Vec::new();
        // A placeholder result has the id of its call.
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
                None if is_summarised => change.summarised.push(entry.id),
                None if at < cut.middle.start => {
                    collect_arguments(&entry.message, &mut arguments);
                    let call = entry.message.tool_call_id.as_ref();
                    let call = call.and_then(|call| arguments.get(call));
                    let short = condensed(&entry.message, call);
                    stays.push((entry.id, short));
                }
                None => stays.push((entry.id, entry.message.clone())),
            }
        }
        without_old_images(&mut stays);
        let as_before = |id: MessageId, message: &SessionMessage| {
            let mut entries = self.history.iter();
            entries.any(|entry| entry.id == id && entry.message == *message)
        };
        stays.retain(|(id, message)| !as_before(*id, message));
        change.replaced.extend(stays);
        change
    }
}

enum SummaryFailure {
    Interrupted,
    Because(String, Duration),
}

impl From<hermes_providers::ProviderError> for SummaryFailure {
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

fn collect_arguments(message: &SessionMessage, known: &mut HashMap<String, Value>) {
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
            known.entry(id.to_owned()).or_insert(arguments);
        }
    }
}
