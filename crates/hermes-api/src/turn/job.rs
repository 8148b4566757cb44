//! One turn from its session to its result: recorded before the model is asked, struck out at its end,
//! and taken up again where an earlier process was cut off.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_agent::{ExitReason, TurnEvent, TurnFailure, TurnInput, TurnOutcome, TurnResult};
use hermes_proc::Wake;
use hermes_providers::{Cost, StreamEvent, TokenUsage};
use hermes_runtime::{Conversation, ConversationRequest, Runtime, SessionChoice};
use hermes_session::{NewSession, SessionId, SessionStore};
use hermes_store::Commit;

use super::control::{StopCause, TurnControl};
use super::history::reconcile;
use super::kept::{KeptConversation, Terms};
use super::lease::Lease;
use super::order::{TurnOrder, TurnSink, Update};
use super::person::ServedPerson;
use super::progress::{Progress, note};
use super::running::{RunningPlace, SOURCE, Shared};
use super::silence::SilenceWatch;
use crate::http::ApiError;
use crate::ledger::LiveTurn;
use crate::preview::preview;

/// One turn and everything it holds.
pub(super) struct Job {
    pub(super) shared: Arc<Shared>,
    pub(super) order: TurnOrder,
    pub(super) control: Arc<TurnControl>,
    pub(super) sink: Box<dyn TurnSink>,
    pub(super) place: RunningPlace,
    pub(super) lease: Lease,
    pub(super) pulse: Option<SilenceWatch>,
    pub(super) live: LiveTurn,
}

/// How a turn begins.
enum Start {
    /// With this message.
    Input(TurnInput),
    /// It is over already: an earlier process got this answer and could not tell.
    Answered(String),
}

/// An open conversation and where the turn begins in it.
struct Opened {
    kept: KeptConversation,
    start: Start,
    home: PathBuf,
}

impl Job {
    pub(super) fn run(mut self) {
        let opened = match self.open() {
            Ok(opened) => opened,
            Err(error) => {
                tracing::warn!(reason = error.message(), "a turn was not begun");
                self.place.free();
                drop(self.lease);
                self.sink.finish(Err(error));
                return;
            }
        };
        let Opened {
            mut kept,
            start,
            home,
        } = opened;
        let session = kept.conversation.agent().session_id().to_string();
        let result = match start {
            Start::Input(input) => {
                kept.person.serve(self.order.approver.clone());
                self.control.begin(&kept.interrupt);
                let mut bytes = kept.transcript_bytes + input.text.len();
                let mut result = self.take(&mut kept.conversation, input, &session, &mut bytes);
                self.control.end();
                kept.person.serve(None);
                kept.transcript_bytes = bytes;
                self.explain(&mut result);
                result
            }
            Start::Answered(text) => {
                self.sink.update(Update::Began { session: &session });
                answered(&mut kept.conversation, text)
            }
        };
        self.shared.metrics.turn(result.outcome, &result.usage);
        self.settle(&home, &mut kept);
        // Kept before anybody is told: whoever goes on at once finds it.
        let gone = self.shared.kept.put(session, kept);
        self.place.free();
        let Self {
            sink, lease, order, ..
        } = self;
        if order.entry.is_run() {
            // The end of a run is on disk before the next turn of its session begins.
            sink.finish(Ok(Box::new(result)));
            drop(lease);
        } else {
            drop(lease);
            sink.finish(Ok(Box::new(result)));
        }
        drop((self.place, self.live));
        gone.into_iter().for_each(KeptConversation::close);
    }

    /// Records the end of a turn while its session is still its own. The record of a run is its sink's
    /// business, and that of a turn that the client may ask for again stays until the answer is kept.
    fn settle(&self, home: &Path, kept: &mut KeptConversation) {
        let entry = &self.order.entry;
        if entry.is_run() {
            return;
        }
        if !entry.is_repeatable {
            return self.shared.ledger.end(home, &entry.id);
        }
        let agent = kept.conversation.agent();
        let session = agent.session_id().clone();
        let last = agent.store().last_message(&session);
        let last = last.ok().flatten().map(|message| message.0);
        self.shared.ledger.set_last_message(home, &entry.id, last);
    }

