//! Admits turns and begins them: at most so many at once, one per session, each on its own thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::control::{StopCause, TurnControl};
use super::job::Job;
use super::kept::{KeptConversation, KeptConversations};
use super::lease::{Lease, Leases};
use super::open_store::OpenStore;
use super::order::{TurnOrder, TurnSink};
use super::running::{RunningPlace, RunningTurn, Shared};
use super::silence::{Reports, SilenceWatch};
use super::threads::TurnThreads;
use crate::host::ApiHost;
use crate::http::ApiError;
use crate::ledger::{LiveTurn, TurnLedger};
use crate::media::MediaRules;
use crate::metrics::Metrics;
use crate::settings::ApiSettings;

/// The turns of a server.
pub(crate) struct Turns {
    shared: Arc<Shared>,
    threads: TurnThreads,
    /// Turns at once.
    limit: Option<usize>,
}

/// A turn that has its place among those on their way, and waits for its session.
pub(crate) struct ReservedTurn {
    control: Arc<TurnControl>,
    place: RunningPlace,
    live: LiveTurn,
}

impl Turns {
    pub(crate) fn new(
        settings: &ApiSettings,
        host: Arc<dyn ApiHost>,
        metrics: Arc<Metrics>,
        ledger: Arc<TurnLedger>,
    ) -> Self {
        Self {
            limit: settings.max_turns,
            threads: TurnThreads::default(),
            shared: Arc::new(Shared {
                host,
                metrics,
                ledger,
                leases: Leases::default(),
                kept: KeptConversations::new(settings.cache_bytes),
                store: OpenStore::default(),
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
        let lease = self.lease(&mut order).await?;
        let reserved = self.reserve(&order.entry.id, control)?;
        self.start(order, reserved, lease, sink)
    }

    /// Begins a turn that has its place already.
    pub(crate) async fn begin_reserved(
        &self,
        mut order: TurnOrder,
        reserved: ReservedTurn,
        sink: Box<dyn TurnSink>,
    ) {
        match self.lease(&mut order).await {
            Ok(lease) => {
                if let Err(error) = self.start(order, reserved, lease, sink) {
                    tracing::warn!(reason = error.message(), "a run was not begun");
                }
            }
            Err(error) => {
                // The end is recorded.
                let told = tokio::task::spawn_blocking(move || sink.finish(Err(error)));
                if let Err(error) = told.await {
                    tracing::error!(%error, "the end of a run was not told");
                }
            }
        }
    }

    async fn lease(&self, order: &mut TurnOrder) -> Result<Lease, ApiError> {
        let leases = &self.shared.leases;
        if let Some(earlier) = &order.entry.earlier
            && earlier.messages().is_some()
        {
            order.session.clone_from(&earlier.session);
            order.when_busy = None;
        }
        match (leases.try_take(&order.session), order.when_busy.take()) {
            (Some(lease), _) => Ok(lease),
            (None, None) => leases.take(&order.session).await,
            (None, Some(other)) => {
                order.session = other;
                leases.take(&order.session).await
            }
        }
    }

    fn start(
        &self,
        order: TurnOrder,
        reserved: ReservedTurn,
        lease: Lease,
        sink: Box<dyn TurnSink>,
    ) -> Result<(), ApiError> {
        let ReservedTurn {
            control,
            place,
            live,
        } = reserved;
        let pulse = self.silence_watch(&order.entry.id, &control);
        let job = Job {
            shared: Arc::clone(&self.shared),
            order,
            control,
            sink,
            place,
            lease,
            pulse,
            live,
        };
        let started = self.threads.run(move || job.run());
        started.map_err(|error| {
            tracing::error!(%error, "no thread for a turn");
            ApiError::unavailable("the machine is out of threads")
        })?;
        Ok(())
    }

    /// Watches whether a turn is heard of; `None` if the settings want nothing of that.
    fn silence_watch(&self, id: &str, control: &Arc<TurnControl>) -> Option<SilenceWatch> {
        let context = self.shared.host.context();
        let config = context.config();
        let seconds = |key: &str| {
            let seconds = config.int(key)?;
            let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
            seconds.map(Duration::from_secs)
        };
        let limit = seconds("agent.gateway_timeout");
        let reports = Reports {
            // Without a limit there is nothing to warn of.
            warning: limit.and_then(|_| seconds("agent.gateway_timeout_warning")),
            interval: seconds("agent.gateway_notify_interval"),
        };
        if limit.is_none() && reports == Reports::default() {
            return None;
        }
        let limit = limit.unwrap_or(Duration::MAX);
        Some(SilenceWatch::start(id, limit, reports, Arc::clone(control)))
    }

    /// Which files of this machine may go along with an answer.
    pub(super) fn media_rules(&self) -> MediaRules {
        MediaRules::of(&self.shared.host.context())
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
        match self.limit {
            Some(most) if active >= most => Err(ApiError::busy(
                format!("{most} turns are on their way already; try again when one is over"),
                1,
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Takes a place among the turns on their way, if there is one.
    pub(crate) fn reserve(
        &self,
        id: &str,
        control: Arc<TurnControl>,
    ) -> Result<ReservedTurn, ApiError> {
        if self.shared.host.is_draining() {
            return Err(ApiError::draining());
        }
        let mut running = self.shared.running();
        self.refuse_if_full(&running)?;
        Ok(self.reserve_in(&mut running, id, control))
    }

    /// The same for a turn that was accepted before a restart: there is always a place for it.
    pub(crate) fn reserve_again(&self, id: &str, control: Arc<TurnControl>) -> ReservedTurn {
        self.reserve_in(&mut self.shared.running(), id, control)
    }

    fn reserve_in(
        &self,
        running: &mut HashMap<u64, RunningTurn>,
        id: &str,
        control: Arc<TurnControl>,
    ) -> ReservedTurn {
        let number = self.shared.last.fetch_add(1, Ordering::Relaxed);
        let turn = RunningTurn {
            control: Arc::clone(&control),
            is_over: false,
        };
        running.insert(number, turn);
        self.shared.host.set_active(running.len());
        ReservedTurn {
            control,
            place: RunningPlace {
                shared: Arc::clone(&self.shared),
                number,
            },
            live: LiveTurn::new(id),
        }
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
        // Whoever still has a conversation keeps the connection; a second one would come beside it.
        if self.active() == 0 && self.kept().0 == 0 {
            self.shared.store.close();
        }
    }

    pub(crate) fn interrupt_all(&self) {
        for turn in self.shared.running().values() {
            turn.control.stop(StopCause::Server);
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
        self.shared.store.close();
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
