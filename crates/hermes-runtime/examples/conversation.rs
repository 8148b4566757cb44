//! A conversation without a terminal: the replay provider answers in a temporary home, the answer is
//! streamed, and this program approves the command that the agent runs.

use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_agent::{TurnEvent, TurnInput};
use hermes_config::{Environment, vars};
use hermes_home::{SystemFacts, select};
use hermes_policy::{Answer, ApprovalRequest};
use hermes_proc::Wake;
use hermes_providers::StreamEvent;
use hermes_runtime::{Context, ConversationRequest, Person, Program, Runtime};

const SETTINGS: &str = "model: {provider: replay, script: script.yaml}\n";
const SCRIPT: &str = "turns:
  - text: I clear the scratch directory.
    calls: [{tool: terminal, arguments: {command: rm -rf scratch && echo cleared}}]
  - text: It is gone.
";

/// Where everything is shown.
pub(crate) type Output = Arc<Mutex<dyn Write + Send>>;

fn show(output: &Output, text: &str) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    // A reader that has gone wants no more.
    drop(output.write_all(text.as_bytes()));
}

/// Approves every command once, and shows which.
struct Approving(Output);

impl Person for Approving {
    fn approves_commands(&self) -> bool {
        true
    }

    fn approve(&self, request: &ApprovalRequest) -> Answer {
        show(&self.0, &format!("\n[approved: {}]\n", request.description));
        Answer::Once
    }
}

pub(crate) fn converse(output: &Output) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let home = directory.path().join("home");
    hermes_fs::create_dir_all(&home, 0o700)?;
    hermes_fs::create_dir_all(&directory.path().join("scratch"), 0o700)?;
    hermes_fs::write_atomic(&home.join("config.yaml"), SETTINGS.as_bytes(), 0o600)?;
    hermes_fs::write_atomic(&home.join("script.yaml"), SCRIPT.as_bytes(), 0o600)?;

    let env = Environment::from_process().with(&vars::HERMES_HOME, &home);
    let system = SystemFacts::of_process();
    let selection = select(&[], &env, &system)?;
    let context = Context::new(&env, system, &selection, Program::named("hermes"));
    let context = context.in_directory(directory.path());
    let request = ConversationRequest::new("example", Arc::new(Wake::new()?));
    let person = Arc::new(Approving(Arc::clone(output)));
    let mut conversation = Runtime::new(context).open_conversation(&request, person)?;

    let mut streamed = |event: TurnEvent<'_>| match event {
        TurnEvent::Stream(StreamEvent::Text(text)) => show(output, &text),
        TurnEvent::Called { tool, result, .. } => show(output, &format!("[{tool}: {result}]\n")),
        TurnEvent::Stored
        | TurnEvent::Stream(_)
        | TurnEvent::Calling { .. }
        | TurnEvent::Notice(_) => {}
    };
    let result = conversation.turn(TurnInput::text("Please clean up."), &mut streamed);
    show(output, &format!("\n[{} requests]\n", result.api_calls));
    conversation.close(Some(&result), || 0)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    converse(&(Arc::new(Mutex::new(std::io::stdout())) as Output))
}
