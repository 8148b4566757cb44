//! Admits turns and runs them: at most so many at once, one per session, each on its own thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_agent::{TurnEvent, TurnResult};
use hermes_proc::Wake;
use hermes_providers::StreamEvent;
use hermes_runtime::{Conversation, ConversationRequest, Runtime, SessionChoice};
use hermes_session::{NewSession, SessionId, SessionStore};

use super::control::TurnControl;
use super::history::reconcile;
use super::kept::{KeptConversation, KeptConversations, Terms};
use super::lease::{Lease, Leases};
use super::order::{TurnOrder, TurnSink, Update};
use super::person::ServedPerson;
use crate::host::ApiHost;
use crate::http::ApiError;
use crate::metrics::Metrics;
use crate::settings::ApiSettings;

/// What sessions of the server are filed under, and whose toolsets apply.
pub(crate) const SOURCE: &str = "api_server";

/// The turns of a server.
pub(crate) struct Turns {
    shared: Arc<Shared>,
    max_turns: Option<usize>,
}

struct Shared {
    host: Arc<dyn ApiHost>,
    metrics: Arc<Metrics>,
    leases: Leases,
    kept: KeptConversations,
    running: Mutex<HashMap<u64, RunningTurn>>,
    /// Told whenever a turn is over.
    over: Condvar,
    last: AtomicU64,
}

struct RunningTurn {
    control: Arc<TurnControl>,
    /// Whether only the telling is left.
    is_over: bool,
}

