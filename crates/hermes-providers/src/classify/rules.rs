//! The rules in order: content policy, special cases, status, code, phrases, size.

use super::RequestSize;
use super::phrases::{self, any};
use super::report::ErrorReport;
use crate::error::ErrorClass;

/// Refusals shorter than this count as without a reason.
const MIN_REASON: usize = 30;

/// The class of an error.
pub(super) fn class(status: Option<u16>, report: &ErrorReport, size: RequestSize) -> ErrorClass {
    let text = report.all.as_str();
    if any(text, phrases::CONTENT_POLICY) {
        return ErrorClass::ContentPolicyBlocked;
    }
    if any(text, phrases::DATA_POLICY) {
        return ErrorClass::ProviderPolicyBlocked;
    }
    if let Some(class) = special(status, text, report) {
        return class;
    }
    if let Some(class) = status.and_then(|status| by_status(status, text, report, size)) {
        return class;
    }
    by_code(report)
        .or_else(|| first(text, PHRASES))
        .unwrap_or(ErrorClass::Unknown)
}

/// Cases that the status alone would misclassify.
fn special(status: Option<u16>, text: &str, report: &ErrorReport) -> Option<ErrorClass> {
    let refused = matches!(status, None | Some(400..=500));
    if !refused {
        return None;
    }
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if has(&["thinking", "signature"]) {
        return Some(ErrorClass::ThinkingSignature);
    }
    if text.contains("invalid_encrypted_content")
        || (text.contains("encrypted content") && any(text, &["verif", "decrypt"]))
    {
        return Some(ErrorClass::InvalidEncryptedContent);
    }
    if any(text, phrases::GRAMMAR) {
        return Some(ErrorClass::Grammar);
    }
    if status == Some(429) && has(&["extra usage", "long context"]) {
        return Some(ErrorClass::LongContextTier);
    }
    if any(text, phrases::IMAGE_TOO_LARGE) {
        return Some(ErrorClass::ImageTooLarge);
    }
    if text.contains("tool") && any(text, phrases::TOOL_IMAGES) {
        return Some(ErrorClass::MultimodalToolContent);
    }
    if any(text, phrases::NO_IMAGES) {
        return Some(ErrorClass::ImagesRejected);
    }
    // OpenAI answers "too many requests" for an account without credit.
    let no_credit = report
        .codes
        .iter()
        .any(|code| phrases::CREDIT_CODES.contains(&code.as_str()));
    (status == Some(429) && no_credit).then_some(ErrorClass::Billing)
}

fn by_status(
    status: u16,
    text: &str,
    report: &ErrorReport,
    size: RequestSize,
) -> Option<ErrorClass> {
    Some(match status {
        402 => {
            let transient = any(text, phrases::USAGE_LIMIT) && any(text, phrases::TRANSIENT);
            if transient {
                ErrorClass::RateLimit
            } else {
                ErrorClass::Billing
            }
        }
        403 | 404 if any(text, phrases::CREDIT) => ErrorClass::Billing,
        401 | 403 => ErrorClass::Auth,
        404 if any(text, phrases::NO_MODEL) => ErrorClass::ModelNotFound,
        404 if text.contains("model") && !text.contains("<html") => ErrorClass::ModelNotFound,
        408 => ErrorClass::Timeout,
        413 => ErrorClass::PayloadTooLarge,
        429 => ErrorClass::RateLimit,
        400 | 422 => bad_request(text, report, size),
        500 | 502 if any(text, phrases::VALIDATION) => ErrorClass::FormatError,
        500 if any(text, phrases::OVERFLOW) => ErrorClass::ContextOverflow,
        503 | 529 => ErrorClass::Overloaded,
        500..=599 => ErrorClass::ServerError,
        400..=499 => ErrorClass::FormatError,
        _ => return None,
    })
}

fn bad_request(text: &str, report: &ErrorReport, size: RequestSize) -> ErrorClass {
    let bare = report.message.chars().count() < MIN_REASON;
    first(text, &[OVERFLOW, NO_MODEL])
        .or_else(|| by_code(report))
        .or_else(|| first(text, &[CREDIT, RATE_LIMIT]))
        .unwrap_or(if bare && size.explains_a_bare_refusal() {
            ErrorClass::ContextOverflow
        } else {
            ErrorClass::FormatError
        })
}

/// Phrases or codes, and the class they stand for.
type Rule = (&'static [&'static str], ErrorClass);

const CREDIT: Rule = (phrases::CREDIT, ErrorClass::Billing);
const RATE_LIMIT: Rule = (phrases::RATE_LIMIT, ErrorClass::RateLimit);
const OVERFLOW: Rule = (phrases::OVERFLOW, ErrorClass::ContextOverflow);
const NO_MODEL: Rule = (phrases::NO_MODEL, ErrorClass::ModelNotFound);

const PHRASES: &[Rule] = &[
    CREDIT,
    RATE_LIMIT,
    OVERFLOW,
    (phrases::AUTH, ErrorClass::Auth),
    NO_MODEL,
    (phrases::OVERLOADED, ErrorClass::Overloaded),
    (phrases::VALIDATION, ErrorClass::FormatError),
];

const CODES: &[Rule] = &[
    (phrases::CREDIT_CODES, ErrorClass::Billing),
    (phrases::RATE_LIMIT_CODES, ErrorClass::RateLimit),
    (phrases::OVERFLOW_CODES, ErrorClass::ContextOverflow),
    (&["model_not_found"], ErrorClass::ModelNotFound),
    (phrases::OVERLOADED_CODES, ErrorClass::Overloaded),
    (phrases::AUTH_CODES, ErrorClass::Auth),
    (phrases::SERVER_CODES, ErrorClass::ServerError),
];

/// The class of the first rule with a phrase of the text.
fn first(text: &str, rules: &[Rule]) -> Option<ErrorClass> {
    let mut rules = rules.iter();
    rules.find_map(|(phrases, class)| any(text, phrases).then_some(*class))
}

fn by_code(report: &ErrorReport) -> Option<ErrorClass> {
    CODES.iter().find_map(|(codes, class)| {
        let mut stated = report.codes.iter();
        let found = stated.any(|code| codes.contains(&code.as_str()));
        found.then_some(*class)
    })
}
