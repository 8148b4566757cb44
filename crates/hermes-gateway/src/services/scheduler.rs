//! Runs the scheduled jobs of the profile when they are due.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_cron::{Error, Scheduler, SchedulerEvent};
use hermes_proc::{Wake, wait_for_any};
use hermes_runtime::cron_setup;

use crate::service::{HostedService, ServiceError, ServiceHost};

/// How often a home that another scheduler serves is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The gateway wakes whoever waits; this is for a wake that was lost.
const FALLBACK: Duration = Duration::from_mins(1);

/// The scheduler of this gateway's profile.
#[derive(Debug, Default)]
pub struct CronScheduler;

impl HostedService for CronScheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn run(&mut self, host: &Arc<ServiceHost>) -> Result<(), ServiceError> {
        while !host.is_stopping() {
            host.wake().clear();
            if host.is_draining() {
                host.standing_by("the gateway drains");
                host.wake().wait(FALLBACK);
                continue;
            }
            host.serving();
            match serve(host)? {
                Ok(()) => {}
                Err(Error::SchedulerRunning) => {
                    host.standing_by("`hermes cron tick --watch` serves this home");
                    host.wake().wait(LOOK_AGAIN);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Runs jobs until the gateway drains or stops.
fn serve(host: &ServiceHost) -> std::io::Result<hermes_cron::Result<()>> {
    let (stop, abort, done) = (Wake::new()?, Wake::new()?, Wake::new()?);
    let active = AtomicUsize::new(0);
    let observe = |event: &SchedulerEvent<'_>| {
        let running = match event {
            SchedulerEvent::Started(run) => {
                tracing::info!(job = run.job.id(), "a scheduled job begins");
                active.fetch_add(1, Ordering::SeqCst) + 1
            }
            SchedulerEvent::Ended(run, report) => {
                let error = report.error.as_deref();
                tracing::info!(job = run.job.id(), error, "a scheduled job has ended");
                active.fetch_sub(1, Ordering::SeqCst) - 1
            }
            SchedulerEvent::Missed(count) => {
                return tracing::warn!(count, "runs of scheduled jobs were missed");
            }
            // The scheduler has logged it.
            SchedulerEvent::Failed(_) => return,
        };
        host.set_active(running);
    };
    let setup = || cron_setup(&host.context());
    let scheduler = Scheduler {
        setup: &setup,
        observe: &observe,
    };
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| steer(host, &stop, &abort, &done));
        let outcome = scheduler.run(&stop, &abort);
        done.raise();
        outcome
    }))
}

/// Tells the scheduler what the gateway wants: a draining one begins no job, a stopping one ends those
/// that run.
fn steer(host: &ServiceHost, stop: &Wake, abort: &Wake, done: &Wake) {
    while !done.is_raised() {
        host.wake().clear();
        if host.is_draining() || host.is_stopping() {
            stop.raise();
        }
        if host.is_stopping() {
            abort.raise();
        }
        wait_for_any(&[host.wake(), done], FALLBACK);
    }
}
