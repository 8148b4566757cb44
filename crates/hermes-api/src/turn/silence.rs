//! Ends turns of which nothing is heard any more (`agent.gateway_timeout`), and says in the log before
//! that, and how long the others have been on their way.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::control::{StopCause, TurnControl};

/// When a turn was last heard of.
#[derive(Debug)]
pub(super) struct Pulse {
    state: Mutex<PulseState>,
    pub(super) limit: Duration,
}

/// When the log has something about a turn on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reports {
    /// The silence after which there is a warning (`agent.gateway_timeout_warning`).
    pub(super) warning: Option<Duration>,
    /// The time between two lines about a turn that takes long (`agent.gateway_notify_interval`).
    pub(super) interval: Option<Duration>,
}

/// What is said of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    /// Nothing was heard of it for so long.
    Silent(Duration),
    /// It has been on its way for so long.
    OnItsWay(Duration),
}

/// Which reports of a turn were made.
#[derive(Debug)]
struct Schedule {
    reports: Reports,
    has_warned: bool,
    /// The age of the turn at which it is mentioned next.
    next_mention: Option<Duration>,
}

impl Schedule {
    fn new(reports: Reports) -> Self {
        Self {
            reports,
            has_warned: false,
            next_mention: reports.interval,
        }
    }

    /// The reports that are due of a turn of this age that has been silent for so long. A warning is
    /// given once for each silence.
    fn due(&mut self, age: Duration, silence: Duration) -> Vec<Report> {
        let mut due = Vec::new();
        if let Some(warning) = self.reports.warning {
            let is_silent = silence >= warning;
            if is_silent && !self.has_warned {
                due.push(Report::Silent(silence));
            }
            self.has_warned = is_silent;
        }
        if let (Some(at), Some(interval)) = (self.next_mention, self.reports.interval)
            && age >= at
        {
            due.push(Report::OnItsWay(age));
            self.next_mention = Some(age + interval);
        }
        due
    }

    /// How long nothing will be due.
    fn pause(&self, age: Duration, silence: Duration) -> Duration {
        let warning = self.reports.warning.filter(|_| !self.has_warned);
        // What is heard in between starts the silence anew.
        let warning = match warning {
            Some(warning) => Some(warning.saturating_sub(silence)),
            None => self.reports.warning,
        };
        let mention = self.next_mention.map(|at| at.saturating_sub(age));
        let pauses = [warning, mention].into_iter().flatten();
        pauses.min().unwrap_or(Duration::MAX)
    }
}

#[derive(Debug)]
struct PulseState {
    begun: Instant,
    heard: Instant,
    /// Calls under way: tools have limits of their own.
    calls: usize,
}

impl Pulse {
    fn new(limit: Duration) -> Self {
        Self {
            state: Mutex::new(PulseState {
                begun: Instant::now(),
                heard: Instant::now(),
                calls: 0,
            }),
            limit,
        }
    }

    pub(super) fn beat(&self, calls: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heard = Instant::now();
        state.calls = calls;
    }

    /// How long the turn has been on its way, and how long it has been silent.
    fn times(&self) -> (Duration, Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let silence = match state.calls {
            0 => state.heard.elapsed(),
            _ => Duration::ZERO,
        };
        (state.begun.elapsed(), silence)
    }

