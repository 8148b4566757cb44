//! The settings in effect. They are read again when they change; a file that breaks changes nothing.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hermes_config::settings::FileState;
use hermes_proc::Wake;
use hermes_runtime::Context;

/// The context of the gateway, which all services share.
#[derive(Debug)]
pub struct LiveContext {
    current: RwLock<Arc<Context>>,
    /// Raised when the settings have changed.
    listeners: Mutex<Vec<Arc<Wake>>>,
    /// What is wrong with the file now, so that it is logged once.
    complaint: Mutex<Option<String>>,
}

impl LiveContext {
    pub(crate) fn new(context: Context) -> Self {
        Self {
            current: RwLock::new(Arc::new(context)),
            listeners: Mutex::default(),
            complaint: Mutex::default(),
        }
    }

    /// The settings in effect.
    pub fn get(&self) -> Arc<Context> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn listen(&self, wake: &Arc<Wake>) {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.push(Arc::clone(wake));
    }

    /// Reads the settings again.
    pub fn reload(&self) {
        let old = self.get();
        let new = old.with_env(old.env.clone());
        let broken = broken_file(&new);
        let mut complaint = self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = broken {
            if complaint.as_ref() != Some(&reason) {
                tracing::error!(
                    "config.yaml cannot be used, the settings from before stay in effect: {reason}"
                );
            }
            *complaint = Some(reason);
            return;
        }
        *complaint = None;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        tracing::info!("settings were read again");
        let listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for wake in &*listeners {
            wake.raise();
        }
    }
}

/// What is wrong with `config.yaml`, if it cannot be used.
pub(crate) fn broken_file(context: &Context) -> Option<String> {
    match &context.config().user_file().state {
        FileState::Broken(error) => Some(error.to_string()),
        _ => None,
    }
}
