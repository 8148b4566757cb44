use pretty_assertions::assert_eq;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::*;

fn head(status: u16, headers: &[(&'static str, &str)]) -> Head {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    Head {
        status,
        headers: map,
    }
}

fn class(status: u16, body: &Value) -> ErrorClass {
    classify(
        &head(status, &[]),
        &body.to_string(),
        RequestSize::default(),
    )
    .class
}

fn said(status: u16, message: &str) -> ErrorClass {
    class(status, &json!({"error": {"message": message}}))
}

#[test]
fn status_decides_without_a_known_phrase() {
    for (status, expected) in [
        (400, ErrorClass::FormatError),
        (401, ErrorClass::Auth),
        (402, ErrorClass::Billing),
        (403, ErrorClass::Auth),
        (404, ErrorClass::FormatError),
        (408, ErrorClass::Timeout),
        (413, ErrorClass::PayloadTooLarge),
        (418, ErrorClass::FormatError),
        (429, ErrorClass::RateLimit),
        (500, ErrorClass::ServerError),
        (502, ErrorClass::ServerError),
        (503, ErrorClass::Overloaded),
        (504, ErrorClass::ServerError),
        (529, ErrorClass::Overloaded),
    ] {
        let found = said(status, "something is not as it should be, sorry");
        assert_eq!(found, expected, "{status}");
    }
}

#[test]
fn phrases_decide_where_the_status_does_not() {
    for (status, message, expected) in [
        (403, "Insufficient credits, top up", ErrorClass::Billing),
        (
            404,
            "The model `x` does not exist",
            ErrorClass::ModelNotFound,
        ),
        (
            404,
            "No endpoints found matching your data policy",
            ErrorClass::ProviderPolicyBlocked,
        ),
        (
            402,
            "Usage limit reached, try again in 3 hours",
            ErrorClass::RateLimit,
        ),
        (
            400,
            "This model's maximum context length is 8192 tokens",
            ErrorClass::ContextOverflow,
        ),
        (400, "请求的上下文长度超出限制", ErrorClass::ContextOverflow),
        (
            400,
            "openai/gpt-x is not a valid model ID",
            ErrorClass::ModelNotFound,
        ),
        (
            400,
            "Your request was flagged by our safety system",
            ErrorClass::ContentPolicyBlocked,
        ),
        (
            400,
            "messages.3.content.0: Invalid `signature` in `thinking` block",
            ErrorClass::ThinkingSignature,
        ),
        (
            400,
            "The encrypted content could not be verified",
            ErrorClass::InvalidEncryptedContent,
        ),
        (
            400,
            "Unable to generate parser for this template",
            ErrorClass::Grammar,
        ),
        (
            429,
            "Extra usage is required for long context requests",
            ErrorClass::LongContextTier,
        ),
        (
            400,
            "messages.1: image exceeds 5 MB maximum",
            ErrorClass::ImageTooLarge,
        ),
        (
            400,
            "tool message content must be a string",
            ErrorClass::MultimodalToolContent,
        ),
        (
            404,
            "No endpoints found that support image input",
            ErrorClass::ImagesRejected,
        ),
        (500, "Unknown parameter: 'foo'", ErrorClass::FormatError),
    ] {
        assert_eq!(said(status, message), expected, "{message}");
    }
}

#[test]
fn error_codes_decide_the_class() {
    let quota = json!({"error": {"message": "You exceeded it", "code": "insufficient_quota"}});
    assert_eq!(class(429, &quota), ErrorClass::Billing);
    let limit = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down please, all of you"}});
    assert_eq!(class(400, &limit), ErrorClass::RateLimit);
    let gemini = json!([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"}}]);
    assert_eq!(class(429, &gemini), ErrorClass::RateLimit);
    let in_stream = classify_body(&json!({"type": "overloaded_error", "message": "Overloaded"}));
    assert_eq!(in_stream.class, ErrorClass::Overloaded);
    let in_stream = classify_body(&json!({"code": 502, "message": "upstream"}));
    assert_eq!(
        (in_stream.class, in_stream.status),
        (ErrorClass::ServerError, Some(502))
    );
}

#[test]
fn error_of_the_upstream_provider_is_reported() {
    let raw = json!({"error": {"message": "prompt is too long: 9 tokens > 200000 maximum"}});
    let body = json!({"error": {
        "message": "Provider returned error", "code": 400,
        "metadata": {"raw": raw.to_string()},
    }});
    let error = classify(&head(400, &[]), &body.to_string(), RequestSize::default());
    assert_eq!(error.class, ErrorClass::ContextOverflow);
    assert_eq!(error.stated_limit, Some(200_000));
    assert!(
        error.message.contains("prompt is too long"),
        "{}",
        error.message
    );
}

#[test]
fn a_bare_refusal_of_a_long_conversation_is_an_overflow() {
    let bare = json!({"error": {"message": "Bad Request"}}).to_string();
    let long = RequestSize {
        tokens: 90_000,
        messages: 10,
        window: 200_000,
    };
    assert_eq!(
        classify(&head(400, &[]), &bare, long).class,
        ErrorClass::ContextOverflow
    );
    let short = RequestSize {
        tokens: 9_000,
        ..long
    };
    assert_eq!(
        classify(&head(400, &[]), &bare, short).class,
        ErrorClass::FormatError
    );
    let reasoned = json!({"error": {"message": "the field `foo` is not allowed in this place"}});
    assert_eq!(
        classify(&head(400, &[]), &reasoned.to_string(), long).class,
        ErrorClass::FormatError
    );
}

#[test]
fn an_overflow_without_a_number_states_no_limit() {
    let error = classify(
        &head(400, &[]),
        &json!({"error": {"message": "context length exceeded"}}).to_string(),
        RequestSize::default(),
    );
    assert_eq!(error.class, ErrorClass::ContextOverflow);
    assert_eq!((error.stated_limit, error.available_output), (None, None));
}

#[test]
fn waiting_times_come_from_headers_and_bodies() {
    let body = json!({"error": {"message": "slow down"}}).to_string();
    let error = classify(
        &head(429, &[("retry-after", "7")]),
        &body,
        RequestSize::default(),
    );
    assert_eq!(error.retry_after.unwrap().as_secs(), 7);
    assert!(error.reset_at.is_some());
    let spoken = json!({"error": {"message": "Usage limit. Resets in 4hr 5min"}}).to_string();
    let error = classify(&head(429, &[]), &spoken, RequestSize::default());
    assert_eq!(error.retry_after.unwrap().as_secs(), 14_700);
}

#[test]
fn pages_and_nonsense_become_one_line() {
    let page = "<!DOCTYPE html>\n<html><head><title>502 Bad\n Gateway</title></head></html>";
    let error = classify(&head(502, &[]), page, RequestSize::default());
    assert_eq!(error.class, ErrorClass::ServerError);
    assert_eq!(error.message, "an HTML page titled \"502 Bad Gateway\"");
    for body in [
        "",
        "null",
        "[]",
        "42",
        "\"text\"",
        "{\"error\": 3}",
        "\u{0}\u{1}",
    ] {
        let error = classify(&head(500, &[]), body, RequestSize::default());
        assert_eq!(error.class, ErrorClass::ServerError, "{body}");
        assert!(!error.message.contains('\n'));
    }
    let long = classify(
        &head(500, &[]),
        &"x".repeat(100_000),
        RequestSize::default(),
    );
    assert!(long.message.chars().count() < 500);
}

#[test]
fn nested_errors_without_end_are_not_followed() {
    let mut body = json!("deep");
    for _ in 0..100 {
        body = json!({"error": body});
    }
    assert_eq!(class(500, &body), ErrorClass::ServerError);
}

#[test]
fn refusals_of_a_field_are_recognised() {
    let failure = |status, message: &str| ProviderFailure {
        status: Some(status),
        ..ProviderFailure::new(ErrorClass::FormatError, message)
    };
    assert!(is_about_effort(&failure(
        400,
        "Unknown field reasoning_effort"
    )));
    assert!(is_about_streaming(&failure(
        400,
        "Streaming is not supported"
    )));
    assert!(!is_about_streaming(&failure(400, "stream broke")));
}
