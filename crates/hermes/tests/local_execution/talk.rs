//! A conversation over `hermes tools call --stdin`: a call, its answer, the next call.

use hermes_testkit::Running;
use serde_json::{Value, json};

use super::text;

/// Prints the whole environment from a script.
const DUMP: &str = "import os\nfor n, v in os.environ.items(): print(n + '=' + v)";

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
    pub(crate) fn terminal(&mut self, args: Value) -> Value {
        self.call_in("main", "terminal", &args)
    }

    #[track_caller]
    pub(crate) fn process(&mut self, args: Value) -> Value {
        self.call_in("main", "process", &args)
    }

    /// What the guards say about a command, in a conversation that only asks.
    #[track_caller]
    pub(crate) fn verdict(&mut self, command: &str) -> Value {
        self.terminal(json!({ "command": command }))
    }

    /// The result of a script.
    #[track_caller]
    pub(crate) fn script(&mut self, code: &str) -> Value {
        self.call_in("main", "execute_code", &json!({ "code": code }))
    }

    /// What a script that must succeed prints.
    #[track_caller]
    pub(crate) fn printed(&mut self, code: &str) -> String {
        let result = self.script(code);
        assert_eq!(result["status"], "success", "{result}");
        text(&result, "output").to_owned()
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

    /// Starts a background process; its id.
    #[track_caller]
    pub(crate) fn start(&mut self, command: &str, pty: bool) -> String {
        let result = self.terminal(json!({"command": command, "background": true, "pty": pty}));
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        text(&result, "session_id").to_owned()
    }

    /// Waits for the end of a background process.
    #[track_caller]
    pub(crate) fn wait(&mut self, id: &str) -> Value {
        self.process(json!({"action": "wait", "session_id": id, "timeout": 20}))
    }

    /// All a background process prints, from its start to its end.
    #[track_caller]
    pub(crate) fn background(&mut self, command: &str, pty: bool) -> String {
        let id = self.start(command, pty);
        let end = self.wait(&id);
        assert_eq!(end["status"], "exited", "{end}");
        let log = self.process(json!({"action": "log", "session_id": id, "offset": 0}));
        text(&log, "output").replace('\r', "")
    }

    /// The environment as each kind of child has it: foreground, background with a pipe, background
    /// with a terminal, script.
    #[track_caller]
    pub(crate) fn environments(&mut self) -> [(&'static str, String); 4] {
        [
            ("foreground", self.output("env")),
            ("background", self.background("env", false)),
            ("terminal", self.background("env", true)),
            ("script", self.printed(DUMP)),
        ]
    }
}
