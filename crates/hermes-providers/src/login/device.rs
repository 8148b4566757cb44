//! A login with a code that is typed on any device with a browser.

use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::Wake;

use super::client::{Answer, LoginClient};
use super::{LoginConnection, LoginError};
use crate::pool::LoginTokens;

/// Seconds between questions if the server does not say.
const USUAL_INTERVAL: u64 = 5;
/// What a server that wants to be asked less often adds.
const SLOWER: Duration = Duration::from_secs(5);
/// Longest pause between questions.
const LONGEST: Duration = Duration::from_mins(1);
/// How long a code holds if the server does not say.
const USUAL_LIFETIME: u64 = 900;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A login by device code.
#[derive(Debug, Clone)]
pub struct DeviceLogin {
    pub portal_url: String,
    pub client_id: String,
    pub scope: String,
    pub connection: LoginConnection,
}

/// What the person is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    /// The page to open.
    pub page: String,
    /// The same page with the code in it, if the server has such.
    pub whole_page: Option<String>,
    /// The code to type there.
    pub code: String,
}

/// What an answer of the token address means.
#[derive(Debug, PartialEq, Eq)]
enum Poll {
    Again(Duration),
    Failed(LoginError),
}

impl DeviceLogin {
    /// Asks for a code, shows it, and waits until somebody has used it.
    pub fn run(
        &self,
        config: &Config,
        interrupt: &Wake,
        show: &mut dyn FnMut(&DevicePrompt),
    ) -> Result<LoginTokens, LoginError> {
        let client = LoginClient::new(config, &self.connection, &self.portal_url)?;
        let fields = [
            ("client_id", self.client_id.as_str()),
            ("scope", self.scope.as_str()),
        ];
        let answer = client.post_form("/api/oauth/device/code", &fields, Vec::new())?;
        if answer.status != 200 {
            return Err(client.refused(&answer));
        }
        let text = |key: &str| answer.value[key].as_str().map(str::to_owned);
        let device_code = text("device_code").ok_or_else(|| client.incomplete("a device code"))?;
        show(&DevicePrompt {
            page: text("verification_uri").ok_or_else(|| client.incomplete("a page to open"))?,
            whole_page: text("verification_uri_complete"),
            code: text("user_code").ok_or_else(|| client.incomplete("a code"))?,
        });
        let seconds = |key: &str, usual: u64| {
            Duration::from_secs(answer.value[key].as_u64().unwrap_or(usual))
        };
        let deadline = Instant::now() + seconds("expires_in", USUAL_LIFETIME);
        let mut interval = seconds("interval", USUAL_INTERVAL).max(Duration::from_millis(200));
        loop {
            if interrupt.wait(interval) {
                return Err(LoginError::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(LoginError::Expired);
            }
            let fields = [
                ("grant_type", GRANT),
                ("client_id", self.client_id.as_str()),
                ("device_code", device_code.as_str()),
            ];
            // A network that is away for a moment does not end a login.
            let answer = match client.post_form("/api/oauth/token", &fields, Vec::new()) {
                Ok(answer) => answer,
                Err(LoginError::Unreachable { .. }) => continue,
                Err(error) => return Err(error),
            };
            if answer.status == 200 {
                let tokens = LoginTokens::read(&answer.value);
                return tokens.ok_or_else(|| client.incomplete("a token"));
            }
            match poll(&answer, interval, &client) {
                Poll::Again(next) => interval = next,
                Poll::Failed(error) => return Err(error),
            }
        }
    }
}

fn poll(answer: &Answer, interval: Duration, client: &LoginClient) -> Poll {
    match answer.value["error"].as_str() {
        Some("authorization_pending") => Poll::Again(interval),
        Some("slow_down") => Poll::Again((interval + SLOWER).min(LONGEST)),
        Some("access_denied") => Poll::Failed(LoginError::Denied),
        Some("expired_token") => Poll::Failed(LoginError::Expired),
        // A server that is busy is asked again.
        _ if answer.status >= 500 || answer.status == 429 => {
            Poll::Again((interval + SLOWER).min(LONGEST))
        }
        _ => Poll::Failed(client.refused(answer)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_of_the_token_address_are_told_apart() {
        let home = tempfile::tempdir().unwrap();
        let env = hermes_config::Environment::from_pairs([("HOME", home.path())]);
        let sources = hermes_config::Sources::new(&env, home.path());
        let config = Config::load_read_only(&sources);
        let connection = LoginConnection::default();
        let client = LoginClient::new(&config, &connection, "http://127.0.0.1:1").unwrap();
        let answer = |status, error: &str| Answer {
            status,
            value: json!({"error": error}),
            text: String::new(),
        };
        let second = Duration::from_secs(1);
        for (error, expected) in [
            ("authorization_pending", Poll::Again(second)),
            ("slow_down", Poll::Again(Duration::from_secs(6))),
            ("access_denied", Poll::Failed(LoginError::Denied)),
            ("expired_token", Poll::Failed(LoginError::Expired)),
        ] {
            assert_eq!(
                poll(&answer(400, error), second, &client),
                expected,
                "{error}"
            );
        }
        assert!(matches!(
            poll(&answer(503, ""), second, &client),
            Poll::Again(_)
        ));
        assert!(matches!(
            poll(&answer(400, "x"), second, &client),
            Poll::Failed(_)
        ));
        for bad in ["http://portal.example", "ftp://127.0.0.1", "portal", ""] {
            assert!(
                LoginClient::new(&config, &connection, bad).is_err(),
                "{bad}"
            );
        }
    }
}