    /// How long the turn may still be silent; `None` if it was for too long.
    fn left(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.calls > 0 {
            return Some(self.limit);
        }
        let left = self.limit.saturating_sub(state.heard.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

/// Listens to the pulse of a turn until dropped: what waits for half an hour must not outlive its turn.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    pulse: Arc<Pulse>,
    task: AbortHandle,
}

impl SilenceWatch {
    /// Stops the turn of this id once nothing was heard of it for as long as the limit.
    pub(super) fn start(
        id: &str,
        limit: Duration,
        reports: Reports,
        control: Arc<TurnControl>,
    ) -> Self {
        let pulse = Arc::new(Pulse::new(limit));
        let watched = watch(id.to_owned(), Arc::clone(&pulse), reports, control);
        let task = tokio::spawn(watched);
        Self {
            pulse,
            task: task.abort_handle(),
        }
    }
}

impl Deref for SilenceWatch {
    type Target = Pulse;

    fn deref(&self) -> &Pulse {
        &self.pulse
    }
}

impl Drop for SilenceWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(id: String, pulse: Arc<Pulse>, reports: Reports, control: Arc<TurnControl>) {
    let mut schedule = Schedule::new(reports);
    while let Some(left) = pulse.left() {
        let (age, silence) = pulse.times();
        for report in schedule.due(age, silence) {
            match report {
                Report::Silent(silence) => tracing::warn!(
                    id,
                    "nothing was heard of a turn for {} s; it is ended after {} s",
                    silence.as_secs(),
                    pulse.limit.as_secs()
                ),
                Report::OnItsWay(age) => {
                    tracing::info!(id, "a turn has been on its way for {} s", age.as_secs());
                }
            }
        }
        tokio::time::sleep(left.min(schedule.pause(age, silence))).await;
    }
    control.stop(StopCause::Silence);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    }

    #[test]
    fn nothing_of_a_turn_that_is_over_waits_for_its_limit() {
        let runtime = runtime();
        runtime.block_on(async {
            let control = Arc::new(TurnControl::default());
            let limit = Duration::from_hours(1);
            let watches: Vec<SilenceWatch> = (0..50)
                .map(|_| SilenceWatch::start("t", limit, Reports::default(), Arc::clone(&control)))
                .collect();
            tokio::task::yield_now().await;
            assert_eq!(
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks(),
                50
            );
            drop(watches);
            tokio::task::yield_now().await;
            assert_eq!(
                tokio::runtime::Handle::current()
                    .metrics()
                    .num_alive_tasks(),
                0
            );
            assert_eq!(Arc::strong_count(&control), 1);
        });
    }

    #[test]
    fn a_silent_turn_is_warned_of_once_and_a_long_one_mentioned_again_and_again() {
        let seconds = Duration::from_secs;
        let mut schedule = Schedule::new(Reports {
            warning: Some(seconds(10)),
            interval: Some(seconds(15)),
        });
        assert_eq!(schedule.due(seconds(1), seconds(1)), []);
        assert_eq!(schedule.pause(seconds(1), seconds(1)), seconds(9));
        let silent = Report::Silent(seconds(10));
        assert_eq!(schedule.due(seconds(10), seconds(10)), [silent]);
        assert_eq!(schedule.due(seconds(12), seconds(12)), []);
        assert_eq!(schedule.pause(seconds(12), seconds(12)), seconds(3));
        let mentioned = Report::OnItsWay(seconds(16));
        assert_eq!(schedule.due(seconds(16), seconds(2)), [mentioned]);
        // Another silence is another warning.
        let silent = Report::Silent(seconds(11));
        assert_eq!(schedule.due(seconds(27), seconds(11)), [silent]);
        let mentioned = Report::OnItsWay(seconds(31));
        assert_eq!(schedule.due(seconds(31), seconds(15)), [mentioned]);
        let mut never = Schedule::new(Reports::default());
        assert_eq!(never.due(seconds(9_999), seconds(9_999)), []);
        assert_eq!(never.pause(seconds(9_999), seconds(9_999)), Duration::MAX);
    }

    #[test]
    fn a_silent_turn_is_stopped_and_one_that_calls_a_tool_is_not() {
        let runtime = runtime();
        runtime.block_on(async {
            let control = Arc::new(TurnControl::default());
            let limit = Duration::from_millis(20);
            let watch = SilenceWatch::start("t", limit, Reports::default(), Arc::clone(&control));
            watch.beat(1);
            tokio::time::sleep(limit * 4).await;
            assert_eq!(control.cause(), None);
            watch.beat(0);
            tokio::time::sleep(limit * 4).await;
            assert_eq!(control.cause(), Some(StopCause::Silence));
        });
    }
}
