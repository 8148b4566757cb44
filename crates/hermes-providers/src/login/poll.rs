//! Asking a server again and again whether somebody has used a code.

use std::time::{Duration, Instant};

use hermes_proc::Wake;
use serde_json::Value;

use super::LoginError;
use super::client::{Answer, LoginClient};
use super::code_request::DevicePrompt;

/// What a server that wants to be asked less often adds.
const SLOWER: Duration = Duration::from_secs(5);
/// Longest pause between questions.
const LONGEST: Duration = Duration::from_mins(1);
/// Shortest pause, whatever the server says.
const SHORTEST: Duration = Duration::from_millis(200);

/// What an answer means.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// A code that a server has given: shown to the person, then asked about until it was used.
pub(super) struct IssuedCode {
    pub(super) prompt: DevicePrompt,
    pub(super) pace: Pace,
}

impl IssuedCode {
    /// Shows the code and waits. `ask` puts the question; `judge` says what an answer means that is
    /// neither a refusal nor that of a busy server.
    pub(super) fn wait(
        &self,
        client: &LoginClient,
        (interrupt, show): (&Wake, &mut dyn FnMut(&DevicePrompt)),
        ask: impl Fn() -> Result<Answer, LoginError>,
        judge: impl Fn(&Answer) -> Option<Result<Polled, LoginError>>,
    ) -> Result<Value, LoginError> {
        show(&self.prompt);
        self.pace.poll(interrupt, || {
            let answer = ask()?;
            judge(&answer).unwrap_or_else(|| match answer.status {
                200 => Ok(Polled::Done(answer.value)),
                429 | 500.. => Ok(Polled::Slower),
                _ => Err(client.refused(&answer)),
            })
        })
    }
}

impl Pace {
    /// A pace that begins now.
    pub(super) fn new(interval: Duration, lifetime: Duration) -> Self {
        Self {
            interval,
            deadline: Instant::now() + lifetime,
        }
    }

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

/// What the answer of a token address means (RFC 8628). GitHub says these with status 200, too.
pub(super) fn standard(
    answer: &Answer,
    client: &LoginClient,
) -> Option<Result<Polled, LoginError>> {
    Some(match answer.value["error"].as_str() {
        Some("authorization_pending") => Ok(Polled::Again),
        Some("slow_down") => Ok(Polled::Slower),
        Some("access_denied") => Err(LoginError::Denied),
        Some("expired_token") => Err(LoginError::Expired),
        Some(_) if answer.status == 200 => Err(client.refused(answer)),
        _ => return None,
    })
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
            challenge: None,
        };
        for (error, expected) in [
            ("authorization_pending", Ok(Polled::Again)),
            ("slow_down", Ok(Polled::Slower)),
            ("access_denied", Err(LoginError::Denied)),
            ("expired_token", Err(LoginError::Expired)),
        ] {
            for status in [200, 400] {
                let found = standard(&answer(status, error), &client);
                assert_eq!(found, Some(expected.clone()), "{error}");
            }
        }
        assert!(standard(&answer(200, "x"), &client).unwrap().is_err());
        let issued = IssuedCode {
            prompt: DevicePrompt {
                page: String::new(),
                whole_page: None,
                code: String::new(),
            },
            pace: Pace::new(Duration::ZERO, Duration::from_secs(1)),
        };
        let interrupt = Wake::new().unwrap();
        let wait = |status, error: &str| {
            let asked = || Ok(answer(status, error));
            issued.wait(&client, (&interrupt, &mut |_| ()), asked, |answer| {
                standard(answer, &client)
            })
        };
        assert!(matches!(
            wait(400, "x"),
            Err(LoginError::Refused { status: 400, .. })
        ));
        assert_eq!(wait(503, ""), Err(LoginError::Expired));
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
