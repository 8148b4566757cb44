//! Messages of the protocol: JSON-RPC, one a line.

use serde_json::{Value, json};

/// Longest line that is read or written; more goes through files.
pub(super) const MAX_LINE: usize = 8 << 20;
/// The protocol that is asked for, and those that are spoken.
pub(super) const PROTOCOL: &str = "2025-06-18";
const PROTOCOLS: [&str; 4] = ["2024-11-05", "2025-03-26", PROTOCOL, "2025-11-25"];

/// What a worker sent.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The answer to a request of ours; an error is a sentence.
    Answer {
        number: u64,
        result: Result<Value, String>,
    },
    /// A request of the worker's.
    Request {
        number: Value,
    },
    Notice,
}

impl Incoming {
    /// Reads a line; what is wrong with it, if it is no message.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|_| "it printed something else than a message".to_owned())?;
        let is_request = value.get("method").is_some();
        match (is_request, value.get("id")) {
            (true, None) => Ok(Self::Notice),
            (true, Some(number)) => Ok(Self::Request {
                number: number.clone(),
            }),
            (false, Some(number)) => {
                let number = number.as_u64().ok_or("it answered nothing we asked")?;
                let result = match value.get("error") {
                    None => Ok(value.get("result").cloned().unwrap_or_default()),
                    Some(error) => Err(error["message"].as_str().unwrap_or("failed").to_owned()),
                };
                Ok(Self::Answer { number, result })
            }
            (false, None) => Err("it printed something else than a message".to_owned()),
        }
    }
}

/// A line that asks for something.
pub(super) fn request(number: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
}

/// A line that tells something.
pub(super) fn notice(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// A line that says that a request is not answered.
pub(super) fn refusal(number: &Value) -> Vec<u8> {
    line(
        &json!({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}}),
    )
}

fn line(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// The first request.
pub(super) fn initialize() -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {"experimental": {"hermes": {"api": 1}}},
        "clientInfo": {"name": "hermes", "version": env!("CARGO_PKG_VERSION")},
    })
}

/// Whether the answer to the first request is of a protocol that is spoken here.
pub(super) fn is_spoken(answer: &Value) -> bool {
    let version = answer["protocolVersion"].as_str();
    version.is_some_and(|version| PROTOCOLS.contains(&version))
        && answer["capabilities"]["experimental"]["hermes"]["api"] == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn answers_and_errors_are_told_apart() {
        assert_eq!(
            Incoming::parse(br#"{"id": 3, "result": {"a": 1}}"#),
            Ok(Incoming::Answer {
                number: 3,
                result: Ok(json!({"a": 1}))
            })
        );
        assert_eq!(
            Incoming::parse(br#"{"id": 3, "error": {"code": 1, "message": "no"}}"#),
            Ok(Incoming::Answer {
                number: 3,
                result: Err("no".to_owned())
            })
        );
    }

    #[test]
    fn what_a_worker_asks_is_a_request_and_what_it_tells_a_notice() {
        assert_eq!(
            Incoming::parse(br#"{"id": "x", "method": "roots/list"}"#),
            Ok(Incoming::Request { number: json!("x") })
        );
        assert_eq!(
            Incoming::parse(br#"{"method": "notifications/progress"}"#),
            Ok(Incoming::Notice)
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for line in [
            &b"hello"[..],
            b"[]",
            b"{}",
            b"{\"id\": \"a\", \"result\": 1}",
            b"\xff",
        ] {
            assert!(Incoming::parse(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_server_without_our_extension_is_no_worker() {
        let answer = |version: &str, api: u32| json!({"protocolVersion": version, "capabilities": {"experimental": {"hermes": {"api": api}}}});
        assert!(is_spoken(&answer("2025-11-25", 1)));
        assert!(!is_spoken(&answer("2023-01-01", 1)));
        assert!(!is_spoken(&answer(PROTOCOL, 2)));
        assert!(!is_spoken(&json!({"protocolVersion": PROTOCOL})));
    }
}
