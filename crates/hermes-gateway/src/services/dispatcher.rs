//! The dispatcher of all boards, in the one gateway of an installation that holds the lock for it.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use hermes_board::boards::lock_dispatcher;
use hermes_board::dispatch::{BoardTick, TickOutcome};
use hermes_board::{DispatchFlags, KanbanSettings};
use hermes_config::settings::Problem;
use hermes_fs::FileLock;
use hermes_runtime::{Context, board_home, kanban_settings};

use crate::dispatch_loop::{DispatchLoop, DispatchObserver, Steering, described_limits};
use crate::reports::Reports;
use crate::service::{HostedService, ServiceError, ServiceHost};

/// How often a dispatcher that stands by looks whether the other one is gone: nothing tells.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Dispatches ready cards of every board to workers.
#[derive(Default)]
pub struct BoardDispatcher {
    /// Kept when the service is started again: it is the parent of its workers.
    dispatch: Option<DispatchLoop>,
    /// About boards that cannot be used.
    reports: Reports,
}

impl HostedService for BoardDispatcher {
    fn name(&self) -> &'static str {
        "dispatcher"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        while !host.is_stopping() {
            host.wake().clear();
            let context = host.context();
            if host.is_draining() {
                host.wake().wait(Duration::from_mins(1));
                continue;
            }
            if !kanban_settings(&context).dispatch_in_gateway {
                host.standing_by("kanban.dispatch_in_gateway is off");
                host.wake().wait(Duration::from_mins(10));
                continue;
            }
            let home = board_home(&context);
            match lock_dispatcher(&home) {
                Ok(Some(lock)) => self.dispatch(host, &context, Some(lock))?,
                Ok(None) => {
                    host.standing_by("another process dispatches the boards of this installation");
                    host.wake().wait(LOOK_AGAIN);
                }
                // Every board has a lock of its own, so that two dispatchers do no harm.
                Err(error) => {
                    tracing::warn!(%error, "could not take the lock of the dispatcher");
                    self.dispatch(host, &context, None)?;
                }
            }
        }
        Ok(())
    }
}

impl BoardDispatcher {
    /// Dispatches until the gateway stops, drains, or is told not to dispatch.
    fn dispatch(
        &mut self,
        host: &ServiceHost,
        context: &Context,
        _lock: Option<FileLock>,
    ) -> Result<(), ServiceError> {
        let settings = kanban_settings(context);
        tracing::info!(
            "dispatching on all boards. {}",
            described_limits(&settings, None)
        );
        let mut dispatch = match self.dispatch.take() {
            Some(kept) => kept,
            None => DispatchLoop::new(context, None, DispatchFlags::default(), None)?,
        };
        host.serving();
        let is_over = || {
            host.wake().clear();
            let goes_on = || kanban_settings(&host.context()).dispatch_in_gateway;
            host.is_stopping() || host.is_draining() || !goes_on()
        };
        let steering = Steering {
            context: &|| host.context(),
            wakes: &[host.wake().as_fd()],
            is_over: &is_over,
        };
        let mut observer = LogObserver {
            host,
            reports: &mut self.reports,
        };
        let left = dispatch.run(&steering, &mut observer);
        if let Ok(left) = left {
            tracing::info!(workers = left, "no more dispatching; workers keep running");
        }
        // A round that splits cards is work that a drain waits for.
        if host.is_draining() && !host.is_stopping() {
            dispatch.wait_for_split(host.wake().as_fd())?;
        }
        dispatch.stop();
        host.set_active(0);
        self.dispatch = Some(dispatch);
        left?;
        Ok(())
    }
}

/// Writes to the log; what boards and cards did is in their events.
struct LogObserver<'a> {
    host: &'a ServiceHost,
    reports: &'a mut Reports,
}

impl DispatchObserver for LogObserver<'_> {
    type Error = io::Error;

    fn settings(&mut self, context: &Context, _settings: &KanbanSettings) -> io::Result<()> {
        // Values of the wrong type; the others are logged where they are read.
        let problems = context.config().problems().iter();
        let of_board = problems.filter(|problem: &&Problem| {
            problem.key().is_some_and(|key| key.starts_with("kanban"))
        });
        for problem in of_board {
            let key = problem.key().unwrap_or_default();
            self.reports.warn(key, problem.to_string());
        }
        Ok(())
    }

    fn not_split(&mut self, _sentences: Vec<String>) -> io::Result<()> {
        // Logged where it happened.
        Ok(())
    }

    fn round(&mut self, round: hermes_board::Result<Vec<BoardTick>>) -> io::Result<()> {
        let rows = match round {
            Ok(rows) => rows,
            Err(error) => {
                self.reports.complain("the list of boards", &error);
                return Ok(());
            }
        };
        self.reports.settled("the list of boards");
        for row in rows {
            let board = format!("board {}", row.slug);
            match row.outcome {
                TickOutcome::Ticked(_) => {
                    self.reports.settled(&board);
                }
                TickOutcome::Failed(error) => self.reports.complain(&board, &error),
                TickOutcome::Skipped => {}
            }
        }
        Ok(())
    }

    fn stuck(&mut self, _is_stuck: bool) -> io::Result<()> {
        // Logged where it is found out.
        Ok(())
    }

    fn splitting(&mut self, is_splitting: bool) {
        self.host.set_active(usize::from(is_splitting));
    }
}