impl Turns {
    pub(crate) fn new(
        settings: &ApiSettings,
        host: Arc<dyn ApiHost>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            max_turns: settings.max_turns,
            shared: Arc::new(Shared {
                host,
                metrics,
                leases: Leases::default(),
                kept: KeptConversations::new(settings.cache_bytes),
                running: Mutex::default(),
                over: Condvar::new(),
                last: AtomicU64::new(0),
            }),
        }
    }

    /// Begins a turn as soon as its session is free. The sink hears the rest.
    pub(crate) async fn begin(
        &self,
        mut order: TurnOrder,
        control: Arc<TurnControl>,
        sink: Box<dyn TurnSink>,
    ) -> Result<(), ApiError> {
        self.admit()?;
        let leases = &self.shared.leases;
        let lease = match (leases.try_take(&order.session), order.when_busy.take()) {
            (Some(lease), _) => lease,
            (None, None) => leases.take(&order.session).await?,
            (None, Some(other)) => {
                order.session = other;
                leases.take(&order.session).await?
            }
        };
        let place = self.place(&control)?;
        let job = Job {
            shared: Arc::clone(&self.shared),
            order,
            control,
            sink,
            place,
            lease,
        };
        let thread = std::thread::Builder::new().name("turn".to_owned());
        let started = thread.spawn(move || job.run());
        started.map_err(|error| {
            tracing::error!(%error, "no thread for a turn");
            ApiError::unavailable("the machine is out of threads")
        })?;
        Ok(())
    }

    /// Whether a turn may begin now.
    pub(crate) fn admit(&self) -> Result<(), ApiError> {
        if self.shared.host.is_draining() {
            return Err(ApiError::draining());
        }
        self.refuse_if_full(&self.shared.running())
    }

    fn refuse_if_full(&self, running: &HashMap<u64, RunningTurn>) -> Result<(), ApiError> {
        let active = running.values().filter(|turn| !turn.is_over).count();
        match self.max_turns {
            Some(most) if active >= most => Err(ApiError::busy(
                format!("{most} turns are on their way already; try again when one is over"),
                1,
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn place(&self, control: &Arc<TurnControl>) -> Result<RunningPlace, ApiError> {
        if self.shared.host.is_draining() {
            return Err(ApiError::draining());
        }
        let mut running = self.shared.running();
        self.refuse_if_full(&running)?;
        let number = self.shared.last.fetch_add(1, Ordering::Relaxed);
        let turn = RunningTurn {
            control: Arc::clone(control),
            is_over: false,
        };
        running.insert(number, turn);
        self.shared.host.set_active(running.len());
        drop(running);
        Ok(RunningPlace {
            shared: Arc::clone(&self.shared),
            number,
        })
    }

    /// Turns on their way.
    pub(crate) fn active(&self) -> usize {
        self.shared.running().len()
    }

    /// Conversations kept open between turns: number and bytes.
    pub(crate) fn kept(&self) -> (usize, usize) {
        self.shared.kept.size()
    }

    /// Ends conversations that nobody has continued for long.
    pub(crate) fn sweep(&self) {
        end_all(self.shared.kept.take_stale());
    }

    pub(crate) fn interrupt_all(&self) {
        for turn in self.shared.running().values() {
            turn.control.stop();
        }
    }

    /// Lets nobody take a turn of a session that is about to be changed, and ends its open
    /// conversation.
    pub(crate) async fn exclusively(&self, session: &str) -> Result<Lease, ApiError> {
        let lease = self.shared.leases.take(session).await?;
        if let Some(kept) = self.shared.kept.take(session) {
            let closing = tokio::task::spawn_blocking(move || kept.close());
            if let Err(error) = closing.await {
                tracing::error!(%error, "a conversation did not end");
            }
        }
        Ok(lease)
    }

    /// Ends everything. Turns have this long to come to their end.
    pub(crate) fn stop(&self, limit: Duration) {
        self.interrupt_all();
        let until = Instant::now() + limit;
        let mut running = self.shared.running();
        while !running.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(turns = running.len(), "turns did not end in time");
                break;
            }
            let waited = self.shared.over.wait_timeout(running, left);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(running);
        for kept in self.shared.kept.take_all() {
            kept.close();
        }
    }
}

/// Ends conversations beside the connections: that may wait for processes.
fn end_all(conversations: Vec<KeptConversation>) {
    if conversations.is_empty() {
        return;
    }
    let thread = std::thread::Builder::new().name("end of turns".to_owned());
    let started = thread.spawn(move || conversations.into_iter().for_each(KeptConversation::close));
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to end conversations");
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, HashMap<u64, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a turn among those on their way.
struct RunningPlace {
    shared: Arc<Shared>,
    number: u64,
}

impl RunningPlace {
    /// Another turn may begin.
    fn free(&self) {
        if let Some(turn) = self.shared.running().get_mut(&self.number) {
            turn.is_over = true;
        }
    }
}

impl Drop for RunningPlace {
    fn drop(&mut self) {
        let mut running = self.shared.running();
        running.remove(&self.number);
        self.shared.host.set_active(running.len());
        self.shared.over.notify_all();
    }
}

/// One turn and everything it holds.
struct Job {
    shared: Arc<Shared>,
    order: TurnOrder,
    control: Arc<TurnControl>,
    sink: Box<dyn TurnSink>,
    place: RunningPlace,
    lease: Lease,
}

impl Job {
    fn run(mut self) {
        let opened = self.open();
        let mut kept = match opened {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(reason = error.message(), "a turn was not begun");
                self.place.free();
                drop(self.lease);
                self.sink.finish(Err(error));
                return;
            }
        };
        kept.person.serve(self.order.approver.clone());
        self.control.begin(&kept.interrupt);
        let session = kept.conversation.agent().session_id().to_string();
        let mut bytes = kept.transcript_bytes + self.order.input.text.len();
        let result = take_turn(
            &mut kept.conversation,
            &mut *self.sink,
            &self.control,
            std::mem::take(&mut self.order.input),
            &session,
            &mut bytes,
        );
        self.control.end();
        kept.person.serve(None);
        kept.transcript_bytes = bytes;
        self.shared.metrics.turn(result.outcome, &result.usage);
        // Kept before anybody is told: whoever goes on at once finds it.
        let gone = self.shared.kept.put(session, kept);
        self.place.free();
        drop(self.lease);
        self.sink.finish(Ok(Box::new(result)));
        drop(self.place);
        gone.into_iter().for_each(KeptConversation::close);
    }

    fn open(&self) -> Result<KeptConversation, ApiError> {
        let order = &self.order;
        let context = self.shared.host.context();
        let terms = Terms {
            model: order
                .route
                .as_ref()
                .map(|route| (route.model.clone(), route.provider.clone())),
            more_prompt: order.more_prompt.clone(),
            has_approvals: order.approver.is_some(),
            context: Arc::clone(&context),
        };
        let wanted = SessionId::parse(&order.session)?;
        context.ensure_home()?;
        let mut store = SessionStore::open(&context.location.home)?;
        let session = match &order.history {
            Some((history, when_different)) => {
                let new = NewSession {
                    source: SOURCE.to_owned(),
                    profile_name: context.current.as_ref().map(ToString::to_string),
                    ..NewSession::default()
                };
                reconcile(&mut store, &wanted, history, *when_different, new)?
            }
            None => wanted,
        };
        let stored = store.session(&session)?;
        // The id of a session whose conversation went on in a later one leads there.
        let session = match &stored {
            Some(_) => store.resolve(session.as_str())?,
            None => session,
        };
        if let Some(mut kept) = self.shared.kept.take(session.as_str()) {
            let messages = store.session(&session)?;
            let messages = messages.map(|session| session.counters.message_count);
            let known = kept.conversation.agent().message_counts().0;
            // Another process may have gone on with the session.
            let is_current = messages == i64::try_from(known).ok();
            if is_current && kept.terms == terms {
                return Ok(kept);
            }
            kept.close();
        }
        drop(store);
        let interrupt = Arc::new(Wake::new().map_err(|error| {
            tracing::error!(%error, "out of file descriptors");
            ApiError::unavailable("the machine is out of file descriptors")
        })?);
        let person = Arc::new(ServedPerson::new(terms.has_approvals));
        let mut request = ConversationRequest::new(SOURCE, Arc::clone(&interrupt));
        SOURCE.clone_into(&mut request.platform);
        request.is_served = true;
        request.more_prompt.clone_from(&terms.more_prompt);
        if let Some((model, provider)) = &terms.model {
            request.model = Some(model.clone());
            request.provider.clone_from(provider);
        }
        match stored {
            Some(_) => request.session = SessionChoice::Named(session.to_string()),
            None => request.session_id = Some(session.to_string()),
        }
        let runtime = Runtime::new((*context).clone());
        let mut conversation = runtime.open_conversation(&request, person.clone())?;
        let transcript_bytes = conversation.agent().transcript_bytes();
        Ok(KeptConversation {
            conversation,
            person,
            interrupt,
            terms,
            transcript_bytes,
        })
    }
}

fn take_turn(
    conversation: &mut Conversation,
    sink: &mut dyn TurnSink,
    control: &TurnControl,
    input: hermes_agent::TurnInput,
    session: &str,
    bytes: &mut usize,
) -> TurnResult {
    let mut tell = |update: Update<'_>| {
        if !sink.update(update) {
            control.stop();
        }
    };
    tell(Update::Began { session });
    let mut observer = |event: TurnEvent<'_>| match event {
        TurnEvent::Stream(StreamEvent::Text(text)) => {
            *bytes += text.len();
            tell(Update::Text(&text));
        }
        TurnEvent::Stream(StreamEvent::Reasoning(text)) => tell(Update::Reasoning(&text)),
        TurnEvent::Calling {
            id,
            tool,
            arguments,
        } => tell(Update::Calling {
            id,
            tool,
            arguments,
        }),
        TurnEvent::Called {
            id,
            tool,
            result,
            took,
        } => {
            *bytes += result.len();
            tell(Update::Called {
                id,
                tool,
                result,
                took,
            });
        }
        TurnEvent::Stream(_) => {}
        TurnEvent::Notice(text) => tracing::info!(session, "{text}"),
    };
    conversation.turn(input, &mut observer)
}