    /// Says why a turn was interrupted, where the client does not know.
    fn explain(&self, result: &mut TurnResult) {
        if result.outcome != TurnOutcome::Interrupted {
            return;
        }
        let limit = self.pulse.as_ref().map_or(0, |pulse| pulse.limit.as_secs());
        let (reason, message) = match self.control.cause() {
            Some(StopCause::Server) => (
                "gateway_stopping",
                "the gateway was stopped during this turn".to_owned(),
            ),
            Some(StopCause::Silence) => (
                "gateway_timeout",
                format!(
                    "the turn was ended after {limit} s without a sign of life \
                     (agent.gateway_timeout)"
                ),
            ),
            Some(StopCause::Client) | None => return,
        };
        tracing::warn!(session = %result.session_id, "{message}");
        result.failure = Some(TurnFailure {
            reason,
            message,
            hint: None,
            history: Vec::new(),
            is_quota: false,
        });
    }

    fn open(&mut self) -> Result<Opened, ApiError> {
        let context = self.shared.host.context();
        let home = context.location.home.clone();
        let order = &self.order;
        let terms = Terms {
            route: order.route.clone(),
            more_prompt: order.more_prompt.clone(),
            has_approvals: order.approver.is_some(),
            context: Arc::clone(&context),
        };
        context.ensure_home()?;
        let mut store = self.shared.store.of(&home)?;
        let earlier = order.entry.earlier.as_ref();
        let earlier = earlier.and_then(|earlier| Some((earlier, earlier.messages()?)));
        let session = match (&earlier, &order.history) {
            (Some((earlier, _)), _) => SessionId::parse(&earlier.session)?,
            (None, Some((history, when_different))) => {
                let wanted = SessionId::parse(&order.session)?;
                let new = NewSession {
                    source: SOURCE.to_owned(),
                    profile_name: context.current.as_ref().map(ToString::to_string),
                    ..NewSession::default()
                };
                reconcile(&mut store, &wanted, history, *when_different, new)?
            }
            (None, None) => SessionId::parse(&order.session)?,
        };
        let stored = store.session(&session)?;
        // The id of a session whose conversation went on in a later one leads there.
        let session = match &stored {
            Some(_) => store.resolve(session.as_str())?,
            None => session,
        };
        let after = match earlier {
            Some((_, messages)) => messages.after,
            None => store.last_message(&session)?.map_or(0, |message| message.0),
        };
        let progress = match earlier {
            Some((_, messages)) => Progress::of(&store, &session, messages)?,
            None => Progress::NotBegun,
        };
        let kept = self.recorded(&home, &session, after, || {
            self.conversation(&store, &session, stored.is_some(), terms)
        })?;
        let start = match progress {
            Progress::NotBegun => Start::Input(std::mem::take(&mut self.order.input)),
            Progress::Begun => {
                let calls = earlier.map_or(&[][..], |(earlier, _)| &earlier.calls);
                tracing::info!(session = session.as_str(), "an interrupted turn goes on");
                Start::Input(TurnInput::text(note(calls)))
            }
            Progress::Answered(text) => Start::Answered(text),
        };
        Ok(Opened { kept, start, home })
    }

