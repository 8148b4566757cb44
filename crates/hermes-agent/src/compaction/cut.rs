//! From which length a conversation is compacted, what stays of it and what is summarised. Pure.

use std::ops::Range;

use hermes_providers::{ModelRequest, RouteInfo};
use hermes_session::{MessageRole, SessionMessage};

use crate::calibration::share;
use crate::message_conversion::to_wire;
use crate::settings::CompactionSettings;

/// Minimum threshold in tokens, if the window allows.
const MIN_THRESHOLD: u64 = 64_000;
/// Smaller windows are used to at least three quarters.
const LARGE_WINDOW: u64 = 512_000;
/// Minimum number of messages that stay at the end.
const MIN_TAIL: usize = 3;
/// Minimum number of messages worth a summary.
const MIN_MIDDLE: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) middle: Range<usize>,
    /// The last message of the user, if it is in the middle: it stays, before the end.
    pub(super) last_user: Option<usize>,
}

/// How much stays at the end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    /// Tokens that stay.
    pub(super) tokens: u64,
    /// Messages that stay although they are more, up to `most_tokens`.
    pub(super) messages: usize,
    pub(super) most_tokens: u64,
    /// Messages that stay at most, however small they are.
    pub(super) most_messages: usize,
}

impl Tail {
    /// An end of about this size.
    pub(super) fn of(tokens: u64) -> Self {
        Self {
            tokens,
            messages: 0,
            most_tokens: tokens,
            most_messages: usize::MAX,
        }
    }

    /// Whether one more message stays, the `count`-th from the end, with which the end has `used`
    /// tokens.
    fn holds(&self, count: usize, used: u64) -> bool {
        let fits = used <= self.tokens || count <= self.messages && used <= self.most_tokens;
        count <= MIN_TAIL || fits && count <= self.most_messages
    }
}

/// Selects the middle of a conversation, after `protect_first` messages and before its end. `None` if
/// it is not worth a summary.
pub(super) fn cut(messages: &[&SessionMessage], protect_first: usize, tail: &Tail) -> Option<Cut> {
    let head = head_end(messages, protect_first);
    let tail = tail_start(messages, tail).max(head);
    if tail.saturating_sub(head) < MIN_MIDDLE {
        return None;
    }
    let last_user = messages
        .iter()
        .rposition(|message| message.role == MessageRole::User && !message.is_summary());
    Some(Cut {
        middle: head..tail,
        last_user: last_user.filter(|at| (head..tail).contains(at)),
    })
}

/// The end of the beginning: after the first messages and the results of their calls.
fn head_end(messages: &[&SessionMessage], protect_first: usize) -> usize {
    let mut end = protect_first.min(messages.len());
    while messages
        .get(end)
        .is_some_and(|message| message.role == MessageRole::Tool)
    {
        end += 1;
    }
    end
}

/// The start of the end: as many messages as fit, no result separated from its call.
fn tail_start(messages: &[&SessionMessage], tail: &Tail) -> usize {
    let mut start = messages.len();
    let mut used = 0;
    for (index, message) in messages.iter().enumerate().rev() {
        used += size(message);
        if !tail.holds(messages.len() - index, used) {
            break;
        }
        start = index;
    }
    while start > 0
        && messages
            .get(start)
            .is_some_and(|message| message.role == MessageRole::Tool)
    {
        start -= 1;
    }
    start
}

/// Estimated tokens of a message.
pub(super) fn size(message: &SessionMessage) -> u64 {
    to_wire(message).map_or(0, |message| {
        ModelRequest::new("", vec![message]).estimated_tokens()
    })
}

/// Tokens of a request from which the conversation is compacted.
pub(super) fn threshold(settings: &CompactionSettings, route: &RouteInfo) -> u64 {
    let window = route.context_length;
    let usable = usable(route);
    let wanted = raised_threshold(settings, route).unwrap_or(settings.threshold);
    let mut limit = share(window, wanted).max(MIN_THRESHOLD);
    if window < LARGE_WINDOW {
        limit = limit.max(share(window, 0.75));
    }
    if limit >= usable {
        limit = share(usable, 0.85);
    }
    limit
}

