//! Snapshots of files under the settings of a profile: which conversations take them, of what, and when
//! old ones are removed.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hermes_checkpoints::{Boundaries, Checkpoints, Limits, Retention, Store, is_prune_due};

use crate::context::Context;
use crate::person::Person;
use crate::tool_set::ToolSet;

/// The snapshots of a profile's home.
pub fn checkpoint_store(context: &Context) -> Store {
    let plan = context.environment().helper_plan();
    Store::of_home(&context.location.home, plan, &context.env)
}

/// Those of a conversation, if it takes any. `wanted` is whether it was asked to.
pub(crate) fn conversation_checkpoints(
    context: &Context,
    wanted: bool,
    tools: &ToolSet,
    person: &Arc<dyn Person>,
) -> Option<Arc<Checkpoints>> {
    let config = context.config();
    if !wanted && !config.flag("checkpoints.enabled") {
        return None;
    }
    let mounts = config.flag("terminal.docker_mount_cwd_to_workspace");
    let mounted = match tools.remote() {
        None => None,
        Some(remote) if remote.is_container() && mounts => context.system.start_dir.clone(),
        Some(_) => {
            let message =
                "no snapshots are taken in this conversation: its files are not on this machine";
            person.warn(message, None);
            return None;
        }
    };
    let boundaries = Boundaries {
        homes: tools.private_homes.accounts.clone(),
        hermes: tools.private_homes.hermes.clone(),
    };
    let person = Arc::clone(person);
    Some(Arc::new(Checkpoints::new(
        checkpoint_store(context),
        Limits::resolve(config),
        boundaries,
        mounted,
        Box::new(move |message, hint| person.warn(message, hint)),
    )))
}

/// The removal of old snapshots beside a conversation, which waits for it at its end.
pub(crate) struct Upkeep(Option<JoinHandle<()>>);

impl Upkeep {
    /// Begins it if the settings want it and it is due.
    pub(crate) fn begin(context: &Context) -> Self {
        let config = context.config();
        let hours = config.int("checkpoints.min_interval_hours").unwrap_or(24);
        let interval = Duration::from_hours(u64::try_from(hours).unwrap_or(0));
        if !config.flag("checkpoints.auto_prune") || !is_prune_due(&context.location.home, interval)
        {
            return Self(None);
        }
        let store = checkpoint_store(context);
        let retention = Retention::resolve(config);
        let work = move || match store.prune_now(&retention) {
            Ok(pruned) => tracing::info!(?pruned, "old snapshots removed"),
            Err(error) => tracing::warn!(%error, "old snapshots were not removed"),
        };
        let thread = std::thread::Builder::new().name("snapshots".to_owned());
        match thread.spawn(work) {
            Ok(thread) => Self(Some(thread)),
            Err(error) => {
                tracing::warn!(%error, "old snapshots were not removed");
                Self(None)
            }
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self) {
        if let Some(thread) = self.0.take()
            && thread.join().is_err()
        {
            tracing::error!("the removal of old snapshots panicked");
        }
    }
}
