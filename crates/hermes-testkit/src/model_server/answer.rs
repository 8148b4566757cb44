//! What the server says.

use std::time::Duration;

use serde_json::Value;

/// A call the scripted model wants made.
#[derive(Debug, Clone)]
pub struct ScriptedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Arguments as text, whole or broken.
    pub arguments: String,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct ScriptedAnswer {
    pub(super) body: AnswerBody,
    pub(super) headers: Vec<(String, String)>,
    pub(super) before: Duration,
    pub(super) between: Duration,
    /// Break the connection after so many events.
    pub(super) cut_after: Option<usize>,
    pub(super) whole: bool,
}

#[derive(Debug, Clone)]
pub(super) enum AnswerBody {
    /// A model's answer, in the format of the question.
    Message(ModelMessage),
    /// These bytes.
    Raw {
        status: u16,
        content_type: String,
        bytes: Vec<u8>,
    },
    /// These events, as they are.
    Events(Vec<String>),
    /// The connection is closed without a word.
    Close,
}

/// What a model says.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelMessage {
    pub(super) text: Vec<String>,
    pub(super) thought: Option<String>,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Value>,
}

impl ScriptedAnswer {
    fn new(body: AnswerBody) -> Self {
        Self {
            body,
            headers: Vec::new(),
            before: Duration::ZERO,
            between: Duration::ZERO,
            cut_after: None,
            whole: false,
        }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Self::pieces(&[text])
    }

    /// A text that comes in these pieces.
    pub fn pieces(pieces: &[&str]) -> Self {
        Self::new(AnswerBody::Message(ModelMessage {
            text: pieces.iter().map(|&piece| piece.to_owned()).collect(),
            ..ModelMessage::default()
        }))
    }

    /// One call.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::calls(&[(name, arguments.clone())])
    }

    /// Several calls.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls
            .iter()
            .enumerate()
            .map(|(at, (name, arguments))| ScriptedCall {
                id: format!("call_{at}_{name}"),
                name: (*name).to_owned(),
                arguments: arguments.to_string(),
            });
        Self::raw_calls(calls.collect())
    }

    /// Calls with arguments of any kind.
    pub fn raw_calls(calls: Vec<ScriptedCall>) -> Self {
        Self::new(AnswerBody::Message(ModelMessage {
            calls,
            ..ModelMessage::default()
        }))
    }

    /// A refusal with a JSON body.
    pub fn status(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", body.to_string().as_bytes())
    }

    /// A page.
    pub fn html(status: u16, page: &str) -> Self {
        Self::raw(status, "text/html", page.as_bytes())
    }

    /// Anything.
    pub fn raw(status: u16, content_type: &str, bytes: &[u8]) -> Self {
        Self::new(AnswerBody::Raw {
            status,
            content_type: content_type.to_owned(),
            bytes: bytes.to_vec(),
        })
    }

    /// A stream of these data lines, each an event of its own.
    pub fn events<S: AsRef<str>>(data: &[S]) -> Self {
        let events = data
            .iter()
            .map(|data| format!("data: {}\n\n", data.as_ref()));
        Self::new(AnswerBody::Events(events.collect()))
    }

    /// The connection is closed without a word.
    pub fn close() -> Self {
        Self::new(AnswerBody::Close)
    }

    /// With a thought before the text.
    #[must_use]
    pub fn thinking(mut self, thought: &str) -> Self {
        if let AnswerBody::Message(message) = &mut self.body {
            message.thought = Some(thought.to_owned());
        }
        self
    }

    /// With text before the calls.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        if let AnswerBody::Message(message) = &mut self.body {
            message.text = vec![text.to_owned()];
        }
        self
    }

    /// With this reason to end, in the words of the format.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        if let AnswerBody::Message(message) = &mut self.body {
            message.finish = Some(reason.to_owned());
        }
        self
    }

    /// With this `usage` instead of the usual one.
    #[must_use]
    pub fn usage(mut self, usage: &Value) -> Self {
        if let AnswerBody::Message(message) = &mut self.body {
            message.usage = Some(usage.clone());
        }
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// After a while.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// With a pause before each event but the first.
    #[must_use]
    pub fn slowly(mut self, pause: Duration) -> Self {
        self.between = pause;
        self
    }

    /// Breaks the connection after so many events.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// In one piece, whatever was asked for.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }
}