/// The share of the window that a model of the Codex service uses instead of that of the settings:
/// the service gives these models a smaller window than others do.
pub fn raised_threshold(settings: &CompactionSettings, route: &RouteInfo) -> Option<f64> {
    if route.provider != "openai-codex" {
        return None;
    }
    let model = route.model.to_ascii_lowercase();
    let model = model.rsplit('/').next().unwrap_or_default();
    let is_of = |family: &str| {
        let rest = model.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    let share = if model == "gpt-5.3-codex-spark" {
        0.7
    } else if settings.raises_codex && ["gpt-5.4", "gpt-5.5", "gpt-5.6"].into_iter().any(is_of) {
        0.85
    } else {
        return None;
    };
    (share > settings.threshold).then_some(share)
}

/// Maximum tokens of a request that leaves room for its answer.
pub(super) fn usable(route: &RouteInfo) -> u64 {
    let window = route.context_length;
    let reserve = u64::from(route.max_tokens.unwrap_or(0));
    // A reserve nearly as large as the window is ignored.
    match window.saturating_sub(reserve) {
        rest if rest < window / 4 => window,
        rest => rest,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> SessionMessage {
        SessionMessage {
            tool_calls: Some(
                json!([{"id": id, "function": {"name": "terminal", "arguments": "{}"}}]),
            ),
            ..SessionMessage::new(MessageRole::Assistant)
        }
    }

    fn result(id: &str, length: usize) -> SessionMessage {
        SessionMessage::tool_result(id, "terminal", "x".repeat(length))
    }

    /// One question, then steps of a call and a result of 4,000 characters.
    fn worked(steps: usize) -> Vec<SessionMessage> {
        let mut messages = vec![SessionMessage::user("go")];
        for step in 0..steps {
            messages.push(call(&step.to_string()));
            messages.push(result(&step.to_string(), 4_000));
        }
        messages
    }

    fn cut_of(messages: &[SessionMessage], protect: usize, tokens: u64) -> Option<Cut> {
        let messages: Vec<&SessionMessage> = messages.iter().collect();
        cut(&messages, protect, &Tail::of(tokens))
    }

    #[test]
    fn more_messages_stay_as_long_as_they_leave_room() {
        let messages = worked(20);
        let messages: Vec<&SessionMessage> = messages.iter().collect();
        let end = |messages_kept: usize, most_tokens: u64, most_messages: usize| {
            let tail = Tail {
                tokens: 2_500,
                messages: messages_kept,
                most_tokens,
                most_messages,
            };
            messages.len() - cut(&messages, 3, &tail).unwrap().middle.end
        };
        assert_eq!(end(0, 100_000, usize::MAX), 4);
        assert_eq!(end(12, 100_000, usize::MAX), 12);
        assert_eq!(end(12, 5_500, usize::MAX), 10);
        // However small they are, not too many.
        assert_eq!(end(12, 100_000, 6), 6);
    }

    #[test]
    fn codex_models_use_more_of_their_window() {
        let of = |provider: &str, model: &str, raises_codex: bool| {
            let settings = CompactionSettings {
                raises_codex,
                ..CompactionSettings::default()
            };
            let route = RouteInfo {
                provider: provider.to_owned(),
                model: model.to_owned(),
                context_length: 272_000,
                ..RouteInfo::default()
            };
            threshold(&settings, &route)
        };
        assert_eq!(of("openai-codex", "gpt-5.5", true), 231_200);
        assert_eq!(of("openai-codex", "gpt-5.4-pro", true), 231_200);
        for (provider, model, raises) in [
            ("openai-codex", "gpt-5.5", false),
            ("openai-codex", "gpt-5.50", true),
            ("openai-api", "gpt-5.5", true),
        ] {
            assert_eq!(of(provider, model, raises), 204_000, "{provider} {model}");
        }
    }

    #[test]
    fn calls_stay_with_their_results() {
        let messages = worked(10);
        let found = cut_of(&messages, 2, 2_500).unwrap();
        assert_eq!(found.middle, 3..17);
        assert_eq!(found.last_user, None);
        assert_eq!(messages[found.middle.end].role, MessageRole::Assistant);
    }

    #[test]
    fn user_message_in_the_middle_is_kept() {
        let mut messages = worked(3);
        messages.push(SessionMessage {
            content: Some("done".into()),
            ..SessionMessage::new(MessageRole::Assistant)
        });
        messages.push(SessionMessage::user("and now this"));
        for step in 10..16 {
            messages.push(call(&step.to_string()));
            messages.push(result(&step.to_string(), 4_000));
        }
        let found = cut_of(&messages, 3, 2_500).unwrap();
        let at = found.last_user.unwrap();
        assert_eq!(messages[at].text(), "and now this");
    }

    #[test]
    fn short_conversations_are_not_cut() {
        assert_eq!(cut_of(&worked(1), 3, 1_000), None);
        assert_eq!(cut_of(&[], 3, 1_000), None);
        assert_eq!(cut_of(&worked(3), 3, 1_000_000), None);
    }

    proptest::proptest! {
        #[test]
        fn no_result_is_separated_from_its_call(
            kinds in proptest::collection::vec(0..3_u8, 0..30),
            protect in 0..5_usize,
            tokens in 0..5_000_u64,
        ) {
            let mut messages = Vec::new();
            for (index, kind) in kinds.iter().enumerate() {
                match kind {
                    0 => messages.push(SessionMessage::user("u")),
                    1 => messages.push(SessionMessage { content: Some("a".into()), ..SessionMessage::new(MessageRole::Assistant) }),
                    _ => {
                        messages.push(call(&index.to_string()));
                        messages.push(result(&index.to_string(), 2_000));
                    }
                }
            }
            if let Some(found) = cut_of(&messages, protect, tokens) {
                for edge in [found.middle.start, found.middle.end] {
                    let is_result = messages.get(edge).is_some_and(|m| m.role == MessageRole::Tool);
                    proptest::prop_assert!(!is_result, "{edge} of {found:?}");
                }
            }
        }
    }

    fn of(window: u64, max_tokens: Option<u32>) -> u64 {
        let route = RouteInfo {
            context_length: window,
            max_tokens,
            ..RouteInfo::default()
        };
        threshold(&CompactionSettings::default(), &route)
    }

    #[test]
    fn threshold_depends_on_the_window() {
        assert_eq!(of(8_000, None), 6_800);
        assert_eq!(of(64_000, None), 54_400);
        assert_eq!(of(128_000, None), 96_000);
        assert_eq!(of(128_000, Some(64_000)), 54_400);
        assert_eq!(of(1_000_000, None), 500_000);
        assert_eq!(of(32_000, Some(32_000)), 27_200);
    }

    proptest::proptest! {
        #[test]
        fn threshold_is_below_the_window(window in 1_000..10_000_000_u64, cap in 0..200_000_u32) {
            proptest::prop_assert!(of(window, Some(cap)) < window);
        }
    }
}
