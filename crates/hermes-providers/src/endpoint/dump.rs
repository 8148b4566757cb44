//! Questions written down for whoever looks for a fault (`HERMES_DUMP_REQUESTS`), one file each, for
//! the owner only. The key and whatever looks like one stay out.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_secret::{Redactor, SecretString};
use serde_json::{Value, json};

use crate::http::HttpRequest;

/// Writes a question down. A disk that is full must not end a turn.
pub(super) fn write(
    directory: &Path,
    session: Option<&str>,
    request: &HttpRequest,
    key: Option<&SecretString>,
) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = now.unwrap_or_default().as_micros();
    let session = session.unwrap_or("side");
    let path = directory.join(format!("request_dump_{session}_{micros}.json"));
    let text = describe(session, request, key).to_string() + "\n";
    let written = hermes_fs::create_dir_all(directory, 0o700)
        .and_then(|()| hermes_fs::write_atomic(&path, text.as_bytes(), 0o600));
    if let Err(error) = written {
        tracing::warn!("a question was not written down: {error}");
    }
}

fn describe(session: &str, request: &HttpRequest, key: Option<&SecretString>) -> Value {
    let redactor = Redactor::new(key.cloned());
    let body = String::from_utf8_lossy(&request.body);
    let body = redactor.redact(&body);
    // A query may hold a key of a form nobody knows.
    let url = request.url.split('?').next().unwrap_or_default();
    json!({
        "session_id": session,
        "request": {
            "method": request.method.as_str(),
            "url": redactor.redact(url),
            "body": serde_json::from_str(&body).unwrap_or_else(|_| Value::from(body.as_ref())),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Method;

    #[test]
    fn keys_stay_out_and_the_rest_is_there() {
        let body = json!({"model": "m", "messages": [{"content": "my key is plain-old-key"}]});
        let request = HttpRequest {
            method: Method::POST,
            url: "http://127.0.0.1:1/v1/chat/completions?code=xyzzy".to_owned(),
            headers: vec![("authorization", "Bearer plain-old-key".to_owned())],
            body: body.to_string().into(),
        };
        let key = SecretString::new("plain-old-key".to_owned());
        let described = describe("s", &request, Some(&key));
        let text = described.to_string();
        assert!(
            !text.contains("plain-old-key") && !text.contains("xyzzy"),
            "{text}"
        );
        assert_eq!(described["request"]["body"]["model"], "m");
        assert_eq!(
            described["request"]["body"]["messages"][0]["content"],
            "my key is ***"
        );
    }
}
