//! From a record to the bytes of its line. This is the only place that makes log lines, and no
//! line leaves it unredacted.

use std::fmt::Write;

use hermes_secret::Redactor;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Level;
use crate::record_head::RecordHead;

/// Longest message in bytes; a longer one is cut. A record is written by one call, and no reader
/// wants more of one.
const MAX_MESSAGE_BYTES: usize = 128 * 1024;

/// Something to log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogRecord<'a> {
    pub(crate) time: Timestamp,
    pub(crate) level: Level,
    pub(crate) logger: &'a str,
    pub(crate) session: Option<&'a str>,
    pub(crate) message: &'a str,
}

/// `YYYY-MM-DD HH:MM:SS,mmm LEVEL[ [session]] logger: message`, with its newline.
pub(crate) fn format(record: &LogRecord<'_>, zone: &TimeZone, redactor: &Redactor) -> String {
    let message = redactor.redact(record.message);
    let mut line = String::with_capacity(message.len() + 96);
    let at = zone.to_datetime(record.time);
    let stamp = at.strftime("%Y-%m-%d %H:%M:%S,%3f");
    // Writing to a string cannot fail.
    let _: std::fmt::Result = write!(line, "{stamp} {}", record.level);
    if let Some(session) = record.session.filter(|name| !name.is_empty()) {
        line.push_str(" [");
        push_word(&mut line, &redactor.redact(session));
        line.push(']');
    }
    line.push(' ');
    push_word(&mut line, record.logger);
    line.push_str(": ");
    push_message(&mut line, &message);
    line.push('\n');
    line
}

/// One word: nothing in it may end the tag, the logger or the line.
fn push_word(line: &mut String, word: &str) {
    for c in word.chars() {
        let breaks = c.is_whitespace() || c.is_control() || matches!(c, '[' | ']');
        line.push(if breaks { '_' } else { c });
    }
}

fn push_message(line: &mut String, message: &str) {
    let message = message.trim_end_matches(['\n', '\r']);
    let kept = message.floor_char_boundary(MAX_MESSAGE_BYTES);
    let (shown, cut) = message.split_at_checked(kept).unwrap_or((message, ""));
    for (index, part) in shown.split('\n').enumerate() {
        let part = part.strip_suffix('\r').unwrap_or(part);
        if index > 0 {
            line.push('\n');
            // A message must not be able to pass for a record of its own.
            if RecordHead::parse(part).is_some() {
                line.push_str("  ");
            }
        }
        push_printable(line, part);
    }
    if !cut.is_empty() {
        // Writing to a string cannot fail.
        let _: std::fmt::Result = write!(line, "… [{} bytes cut]", cut.len());
    }
}

/// Control characters are spelt out: whoever reads the log does so in a terminal.
fn push_printable(line: &mut String, text: &str) {
    if !text.contains(|c: char| c.is_control()) {
        line.push_str(text);
        return;
    }
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            // Writing to a string cannot fail.
            let _: std::fmt::Result = write!(line, "\\x{:02x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn record(message: &str) -> LogRecord<'_> {
        LogRecord {
            time: "2026-11-02T10:20:30.123Z".parse().unwrap(),
            level: Level::Warning,
            logger: "agent.turn",
            session: None,
            message,
        }
    }

    fn line(record: &LogRecord<'_>) -> String {
        format(record, &TimeZone::UTC, &Redactor::default())
    }

    #[test]
    fn line_has_stamp_level_session_logger_and_message() {
        assert_eq!(
            line(&record("done")),
            "2026-11-02 10:20:30,123 WARNING agent.turn: done\n"
        );
        let tagged = LogRecord {
            session: Some("tg:1 x]y"),
            ..record("done")
        };
        assert_eq!(
            line(&tagged),
            "2026-11-02 10:20:30,123 WARNING [tg:1_x_y] agent.turn: done\n"
        );
    }

    #[test]
    fn the_zone_is_the_one_asked_for() {
        let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(19_800).unwrap());
        let line = format(&record("x"), &zone, &Redactor::default());
        assert!(line.starts_with("2026-11-02 15:50:30,123 "), "{line}");
    }

    #[test]
    fn a_message_cannot_forge_a_record_or_drive_the_terminal() {
        assert_eq!(
            line(&record(
                "a\r\nb\n2026-11-02 10:20:30,123 ERROR x: y\n\u{1b}[2J\tz\n"
            )),
            "2026-11-02 10:20:30,123 WARNING agent.turn: a\nb\n  2026-11-02 10:20:30,123 ERROR x: y\n\\x1b[2J\tz\n"
        );
    }

    #[test]
    fn secrets_are_masked_in_message_and_session() {
        let secret = LogRecord {
            session: Some("wa:+15551234567"),
            ..record("token=abcdefghijklmnopqrstuvwxyz")
        };
        assert_eq!(
            line(&secret),
            "2026-11-02 10:20:30,123 WARNING [wa:***] agent.turn: token=abcdef...wxyz\n"
        );
    }

    #[test]
    fn an_enormous_message_is_cut_between_characters() {
        let message = "ä".repeat(MAX_MESSAGE_BYTES);
        let line = line(&record(&message));
        assert!(line.len() < MAX_MESSAGE_BYTES + 200);
        assert!(line.ends_with("… [131072 bytes cut]\n"), "{}", line.len());
    }

    proptest! {
        #[test]
        fn one_record_is_one_head_and_no_control_character(
            message in "(.|\n|\r|2026-01-01 00:00:00,000 ERROR x: y\n){0,12}",
            session in ".{0,8}",
            logger in ".{0,8}",
        ) {
            let strange = LogRecord { session: Some(&session), logger: &logger, ..record(&message) };
            let line = line(&strange);
            prop_assert!(line.ends_with('\n'));
            let heads = line.lines().filter(|line| RecordHead::parse(line).is_some());
            prop_assert_eq!(heads.count(), 1, "{}", line);
            prop_assert!(!line.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
