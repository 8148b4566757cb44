//! How far a turn came that was cut off, as its session tells, and how it goes on.

use hermes_session::{MessageRole, SessionId, SessionMessage, SessionStore};

use crate::ledger::TurnMessages;

/// The finish reason of an answer that was cut off.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How far a turn came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its message is not in the session: nothing was asked of the model.
    NotBegun,
    /// Its message is there, and no answer.
    Begun,
    /// This was the answer.
    Answered(String),
}

impl Progress {
    /// Looks at what came after a message of a session.
    pub(crate) fn of(
        store: &SessionStore,
        session: &SessionId,
        messages: TurnMessages,
    ) -> hermes_session::Result<Self> {
        if store.session(session)?.is_none() {
            return Ok(Self::NotBegun);
        }
        let history = store.load_history(session)?;
        let mut own = history.messages.iter();
        let last = own.rfind(|stored| messages.include(stored.id.0));
        Ok(match last {
            None => Self::NotBegun,
            Some(stored) => match answer(&stored.message) {
                Some(text) => Self::Answered(text),
                None => Self::Begun,
            },
        })
    }
}

/// The text of a message that ends a turn.
fn answer(message: &SessionMessage) -> Option<String> {
    let is_answer = message.role == MessageRole::Assistant
        && message.call_ids().is_empty()
        && message.finish_reason.as_deref() != Some(INTERRUPTED);
    is_answer.then(|| message.text())
}

/// What the agent is told when it goes on.
pub(crate) fn note(calls: &[String]) -> String {
    let mut note =
        "[The gateway was restarted while you were working on this. Go on from where you \
         were and answer the last message of the user."
            .to_owned();
    if !calls.is_empty() {
        note.push_str(
            " These calls had begun, and their results are lost. They may have had their effect: \
             find out before you repeat them.",
        );
        for call in calls {
            note.push_str("\n- ");
            note.push_str(call);
        }
    }
    note.push(']');
    note
}

/// Marks in a session that a turn was cut off and does not go on. Gives whether there was anything to
/// mark.
pub(crate) fn mark_interrupted(
    store: &mut SessionStore,
    session: &SessionId,
    messages: TurnMessages,
    reason: &str,
) -> hermes_session::Result<bool> {
    if Progress::of(store, session, messages)? != Progress::Begun {
        return Ok(false);
    }
    let history = store.load_history(session)?;
    let last = history.messages.last().map(|stored| &stored.message);
    if last.is_some_and(|last| last.finish_reason.as_deref() == Some(INTERRUPTED)) {
        // The agent itself has left such a mark.
        return Ok(true);
    }
    let mark = SessionMessage {
        content: Some(format!("[{reason}]").as_str().into()),
        finish_reason: Some(INTERRUPTED.to_owned()),
        ..SessionMessage::new(MessageRole::Assistant)
    };
    store.append(session, &[mark])?;
    Ok(true)
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
