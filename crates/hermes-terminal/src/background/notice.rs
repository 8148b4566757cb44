//! What a session is told about its background processes, without having asked.

use std::collections::{BTreeMap, VecDeque};

use crate::shell::SessionKey;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The exit code; the negated signal if one ended it; `None` if nobody knows.
    pub exit_code: Option<i32>,
    /// `exited`, `killed` or `lost`.
    pub reason: EndReason,
    pub source: Option<String>,
}

/// Why a process is no longer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Exited,
    Killed,
    Lost,
}

impl EndReason {
    /// The word in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeKind {
    Completion(Ending),
    WatchMatch {
        pattern: String,
    },
    /// Watching ended because too much matched.
    WatchDisabled {
        dropped: usize,
    },
    WatchOverflowTripped,
    WatchOverflowReleased {
        suppressed: usize,
    },
}

/// One message for one session. Its texts have been redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub process_id: String,
    pub session: SessionKey,
    pub kind: NoticeKind,
    pub command: String,
    pub output: String,
}

impl Notice {
    /// The name of the event.
    pub fn event(&self) -> &'static str {
        match self.kind {
            NoticeKind::Completion(_) => "completion",
            NoticeKind::WatchMatch { .. } => "watch_match",
            NoticeKind::WatchDisabled { .. } => "watch_disabled",
            NoticeKind::WatchOverflowTripped => "watch_overflow_tripped",
            NoticeKind::WatchOverflowReleased { .. } => "watch_overflow_released",
        }
    }

    /// The text of a turn that tells the session.
    pub fn message(&self) -> String {
        let id = &self.process_id;
        let what = match &self.kind {
            NoticeKind::Completion(ending) => completion(id, ending),
            NoticeKind::WatchMatch { pattern } => {
                format!("Background process {id} printed a line with {pattern:?}.")
            }
            NoticeKind::WatchDisabled { dropped } => format!(
                "Background process {id} matched its watch patterns too often ({dropped} more \
                 lines were not shown), so they are no longer watched. You will be notified when \
                 it exits."
            ),
            NoticeKind::WatchOverflowTripped => {
                return "[IMPORTANT: Watch patterns of background processes matched too often; \
                    matches will not be reported for 30 s.]"
                    .to_owned();
            }
            NoticeKind::WatchOverflowReleased { suppressed } => {
                return format!(
                    "[IMPORTANT: Watch patterns are reported again; {suppressed} matches were \
                     suppressed.]"
                );
            }
        };
        let mut message = format!("[IMPORTANT: {what} Command: {}", self.command);
        if !self.output.is_empty() {
            message.push_str(&format!(" Output:\n{}", self.output));
        }
        message.push(']');
        message
    }
}

fn completion(id: &str, ending: &Ending) -> String {
    let what = match (ending.reason, ending.exit_code) {
        (EndReason::Lost, _) => "marked lost".to_owned(),
        (EndReason::Killed, _) => {
            format!(
                "terminated by {}",
                ending.source.as_deref().unwrap_or("kill")
            )
        }
        (EndReason::Exited, Some(0)) => "completed normally".to_owned(),
        (EndReason::Exited, _) => "exited".to_owned(),
    };
    let code = match ending.exit_code {
        None => "exit code unknown".to_owned(),
        Some(code) => match signal_name(code) {
            Some(name) if ending.reason != EndReason::Lost => format!("exit code {code}, {name}"),
            _ => format!("exit code {code}"),
        },
    };
    format!("Background process {id} {what} ({code}).")
}

fn signal_name(code: i32) -> Option<&'static str> {
    Some(match code {
        -1 => "SIGHUP",
        -2 => "SIGINT",
        -6 => "SIGABRT",
        -9 => "SIGKILL",
        -11 => "SIGSEGV",
        -13 => "SIGPIPE",
        -15 => "SIGTERM",
        _ => return None,
    })
}

/// Notices that wait for their sessions. What nobody fetches stays.
#[derive(Debug, Default)]
pub(super) struct NoticeQueues {
    queues: BTreeMap<SessionKey, VecDeque<Notice>>,
}

impl NoticeQueues {
    pub(super) fn push(&mut self, notice: Notice) {
        self.queues
            .entry(notice.session.clone())
            .or_default()
            .push_back(notice);
    }

    pub(super) fn drain(&mut self, session: &SessionKey) -> Vec<Notice> {
        self.queues
            .remove(session)
            .map(Vec::from)
            .unwrap_or_default()
    }

    /// Takes back the completion of a process whose end the session has seen.
    pub(super) fn withdraw_completion(&mut self, session: &SessionKey, process_id: &str) {
        if let Some(queue) = self.queues.get_mut(session) {
            queue.retain(|notice| {
                notice.process_id != process_id || !matches!(notice.kind, NoticeKind::Completion(_))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn notice(kind: NoticeKind) -> Notice {
        Notice {
            process_id: "proc_1".into(),
            session: SessionKey::new("s"),
            kind,
            command: "make".into(),
            output: "done".into(),
        }
    }

    fn ended(exit_code: Option<i32>, reason: EndReason, source: Option<&str>) -> String {
        notice(NoticeKind::Completion(Ending {
            exit_code,
            reason,
            source: source.map(Into::into),
        }))
        .message()
    }

    #[test]
    fn messages_say_what_happened() {
        assert_eq!(
            ended(Some(0), EndReason::Exited, None),
            "[IMPORTANT: Background process proc_1 completed normally (exit code 0). Command: make \
             Output:\ndone]"
        );
        assert!(ended(Some(3), EndReason::Exited, None).contains("exited (exit code 3)"));
        assert!(ended(None, EndReason::Exited, None).contains("exited (exit code unknown)"));
        assert!(
            ended(Some(-15), EndReason::Killed, Some("process.kill"))
                .contains("terminated by process.kill (exit code -15, SIGTERM)")
        );
        assert!(ended(Some(-1), EndReason::Lost, None).contains("marked lost"));
    }

    #[test]
    fn a_session_hears_its_own_and_only_once() {
        let mut queues = NoticeQueues::default();
        queues.push(notice(NoticeKind::WatchOverflowTripped));
        assert_eq!(queues.drain(&SessionKey::new("other")), []);
        assert_eq!(queues.drain(&SessionKey::new("s")).len(), 1);
        assert_eq!(queues.drain(&SessionKey::new("s")), []);
    }
}
