//! A conversation with everything it needs: provider, session, tools, and the way it ends.

use std::sync::Arc;

use hermes_agent::{Agent, AgentSettings, Observer, Parts, TurnInput, TurnResult};
use hermes_proc::Wake;
use hermes_providers::Provider;
use hermes_session::{NewSession, Session, SessionId, SessionStore, SystemClock};
use hermes_tools::CallContext;

use super::system_prompt;
use super::toolsets;
use super::wishes::{Wanted, Wishes};
use crate::backend::{Backend, PlaceRequest};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::toolbox::{Asking, Ending, Toolbox};

/// An open conversation.
pub(super) struct Conversation<'a> {
    context: &'a Context,
    agent: Agent,
    toolbox: Toolbox,
    ending: Ending,
    /// The session it goes on with, if it is not a new one.
    pub(super) resumed: Option<Session>,
}

impl<'a> Conversation<'a> {
    /// Opens what the wishes ask for. Makes no request.
    pub(super) fn open(wishes: &Wishes, context: &'a Context) -> Result<Self> {
        let provider = open_provider(wishes, context)?;
        context.ensure_home()?;
        let store = SessionStore::open(&context.location.home)?;
        let resumed = wanted_session(wishes, &store)?;
        let id = match &resumed {
            Some(session) => session.id.clone(),
            None => SessionId::generate(&SystemClock),
        };
        let place = PlaceRequest {
            backend: Backend::chosen(context, None)?,
            task: None,
            session: id.as_str(),
        };
        let asking = match wishes.talk {
            super::wishes::Talk::Oneshot(_) => Asking::Nobody,
            _ => Asking::WhoeverIsThere,
        };
        let toolbox = Toolbox::assemble(context, place, asking)?;
        let mut call = toolbox.call_context(id.as_str());
        call.enabled_tools = toolsets::selected(wishes, context, &toolbox.registry)?;
        let ending = toolbox.watch_for_end()?;
        toolbox.tidy_up();
        let parts = Parts {
            summariser: None,
            settings: AgentSettings::resolve(context.config(), wishes.max_turns),
            stop_check: None,
            context: call,
            provider,
            store,
        };
        let agent = agent(parts, id, resumed.is_some(), wishes, &toolbox, context)?;
        Ok(Self {
            context,
            agent,
            toolbox,
            ending,
            resumed,
        })
    }

    /// Runs one turn.
    pub(super) fn turn(&mut self, input: TurnInput, observer: &mut dyn Observer) -> TurnResult {
        self.agent.turn(input, observer)
    }

    pub(super) fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// Raised when the program is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.toolbox.interrupt().is_raised()
    }

    /// The flag that ends the program.
    pub(super) fn interrupt(&self) -> Arc<Wake> {
        Arc::clone(self.toolbox.interrupt())
    }

    /// Ends the session and what it started. Gives the exit code: that of a signal, if one has come.
    pub(super) fn close(mut self, code: u8) -> Result<std::process::ExitCode> {
        let closed = self.agent.close();
        self.toolbox.end_conversations(self.context)?;
        self.toolbox.leave();
        closed?;
        Ok(self.ending.exit_code(code))
    }
}

fn open_provider(wishes: &Wishes, context: &Context) -> Result<Arc<dyn Provider>> {
    let wanted = hermes_providers::Wanted {
        provider: wishes.provider.clone(),
        model: wishes.model.clone(),
        ..hermes_providers::Wanted::default()
    };
    hermes_providers::open(context.config(), &wanted)
        .map_err(|error| CommandError::user(error.to_string()).hint(error.hint()))
}

fn wanted_session(wishes: &Wishes, store: &SessionStore) -> Result<Option<Session>> {
    let id = match &wishes.session {
        Wanted::New => return Ok(None),
        Wanted::Named(text) => store.resolve(text)?,
        Wanted::Latest => match store.most_recent(&wishes.source)? {
            Some(id) => id,
            None => {
                return Err(CommandError::user(format!(
                    "there is no earlier session of the source '{}'",
                    wishes.source
                ))
                .hint("`hermes sessions list` shows what there is"));
            }
        },
    };
    let session = store.session(&id)?;
    session
        .map(Some)
        .ok_or_else(|| CommandError::user(format!("there is no session '{id}'")))
}

fn agent(
    parts: Parts,
    id: SessionId,
    is_resumed: bool,
    wishes: &Wishes,
    toolbox: &Toolbox,
    context: &Context,
) -> Result<Agent> {
    let prompt = system_prompt::of(&parts, &id, wishes, toolbox, Vec::new(), context);
    if is_resumed {
        return Ok(Agent::resume(parts, &id, &prompt.text)?);
    }
    for notice in &prompt.notices {
        context.printer.warn(notice, None)?;
    }
    let route = parts.provider.route();
    let new = NewSession {
        source: wishes.source.clone(),
        model: Some(route.model),
        model_config: Some(system_prompt::model_config(&parts)),
        cwd: Some(cwd_of(&parts.context)),
        profile_name: context.current.as_ref().map(ToString::to_string),
        ..NewSession::default()
    };
    Ok(Agent::begin(parts, id, new, &prompt.text))
}

fn cwd_of(call: &CallContext) -> String {
    call.session.cwd().display().to_string()
}
