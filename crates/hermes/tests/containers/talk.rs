//! A conversation over `hermes tools call --stdin`: a call, its answer, the next call.

use hermes_testkit::Running;
use serde_json::{Value, json};

use crate::place::text;

pub(crate) struct Talk {
    pub(crate) hermes: Running,
}

impl Talk {
    pub(crate) fn new(hermes: Running) -> Self {
        Self { hermes }
    }

    /// Sends a call and does not wait for its answer.
    pub(crate) fn send(&mut self, session: &str, tool: &str, args: &Value) {
        let line = json!({"tool": tool, "args": args, "session": session});
        self.hermes.write_line(&line.to_string());
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        let line = self.hermes.next_line();
        let line = line.unwrap_or_else(|| panic!("no answer: {:?}", self.hermes.errors()));
        serde_json::from_str(&line).unwrap()
    }

    #[track_caller]
    pub(crate) fn call_in(&mut self, session: &str, tool: &str, args: &Value) -> Value {
        self.send(session, tool, args);
        self.answer()
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        self.call_in("main", tool, &args)
    }

    #[track_caller]
    pub(crate) fn terminal(&mut self, args: Value) -> Value {
        self.call("terminal", args)
    }

    #[track_caller]
    pub(crate) fn run(&mut self, command: &str) -> Value {
        self.terminal(json!({ "command": command }))
    }

    /// Output of a command that must succeed.
    #[track_caller]
    pub(crate) fn output(&mut self, command: &str) -> String {
        self.output_in("main", command)
    }

    #[track_caller]
    pub(crate) fn output_in(&mut self, session: &str, command: &str) -> String {
        let result = self.call_in(session, "terminal", &json!({ "command": command }));
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        text(&result, "output").to_owned()
    }

    /// Closes the input and gives the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.hermes.close_stdin();
        self.hermes.wait().code()
    }
}
