//! Hooks that are told of something without anybody waiting for them: a queue and a thread.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::HookHost;
use crate::run::run_hook;
use crate::spec::HookSpec;

/// Events that wait; more are dropped.
const MOST_WAITING: usize = 256;

struct Told {
    hook: HookSpec,
    payload: Arc<str>,
    cwd: PathBuf,
}

/// Runs hooks one after the other. What waits is still run when this is gone.
#[derive(Default)]
pub(crate) struct Background {
    queue: Mutex<Option<SyncSender<Told>>>,
}

impl Background {
    pub(crate) fn tell(
        &self,
        hook: &HookSpec,
        payload: Arc<str>,
        cwd: PathBuf,
        host: &Arc<dyn HookHost>,
    ) {
        let told = Told {
            hook: hook.clone(),
            payload,
            cwd,
        };
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*queue {
            Some(sender) => sender.clone(),
            None => match start(Arc::clone(host)) {
                Ok(sender) => queue.insert(sender).clone(),
                Err(error) => return tracing::warn!(%error, "hooks of the gateway are not run"),
            },
        };
        drop(queue);
        if let Err(TrySendError::Full(told)) = sender.try_send(told) {
            let (event, command) = (told.hook.event.name(), &told.hook.command);
            tracing::warn!(
                "the hook {command} of {event} was not run: {MOST_WAITING} wait already"
            );
        }
    }
}

fn start(host: Arc<dyn HookHost>) -> std::io::Result<SyncSender<Told>> {
    let (sender, queue) = sync_channel::<Told>(MOST_WAITING);
    std::thread::Builder::new()
        .name("hermes-hooks".to_owned())
        .spawn(move || {
            for told in queue {
                let run = run_hook(&told.hook, &told.payload, &*host, &told.cwd, None);
                if let Some(problem) = run.problem {
                    let (event, command) = (told.hook.event.name(), &told.hook.command);
                    tracing::warn!("the hook {command} of {event} failed: {problem}");
                }
            }
        })?;
    Ok(sender)
}
