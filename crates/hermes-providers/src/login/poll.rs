//! Asking a server again and again whether somebody has used a code.

use std::time::{Duration, Instant};

use hermes_proc::Wake;
use serde_json::Value;

use super::LoginError;
use super::client::{Answer, LoginClient};

/// What a server that wants to be asked less often adds.
const SLOWER: Duration = Duration::from_secs(5);
/// Longest pause between questions.
const LONGEST: Duration = Duration::from_mins(1);
/// Shortest pause, whatever the server says.
const SHORTEST: Duration = Duration::from_millis(200);

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// The code was used.
    Done(Value),
    Again,
    /// Again, but less often.
    Slower,
}

/// How often and how long a server is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) interval: Duration,
    pub(super) deadline: Instant,
}

impl Pace {
    /// Asks until the code was used, has expired, or nobody wants to wait any longer.
    pub(super) fn poll(
        self,
        interrupt: &Wake,
        mut ask: impl FnMut() -> Result<Polled, LoginError>,
    ) -> Result<Value, LoginError> {
        let mut interval = self.interval.max(SHORTEST);
        loop {
            if interrupt.wait(interval) {
                return Err(LoginError::Interrupted);
            }
            if Instant::now() >= self.deadline {
                return Err(LoginError::Expired);
            }
            match ask() {
                Ok(Polled::Done(value)) => return Ok(value),
                // A network that is away for a moment does not end a login.
                Ok(Polled::Again) | Err(LoginError::Unreachable { .. }) => {}
                Ok(Polled::Slower) => interval = (interval + SLOWER).min(LONGEST),
                Err(error) => return Err(error),
            }
        }
    }
}

/// What the answer of a token address means (RFC 8628).
pub(super) fn standard(answer: Answer, client: &LoginClient) -> Result<Polled, LoginError> {
    if answer.status == 200 {
        return Ok(Polled::Done(answer.value));
    }
    match answer.value["error"].as_str() {
        Some("authorization_pending") => Ok(Polled::Again),
        Some("slow_down") => Ok(Polled::Slower),
        Some("access_denied") => Err(LoginError::Denied),
        Some("expired_token") => Err(LoginError::Expired),
        // A server that is busy is asked again.
        _ if answer.status >= 500 || answer.status == 429 => Ok(Polled::Slower),
        _ => Err(client.refused(&answer)),
    }
}

#[cfg(test)]
mod tests {
    use hermes_config::Config;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::super::LoginConnection;
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
        for (error, expected) in [
            ("authorization_pending", Ok(Polled::Again)),
            ("slow_down", Ok(Polled::Slower)),
            ("access_denied", Err(LoginError::Denied)),
            ("expired_token", Err(LoginError::Expired)),
        ] {
            assert_eq!(standard(answer(400, error), &client), expected, "{error}");
        }
        assert_eq!(standard(answer(503, ""), &client), Ok(Polled::Slower));
        assert!(standard(answer(400, "x"), &client).is_err());
        for bad in ["http://portal.example", "ftp://127.0.0.1", "portal", ""] {
            assert!(
                LoginClient::new(&config, &connection, bad).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn network_that_is_away_does_not_end_a_login_and_an_interrupt_does() {
        let interrupt = Wake::new().unwrap();
        let pace = Pace {
            interval: Duration::ZERO,
            deadline: Instant::now() + Duration::from_mins(1),
        };
        let mut asked = 0;
        let found = pace.poll(&interrupt, || {
            asked += 1;
            match asked {
                1 => Err(LoginError::Unreachable {
                    host: String::new(),
                    reason: String::new(),
                }),
                _ => Ok(Polled::Done(json!(asked))),
            }
        });
        assert_eq!(found, Ok(json!(2)));
        interrupt.raise();
        let found = pace.poll(&interrupt, || Ok(Polled::Again));
        assert_eq!(found, Err(LoginError::Interrupted));
    }
}
