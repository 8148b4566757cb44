//! Logins to model providers that somebody has begun in a browser: a code is shown, and a thread waits
//! until it was typed on the provider's page.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_proc::Wake;
use hermes_providers::{
    AuthFile, DeviceLogin, DevicePrompt, LoginError, LoginKeeping, LoginServer,
};
use hermes_runtime::Context;

use crate::http::ApiError;

/// Logins on their way at once.
const MOST_PENDING: usize = 8;
/// How long a code holds at most, and how long is remembered what became of it.
pub(crate) const LIFETIME: Duration = Duration::from_mins(15);
/// How long a provider may take to give out a code.
const PROMPT_LIMIT: Duration = Duration::from_secs(30);

/// What became of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoginState {
    Pending,
    Approved,
    Denied,
    Expired,
    Failed(String),
}

impl LoginState {
    /// The word of the reference.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Failed(_) => "error",
        }
    }
}

/// A login that was begun.
pub(crate) struct BegunLogin {
    pub(crate) provider: &'static str,
    /// Unix time.
    pub(crate) expires_at: i64,
    begun: Instant,
    state: Mutex<LoginState>,
    interrupt: Wake,
}

impl BegunLogin {
    pub(crate) fn state(&self) -> LoginState {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    fn set(&self, state: LoginState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// All logins, by their ids.
#[derive(Default)]
pub(crate) struct ProviderLogins {
    begun: Mutex<HashMap<String, Arc<BegunLogin>>>,
}

impl ProviderLogins {
    /// Asks a provider for a code and waits for its use on a thread; the id of the login and the code.
    pub(crate) fn begin(
        &self,
        context: &Arc<Context>,
        server: &'static LoginServer,
    ) -> Result<(String, DevicePrompt), ApiError> {
        let login = DeviceLogin::usual(server, context.config(), &context.env);
        let lifetime = i64::try_from(LIFETIME.as_secs()).unwrap_or_default();
        let failed = |error: std::io::Error| ApiError::unavailable(error.to_string());
        let begun = Arc::new(BegunLogin {
            provider: server.provider,
            expires_at: jiff::Timestamp::now().as_second() + lifetime,
            begun: Instant::now(),
            state: Mutex::new(LoginState::Pending),
            interrupt: Wake::new().map_err(failed)?,
        });
        let id = hermes_fs::random_hex(32);
        self.add(&id, &begun)?;
        let (sender, prompt) = channel();
        let (waiting, profile) = (Arc::clone(&begun), Arc::clone(context));
        std::thread::Builder::new()
            .name("provider-login".to_owned())
            .spawn(move || waiting.set(wait(&login, &profile, &waiting.interrupt, &sender)))
            .map_err(failed)?;
        match prompt.recv_timeout(PROMPT_LIMIT) {
            Ok(prompt) => Ok((id, prompt)),
            Err(_) => {
                self.cancel(&id);
                let reason = match begun.state() {
                    LoginState::Failed(reason) => reason,
                    _ => format!("{} gives out no code", server.provider),
                };
                Err(ApiError::unavailable(reason))
            }
        }
    }

    fn add(&self, id: &str, login: &Arc<BegunLogin>) -> Result<(), ApiError> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, login| login.begun.elapsed() < LIFETIME);
        let pending = begun
            .values()
            .filter(|login| login.state() == LoginState::Pending);
        if pending.count() >= MOST_PENDING {
            let message = "too many logins are on their way; complete or cancel one";
            return Err(ApiError::too_many(message, 60));
        }
        begun.insert(id.to_owned(), Arc::clone(login));
        Ok(())
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<BegunLogin>> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.get(id).cloned()
    }

    /// Gives a login up; whether there was one.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let login = begun.remove(id);
        if let Some(login) = &login {
            login.interrupt.raise();
        }
        login.is_some()
    }

    /// Gives all of them up.
    pub(crate) fn stop(&self) {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        for login in begun.values() {
            login.interrupt.raise();
        }
    }
}

/// Waits for the use of a code and stores what that brought.
fn wait(
    login: &DeviceLogin,
    context: &Context,
    interrupt: &Wake,
    shown: &Sender<DevicePrompt>,
) -> LoginState {
    let mut show = |prompt: &DevicePrompt| {
        // Whoever asked for it may have gone; the code is then of no use to anybody.
        drop(shown.send(prompt.clone()));
    };
    let tokens = match login.run(context.config(), interrupt, &mut show) {
        Ok(tokens) => tokens,
        Err(LoginError::Denied) => return LoginState::Denied,
        Err(LoginError::Expired) => return LoginState::Expired,
        Err(error) => return LoginState::Failed(error.to_string()),
    };
    let file = AuthFile::of_home(&context.location.home);
    let stored = context
        .ensure_home()
        .map_err(|error| error.to_string())
        .and_then(|()| {
            login
                .store(&file, context.config(), &tokens, &LoginKeeping::default())
                .map_err(|error| error.to_string())
        });
    match stored {
        Ok(_) => {
            tracing::info!(provider = login.server.provider, "somebody has logged in");
            LoginState::Approved
        }
        Err(reason) => LoginState::Failed(reason),
    }
}