    /// Records that the turn begins, and opens its conversation while that is written to the disk.
    fn recorded(
        &self,
        home: &Path,
        session: &SessionId,
        after: i64,
        open: impl FnOnce() -> Result<KeptConversation, ApiError>,
    ) -> Result<KeptConversation, ApiError> {
        let (ledger, entry) = (&self.shared.ledger, &self.order.entry);
        let commit = entry.commit(self.order.input.acknowledged);
        let begin = || ledger.begin(home, entry, session.as_str(), after, commit);
        if commit == Commit::Logged {
            let kept = open()?;
            return begin().map(|()| kept);
        }
        let (begun, opened) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("turn-begin".to_owned());
            match thread.spawn_scoped(scope, begin) {
                Ok(begun) => {
                    let opened = open();
                    let lost = || Err(ApiError::internal("the turn was not recorded"));
                    (begun.join().unwrap_or_else(|_| lost()), opened)
                }
                // Out of threads: one after the other.
                Err(_) => (begin(), open()),
            }
        });
        match (begun, opened) {
            (Ok(()), Ok(kept)) => Ok(kept),
            (Err(error), Ok(kept)) => {
                kept.close();
                Err(error)
            }
            (begun, Err(error)) => {
                if begun.is_ok() {
                    ledger.end(home, &entry.id);
                }
                Err(error)
            }
        }
    }

    /// The conversation of a session: the one that was kept open, or a new one.
    fn conversation(
        &self,
        store: &SessionStore,
        session: &SessionId,
        is_stored: bool,
        terms: Terms,
    ) -> Result<KeptConversation, ApiError> {
        if let Some(mut kept) = self.shared.kept.take(session.as_str()) {
            let messages = store.session(session)?;
            let messages = messages.map(|session| session.counters.message_count);
            let known = kept.conversation.agent().message_counts().0;
            // Another process may have gone on with the session.
            let is_current = messages == i64::try_from(known).ok();
            if is_current && kept.terms == terms {
                return Ok(kept);
            }
            kept.close();
        }
        let interrupt = Arc::new(Wake::new().map_err(|error| {
            tracing::error!(%error, "out of file descriptors");
            ApiError::unavailable("the machine is out of file descriptors")
        })?);
        let person = Arc::new(ServedPerson::new(terms.has_approvals));
        let mut request = ConversationRequest::new(SOURCE, Arc::clone(&interrupt));
        SOURCE.clone_into(&mut request.platform);
        request.is_served = true;
        request.more_prompt.clone_from(&terms.more_prompt);
        if let Some(route) = &terms.route {
            request.model = Some(route.model.clone());
            request.provider.clone_from(&route.provider);
            request.base_url.clone_from(&route.base_url);
            request.api_key.clone_from(&route.api_key);
        }
        if is_stored {
            request.session = SessionChoice::Named(session.to_string());
        } else {
            request.session_id = Some(session.to_string());
        }
        let runtime = Runtime::new((*terms.context).clone());
        let mut conversation =
            runtime.open_conversation_in(store.clone(), &request, person.clone())?;
        let transcript_bytes = conversation.agent().transcript_bytes();
        Ok(KeptConversation {
            conversation,
            person,
            interrupt,
            terms,
            transcript_bytes,
        })
    }

    fn take(
        &mut self,
        conversation: &mut Conversation,
        input: TurnInput,
        session: &str,
        bytes: &mut usize,
    ) -> TurnResult {
        let Self {
            shared,
            order,
            control,
            sink,
            pulse,
            ..
        } = self;
        let pulse = pulse.as_deref();
        let home = conversation.context().location.home.clone();
        // The id of a call and what it is about.
        let mut calls: Vec<(String, String)> = Vec::new();
        let mut commit = order.entry.commit_of_calls(input.acknowledged);
        let mut record = |calls: &[(String, String)]| {
            let words: Vec<String> = calls.iter().map(|(_, words)| words.clone()).collect();
            let id = &order.entry.id;
            shared.ledger.set_calls(&home, id, &words, commit);
            commit = Commit::Logged;
        };
        let mut tell = |update: Update<'_>, calls: usize| {
            if let Some(pulse) = pulse {
                pulse.beat(calls);
            }
            if !sink.update(update) {
                control.stop(StopCause::Client);
            }
        };
        let mut has_begun = false;
        let mut observer = |event: TurnEvent<'_>| match event {
            TurnEvent::Stored => {
                has_begun = true;
                tell(Update::Began { session }, 0);
            }
            TurnEvent::Stream(StreamEvent::Text(text)) => {
                *bytes += text.len();
                tell(Update::Text(&text), calls.len());
            }
            TurnEvent::Stream(StreamEvent::Reasoning(text)) => {
                tell(Update::Reasoning(&text), calls.len());
            }
            TurnEvent::Calling {
                id,
                tool,
                arguments,
            } => {
                let about = preview(arguments).map_or(String::new(), |about| format!(": {about}"));
                calls.push((id.to_owned(), format!("{tool}{about}")));
                record(&calls);
                let update = Update::Calling {
                    id,
                    tool,
                    arguments,
                };
                tell(update, calls.len());
            }
            TurnEvent::Called {
                id,
                tool,
                result,
                took,
            } => {
                *bytes += result.len();
                calls.retain(|(known, _)| known != id);
                let update = Update::Called {
                    id,
                    tool,
                    result,
                    took,
                };
                tell(update, calls.len());
            }
            TurnEvent::Stream(_) => {
                if let Some(pulse) = pulse {
                    pulse.beat(calls.len());
                }
            }
            TurnEvent::Notice(text) => tracing::info!(session, "{text}"),
        };
        let result = conversation.turn(input, &mut observer);
        if !has_begun {
            // What the client said could not be stored; the result tells why.
            sink.update(Update::Began { session });
        }
        result
    }
}

/// The result of a turn whose answer was stored and not told.
fn answered(conversation: &mut Conversation, text: String) -> TurnResult {
    let agent = conversation.agent();
    TurnResult {
        final_response: Some(text),
        last_reasoning: None,
        outcome: TurnOutcome::Completed,
        exit_reason: ExitReason::TextResponse("stop"),
        failure: None,
        api_calls: 0,
        max_iterations: 0,
        usage: TokenUsage::default(),
        cost: Cost::Unknown,
        pending_steer: None,
        unwritten_files: Vec::new(),
        tool_trace: Vec::new(),
        route: agent.provider().route(),
        session_id: agent.session_id().clone(),
    }
}
